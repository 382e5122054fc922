//! A world of tools that do what a test says and remember every time they run.
//!
//! The catalog of the pipeline holds all of them, barred ones too, under contracts that let everything through. So
//! nothing but the gates of the host stands between a plan and a tool.

use std::sync::{Arc, LazyLock, Mutex};

use async_trait::async_trait;
use contract::{
    CallContext, Constraints, Contract, Definition, Output, SideEffects, Tool, ToolError,
};
use host::{Allowlist, Discover, DiscoverError, Listed, Offer, PlanError, Planner, Standing};
use runtime::{Catalog, Pipeline, PipelineOptions};
use serde_json::{Value, json};
use store::audit::AuditLog;
use store::{SqliteStore, StateDir, Store};

/// What a tool was run with.
pub(crate) type Runs = Arc<Mutex<Vec<(String, Value)>>>;
type Answer = Arc<Mutex<Result<Output, ToolError>>>;

struct Remembering {
    contract: Arc<Contract>,
    runs: Runs,
    answer: Answer,
}

impl Tool for Remembering {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn call(&self, arguments: Value, _: &CallContext) -> Result<Output, ToolError> {
        self.runs.lock().unwrap().push((self.contract.name.clone(), arguments));
        self.answer.lock().unwrap().clone()
    }
}

/// A tool as it is offered, under its strict contract.
pub(crate) struct Offered {
    pub(crate) server: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) description: &'static str,
    pub(crate) input: Value,
    pub(crate) output: Value,
    pub(crate) effects: SideEffects,
}

impl Offered {
    pub(crate) fn name(&self) -> String {
        format!("{}__{}", self.server, self.tool)
    }

    pub(crate) fn contract(&self) -> Arc<Contract> {
        let definition = Definition {
            name: self.name(),
            description: Some(self.description.into()),
            input_schema: Some(self.input.clone()),
            output_schema: Some(self.output.clone()),
            constraints: Some(Constraints { side_effects: self.effects, ..Constraints::default() }),
            ..Definition::default()
        };
        Arc::new(Contract::new(definition, &[]).unwrap())
    }

    pub(crate) fn listed(&self, standing: Standing) -> Listed {
        let (server, tool) = (self.server.into(), self.tool.into());
        Listed { server, tool, name: self.name(), standing }
    }
}

fn text(properties: &[&str]) -> Value {
    let declared: serde_json::Map<_, _> =
        properties.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    json!({"type": "object", "properties": declared, "required": properties})
}

/// Tools that may be used: open schemas, as most of the world writes them.
pub(crate) fn allowed() -> Vec<Offered> {
    vec![
        Offered {
            server: "notes",
            tool: "read_note",
            description: "Reads one note by its id.",
            input: text(&["id"]),
            output: text(&["id", "text"]),
            effects: SideEffects::None,
        },
        Offered {
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
                    "hits": {"type": "array", "items": text(&["id", "text"])},
                },
                "required": ["total", "hits"],
            }),
            effects: SideEffects::None,
        },
        Offered {
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
            output: text(&["path", "content"]),
            effects: SideEffects::None,
        },
        Offered {
            server: "mail",
            tool: "send",
            description: "Sends a message to somebody.",
            input: text(&["recipient", "body"]),
            output: json!({"type": "object", "properties": {"sent": {"type": "boolean"}}, "required": ["sent"]}),
            effects: SideEffects::Write,
        },
    ]
}

/// Tools that exist and may not be used.
pub(crate) fn barred() -> Vec<(Offered, Standing)> {
    let tool = |server, tool, input| Offered {
        server,
        tool,
        description: "Does what it should not.",
        input,
        output: text(&["done"]),
        effects: SideEffects::Write,
    };
    vec![
        (
            tool("notes", "delete_notes", text(&["id"])),
            Standing::NotAllowed("not in `tools` of `notes`".into()),
        ),
        (
            tool("shell", "run", text(&["command"])),
            Standing::Refused("it has no output schema".into()),
        ),
        (
            tool("pay", "transfer", text(&["to", "amount"])),
            Standing::Quarantined("its description changed".into()),
        ),
    ]
}

pub(crate) fn offers() -> Vec<Offer> {
    allowlist().offers().to_vec()
}

