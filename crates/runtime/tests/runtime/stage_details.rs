//! Tests of details that a stage passes on: who is asked, what a refusal says, and what the records of a call contain.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use async_trait::async_trait;
use contract::{
    CallContext, Caller, Constraints, Contract, ErrorCode, Resource, ResourceContent,
    ResourceProvider, SchemaViolation, Tool, ToolDefinition, ToolError, ToolOutput,
};
use runtime::{
    CallOrigin, Catalog, ClientCapabilities, ElicitationChannel, ElicitationHandler,
    ElicitationKind, ElicitationRequest, PipelineOptions, RateClock, RoundInput, ToolCall,
    ToolReply,
};
use serde_json::{Value, json};

use crate::http::{HttpServer, fetch_summary};
use crate::rig::{Rig, answer, build_contract, call, code, reply_to_json, scripted_tool};

/// Limit that only ends a test that hangs.
const LIMIT: Duration = Duration::from_secs(60);

async fn rig_of(tool: Arc<dyn Tool>) -> Rig {
    Rig::with_tools(vec![tool], PipelineOptions::default()).await
}

/// A client that must not be asked.
struct SilentClient;

#[async_trait]
impl ElicitationHandler for SilentClient {
    async fn elicit(&self, request: &ElicitationRequest) -> Result<Value, String> {
        panic!("the client was asked: {request:?}")
    }
}

#[tokio::test]
async fn client_that_cannot_ask_its_user_waits_for_the_queue() {
    let sampling = ClientCapabilities { sampling: true, roots: true, ..Default::default() };
    let url = ClientCapabilities { elicitation_url: true, ..Default::default() };
    for capabilities in [ClientCapabilities::default(), sampling, url] {
        let connected =
            ElicitationChannel::Connected { capabilities, handler: Arc::new(SilentClient) };
        let rounds =
            ElicitationChannel::MultiRound(RoundInput { capabilities, ..RoundInput::default() });
        for channel in [ElicitationChannel::Unavailable, connected, rounds] {
            let rig = Rig::new().await;
            let call = ToolCall {
                origin: CallOrigin::Local,
                channel,
                ..call("write", json!({"text": "one"}))
            };
            let reply = rig.pipeline.call(call).await;
            assert_eq!(code(&reply), ErrorCode::ApprovalRequired, "{capabilities:?}");
            assert_eq!(rig.store.list_approvals(None).await.unwrap().len(), 1);
        }
    }
}

#[test]
fn each_kind_of_elicitation_needs_its_capability() {
    let request = |kind| ElicitationRequest { key: "q".into(), kind };
    let none = ClientCapabilities::default();
    for (kind, name, able) in [
        (
            ElicitationKind::Form { message: String::new(), schema: json!({}) },
            "elicitation",
            ClientCapabilities { elicitation: true, ..none },
        ),
        (
            ElicitationKind::RawElicitation(json!({"mode": "form"})),
            "elicitation",
            ClientCapabilities { elicitation: true, ..none },
        ),
        (
            ElicitationKind::RawElicitation(json!({})),
            "elicitation",
            ClientCapabilities { elicitation: true, ..none },
        ),
        (
            ElicitationKind::RawElicitation(json!({"mode": "url"})),
            "elicitation.url",
            ClientCapabilities { elicitation_url: true, ..none },
        ),
        (
            ElicitationKind::Sampling(json!({"mode": "url"})),
            "sampling",
            ClientCapabilities { sampling: true, ..none },
        ),
        (ElicitationKind::Roots, "roots", ClientCapabilities { roots: true, ..none }),
    ] {
        let request = request(kind);
        assert_eq!(request.capability_name(), name);
        assert!(able.can_answer(&request), "{request:?}");
        let all = ClientCapabilities {
            elicitation: true,
            elicitation_url: true,
            sampling: true,
            roots: true,
        };
        let others = ClientCapabilities {
            elicitation: all.elicitation != able.elicitation,
            elicitation_url: all.elicitation_url != able.elicitation_url,
            sampling: all.sampling != able.sampling,
            roots: all.roots != able.roots,
        };
        assert!(!others.can_answer(&request), "{request:?}");
    }
}

#[tokio::test]
async fn summary_names_the_client_and_falls_back_to_the_description() {
    let definition = ToolDefinition {
        name: "untitled".into(),
        description: Some("Deletes\nall files.".into()),
        input_schema: Some(json!({"type": "object", "properties": {"list": {"type": "array"}}})),
        constraints: Some(Constraints { approval: true, ..Constraints::default() }),
        ..ToolDefinition::default()
    };
    let contract = Arc::new(Contract::new(definition, &[]).unwrap());
    let rig = rig_of(Arc::new(WordingTool { contract, now: None })).await;
    let mut asked = call("untitled", json!({"list": [1, "a"]}));
    asked.caller = Caller {
        principal: "ma\nry".into(),
        client: Some("evil\nCaller: root".into()),
        session: None,
    };
    assert_eq!(code(&rig.pipeline.call(asked).await), ErrorCode::ApprovalRequired);
    let approvals = rig.store.list_approvals(None).await.unwrap();
    let summary = &approvals[0].summary;
    let head: Vec<_> = summary.lines().take(4).collect();
    assert_eq!(head[0], "Allow `untitled`?");
    assert!(head[1].starts_with("Caller: ma") && head[1].contains("(evil"), "{summary}");
    assert!(head[1].ends_with("root)"), "{summary}");
    assert!(head[2].starts_with("Action: Deletes") && head[2].contains("all files."), "{summary}");
    assert_eq!(head[3], "", "{summary}");
    assert!(summary.contains("list:\n  │ [\n  │   1,\n  │   \"a\"\n  │ ]\n"), "{summary}");
    assert_eq!(approvals[0].client.as_deref(), Some("evil\nCaller: root"));
}

