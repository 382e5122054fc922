//! Test fixture: a pipeline over scripted tools, with a real store and a real audit log in a temporary folder.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::{
    CallContext, Caller, Constraints, Contract, ErrorCode, Progress, SideEffects, Tool,
    ToolDefinition, ToolError, ToolOutput,
};
use runtime::{
    AnswerOrigin, CallInterruption, Catalog, ElicitationBroker, Invoker, Pipeline, PipelineOptions,
    ToolCall, ToolReply,
};
use serde_json::{Map, Value, json};
use store::audit::{AuditKeyLocation, AuditLog, AuditOptions};
use store::{ApprovalChannel, Approver, SqliteStore, StateDir, Store};

type Script = Box<dyn Fn(Value, &CallContext) -> Result<ToolOutput, ToolError> + Send + Sync>;

/// A tool whose behavior is defined by a test.
pub(crate) struct ScriptedTool {
    contract: Arc<Contract>,
    script: Script,
}

impl Tool for ScriptedTool {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn call(&self, arguments: Value, ctx: &CallContext) -> Result<ToolOutput, ToolError> {
        (self.script)(arguments, ctx)
    }
}

/// Returns a tool that takes `{text, times = 1}` and answers `{text}`.
pub(crate) fn scripted_tool(
    name: &str,
    constraints: Constraints,
    script: impl Fn(Value, &CallContext) -> Result<ToolOutput, ToolError> + Send + Sync + 'static,
) -> Arc<dyn Tool> {
    Arc::new(ScriptedTool { contract: build_contract(name, constraints), script: Box::new(script) })
}

/// Invoker for a scripted upstream tool. The script runs on the connection's thread and may elicit.
pub(crate) struct ScriptedUpstream<F>(pub(crate) F);

#[async_trait]
impl<F> Invoker for ScriptedUpstream<F>
where
    F: AsyncScript,
{
    fn origin(&self) -> AnswerOrigin {
        AnswerOrigin::Upstream
    }

    async fn invoke(
        &self,
        arguments: Value,
        broker: &ElicitationBroker,
        _: &CallContext,
    ) -> Result<ToolOutput, CallInterruption> {
        self.0.run(arguments, broker).await
    }
}

#[async_trait]
pub(crate) trait AsyncScript: Send + Sync {
    async fn run(
        &self,
        arguments: Value,
        broker: &ElicitationBroker,
    ) -> Result<ToolOutput, CallInterruption>;
}

/// Answers immediately.
#[async_trait]
impl<F> AsyncScript for F
where
    F: Fn(Value) -> Result<ToolOutput, CallInterruption> + Send + Sync,
{
    async fn run(
        &self,
        arguments: Value,
        _: &ElicitationBroker,
    ) -> Result<ToolOutput, CallInterruption> {
        self(arguments)
    }
}

/// Returns a catalog of upstream tools, each with the contract built by [`build_contract`].
pub(crate) fn upstream_catalog<const N: usize>(
    tools: [(&str, Constraints, Arc<dyn Invoker>); N],
) -> Catalog {
    let mut catalog = Catalog::default();
    for (name, constraints, invoker) in tools {
        catalog.add_invoker(build_contract(name, constraints), invoker).unwrap();
    }
    catalog
}

/// Returns a contract that maps `{text, times = 1}` to `{text}`.
pub(crate) fn build_contract(name: &str, constraints: Constraints) -> Arc<Contract> {
    let definition = ToolDefinition {
        name: name.into(),
        title: Some(format!("Run {name}")),
        description: Some("A scripted tool.".into()),
        input_schema: Some(json!({
            "type": "object",
            "properties": {
                "text": {"type": "string", "maxLength": 2000},
                "times": {"type": "integer", "default": 1},
            },
            "required": ["text"],
            "additionalProperties": false,
        })),
        output_schema: Some(json!({
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": false,
        })),
        constraints: Some(constraints),
        ..ToolDefinition::default()
    };
    Arc::new(Contract::new(definition, &[]).unwrap())
}

pub(crate) fn answer(text: &str) -> Result<ToolOutput, ToolError> {
    Ok(ToolOutput::from_structured(json!({"text": text})))
}

pub(crate) struct Rig {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) folder: tempfile::TempDir,
}

impl Rig {
    pub(crate) async fn new() -> Self {
        Self::with_options(PipelineOptions::default()).await
    }

    pub(crate) async fn with_options(options: PipelineOptions) -> Self {
        Self::with_tools(tools(), options).await
    }

    pub(crate) async fn with_tools(tools: Vec<Arc<dyn Tool>>, options: PipelineOptions) -> Self {
        let mut catalog = Catalog::default();
        for tool in tools {
            catalog.add_tool(tool).unwrap();
        }
        Self::with_catalog(catalog, options).await
    }

