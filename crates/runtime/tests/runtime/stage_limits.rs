//! Tests of the limits of single stages, and of what a stage passes on.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use async_trait::async_trait;
use contract::{
    CallContext, CallPolicy, Constraints, Contract, ErrorCode, PolicySubject, PolicyVerdict,
    SideEffects, Tool, ToolError, ToolOutput,
};
use runtime::{
    CallInterruption, CallOrigin, ClientCapabilities, ElicitationBroker, ElicitationChannel,
    ElicitationHandler, ElicitationRequest, PipelineOptions, ToolCall, ToolReply,
};
use serde_json::{Value, json};

use crate::rig::{
    AsyncScript, Rig, ScriptedUpstream, answer, build_contract, call, code, scripted_tool,
    upstream_catalog,
};

/// Limit that only ends a call that hangs.
const LIMIT: Duration = Duration::from_secs(60);

async fn rig_of(tools: Vec<Arc<dyn Tool>>) -> Rig {
    Rig::with_tools(tools, PipelineOptions::default()).await
}

#[tokio::test]
async fn size_limits_are_inclusive() {
    // The braces, quotes and the name of `{"text":""}`.
    const FRAME: usize = 11;
    let limited =
        Constraints { max_input_bytes: 100, max_output_bytes: 200, ..Constraints::default() };
    let tool = scripted_tool("sized", limited, |arguments, _| {
        let size = arguments["times"].as_u64().unwrap() as usize;
        answer(&"x".repeat(size))
    });
    let rig = rig_of(vec![tool]).await;
    let input = |size: usize| json!({"text": "x".repeat(size - FRAME)});
    assert_eq!(rig.call("sized", input(100)).await.code(), None);
    assert_eq!(code(&rig.call("sized", input(101)).await), ErrorCode::TooLarge);
    let output = |size: usize| json!({"text": "", "times": size - FRAME});
    assert_eq!(rig.call("sized", output(200)).await.code(), None);
    assert_eq!(code(&rig.call("sized", output(201)).await), ErrorCode::TooLarge);
}

/// A tool with a rule that its schema cannot express.
struct PickyTool(Arc<Contract>);

impl Tool for PickyTool {
    fn contract(&self) -> &Arc<Contract> {
        &self.0
    }

    fn check_arguments(&self, arguments: &Value) -> Result<(), ToolError> {
        match arguments["text"] == "bad" {
            true => Err(ToolError::new(ErrorCode::InvalidInput, "not this text")),
            false => Ok(()),
        }
    }

    fn call(&self, _: Value, _: &CallContext) -> Result<ToolOutput, ToolError> {
        answer("done")
    }
}

#[tokio::test]
async fn rules_of_a_tool_are_checked_before_approval() {
    let asking = Constraints { approval: true, ..Constraints::default() };
    let rig = rig_of(vec![Arc::new(PickyTool(build_contract("picky", asking)))]).await;
    assert_eq!(code(&rig.call("picky", json!({"text": "bad"})).await), ErrorCode::InvalidInput);
    assert!(rig.store.list_approvals(None).await.unwrap().is_empty());
    let reply = rig.call("picky", json!({"text": "good"})).await;
    assert_eq!(code(&reply), ErrorCode::ApprovalRequired);
}

#[tokio::test]
async fn only_valid_trace_context_reaches_the_tool() {
    let seen: Arc<Mutex<Vec<Option<String>>>> = Arc::default();
    let sink = Arc::clone(&seen);
    let tool = scripted_tool("traced", Constraints::default(), move |_, ctx| {
        sink.lock().unwrap().push(ctx.traceparent.as_deref().map(str::to_owned));
        answer("")
    });
    let rig = rig_of(vec![tool]).await;
    let valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for traceparent in [Some(valid), Some("no trace"), None] {
        let mut call = call("traced", json!({"text": ""}));
        call.traceparent = traceparent.map(str::to_owned);
        assert_eq!(rig.pipeline.call(call).await.code(), None);
    }
    assert_eq!(*seen.lock().unwrap(), [Some(valid.to_owned()), None, None]);
}

/// A user whose answers take this much time, which tests can pause.
struct SlowUser(Duration);

#[async_trait]
impl ElicitationHandler for SlowUser {
    async fn elicit(&self, _: &ElicitationRequest) -> Result<Value, String> {
        tokio::time::sleep(self.0).await;
        Ok(json!({"action": "accept", "content": {"approve": true}}))
    }
}

