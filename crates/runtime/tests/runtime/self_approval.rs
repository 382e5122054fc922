//! Attacks: a caller that approves its own call. Over HTTP any program with a token can declare that it can ask a user,
//! and answer itself, so its answer does not count unless the operator says so.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use contract::{Caller, ErrorCode};
use runtime::transports::http::BearerTokens;
use runtime::{
    ApprovalMode, ApprovalRoute, CallOrigin, ClientCapabilities, ClientPolicy, ElicitationChannel,
    ElicitationHandler, ElicitationRequest, PipelineOptions, RoundInput, ToolCall, ToolReply,
};
use serde_json::{Value, json};
use store::{ApprovalChannel, ApprovalDecision, ApprovalState, Approver};

use crate::http::HttpServer;
use crate::rig::{Rig, ann, call, code};
use crate::stdio::StdioSession;
use crate::upstream_elicitation::next_message;

const TOKEN: &str = "0123456789abcdef";
const PRINCIPAL: &str = "token:agent";

fn yes() -> Value {
    json!({"action": "accept", "content": {"approve": true}})
}

fn able() -> Value {
    json!({"elicitation": {}})
}

async fn serve(options: PipelineOptions) -> HttpServer {
    let rig = Rig::with_options(options).await;
    let tokens = BearerTokens::parse(&format!("agent {TOKEN}\nother fedcba9876543210")).unwrap();
    HttpServer::with_rig(rig, |http| http.tokens = tokens).await
}

fn client_route(route: ApprovalRoute) -> HashMap<String, ClientPolicy> {
    let policy = ClientPolicy { approval: Some(route), ..ClientPolicy::default() };
    HashMap::from([(PRINCIPAL.to_owned(), policy)])
}

fn tool_mode(mode: ApprovalMode) -> HashMap<String, ApprovalMode> {
    HashMap::from([("write".to_owned(), mode)])
}

/// Calls `write` over the handshake revision and answers every question with yes. Returns the number of questions and the
/// result of the call.
async fn write_over_handshake(server: &HttpServer) -> (usize, Value) {
    let session = server.initialize_as(TOKEN, able()).await;
    let post = |body: Value| {
        session.add_headers(server.post("/mcp").bearer_auth(TOKEN)).body(body.to_string()).send()
    };
    let params = json!({"name": "write", "arguments": {"text": "one"}});
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params});
    let (mut reply, mut text) = (post(body).await.unwrap(), String::new());
    let mut asked = 0;
    loop {
        let message = next_message(&mut reply, &mut text).await;
        if message["method"] != "elicitation/create" {
            return (asked, message["result"].clone());
        }
        asked += 1;
        let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": yes()});
        assert_eq!(post(answer).await.unwrap().status(), 202);
    }
}

/// Calls `write` over 2026-07-28, with an answer from the start, and answers every question with yes. Returns the number of
/// questions and the result.
async fn write_in_rounds(server: &HttpServer) -> (usize, Value) {
    let mut params = json!({"name": "write", "arguments": {"text": "one"}});
    params["inputResponses"] = json!({"approval": yes()});
    let mut asked = 0;
    loop {
        let request = server.rpc_with_capabilities("tools/call", params.clone(), able());
        let reply: Value = request.bearer_auth(TOKEN).send().await.unwrap().json().await.unwrap();
        let result = reply["result"].clone();
        if result["resultType"] != "input_required" {
            return (asked, result);
        }
        asked += 1;
        params["requestState"] = result["requestState"].clone();
    }
}

fn error_code(result: &Value) -> &Value {
    &result["structuredContent"]["error"]["code"]
}

