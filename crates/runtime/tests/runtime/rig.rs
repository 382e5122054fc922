//! A pipeline over scripted tools, with a real store and a real audit log in a temp folder.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::{
    CallContext, Caller, Code, Constraints, Contract, Definition, Output, Progress, SideEffects,
    Tool, ToolError,
};
use runtime::{Call, Catalog, Inquiry, Invoker, Origin, Pipeline, PipelineOptions, Reply, Stop};
use serde_json::{Map, Value, json};
use store::audit::AuditLog;
use store::{SqliteStore, StateDir, Store};

type Script = Box<dyn Fn(Value, &CallContext) -> Result<Output, ToolError> + Send + Sync>;

/// A tool whose behaviour a test writes down.
pub(crate) struct Scripted {
    contract: Arc<Contract>,
    script: Script,
}

impl Tool for Scripted {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn call(&self, arguments: Value, ctx: &CallContext) -> Result<Output, ToolError> {
        (self.script)(arguments, ctx)
    }
}

/// A tool `name` that takes `{text, times = 1}` and answers `{text}`.
pub(crate) fn tool(
    name: &str,
    constraints: Constraints,
    script: impl Fn(Value, &CallContext) -> Result<Output, ToolError> + Send + Sync + 'static,
) -> Arc<dyn Tool> {
    Arc::new(Scripted { contract: contract(name, constraints), script: Box::new(script) })
}

/// The same as an upstream server's tool, whose script is run on the connection and may ask.
pub(crate) struct Upstream<F>(pub(crate) F);

#[async_trait]
impl<F> Invoker for Upstream<F>
where
    F: AsyncScript,
{
    fn origin(&self) -> Origin {
        Origin::Upstream
    }

    async fn invoke(
        &self,
        arguments: Value,
        inquiry: &Inquiry,
        _: &CallContext,
    ) -> Result<Output, Stop> {
        self.0.run(arguments, inquiry).await
    }
}

#[async_trait]
pub(crate) trait AsyncScript: Send + Sync {
    async fn run(&self, arguments: Value, inquiry: &Inquiry) -> Result<Output, Stop>;
}

/// Answers at once.
#[async_trait]
impl<F> AsyncScript for F
where
    F: Fn(Value) -> Result<Output, Stop> + Send + Sync,
{
    async fn run(&self, arguments: Value, _: &Inquiry) -> Result<Output, Stop> {
        self(arguments)
    }
}

/// A catalog of upstream tools, each under the contract of [`contract`].
pub(crate) fn upstreams<const N: usize>(
    tools: [(&str, Constraints, Arc<dyn Invoker>); N],
) -> Catalog {
    let mut catalog = Catalog::default();
    for (name, constraints, invoker) in tools {
        catalog.add(contract(name, constraints), invoker).unwrap();
    }
    catalog
}

/// `{text, times = 1}` to `{text}`.
pub(crate) fn contract(name: &str, constraints: Constraints) -> Arc<Contract> {
    let definition = Definition {
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
        ..Definition::default()
    };
    Arc::new(Contract::new(definition, &[]).unwrap())
}

pub(crate) fn answer(text: &str) -> Result<Output, ToolError> {
    Ok(Output::structured(json!({"text": text})))
}

pub(crate) struct Rig {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) folder: tempfile::TempDir,
}

impl Rig {
    pub(crate) async fn new() -> Self {
        Self::with(PipelineOptions::default()).await
    }

    pub(crate) async fn with(options: PipelineOptions) -> Self {
        Self::of(tools(), options).await
    }

    pub(crate) async fn of(tools: Vec<Arc<dyn Tool>>, options: PipelineOptions) -> Self {
        let mut catalog = Catalog::default();
        for tool in tools {
            catalog.add_tool(tool).unwrap();
        }
        Self::over(catalog, options).await
    }

    pub(crate) async fn over(catalog: Catalog, options: PipelineOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join(".vouch")).unwrap();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&state).unwrap());
        let audit = AuditLog::open(state.audit_log()).unwrap();
        let pipeline = Pipeline::new(catalog, Arc::clone(&store), audit, options).await.unwrap();
        Self { pipeline, store, folder }
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Reply {
        self.pipeline.call(call(tool, arguments)).await
    }

    /// Every audit line, with what differs from run to run taken out.
    pub(crate) async fn audit(&self) -> Vec<Value> {
        self.pipeline.drain().await;
        let text = std::fs::read_to_string(self.folder.path().join(".vouch/audit.jsonl")).unwrap();
        text.lines()
            .map(|line| {
                let mut line: Value = serde_json::from_str(line).unwrap();
                for key in ["time", "prev", "durationUs"] {
                    assert!(line.as_object_mut().unwrap().shift_remove(key).is_some(), "{key}");
                }
                line
            })
            .collect()
    }
}

