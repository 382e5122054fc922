//! Tests of elicitations by upstream servers, forwarded to the user in both eras of the protocol.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use contract::{CallContext, Caller, Constraints, ErrorCode, Progress, ToolOutput};
use runtime::{
    AnswerOrigin, CallInterruption, CallOrigin, Catalog, ClientCapabilities, ElicitationAnswers,
    ElicitationBroker, ElicitationChannel, ElicitationHandler, ElicitationKind, ElicitationRequest,
    Invoker, MAX_CARRIED_BYTES, PipelineOptions, ProtocolRefusal, RoundInput, ToolCall, ToolReply,
};
use serde_json::{Value, json};
use store::ApprovalDecision;
use tokio::sync::Notify;

use crate::http::HttpServer;
use crate::rig::{
    AsyncScript, Rig, ScriptedUpstream, ann, call, code, reply_to_json, upstream_catalog,
};
use crate::stdio::StdioSession;

fn form() -> Value {
    // Unknown fields must be forwarded.
    json!({
        "message": "Which one?",
        "requestedSchema": {
            "type": "object",
            "properties": {"name": {"type": "string", "x-hint": 1, "pattern": "^a"}},
            "x-order": ["name"],
        },
        "mode": "form",
        "x-extra": [1.10, 2],
    })
}

fn question(key: &str) -> ElicitationRequest {
    ElicitationRequest { key: key.into(), kind: ElicitationKind::RawElicitation(form()) }
}

/// An upstream server of the stateless revision: it elicits twice under the same key, and keeps its own state.
#[derive(Default)]
struct StatefulUpstream {
    begun: AtomicUsize,
}

#[async_trait]
impl AsyncScript for Arc<StatefulUpstream> {
    async fn run(
        &self,
        _: Value,
        broker: &ElicitationBroker,
    ) -> Result<ToolOutput, CallInterruption> {
        let mut state = match broker.carried_state() {
            Some(state) => state.clone(),
            None => {
                self.begun.fetch_add(1, Ordering::SeqCst);
                json!({"step": 0, "heard": []})
            }
        };
        let mut answers = broker.upstream_answers();
        loop {
            for answer in answers.values() {
                state["heard"].as_array_mut().unwrap().push(answer["content"]["name"].clone());
            }
            let step = state["step"].as_u64().unwrap();
            if step == 2 {
                return Ok(ToolOutput::from_structured(
                    json!({"text": state["heard"].to_string()}),
                ));
            }
            state["step"] = json!(step + 1);
            answers = broker.elicit_with_state(vec![question("approval")], state.clone()).await?;
        }
    }
}

fn stateful(constraints: Constraints) -> (Arc<StatefulUpstream>, Catalog) {
    let server = Arc::<StatefulUpstream>::default();
    let invoker = Arc::new(ScriptedUpstream(Arc::clone(&server)));
    (server, upstream_catalog([("wizard", constraints, invoker)]))
}

fn wizard() -> ToolCall {
    call("wizard", json!({"text": ""}))
}

fn form_and_sampling() -> ClientCapabilities {
    ClientCapabilities { elicitation: true, sampling: true, ..ClientCapabilities::default() }
}

fn round(answers: Value, state: Option<&str>) -> ToolCall {
    let mut call = wizard();
    let answers: ElicitationAnswers = serde_json::from_value(answers).unwrap();
    call.origin = CallOrigin::Local;
    call.channel = ElicitationChannel::MultiRound(RoundInput {
        capabilities: form_and_sampling(),
        answers,
        state: state.map(str::to_owned),
    });
    call
}