/// The attack on both eras, and its variants: the default, and each setting that demands the queue.
#[tokio::test]
async fn http_caller_cannot_approve_its_own_call() {
    let ask = || client_route(ApprovalRoute::Ask);
    for (name, options) in [
        ("default", PipelineOptions::default()),
        ("mode", PipelineOptions { approve: tool_mode(ApprovalMode::Ask), ..Default::default() }),
        (
            "client",
            PipelineOptions { clients: client_route(ApprovalRoute::Queue), ..Default::default() },
        ),
        (
            "tool over client",
            PipelineOptions {
                clients: ask(),
                approve: tool_mode(ApprovalMode::Queue),
                ..Default::default()
            },
        ),
        (
            "policy over client",
            PipelineOptions { clients: ask(), queue_approvals: true, ..Default::default() },
        ),
        (
            "policy over tool and client",
            PipelineOptions {
                clients: ask(),
                approve: tool_mode(ApprovalMode::Ask),
                queue_approvals: true,
                ..Default::default()
            },
        ),
    ] {
        let server = serve(options).await;
        for (asked, result) in [write_over_handshake(&server).await, write_in_rounds(&server).await]
        {
            assert_eq!((asked, error_code(&result)), (0, &json!("APPROVAL_REQUIRED")), "{name}");
        }
        let rest = server.post("/v1/tools/write").bearer_auth(TOKEN).body(r#"{"text":"one"}"#);
        let rest: Value = rest.send().await.unwrap().json().await.unwrap();
        assert_eq!(rest["error"]["code"], "APPROVAL_REQUIRED", "{name}");
        // All of them wait for the same decision, which a second path of the same principal cannot make.
        let queued = server.rig.store.list_approvals(None).await.unwrap();
        let [queued] = &queued[..] else { panic!("{name}: {queued:?}") };
        for channel in ApprovalChannel::ALL {
            let own = Approver::new(PRINCIPAL, channel);
            let decided =
                server.rig.store.decide_approval(&queued.id, ApprovalDecision::Approve, &own);
            decided.await.unwrap_err();
        }
        server
            .rig
            .store
            .decide_approval(&queued.id, ApprovalDecision::Approve, &ann())
            .await
            .unwrap();
        let (asked, result) = write_in_rounds(&server).await;
        assert_eq!((asked, &result["structuredContent"]["text"]), (0, &json!("one")), "{name}");
        let lines = server.stop().await.audit_records().await;
        let approved: Vec<_> = lines.iter().filter(|line| line.get("approval").is_some()).collect();
        let [line] = &approved[..] else { panic!("{name}: {lines:?}") };
        assert_eq!(
            (&line["outcome"], &line["approval"]),
            (&json!("ok"), &json!({"id": queued.id, "by": "ann", "channel": "queue"})),
            "{name}"
        );
    }
}

/// The operator trusts the client: its answers count, and the audit record says what they are worth.
#[tokio::test]
async fn trusted_http_client_is_asked() {
    let clients = client_route(ApprovalRoute::Ask);
    let server = serve(PipelineOptions { clients, ..PipelineOptions::default() }).await;
    for (asked, result) in [write_over_handshake(&server).await, write_in_rounds(&server).await] {
        assert_eq!((asked, &result["structuredContent"]["text"]), (1, &json!("one")), "{result}");
    }
    let kept = server.rig.store.list_approvals(Some(ApprovalState::Used)).await.unwrap();
    assert_eq!(kept.len(), 2);
    // Another token is not trusted.
    let request = server.rpc_with_capabilities(
        "tools/call",
        json!({"name": "write", "arguments": {"text": "one"}}),
        able(),
    );
    let reply: Value =
        request.bearer_auth("fedcba9876543210").send().await.unwrap().json().await.unwrap();
    assert_eq!(error_code(&reply["result"]), "APPROVAL_REQUIRED");

    let lines = server.stop().await.audit_records().await;
    let approvals: Vec<_> = lines.iter().filter_map(|line| line.get("approval")).collect();
    assert_eq!(approvals.len(), 2, "{lines:?}");
    for approval in approvals {
        assert_eq!((&approval["by"], &approval["channel"]), (&json!(PRINCIPAL), &json!("client")));
        assert!(kept.iter().any(|kept| approval["id"] == kept.id.as_str()), "{approval}");
    }
}

async fn write_over_stdio(options: PipelineOptions) -> (usize, Value, Rig) {
    let mut session = StdioSession::with_rig(Rig::with_options(options).await);
    session.initialize(able()).await;
    let params = json!({"name": "write", "arguments": {"text": "one"}});
    session
        .send(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}))
        .await;
    let mut asked = 0;
    loop {
        let message = session.receive().await.unwrap();
        if message["method"] != "elicitation/create" {
            return (asked, message["result"].clone(), session.rig);
        }
        asked += 1;
        session.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": yes()})).await;
    }
}