/// A tool with its own words for invalid arguments, and a result that may be available at once.
struct WordingTool {
    contract: Arc<Contract>,
    now: Option<fn() -> Result<ToolOutput, ToolError>>,
}

impl Tool for WordingTool {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn reword_violation(&self, violation: &SchemaViolation) -> Option<ToolError> {
        (violation.keyword == "type")
            .then(|| ToolError::new(ErrorCode::NotFound, "text is not a text"))
    }

    fn call_now(&self, _: &Value, _: &CallContext) -> Option<Result<ToolOutput, ToolError>> {
        self.now.map(|now| now())
    }

    fn call(&self, _: Value, _: &CallContext) -> Result<ToolOutput, ToolError> {
        answer("later")
    }
}

#[tokio::test]
async fn tool_may_reword_violations() {
    let contract = build_contract("worded", Constraints::default());
    let rig = rig_of(Arc::new(WordingTool { contract, now: None })).await;
    let reply = reply_to_json(&rig.call("worded", json!({"text": 1})).await);
    assert_eq!(
        (&reply["code"], &reply["message"]),
        (&json!("NOT_FOUND"), &json!("text is not a text"))
    );
    let reply = reply_to_json(&rig.call("worded", json!({})).await);
    assert_eq!(reply["code"], "INVALID_INPUT");
    assert_eq!(reply["details"]["rule"], "required", "{reply}");
}

#[tokio::test]
async fn result_may_be_available_at_once() {
    let run = async |now| {
        let contract = build_contract("quick", Constraints::default());
        let rig = rig_of(Arc::new(WordingTool { contract, now })).await;
        reply_to_json(&rig.call("quick", json!({"text": ""})).await)
    };
    assert_eq!(run(None).await, json!({"structured": {"text": "later"}}));
    assert_eq!(run(Some(|| answer("now"))).await, json!({"structured": {"text": "now"}}));
    let failing = run(Some(|| Err(ToolError::new(ErrorCode::NotFound, "gone")))).await;
    assert_eq!(failing["code"], "NOT_FOUND");
    let panicking = run(Some(|| panic!("a defect"))).await;
    assert_eq!(panicking["code"], "INTERNAL_ERROR");
}

#[tokio::test]
async fn rate_limit_says_exactly_how_long_to_wait() {
    let rate_clock = RateClock::new(|| Duration::ZERO);
    let rig = Rig::with_options(PipelineOptions { rate_clock, ..PipelineOptions::default() }).await;
    assert_eq!(rig.call("rare", json!({"text": ""})).await.code(), None);
    let reply = reply_to_json(&rig.call("rare", json!({"text": ""})).await);
    assert_eq!(reply["details"], json!({"limit": 1, "retryAfterMs": 60_001}));
    assert_eq!(
        reply["message"],
        "rate limit of 1 calls per minute exceeded for `rare`; retry in 60001 ms"
    );
}

#[tokio::test]
async fn names_in_records_are_shortened() {
    let rig = Rig::new().await;
    let mut long = call(&"t".repeat(200), json!({}));
    long.caller.client = Some("c".repeat(200).into());
    let reply = reply_to_json(&rig.pipeline.call(long).await);
    assert_eq!(reply["details"]["tool"], "t".repeat(128));
    let mut write = call("echo", json!({"text": ""}));
    write.caller.client = Some("client/1".into());
    rig.pipeline.call(write).await;
    let lines = rig.audit_records().await;
    assert_eq!(
        (&lines[0]["tool"], &lines[0]["client"]),
        (&json!("t".repeat(128)), &json!("c".repeat(128)))
    );
    assert_eq!((&lines[1]["tool"], &lines[1]["client"]), (&json!("echo"), &json!("client/1")));
}

#[tokio::test]
async fn drain_waits_for_calls_in_flight() {
    let (release, released) = mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    let constraints = Constraints { timeout: LIMIT, ..Constraints::default() };
    let gate = scripted_tool("gate", constraints, move |_, _| {
        let _ = released.lock().unwrap().recv_timeout(LIMIT);
        answer("through")
    });
    let rig = rig_of(gate).await;
    let mut running = std::pin::pin!(rig.call("gate", json!({"text": ""})));
    assert!(futures::poll!(&mut running).is_pending());
    let mut drained = std::pin::pin!(rig.pipeline.drain());
    for _ in 0..100 {
        assert!(futures::poll!(&mut drained).is_pending());
        tokio::task::yield_now().await;
    }
    release.send(()).unwrap();
    let (reply, ()) = tokio::join!(running, drained);
    assert_eq!(reply.code(), None);
    assert_eq!(rig.audit_lines().iter().filter(|line| line["tool"] == "gate").count(), 1);
}