    pub(crate) async fn with_catalog(catalog: Catalog, options: PipelineOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join(".vouch")).unwrap();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&state).unwrap());
        let audit = AuditLog::open(state.audit_log_path(), &audit_options(&folder)).unwrap();
        let pipeline = Pipeline::new(catalog, Arc::clone(&store), audit, options).await.unwrap();
        Self { pipeline, store, folder }
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolReply {
        self.pipeline.call(call(tool, arguments)).await
    }

    /// Returns all lines of the audit log.
    pub(crate) fn audit_lines(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.path().join(".vouch/audit.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the audit records of all calls without the fields that differ from run to run.
    pub(crate) async fn audit_records(&self) -> Vec<Value> {
        self.pipeline.drain().await;
        self.audit_lines()
            .into_iter()
            .filter(|line| line.get("event").is_none() && line.get("intent").is_none())
            .map(|mut line| {
                let fields = line.as_object_mut().unwrap();
                fields.shift_remove("call");
                if let Some(digest) =
                    fields.get_mut("arguments").and_then(|it| it.get_mut("digest"))
                {
                    assert!(digest.as_str().unwrap().starts_with("hmac:"), "{digest}");
                    *digest = json!("hmac:[key]:[digest]");
                }
                for key in ["time", "prev", "durationUs"] {
                    assert!(line.as_object_mut().unwrap().shift_remove(key).is_some(), "{key}");
                }
                line
            })
            .collect()
    }
}

/// Returns options for an audit log with its keys in this folder.
pub(crate) fn audit_options(folder: &tempfile::TempDir) -> AuditOptions {
    AuditOptions::new(AuditKeyLocation::new(folder.path().join("audit-keys")))
}

/// Returns a person who decides on queued approvals.
pub(crate) fn ann() -> Approver {
    Approver::new("ann", ApprovalChannel::Queue)
}

pub(crate) fn call(tool: &str, arguments: Value) -> ToolCall {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    ToolCall::new(tool, arguments, Caller::new("tester"))
}

/// Returns the reply as a caller sees it.
pub(crate) fn reply_to_json(reply: &ToolReply) -> Value {
    match reply {
        ToolReply::Done(output) => json!({"structured": output.structured}),
        ToolReply::Failed(error) => error.to_value(),
        ToolReply::InputRequired { elicitations: requests, .. } => {
            json!({"asks": requests.iter().map(|request| &request.key).collect::<Vec<_>>()})
        }
        ToolReply::Refused(refusal) => json!({"refused": format!("{refusal:?}")}),
    }
}

pub(crate) fn code(reply: &ToolReply) -> ErrorCode {
    reply.code().unwrap_or_else(|| panic!("expected a failure, got {reply:?}"))
}

pub(crate) fn tools() -> Vec<Arc<dyn Tool>> {
    // Long enough for a panic with its backtrace on a busy machine.
    let plain = Constraints { timeout: Duration::from_secs(60), ..Constraints::default() };
    let asking = Constraints {
        approval: true,
        side_effects: SideEffects::Append,
        idempotent: false,
        ..plain.clone()
    };
    let quick = Constraints { timeout: Duration::from_millis(50), ..plain.clone() };
    vec![
        scripted_tool(
            "echo",
            Constraints { audit_values: true, ..plain.clone() },
            |arguments, _| {
                let times = usize::try_from(arguments["times"].as_i64().unwrap()).unwrap();
                answer(&arguments["text"].as_str().unwrap().repeat(times))
            },
        ),
        scripted_tool("rare", Constraints { rate_per_minute: 1, ..plain.clone() }, |_, _| {
            answer("")
        }),
        scripted_tool("write", asking, |arguments, _| answer(arguments["text"].as_str().unwrap())),
        scripted_tool("slow", quick, |_, ctx| {
            while !ctx.is_cancelled() {
                std::thread::yield_now();
            }
            SLOW_CANCELLED.store(true, std::sync::atomic::Ordering::SeqCst);
            answer("too late")
        }),
        scripted_tool("patient", plain.clone(), |_, ctx| {
            while !ctx.is_cancelled() {
                std::thread::yield_now();
            }
            answer("not read")
        }),
        // A side effect that can no longer be undone when its time limit has passed.
        scripted_tool(
            "slow_write",
            Constraints {
                side_effects: SideEffects::Append,
                timeout: Duration::from_millis(20),
                ..plain.clone()
            },
            |arguments, ctx| {
                STARTED_WRITES
                    .lock()
                    .unwrap()
                    .insert(arguments["text"].as_str().unwrap().to_owned());
                while !ctx.is_cancelled() {
                    std::thread::yield_now();
                }
                answer("written")
            },
        ),
        scripted_tool(
            "endless",
            Constraints { timeout: Duration::MAX, ..plain.clone() },
            |_, _| answer(""),
        ),
        scripted_tool("liar", plain.clone(), |_, _| {
            Ok(ToolOutput::from_structured(json!({"texts": 1})))
        }),
        scripted_tool("silent", plain.clone(), |_, _| Ok(ToolOutput::from_text("no structure"))),
        scripted_tool("panics", plain.clone(), |_, _| panic!("a defect")),
        scripted_tool("huge", Constraints { max_output_bytes: 100, ..plain.clone() }, |_, _| {
            answer(&"x".repeat(200))
        }),
        scripted_tool(
            "small_input",
            Constraints { max_input_bytes: 40, ..plain.clone() },
            |_, _| answer(""),
        ),
        scripted_tool("steps", plain, |_, ctx| {
            for step in 1..=3 {
                let message = Some(format!("step {step}"));
                ctx.report_progress(Progress { done: f64::from(step), total: Some(3.0), message });
            }
            answer("done")
        }),
    ]
}

/// The texts of all started `slow_write` calls. On a busy machine the time limit may pass before the start.
pub(crate) static STARTED_WRITES: std::sync::Mutex<std::collections::BTreeSet<String>> =
    std::sync::Mutex::new(std::collections::BTreeSet::new());

/// Set once the work of `slow` has noticed its cancellation.
pub(crate) static SLOW_CANCELLED: std::sync::atomic::AtomicBool =
    std::sync::atomic::AtomicBool::new(false);

pub(crate) fn object(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("an object") };
    map
}