#[tokio::test]
async fn stdio_client_is_asked_unless_the_queue_is_demanded() {
    let (asked, result, rig) = write_over_stdio(PipelineOptions::default()).await;
    assert_eq!((asked, &result["structuredContent"]["text"]), (1, &json!("one")));
    let kept = rig.store.list_approvals(None).await.unwrap();
    let lines = rig.audit_records().await;
    assert_eq!(
        lines[0]["approval"],
        json!({"id": kept[0].id, "by": "stdio", "channel": "client"}),
        "{lines:?}"
    );

    let queue = ClientPolicy { approval: Some(ApprovalRoute::Queue), ..ClientPolicy::default() };
    for options in [
        PipelineOptions { approve: tool_mode(ApprovalMode::Queue), ..Default::default() },
        PipelineOptions { queue_approvals: true, ..Default::default() },
        PipelineOptions {
            clients: HashMap::from([("stdio".to_owned(), queue)]),
            ..Default::default()
        },
    ] {
        let (asked, result, _) = write_over_stdio(options).await;
        assert_eq!((asked, error_code(&result)), (0, &json!("APPROVAL_REQUIRED")));
    }
}

/// A state from a call whose client could be asked does not open the same call for another principal, nor does the answer
/// of the user in it approve anything if the queue is demanded.
#[tokio::test]
async fn sealed_answer_does_not_replace_the_queue() {
    let input = |answer: Option<Value>, state: Option<String>| RoundInput {
        capabilities: ClientCapabilities { elicitation: true, ..ClientCapabilities::default() },
        answers: answer.map(|answer| ("approval".to_owned(), answer)).into_iter().collect(),
        state,
    };
    let write = |origin, input| ToolCall {
        origin,
        channel: ElicitationChannel::MultiRound(input),
        ..call("write", json!({"text": "one"}))
    };
    let rig = Rig::new().await;
    let ToolReply::InputRequired { state, .. } =
        rig.pipeline.call(write(CallOrigin::Local, input(None, None))).await
    else {
        panic!()
    };
    // The same principal comes in over the network with the state and the answer.
    let replayed = write(CallOrigin::Network, input(Some(yes()), Some(state)));
    assert_eq!(code(&rig.pipeline.call(replayed).await), ErrorCode::ApprovalRequired);
}

struct PersonAtTerminal;

#[async_trait]
impl ElicitationHandler for PersonAtTerminal {
    async fn elicit(&self, _: &ElicitationRequest) -> Result<Value, String> {
        Ok(yes())
    }

    fn approver(&self) -> Option<Approver> {
        Some(Approver::new("cli:ada", ApprovalChannel::Terminal))
    }
}

#[tokio::test]
async fn person_at_the_terminal_is_named() {
    let rig = Rig::new().await;
    let call = ToolCall {
        origin: CallOrigin::Local,
        caller: Caller::new("cli"),
        channel: ElicitationChannel::Connected {
            capabilities: ClientCapabilities { elicitation: true, ..ClientCapabilities::default() },
            handler: Arc::new(PersonAtTerminal),
        },
        ..call("write", json!({"text": "one"}))
    };
    assert!(rig.pipeline.call(call).await.code().is_none());
    let approval = rig.audit_records().await[0]["approval"].clone();
    assert_eq!((&approval["by"], &approval["channel"]), (&json!("cli:ada"), &json!("terminal")));
}

#[tokio::test]
async fn declined_answer_is_recorded_and_the_call_does_not_run() {
    let clients = client_route(ApprovalRoute::Ask);
    let server = serve(PipelineOptions { clients, ..PipelineOptions::default() }).await;
    let mut params = json!({"name": "write", "arguments": {"text": "one"}});
    let call = async |params: &Value| {
        let request = server.rpc_with_capabilities("tools/call", params.clone(), able());
        let reply: Value = request.bearer_auth(TOKEN).send().await.unwrap().json().await.unwrap();
        reply["result"].clone()
    };
    let first = call(&params).await;
    params["requestState"] = first["requestState"].clone();
    params["inputResponses"] = json!({"approval": {"action": "decline"}});
    assert_eq!(error_code(&call(&params).await), "APPROVAL_DENIED");
    let kept = server.rig.store.list_approvals(None).await.unwrap();
    assert_eq!((kept.len(), kept[0].state), (1, ApprovalState::Denied));
    let lines = server.stop().await.audit_records().await;
    assert!(lines.iter().all(|line| line.get("approval").is_none()), "{lines:?}");
}
