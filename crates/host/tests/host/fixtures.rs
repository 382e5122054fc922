//! Test environment: scripted tools that record every run, behind a real pipeline.
//!
//! The catalog contains all tools, including those that are not allowed, under contracts that accept everything. Only
//! the gates of the host prevent a call.

use std::sync::{Arc, LazyLock, Mutex};

use async_trait::async_trait;
use contract::{
    CallContext, Constraints, Contract, SideEffects, Tool, ToolDefinition, ToolError, ToolOutput,
};
use host::{
    EffectiveAllowlist, ListedTool, LiveToolSource, Planner, PlannerError, ToolDiscoveryError,
    ToolOffer, ToolStanding,
};
use runtime::{Catalog, Pipeline, PipelineOptions};
use serde_json::{Value, json};
use store::audit::{AuditKeyLocation, AuditLog, AuditOptions};
use store::{SqliteStore, StateDir, Store};

/// The recorded runs: tool name and arguments.
pub(crate) type Runs = Arc<Mutex<Vec<(String, Value)>>>;
type Answer = Arc<Mutex<Result<ToolOutput, ToolError>>>;

/// A tool that records its runs and returns the scripted answer.
struct RecordingTool {
    contract: Arc<Contract>,
    runs: Runs,
    answer: Answer,
}

impl Tool for RecordingTool {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn call(&self, arguments: Value, _: &CallContext) -> Result<ToolOutput, ToolError> {
        self.runs.lock().unwrap().push((self.contract.name.clone(), arguments));
        self.answer.lock().unwrap().clone()
    }
}

/// The definition of a tool, with its strict contract.
pub(crate) struct ToolFixture {
    pub(crate) server: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) description: &'static str,
    pub(crate) input: Value,
    pub(crate) output: Value,
    pub(crate) effects: SideEffects,
}

impl ToolFixture {
    pub(crate) fn name(&self) -> String {
        format!("{}__{}", self.server, self.tool)
    }

    pub(crate) fn contract(&self) -> Arc<Contract> {
        let definition = ToolDefinition {
            name: self.name(),
            description: Some(self.description.into()),
            input_schema: Some(self.input.clone()),
            output_schema: Some(self.output.clone()),
            constraints: Some(Constraints { side_effects: self.effects, ..Constraints::default() }),
            ..ToolDefinition::default()
        };
        Arc::new(Contract::new(definition, &[]).unwrap())
    }

    pub(crate) fn listed(&self, standing: ToolStanding) -> ListedTool {
        let (server, tool) = (self.server.into(), self.tool.into());
        ListedTool { server, tool, name: self.name(), standing }
    }
}

fn string_properties(properties: &[&str]) -> Value {
    let declared: serde_json::Map<_, _> =
        properties.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    json!({"type": "object", "properties": declared, "required": properties})
}

/// Tools that are allowed. Their schemas allow additional properties, like most schemas in practice.
pub(crate) fn allowed() -> Vec<ToolFixture> {
    vec![
        ToolFixture {
            server: "notes",
            tool: "read_note",
            description: "Reads one note by its id.",
            input: string_properties(&["id"]),
            output: string_properties(&["id", "text"]),
            effects: SideEffects::None,
        },
        ToolFixture {
            server: "notes",
            tool: "search_notes",
            description: "Searches the notes for words.",
            input: json!({
                "type": "object",
                "properties": {
                    "query": {"type": "string", "maxLength": 200},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 5},
                    "order": {"enum": ["newest", "oldest"]},
                },
                "required": ["query"],
            }),
            output: json!({
                "type": "object",
                "properties": {
                    "total": {"type": "integer"},
                    "hits": {"type": "array", "items": string_properties(&["id", "text"])},
                },
                "required": ["total", "hits"],
            }),
            effects: SideEffects::None,
        },
        ToolFixture {
            server: "files",
            tool: "read_file",
            description: "Reads a file of the project as text.",
            input: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "minLength": 1},
                    "raw": {"type": "boolean"},
                },
                "required": ["path"],
            }),
            output: string_properties(&["path", "content"]),
            effects: SideEffects::None,
        },
        ToolFixture {
            server: "mail",
            tool: "send",
            description: "Sends a message to a recipient.",
            input: string_properties(&["recipient", "body"]),
            output: json!({"type": "object", "properties": {"sent": {"type": "boolean"}}, "required": ["sent"]}),
            effects: SideEffects::Write,
        },
    ]
}

/// Tools that exist but are not allowed.
pub(crate) fn barred() -> Vec<(ToolFixture, ToolStanding)> {
    let tool = |server, tool, input| ToolFixture {
        server,
        tool,
        description: "Causes damage.",
        input,
        output: string_properties(&["done"]),
        effects: SideEffects::Write,
    };
    vec![
        (
            tool("notes", "delete_notes", string_properties(&["id"])),
            ToolStanding::NotAllowed("not in `tools` of `notes`".into()),
        ),
        (
            tool("shell", "run", string_properties(&["command"])),
            ToolStanding::Refused("it has no output schema".into()),
        ),
        (
            tool("pay", "transfer", string_properties(&["to", "amount"])),
            ToolStanding::Quarantined("its description changed".into()),
        ),
    ]
}