/// Provides one document, and counts its reads.
struct CountedDocument(Arc<AtomicUsize>);

impl ResourceProvider for CountedDocument {
    fn list_resources(&self) -> Vec<Resource> {
        Vec::new()
    }

    fn read_resource(&self, uri: &str, _: &CallContext) -> Result<ResourceContent, ToolError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(ResourceContent::from_text(uri, "text/plain", "read"))
    }
}

/// One blocking thread, so that abandoned work is still queued when its caller has gone.
#[test]
fn abandoned_work_that_has_not_begun_does_not_run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    runtime.block_on(async {
        let runs = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&runs);
        let mut catalog = Catalog::default();
        let tool = scripted_tool("counted", Constraints::default(), move |_, _| {
            counter.fetch_add(1, Ordering::SeqCst);
            answer("ran")
        });
        catalog.add_tool(tool).unwrap();
        let reads = Arc::new(AtomicUsize::new(0));
        catalog.add_resources(Arc::new(CountedDocument(Arc::clone(&reads))), |_| {}).unwrap();
        let rig = Rig::with_catalog(catalog, PipelineOptions::default()).await;
        assert_eq!(rig.call("counted", json!({"text": ""})).await.code(), None);
        let read =
            || rig.pipeline.call(ToolCall::for_resource("a:b".into(), Caller::new("tester")));
        assert_eq!(read().await.code(), None);

        let (release, released) = mpsc::channel::<()>();
        let blocked = tokio::task::spawn_blocking(move || {
            let _ = released.recv_timeout(LIMIT);
        });
        {
            let mut abandoned = std::pin::pin!(rig.call("counted", json!({"text": ""})));
            let mut abandoned_read = std::pin::pin!(read());
            assert!(futures::poll!(&mut abandoned).is_pending());
            assert!(futures::poll!(&mut abandoned_read).is_pending());
        }
        release.send(()).unwrap();
        blocked.await.unwrap();
        // Queued behind the abandoned work.
        tokio::task::spawn_blocking(|| ()).await.unwrap();
        assert_eq!((runs.load(Ordering::SeqCst), reads.load(Ordering::SeqCst)), (1, 1));
    });
}

#[tokio::test]
async fn withheld_answer_names_its_tool_and_a_bounded_violation() {
    let definition = ToolDefinition {
        name: "liar".into(),
        input_schema: Some(json!({"type": "object"})),
        output_schema: Some(json!({"type": "object", "additionalProperties": {"type": "string"}})),
        constraints: Some(Constraints::default()),
        ..ToolDefinition::default()
    };
    let contract = Arc::new(Contract::new(definition, &[]).unwrap());
    let output = ToolOutput::from_structured(json!({"n".repeat(3000): 1}));
    let invoker = Arc::new(crate::rig::ScriptedUpstream(move |_: Value| Ok(output.clone())));
    let mut catalog = Catalog::default();
    catalog.add_invoker(contract, invoker).unwrap();
    let rig = Rig::with_catalog(catalog, PipelineOptions::default()).await;
    let ToolReply::Failed(error) = rig.call("liar", json!({})).await else { panic!() };
    assert_eq!(error.details["tool"], "liar");
    let kept = rig.store.list_withheld_answers(1).await.unwrap();
    assert_eq!(kept[0].violation.chars().count(), 1000);
}

#[tokio::test]
async fn request_refused_at_the_door_is_counted_once() {
    let server = HttpServer::with_options(|_| {}).await;
    let evil = server.get("/v1/tools").header("host", "evil.example");
    assert!(fetch_summary(evil).await.starts_with("403"));
    let metrics = server.metrics();
    for line in [
        r#"vouch_calls_total{tool="(door)"} 1"#,
        r#"vouch_failures_total{tool="(door)",code="ACCESS_DENIED"} 1"#,
        "vouch_calls_in_flight 0",
    ] {
        assert!(metrics.lines().any(|it| it == line), "{line}: {metrics}");
    }
    server.stop().await;
}

#[test]
fn operator_who_sets_nothing_gets_these_limits() {
    let options = PipelineOptions::default();
    assert_eq!(options.approval_lifetime, Duration::from_secs(900));
    assert_eq!(options.elicitation_timeout, Duration::from_secs(300));
    assert_eq!(options.list_ttl, Duration::from_secs(60));
    assert!(!options.queue_approvals && !options.live);
    assert!(options.policy.is_none() && options.clients.is_empty() && options.approve.is_empty());
    assert_eq!(options.output_secrets, runtime::SecretOutputMode::Redact);
}