fn connected(mut call: ToolCall, user: SlowUser) -> ToolCall {
    call.origin = CallOrigin::Local;
    call.channel = ElicitationChannel::Connected {
        capabilities: ClientCapabilities { elicitation: true, ..ClientCapabilities::default() },
        handler: Arc::new(user),
    };
    call
}

/// Asks the user, and answers.
struct AskingUpstream;

#[async_trait]
impl AsyncScript for AskingUpstream {
    async fn run(
        &self,
        _: Value,
        broker: &ElicitationBroker,
    ) -> Result<ToolOutput, CallInterruption> {
        broker
            .elicit(vec![ElicitationRequest::new_form("q", "?", json!({"type": "object"}))])
            .await?;
        Ok(ToolOutput::from_structured(json!({"text": "asked"})))
    }
}

#[tokio::test(start_paused = true)]
async fn time_of_the_user_does_not_count_against_the_tool() {
    let limit = Duration::from_secs(1);
    let constraints = Constraints { timeout: limit, ..Constraints::default() };
    let invoker = Arc::new(ScriptedUpstream(AskingUpstream));
    let catalog = upstream_catalog([("asking", constraints, invoker)]);
    let rig = Rig::with_catalog(catalog, PipelineOptions::default()).await;
    let call = connected(call("asking", json!({"text": ""})), SlowUser(limit * 3 / 2));
    assert_eq!(rig.pipeline.call(call).await.code(), None);
}

/// Asks the user, and never answers.
struct EndlessUpstream;

#[async_trait]
impl AsyncScript for EndlessUpstream {
    async fn run(
        &self,
        arguments: Value,
        broker: &ElicitationBroker,
    ) -> Result<ToolOutput, CallInterruption> {
        AskingUpstream.run(arguments, broker).await?;
        std::future::pending().await
    }
}

/// Neither the time of the approval nor that of a question makes the limit longer or shorter.
#[tokio::test(start_paused = true)]
async fn time_limit_counts_the_time_of_the_tool_exactly() {
    let limit = Duration::from_secs(10);
    let user = Duration::from_secs(100);
    for approval in [false, true] {
        let constraints = Constraints { timeout: limit, approval, ..Constraints::default() };
        let invoker = Arc::new(ScriptedUpstream(EndlessUpstream));
        let catalog = upstream_catalog([("endless", constraints, invoker)]);
        let rig = Rig::with_catalog(catalog, PipelineOptions::default()).await;
        let call = connected(call("endless", json!({"text": ""})), SlowUser(user));
        let start = tokio::time::Instant::now();
        let reply = rig.pipeline.call(call).await;
        assert_eq!(code(&reply), ErrorCode::ExecutionTimeout);
        let ToolReply::Failed(error) = reply else { unreachable!() };
        assert_eq!(error.details["limitMs"], 10_000);
        let asked = if approval { 2 } else { 1 };
        let spent = start.elapsed() - user * asked;
        // The timer of the runtime ticks in milliseconds.
        assert!((limit..limit + Duration::from_secs(1)).contains(&spent), "{spent:?}");
    }
}

/// Never answers.
struct SilentUpstream;