pub(crate) fn allowlist() -> Allowlist {
    static LIST: LazyLock<Allowlist> = LazyLock::new(compiled);
    LIST.clone()
}

fn compiled() -> Allowlist {
    let allowed = allowed();
    let allowed = allowed.iter().map(|tool| tool.listed(Standing::Allowed(tool.contract())));
    let barred = barred();
    let barred = barred.iter().map(|(tool, standing)| tool.listed(standing.clone()));
    Allowlist::new(allowed.chain(barred).collect())
}

pub(crate) struct World {
    pub(crate) pipeline: Arc<Pipeline>,
    runs: Runs,
    answer: Answer,
    _folder: tempfile::TempDir,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(&Constraints { rate_per_minute: 1_000_000, ..Constraints::default() }).await
    }

    /// With constraints that the pipeline holds every tool to.
    pub(crate) async fn with(constraints: &Constraints) -> Self {
        let (runs, answer) = (Runs::default(), Arc::new(Mutex::new(Ok(note("1", "hello")))));
        let mut catalog = Catalog::default();
        let allowed = allowed();
        let barred = barred();
        for tool in allowed.iter().chain(barred.iter().map(|(tool, _)| tool)) {
            let definition = Definition {
                name: tool.name(),
                input_schema: Some(json!({"type": "object"})),
                constraints: Some(constraints.clone()),
                ..Definition::default()
            };
            let contract = Arc::new(Contract::new(definition, &[]).unwrap());
            let (runs, answer) = (Arc::clone(&runs), Arc::clone(&answer));
            catalog.add_tool(Arc::new(Remembering { contract, runs, answer })).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join(".vouch")).unwrap();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&state).unwrap());
        let audit = AuditLog::open(state.audit_log()).unwrap();
        let options = PipelineOptions::default();
        let pipeline = Pipeline::new(catalog, store, audit, options).await.unwrap();
        Self { pipeline, runs, answer, _folder: folder }
    }

    /// What the tools answer from now on.
    pub(crate) fn answers(&self, answer: Result<Output, ToolError>) {
        *self.answer.lock().unwrap() = answer;
    }

    pub(crate) fn answer(&self) -> Result<Output, ToolError> {
        self.answer.lock().unwrap().clone()
    }

    /// What ran since somebody asked last.
    pub(crate) fn take_runs(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut *self.runs.lock().unwrap())
    }

    /// Runs a tool past all gates, as a host without any would.
    pub(crate) fn run_anyway(&self, name: &str, arguments: Value) -> Result<Output, ToolError> {
        self.runs.lock().unwrap().push((name.to_owned(), arguments));
        self.answer()
    }
}

pub(crate) fn note(id: &str, text: &str) -> Output {
    Output::structured(json!({"id": id, "text": text}))
}

/// Says what it was told to say, and remembers what it was asked.
#[derive(Default)]
pub(crate) struct Says {
    pub(crate) text: String,
    pub(crate) asked: Mutex<usize>,
}

impl Says {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), asked: Mutex::new(0) }
    }

    pub(crate) fn call(server: &str, tool: &str, arguments: &Value) -> Self {
        Self::new(plan(server, tool, arguments))
    }
}

pub(crate) fn plan(server: &str, tool: &str, arguments: &Value) -> String {
    json!({"type": "call", "server": server, "tool": tool, "arguments": arguments}).to_string()
}

#[async_trait]
impl Planner for Says {
    async fn plan(&self, _: &str, _: &[Offer]) -> Result<String, PlanError> {
        *self.asked.lock().unwrap() += 1;
        Ok(self.text.clone())
    }
}

#[async_trait]
impl host::Summarizer for Says {
    async fn summarize(
        &self,
        _: &str,
        _: &host::Validated,
    ) -> Result<String, host::SummarizeError> {
        *self.asked.lock().unwrap() += 1;
        Ok(self.text.clone())
    }
}

/// Counts how often the tools were looked for.
#[derive(Default)]
pub(crate) struct Discovery {
    pub(crate) looked: Mutex<usize>,
    pub(crate) fails: bool,
}

#[async_trait]
impl Discover for Discovery {
    async fn discover(&self) -> Result<Allowlist, DiscoverError> {
        *self.looked.lock().unwrap() += 1;
        if self.fails { Err(DiscoverError("no server answers".into())) } else { Ok(allowlist()) }
    }
}