pub(crate) fn call(tool: &str, arguments: Value) -> Call {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    Call::new(tool, arguments, Caller::new("tester"))
}

/// The reply as a caller sees it.
pub(crate) fn show(reply: &Reply) -> Value {
    match reply {
        Reply::Done(output) => json!({"structured": output.structured}),
        Reply::Failed(error) => error.to_value(),
        Reply::InputRequired { questions, .. } => {
            json!({"asks": questions.iter().map(|question| &question.key).collect::<Vec<_>>()})
        }
        Reply::Refused(refusal) => json!({"refused": format!("{refusal:?}")}),
    }
}

pub(crate) fn code(reply: &Reply) -> Code {
    reply.code().unwrap_or_else(|| panic!("expected a failure, got {reply:?}"))
}

fn tools() -> Vec<Arc<dyn Tool>> {
    let plain = Constraints::default();
    let asking = Constraints {
        approval: true,
        side_effects: SideEffects::Append,
        idempotent: false,
        ..plain.clone()
    };
    let quick = Constraints { timeout: Duration::from_millis(50), ..plain.clone() };
    vec![
        tool("echo", Constraints { audit_values: true, ..plain.clone() }, |arguments, _| {
            let times = usize::try_from(arguments["times"].as_i64().unwrap()).unwrap();
            answer(&arguments["text"].as_str().unwrap().repeat(times))
        }),
        tool("rare", Constraints { rate_per_minute: 1, ..plain.clone() }, |_, _| answer("")),
        tool("write", asking, |arguments, _| answer(arguments["text"].as_str().unwrap())),
        tool("slow", quick, |_, ctx| {
            while !ctx.is_cancelled() {
                std::thread::yield_now();
            }
            STOPPED.store(true, std::sync::atomic::Ordering::SeqCst);
            answer("too late")
        }),
        tool("patient", plain.clone(), |_, ctx| {
            while !ctx.is_cancelled() {
                std::thread::yield_now();
            }
            answer("nobody reads this")
        }),
        // A change that is past the point of no return when its time is up.
        tool(
            "slow_write",
            Constraints {
                side_effects: SideEffects::Append,
                timeout: Duration::from_millis(20),
                ..plain.clone()
            },
            |arguments, ctx| {
                BEGUN.lock().unwrap().insert(arguments["text"].as_str().unwrap().to_owned());
                while !ctx.is_cancelled() {
                    std::thread::yield_now();
                }
                answer("written")
            },
        ),
        tool("endless", Constraints { timeout: Duration::MAX, ..plain.clone() }, |_, _| answer("")),
        tool("liar", plain.clone(), |_, _| Ok(Output::structured(json!({"texts": 1})))),
        tool("silent", plain.clone(), |_, _| Ok(Output::text("no structure"))),
        tool("panics", plain.clone(), |_, _| panic!("a defect")),
        tool("huge", Constraints { max_output_bytes: 100, ..plain.clone() }, |_, _| {
            answer(&"x".repeat(200))
        }),
        tool("small_input", Constraints { max_input_bytes: 40, ..plain.clone() }, |_, _| {
            answer("")
        }),
        tool("steps", plain, |_, ctx| {
            for step in 1..=3 {
                let message = Some(format!("step {step}"));
                ctx.report(Progress { done: f64::from(step), total: Some(3.0), message });
            }
            answer("done")
        }),
    ]
}

/// The texts of all changes of `slow_write` that were begun: on a busy machine its time may be up before that.
pub(crate) static BEGUN: std::sync::Mutex<std::collections::BTreeSet<String>> =
    std::sync::Mutex::new(std::collections::BTreeSet::new());

/// Set once the work of `slow` has noticed that nobody waits for it.
pub(crate) static STOPPED: std::sync::atomic::AtomicBool =
    std::sync::atomic::AtomicBool::new(false);

pub(crate) fn object(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("an object") };
    map
}