#[async_trait]
impl AsyncScript for SilentUpstream {
    async fn run(&self, _: Value, _: &ElicitationBroker) -> Result<ToolOutput, CallInterruption> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn time_limit_is_a_day_at_most_and_a_side_effect_gets_two_seconds_more() {
    let seconds = Duration::from_secs;
    for (timeout, side_effects, reported, expected) in [
        (seconds(7), SideEffects::None, 7_000, seconds(7)),
        (seconds(7), SideEffects::Append, 7_000, seconds(9)),
        (Duration::MAX, SideEffects::None, 86_400_000, seconds(86_400)),
    ] {
        let constraints = Constraints { timeout, side_effects, ..Constraints::default() };
        let invoker = Arc::new(ScriptedUpstream(SilentUpstream));
        let catalog = upstream_catalog([("silent", constraints, invoker)]);
        let rig = Rig::with_catalog(catalog, PipelineOptions::default()).await;
        let start = tokio::time::Instant::now();
        let ToolReply::Failed(error) = rig.call("silent", json!({"text": ""})).await else {
            panic!("a call without an answer")
        };
        assert_eq!(error.code, ErrorCode::ExecutionTimeout);
        assert_eq!(error.details["limitMs"], reported);
        let spent = start.elapsed();
        assert!((expected..expected + seconds(1)).contains(&spent), "{spent:?}");
    }
}

#[tokio::test]
async fn side_effect_that_never_ends_is_abandoned() {
    let (release, released) = mpsc::channel::<()>();
    let released = Mutex::new(released);
    let constraints = Constraints {
        side_effects: SideEffects::Append,
        timeout: Duration::from_millis(20),
        ..Constraints::default()
    };
    let tool = scripted_tool("stuck", constraints, move |_, _| {
        let _ = released.lock().unwrap().recv_timeout(LIMIT);
        answer("late")
    });
    let rig = rig_of(vec![tool]).await;
    let call = rig.call("stuck", json!({"text": ""}));
    let reply = tokio::time::timeout(LIMIT / 2, call).await.expect("the call ends");
    assert_eq!(code(&reply), ErrorCode::ExecutionTimeout);
    drop(release);
    assert_eq!(rig.audit_records().await[0]["outcome"], "unknown");
}

#[tokio::test]
async fn call_that_is_cancelled_before_its_approval_has_not_run() {
    let rig = Rig::new().await;
    let call = connected(call("write", json!({"text": "x"})), SlowUser(LIMIT));
    let cancel = call.cancel.clone();
    let (reply, ()) = tokio::join!(rig.pipeline.call(call), async { cancel.cancel() });
    assert_eq!(code(&reply), ErrorCode::Cancelled);
    assert_eq!(rig.audit_records().await[0]["outcome"], "error");
}

/// Denies every result.
struct NoResults;

impl CallPolicy for NoResults {
    fn on_call(&self, _: &PolicySubject<'_>) -> PolicyVerdict {
        PolicyVerdict::Allow
    }

    fn on_result(&self, _: &PolicySubject<'_>, _: &Value) -> PolicyVerdict {
        PolicyVerdict::Deny { rule: "none".into(), reason: None }
    }
}

#[tokio::test]
async fn failures_are_no_results() {
    let failing = |_: Value| -> Result<ToolOutput, CallInterruption> {
        Ok(ToolOutput { is_error: true, ..ToolOutput::from_text("failed") })
    };
    let working = |_: Value| -> Result<ToolOutput, CallInterruption> {
        Ok(ToolOutput::from_structured(json!({"text": "done"})))
    };
    let catalog = upstream_catalog([
        ("failing", Constraints::default(), Arc::new(ScriptedUpstream(failing)) as _),
        ("working", Constraints::default(), Arc::new(ScriptedUpstream(working)) as _),
    ]);
    let options =
        PipelineOptions { policy: Some(Arc::new(NoResults)), ..PipelineOptions::default() };
    let rig = Rig::with_catalog(catalog, options).await;
    let reply = rig.call("failing", json!({"text": ""})).await;
    assert!(matches!(&reply, ToolReply::Done(output) if output.is_error), "{reply:?}");
    let ToolReply::Failed(error) = rig.call("working", json!({"text": ""})).await else { panic!() };
    assert_eq!(error.code, ErrorCode::AccessDenied);
    // The answer that is kept for people is complete.
    let id = error.details["callId"].as_str().unwrap();
    let kept = rig.store.find_withheld_answer(id).await.unwrap();
    let raw: Value = serde_json::from_str(&kept.raw).unwrap();
    assert_eq!(raw, json!({"content": [], "structuredContent": {"text": "done"}}));
}

#[tokio::test]
async fn text_is_added_only_to_results_without_one() {
    let with_text = scripted_tool("with_text", Constraints::default(), |_, _| {
        let mut output = ToolOutput::from_structured(json!({"text": "a"}));
        output.content.push(contract::ContentBlock::Text("own".into()));
        Ok(output)
    });
    let failing = scripted_tool("failing", Constraints::default(), |_, _| {
        Ok(ToolOutput { is_error: true, ..ToolOutput::from_structured(json!({"text": "a"})) })
    });
    let plain = scripted_tool("plain", Constraints::default(), |_, _| answer("a"));
    let rig = rig_of(vec![with_text, failing, plain]).await;
    for (tool, expected) in [
        ("with_text", json!([{"type": "text", "text": "own"}])),
        ("failing", json!([])),
        ("plain", json!([{"type": "text", "text": r#"{"text":"a"}"#}])),
    ] {
        let ToolReply::Done(output) = rig.call(tool, json!({"text": ""})).await else { panic!() };
        let blocks: Vec<Value> = output.content.iter().map(|block| block.to_block()).collect();
        assert_eq!(json!(blocks), expected, "{tool}");
    }
}