fn accept_with_name(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

fn expect_input_required(reply: ToolReply) -> (Vec<ElicitationRequest>, String) {
    match reply {
        ToolReply::InputRequired { elicitations: requests, state } => (requests, state),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn multi_round_call_continues_with_carried_state() {
    let (server, catalog) = stateful(Constraints::default());
    let rig = Rig::with_catalog(catalog, PipelineOptions::default()).await;
    // An unrequested answer is ignored.
    let early = json!({"upstream/approval": accept_with_name("early"), "approval": accept_with_name("early")});
    let (questions, first) = expect_input_required(rig.pipeline.call(round(early, None)).await);
    assert_eq!(questions[0].key, "upstream/approval");
    assert_eq!(questions[0].kind, ElicitationKind::RawElicitation(form()));

    let answers = json!({"upstream/approval": accept_with_name("one"), "other": accept_with_name("unrequested")});
    let (_, second) = expect_input_required(rig.pipeline.call(round(answers, Some(&first))).await);
    let answers = json!({"upstream/approval": accept_with_name("two")});
    let reply = rig.pipeline.call(round(answers.clone(), Some(&second))).await;
    assert_eq!(reply_to_json(&reply), json!({"structured": {"text": r#"["one","two"]"#}}));
    assert_eq!(server.begun.load(Ordering::SeqCst), 1, "the call was started once");

    // A used state, an altered state and the state of another call are refused.
    let refused =
        |reply: ToolReply| matches!(reply, ToolReply::Refused(ProtocolRefusal::InvalidState(_)));
    assert!(refused(rig.pipeline.call(round(answers.clone(), Some(&first))).await));
    let (_, state) = expect_input_required(rig.pipeline.call(round(json!({}), None)).await);
    let forged = format!("{state}x");
    assert!(refused(rig.pipeline.call(round(answers.clone(), Some(&forged))).await));
    let mut foreign = round(answers.clone(), Some(&state));
    foreign.caller = Caller::new("other");
    assert!(refused(rig.pipeline.call(foreign).await));
    let mut other = round(answers, Some(&state));
    other.arguments.insert("times".into(), json!(2));
    assert!(refused(rig.pipeline.call(other).await));
}

#[tokio::test]
async fn missing_answers_reach_the_upstream_server() {
    let (_, catalog) = stateful(Constraints::default());
    let rig = Rig::with_catalog(catalog, PipelineOptions::default()).await;
    let (_, state) = expect_input_required(rig.pipeline.call(round(json!({}), None)).await);
    let (_, state) = expect_input_required(rig.pipeline.call(round(json!({}), Some(&state))).await);
    let no_object = json!({"upstream/approval": 7});
    let reply = rig.pipeline.call(round(no_object, Some(&state))).await;
    assert_eq!(reply_to_json(&reply), json!({"structured": {"text": "[]"}}));
}

/// One approval covers all rounds of a call.
#[tokio::test]
async fn approval_is_requested_once_per_multi_round_call() {
    let asking = Constraints { approval: true, ..Constraints::default() };
    let approved = json!({"action": "accept", "content": {"approve": true}});
    let (_, catalog) = stateful(asking.clone());
    let rig = Rig::with_catalog(catalog, PipelineOptions::default()).await;
    let (questions, state) = expect_input_required(rig.pipeline.call(round(json!({}), None)).await);
    assert_eq!(questions[0].key, "approval");
    let answers = json!({"approval": approved});
    let (questions, state) =
        expect_input_required(rig.pipeline.call(round(answers, Some(&state))).await);
    assert_eq!(questions[0].key, "upstream/approval", "distinct from the approval key");
    let answers = json!({"upstream/approval": accept_with_name("one"), "approval": accept_with_name("not about this")});
    let (_, state) = expect_input_required(rig.pipeline.call(round(answers, Some(&state))).await);
    let answers = json!({"upstream/approval": accept_with_name("two")});
    let reply = rig.pipeline.call(round(answers, Some(&state))).await;
    assert_eq!(reply_to_json(&reply), json!({"structured": {"text": r#"["one","two"]"#}}));

    // The client has no forms, so the approval is queued. The first round uses it up.
    let sampling = Arc::new(ScriptedUpstream(SamplingUpstream));
    let catalog = upstream_catalog([("wizard", asking, sampling)]);
    let rig = Rig::with_catalog(catalog, PipelineOptions::default()).await;
    let round = |answers: Value, state: Option<&str>| {
        let mut call = round(answers, state);
        if let ElicitationChannel::MultiRound(rounds) = &mut call.channel {
            rounds.capabilities =
                ClientCapabilities { sampling: true, ..ClientCapabilities::default() };
        }
        call
    };
    assert_eq!(code(&rig.pipeline.call(round(json!({}), None)).await), ErrorCode::ApprovalRequired);
    let id = rig.store.list_approvals(None).await.unwrap()[0].id.clone();
    rig.store.decide_approval(&id, ApprovalDecision::Approve, &ann()).await.unwrap();
    let (_, state) = expect_input_required(rig.pipeline.call(round(json!({}), None)).await);
    let answers = json!({"upstream/s": {"model": "m"}});
    let reply = rig.pipeline.call(round(answers, Some(&state))).await;
    assert_eq!(reply_to_json(&reply), json!({"structured": {"text": "m"}}));
    assert_eq!(code(&rig.pipeline.call(round(json!({}), None)).await), ErrorCode::ApprovalRequired);
    // The rounds after the approved one carry the approval on, and their audit records name it too.
    let approval = json!({"id": id, "by": "ann", "channel": "queue"});
    let lines = rig.audit_records().await;
    assert_eq!([&lines[1]["approval"], &lines[2]["approval"]], [&approval, &approval], "{lines:?}");
    assert!(lines[0].get("approval").is_none() && lines[3].get("approval").is_none());
}

struct SamplingUpstream;

#[async_trait]
impl AsyncScript for SamplingUpstream {
    async fn run(
        &self,
        _: Value,
        broker: &ElicitationBroker,
    ) -> Result<ToolOutput, CallInterruption> {
        if broker.carried_state().is_none() {
            let kind = ElicitationKind::Sampling(json!({"messages": [], "maxTokens": 1}));
            broker
                .elicit_with_state(vec![ElicitationRequest { key: "s".into(), kind }], json!(1))
                .await?;
        }
        Ok(ToolOutput::from_structured(json!({"text": broker.upstream_answers()["s"]["model"]})))
    }
}

#[tokio::test]
async fn carried_state_is_bounded() {
    struct OversizedUpstream;
    #[async_trait]
    impl AsyncScript for OversizedUpstream {
        async fn run(
            &self,
            _: Value,
            broker: &ElicitationBroker,
        ) -> Result<ToolOutput, CallInterruption> {
            let carry = json!("x".repeat(MAX_CARRIED_BYTES));
            broker.elicit_with_state(vec![question("q")], carry).await?;
            unreachable!("the state is too large")
        }
    }
    let catalog = upstream_catalog([(
        "wizard",
        Constraints::default(),
        Arc::new(ScriptedUpstream(OversizedUpstream)),
    )]);
    let rig = Rig::with_catalog(catalog, PipelineOptions::default()).await;
    assert_eq!(code(&rig.pipeline.call(round(json!({}), None)).await), ErrorCode::TooLarge);
}

#[tokio::test]
async fn client_without_capability_is_refused() {
    let (_, catalog) = stateful(Constraints::default());
    let rig = Rig::with_catalog(catalog, PipelineOptions::default()).await;
    let mut call = round(json!({}), None);
    call.channel = ElicitationChannel::MultiRound(RoundInput::default());
    for call in [call, wizard()] {
        let reply = rig.pipeline.call(call).await;
        assert!(
            matches!(reply, ToolReply::Refused(ProtocolRefusal::MissingCapability("elicitation"))),
            "{reply:?}"
        );
    }
}

/// Answers every elicitation with a number as name, and records the elicitations.
#[derive(Default)]
struct RecordingHandler {
    asked: Mutex<Vec<ElicitationKind>>,
}

#[async_trait]
impl ElicitationHandler for RecordingHandler {
    async fn elicit(&self, question: &ElicitationRequest) -> Result<Value, String> {
        let mut asked = self.asked.lock().unwrap();
        asked.push(question.kind.clone());
        Ok(accept_with_name(&asked.len().to_string()))
    }
}

fn connected(supported: ClientCapabilities) -> (Arc<RecordingHandler>, ToolCall) {
    let person = Arc::<RecordingHandler>::default();
    let mut call = wizard();
    call.origin = CallOrigin::Local;
    call.channel = ElicitationChannel::Connected {
        capabilities: supported,
        handler: Arc::clone(&person) as Arc<dyn ElicitationHandler>,
    };
    (person, call)
}

#[tokio::test]
async fn connected_call_waits_for_every_answer() {
    let (server, catalog) = stateful(Constraints::default());
    let rig = Rig::with_catalog(catalog, PipelineOptions::default()).await;
    let (person, call) = connected(form_and_sampling());
    assert_eq!(
        reply_to_json(&rig.pipeline.call(call).await),
        json!({"structured": {"text": r#"["1","2"]"#}})
    );
    assert_eq!(
        *person.asked.lock().unwrap(),
        [(); 2].map(|()| ElicitationKind::RawElicitation(form()))
    );
    assert_eq!(server.begun.load(Ordering::SeqCst), 1);
}

/// An upstream server of the handshake revisions that elicits in the middle of its call and keeps the broker.
#[derive(Default)]
struct RelayingUpstream {
    kept: Mutex<Option<ElicitationBroker>>,
    questions: Mutex<Vec<(&'static str, Value)>>,
}

#[async_trait]
impl AsyncScript for Arc<RelayingUpstream> {
    async fn run(
        &self,
        _: Value,
        broker: &ElicitationBroker,
    ) -> Result<ToolOutput, CallInterruption> {
        *self.kept.lock().unwrap() = Some(broker.clone());
        let questions = self.questions.lock().unwrap().clone();
        let mut log = Vec::new();
        for (method, params) in questions {
            // From another task, as a connection would.
            let broker = broker.clone();
            let asked = tokio::spawn(async move { broker.relay_request(method, params).await });
            log.push(match asked.await.unwrap() {
                Ok(answer) => answer.to_string(),
                Err(reason) => reason,
            });
        }
        Ok(ToolOutput::from_structured(json!({"text": log.join("\n")})))
    }
}

async fn run_relaying(
    questions: Vec<(&'static str, Value)>,
    call: ToolCall,
) -> (Arc<RelayingUpstream>, String) {
    let server = Arc::<RelayingUpstream>::default();
    *server.questions.lock().unwrap() = questions;
    let invoker = Arc::new(ScriptedUpstream(Arc::clone(&server)));
    let catalog = upstream_catalog([("wizard", Constraints::default(), invoker)]);
    let rig = Rig::with_catalog(catalog, PipelineOptions::default()).await;
    let reply = reply_to_json(&rig.pipeline.call(call).await);
    (server, reply["structured"]["text"].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned())
}

fn questions() -> Vec<(&'static str, Value)> {
    let page =
        json!({"mode": "url", "message": "m", "url": "https://example.com", "elicitationId": "e"});
    vec![
        ("elicitation/create", form()),
        ("elicitation/create", page),
        ("sampling/createMessage", json!({"messages": [], "maxTokens": 1})),
        ("roots/list", json!({})),
        ("ping", json!({})),
        ("elicitation/create", json!({"message": "x".repeat(300_000)})),
    ]
}

#[tokio::test]
async fn relayed_elicitation_reaches_connected_user() {
    let (person, call) = connected(form_and_sampling());
    let (server, log) = run_relaying(questions(), call).await;
    insta::assert_snapshot!(log);
    let asked = person.asked.lock().unwrap().clone();
    assert_eq!(asked[0], ElicitationKind::RawElicitation(form()));
    assert_eq!(asked.len(), 2, "{asked:?}");
    // After the end of the call no elicitation is sent.
    let kept = server.kept.lock().unwrap().clone().unwrap();
    assert_eq!(
        kept.relay_request("elicitation/create", form()).await.unwrap_err(),
        "the call has ended"
    );
    // URL elicitation requires its own capability.
    let (_, call) =
        connected(ClientCapabilities { elicitation_url: true, ..ClientCapabilities::default() });
    let (_, log) = run_relaying(questions(), call).await;
    assert_eq!(log.lines().nth(1).unwrap(), accept_with_name("1").to_string());
}

#[tokio::test]
async fn relayed_elicitation_is_declined_without_connection() {
    for call in [round(json!({}), None), wizard()] {
        let (_, log) = run_relaying(questions(), call).await;
        assert!(log.starts_with("{\"action\":\"decline\"}\n{\"action\":\"decline\"}\n"), "{log}");
        assert!(log.contains("\nthe client does not support sampling\n"), "{log}");
    }
}

#[tokio::test]
async fn elicitations_per_call_are_limited() {
    let (person, call) = connected(form_and_sampling());
    let (_, log) = run_relaying(vec![("elicitation/create", form()); 100], call).await;
    assert_eq!(person.asked.lock().unwrap().len(), 64);
    assert!(log.ends_with("a call may send at most 64 elicitations"), "{log}");
}

#[tokio::test]
async fn elicitation_is_forwarded_unmodified_over_every_transport() {
    let rig = async || {
        let (_, catalog) = stateful(Constraints::default());
        Rig::with_catalog(catalog, PipelineOptions::default()).await
    };
    let answer = json!({"action": "accept", "content": {"name": "a"}});
    let params = json!({"name": "wizard", "arguments": {"text": ""}});

    let mut session = StdioSession::with_rig(rig().await);
    session.initialize(json!({"elicitation": {}})).await;
    session
        .send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        .await;
    for _ in 0..2 {
        let mut asked = session.receive().await.unwrap();
        assert_eq!(asked["method"], "elicitation/create");
        // The SDK adds its progress token.
        asked["params"].as_object_mut().unwrap().shift_remove("_meta");
        assert_eq!(asked["params"].to_string(), form().to_string());
        session.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer})).await;
    }
    let reply = session.receive().await.unwrap();
    assert_eq!(reply["result"]["structuredContent"]["text"], r#"["a","a"]"#, "{reply}");

    let server = HttpServer::with_rig(rig().await, |_| {}).await;
    let able = json!({"elicitation": {}});
    let mut params = params;
    for _ in 0..2 {
        let reply = server
            .rpc_with_capabilities("tools/call", params.clone(), able.clone())
            .send()
            .await
            .unwrap();
        let reply: Value = reply.json().await.unwrap();
        let result = &reply["result"];
        assert_eq!(result["resultType"], "input_required", "{reply}");
        let asked = json!({"method": "elicitation/create", "params": form()});
        assert_eq!(result["inputRequests"]["upstream/approval"].to_string(), asked.to_string());
        params["requestState"] = result["requestState"].clone();
        params["inputResponses"] = json!({"upstream/approval": answer});
    }
    let reply = server.rpc_with_capabilities("tools/call", params, able).send().await.unwrap();
    let reply: Value = reply.json().await.unwrap();
    assert_eq!(reply["result"]["structuredContent"]["text"], r#"["a","a"]"#, "{reply}");
    // A client without the capability gets the protocol's error for it.
    let reply = server.rpc("tools/call", json!({"name": "wizard", "arguments": {"text": ""}}));
    let reply: Value = reply.send().await.unwrap().json().await.unwrap();
    assert_eq!(reply["error"]["code"], -32021, "{reply}");
}

/// Elicits from a separate task, as a connection's reader does, until the test withdraws the question.
struct SeparateTaskUpstream(Arc<Notify>);

#[async_trait]
impl AsyncScript for SeparateTaskUpstream {
    async fn run(
        &self,
        _: Value,
        broker: &ElicitationBroker,
    ) -> Result<ToolOutput, CallInterruption> {
        let (broker, withdrawn) = (broker.clone(), Arc::clone(&self.0));
        let asking = tokio::spawn(async move {
            let asked = broker.elicit_with_state(vec![question("q")], Value::Null);
            tokio::select! {
                answers = asked => Some(answers),
                () = withdrawn.notified() => None,
            }
        });
        let text = match asking.await.unwrap() {
            Some(answers) => answers?["q"]["content"]["name"].to_string(),
            None => "withdrawn".to_owned(),
        };
        Ok(ToolOutput::from_structured(json!({"text": text})))
    }
}

fn aside(withdrawn: &Arc<Notify>) -> Catalog {
    upstream_catalog([(
        "aside",
        Constraints::default(),
        Arc::new(ScriptedUpstream(SeparateTaskUpstream(Arc::clone(withdrawn)))),
    )])
}

fn call_aside() -> Value {
    let params = json!({"name": "aside", "arguments": {"text": ""}});
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})
}

/// Returns the next message of an event stream.
pub(crate) async fn next_message(reply: &mut reqwest::Response, text: &mut String) -> Value {
    loop {
        if let Some((event, rest)) = text.split_once("\n\n") {
            let data = event.lines().find_map(|line| line.strip_prefix("data: "));
            let message = data.and_then(|data| serde_json::from_str(data).ok());
            *text = rest.to_owned();
            match message {
                Some(message) => return message,
                None => continue,
            }
        }
        let chunk =
            reply.chunk().await.unwrap().unwrap_or_else(|| panic!("the stream ended: {text}"));
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
}

/// The client may have no other stream open.
#[tokio::test]
async fn http_elicitation_is_sent_on_the_stream_of_its_call() {
    let rig = Rig::with_catalog(aside(&Arc::default()), PipelineOptions::default()).await;
    let server = HttpServer::with_rig(rig, |_| {}).await;
    let http = server.initialize_with_capabilities(json!({"elicitation": {}})).await;
    let post = |body: Value| http.add_headers(server.post("/mcp")).body(body.to_string()).send();
    let (mut reply, mut text) = (post(call_aside()).await.unwrap(), String::new());
    let asked = next_message(&mut reply, &mut text).await;
    assert_eq!(asked["method"], "elicitation/create");
    assert_eq!(asked["params"]["message"], form()["message"]);
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept_with_name("anna")});
    assert_eq!(post(answer).await.unwrap().status(), 202);
    let done = next_message(&mut reply, &mut text).await;
    assert_eq!(done["result"]["structuredContent"], json!({"text": "\"anna\""}), "{done}");
}

#[tokio::test]
async fn withdrawn_elicitation_is_cancelled() {
    let withdrawn = Arc::<Notify>::default();
    let catalog = aside(&withdrawn);
    let mut session =
        StdioSession::with_rig(Rig::with_catalog(catalog, PipelineOptions::default()).await);
    session.initialize(json!({"elicitation": {}})).await;
    session.send(&call_aside()).await;
    let asked = session.receive().await.unwrap();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    withdrawn.notify_one();
    // The two messages may arrive in any order.
    let mut messages = [session.receive().await.unwrap(), session.receive().await.unwrap()];
    messages.sort_by_key(|message| message.get("result").is_some());
    let [cancelled, done] = messages;
    assert_eq!(cancelled["method"], "notifications/cancelled", "{cancelled}");
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    assert_eq!(done["result"]["structuredContent"], json!({"text": "withdrawn"}), "{done}");
}

/// Sends progress reports endlessly and never answers.
struct FloodingUpstream;

struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[async_trait]
impl Invoker for FloodingUpstream {
    fn origin(&self) -> AnswerOrigin {
        AnswerOrigin::Upstream
    }

    async fn invoke(
        &self,
        _: Value,
        _: &ElicitationBroker,
        ctx: &CallContext,
    ) -> Result<ToolOutput, CallInterruption> {
        let quiet = StopOnDrop(Arc::default());
        let (is_quiet, ctx) = (Arc::clone(&quiet.0), ctx.clone());
        std::thread::spawn(move || {
            while !is_quiet.load(Ordering::SeqCst) {
                ctx.report_progress(Progress { done: 1.0, total: None, message: None });
            }
        });
        std::future::pending().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn flood_of_progress_reports_does_not_delay_the_time_limit() {
    let constraints = Constraints { timeout: Duration::from_millis(50), ..Constraints::default() };
    let catalog = upstream_catalog([("floods", constraints, Arc::new(FloodingUpstream))]);
    let mut session =
        StdioSession::with_rig(Rig::with_catalog(catalog, PipelineOptions::default()).await);
    session.initialize(json!({})).await;
    let params =
        json!({"name": "floods", "arguments": {"text": ""}, "_meta": {"progressToken": 1}});
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    session.send(&call).await;
    let done = loop {
        let message = session.receive().await.unwrap();
        if message.get("method").is_none() {
            break message;
        }
    };
    let code = &done["result"]["structuredContent"]["error"]["code"];
    assert_eq!(code, "EXECUTION_TIMEOUT", "{done}");
}