pub(crate) fn offers() -> Vec<ToolOffer> {
    allowlist().offers().to_vec()
}

pub(crate) fn allowlist() -> EffectiveAllowlist {
    static LIST: LazyLock<EffectiveAllowlist> = LazyLock::new(compile_allowlist);
    LIST.clone()
}

fn compile_allowlist() -> EffectiveAllowlist {
    let allowed = allowed();
    let allowed = allowed.iter().map(|tool| tool.listed(ToolStanding::Allowed(tool.contract())));
    let barred = barred();
    let barred = barred.iter().map(|(tool, standing)| tool.listed(standing.clone()));
    EffectiveAllowlist::new(allowed.chain(barred).collect())
}

pub(crate) struct TestHost {
    pub(crate) pipeline: Arc<Pipeline>,
    runs: Runs,
    answer: Answer,
    _folder: tempfile::TempDir,
}

impl TestHost {
    pub(crate) async fn new() -> Self {
        Self::with_constraints(&Constraints {
            rate_per_minute: 1_000_000,
            ..Constraints::default()
        })
        .await
    }

    /// Creates an environment in which the pipeline enforces the constraints on every tool.
    pub(crate) async fn with_constraints(constraints: &Constraints) -> Self {
        let (runs, answer) = (Runs::default(), Arc::new(Mutex::new(Ok(note("1", "hello")))));
        let mut catalog = Catalog::default();
        let allowed = allowed();
        let barred = barred();
        for tool in allowed.iter().chain(barred.iter().map(|(tool, _)| tool)) {
            let definition = ToolDefinition {
                name: tool.name(),
                input_schema: Some(json!({"type": "object"})),
                constraints: Some(constraints.clone()),
                ..ToolDefinition::default()
            };
            let contract = Arc::new(Contract::new(definition, &[]).unwrap());
            let (runs, answer) = (Arc::clone(&runs), Arc::clone(&answer));
            catalog.add_tool(Arc::new(RecordingTool { contract, runs, answer })).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join(".vouch")).unwrap();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&state).unwrap());
        let keys = AuditKeyLocation::new(folder.path().join("audit-keys"));
        let audit = AuditLog::open(state.audit_log_path(), &AuditOptions::new(keys)).unwrap();
        let options = PipelineOptions::default();
        let pipeline = Pipeline::new(catalog, store, audit, options).await.unwrap();
        Self { pipeline, runs, answer, _folder: folder }
    }

    /// Sets the answer of all tools.
    pub(crate) fn set_answer(&self, answer: Result<ToolOutput, ToolError>) {
        *self.answer.lock().unwrap() = answer;
    }

    pub(crate) fn answer(&self) -> Result<ToolOutput, ToolError> {
        self.answer.lock().unwrap().clone()
    }

    /// Returns the runs since the last call of this function.
    pub(crate) fn take_runs(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut *self.runs.lock().unwrap())
    }

    /// Runs a tool without any gates.
    pub(crate) fn run_without_gates(
        &self,
        name: &str,
        arguments: Value,
    ) -> Result<ToolOutput, ToolError> {
        self.runs.lock().unwrap().push((name.to_owned(), arguments));
        self.answer()
    }
}

pub(crate) fn note(id: &str, text: &str) -> ToolOutput {
    ToolOutput::from_structured(json!({"id": id, "text": text}))
}

/// A scripted planner and summarizer that counts its requests.
#[derive(Default)]
pub(crate) struct ScriptedModel {
    pub(crate) text: String,
    pub(crate) asked: Mutex<usize>,
}

impl ScriptedModel {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), asked: Mutex::new(0) }
    }

    pub(crate) fn for_call(server: &str, tool: &str, arguments: &Value) -> Self {
        Self::new(plan(server, tool, arguments))
    }
}

pub(crate) fn plan(server: &str, tool: &str, arguments: &Value) -> String {
    json!({"type": "call", "server": server, "tool": tool, "arguments": arguments}).to_string()
}

#[async_trait]
impl Planner for ScriptedModel {
    async fn plan(&self, _: &str, _: &[ToolOffer]) -> Result<String, PlannerError> {
        *self.asked.lock().unwrap() += 1;
        Ok(self.text.clone())
    }
}

#[async_trait]
impl host::Summarizer for ScriptedModel {
    async fn summarize(
        &self,
        _: &str,
        _: &host::ValidatedOutput,
    ) -> Result<String, host::SummarizeError> {
        *self.asked.lock().unwrap() += 1;
        Ok(self.text.clone())
    }
}

/// Tool discovery that counts its calls.
#[derive(Default)]
pub(crate) struct CountingDiscovery {
    pub(crate) calls: Mutex<usize>,
    pub(crate) fails: bool,
}

#[async_trait]
impl LiveToolSource for CountingDiscovery {
    async fn discover(&self) -> Result<EffectiveAllowlist, ToolDiscoveryError> {
        *self.calls.lock().unwrap() += 1;
        if self.fails {
            Err(ToolDiscoveryError("no server responds".into()))
        } else {
            Ok(allowlist())
        }
    }
}
