//! Tests of operator policy: rules on calls and results, and tool filters by client.

use std::collections::HashMap;
use std::sync::Arc;

use contract::{
    CallContext, CallPolicy, Caller, Constraints, ErrorCode, PolicySubject, PolicyVerdict,
    Resource, ResourceContent, ResourceProvider, ToolError,
};
use runtime::transports::http::BearerTokens;
use runtime::{
    ApprovalMode, CallOrigin, Catalog, ClientCapabilities, ClientPolicy, ElicitationChannel,
    PipelineOptions, RoundInput, ToolCall, ToolFilter, ToolReply,
};
use serde_json::{Value, json};

use crate::http::{HttpServer, fetch_summary as show_http};
use crate::rig::{Rig, ann, answer, call, code, reply_to_json, scripted_tool};
use crate::stdio::StdioSession;

/// Denies calls and requires approvals by keyword.
struct KeywordPolicy;

impl CallPolicy for KeywordPolicy {
    fn on_call(&self, subject: &PolicySubject<'_>) -> PolicyVerdict {
        // Defaults are filled in, and invalid calls never reach the policy.
        assert!(subject.arguments["times"].is_i64(), "{subject:?}");
        assert_eq!(subject.annotations["openWorldHint"], false);
        match subject.arguments["text"].as_str().unwrap() {
            "/etc/passwd" => {
                PolicyVerdict::Deny { rule: "no-etc".into(), reason: Some("system files".into()) }
            }
            "careful" => PolicyVerdict::Approve { rule: "look-first".into() },
            _ => PolicyVerdict::Allow,
        }
    }

    fn on_result(&self, subject: &PolicySubject<'_>, result: &Value) -> PolicyVerdict {
        assert!(subject.arguments["times"].is_i64(), "{subject:?}");
        match result["text"].as_str().unwrap() {
            "classified" => PolicyVerdict::Deny { rule: "no-secrets".into(), reason: None },
            "doubtful" => PolicyVerdict::Approve { rule: "doubt".into() },
            _ => PolicyVerdict::Allow,
        }
    }
}

fn with_keyword_policy() -> PipelineOptions {
    PipelineOptions { policy: Some(Arc::new(KeywordPolicy)), ..PipelineOptions::default() }
}

#[tokio::test]
async fn rule_denies_call_before_approval() {
    let rig = Rig::with_options(with_keyword_policy()).await;
    for tool in ["echo", "write"] {
        let reply = reply_to_json(&rig.call(tool, json!({"text": "/etc/passwd"})).await);
        assert_eq!(reply["code"], "ACCESS_DENIED", "{reply}");
        assert_eq!(reply["message"], "the rule `no-etc` denies this call: system files");
        assert_eq!(reply["details"], json!({"rule": "no-etc"}));
    }
    assert!(rig.store.list_approvals(None).await.unwrap().is_empty());
    assert_eq!(code(&rig.call("echo", json!({"text": 7})).await), ErrorCode::InvalidInput);
    assert!(rig.call("echo", json!({"text": "fine"})).await.code().is_none());
}

#[tokio::test]
async fn rule_requires_approval_beyond_the_contract() {
    let rig = Rig::with_options(with_keyword_policy()).await;
    assert_eq!(
        code(&rig.call("echo", json!({"text": "careful"})).await),
        ErrorCode::ApprovalRequired
    );
    let asked = rig.store.list_approvals(None).await.unwrap();
    assert!(asked[0].summary.contains("\nRequired by rule: look-first\n"), "{}", asked[0].summary);
    rig.store
        .decide_approval(&asked[0].id, store::ApprovalDecision::Approve, &ann())
        .await
        .unwrap();
    assert!(rig.call("echo", json!({"text": "careful"})).await.code().is_none());
    // `always` does not override a rule, but `never` does.
    let approve = |approve| PipelineOptions {
        approve: [("echo".to_owned(), approve)].into(),
        ..with_keyword_policy()
    };
    let rig = Rig::with_options(approve(ApprovalMode::Always)).await;
    assert_eq!(
        code(&rig.call("echo", json!({"text": "careful"})).await),
        ErrorCode::ApprovalRequired
    );
    assert!(rig.call("echo", json!({"text": "fine"})).await.code().is_none());
    let rig = Rig::with_options(approve(ApprovalMode::Never)).await;
    assert_eq!(
        code(&rig.call("echo", json!({"text": "careful"})).await),
        ErrorCode::ApprovalDenied
    );
}

/// A rule that was added while a person decided denies the call, and does not use the decision up.
#[tokio::test]
async fn rules_apply_in_every_round_and_before_a_granted_approval() {
    let denied = json!({"text": "/etc/passwd"});
    let round = |answer: Option<Value>, state: Option<String>| ToolCall {
        origin: CallOrigin::Local,
        channel: ElicitationChannel::MultiRound(RoundInput {
            capabilities: ClientCapabilities { elicitation: true, ..ClientCapabilities::default() },
            answers: answer.map(|answer| ("approval".to_owned(), answer)).into_iter().collect(),
            state,
        }),
        ..call("write", denied.clone())
    };
    let rig = Rig::new().await;
    assert_eq!(code(&rig.call("write", denied.clone()).await), ErrorCode::ApprovalRequired);
    let id = rig.store.list_approvals(None).await.unwrap()[0].id.clone();
    rig.store.decide_approval(&id, store::ApprovalDecision::Approve, &ann()).await.unwrap();
    let ToolReply::InputRequired { state, .. } = rig.pipeline.call(round(None, None)).await else {
        panic!("the user is asked")
    };

    rig.pipeline.replace_options(with_keyword_policy());
    let yes = json!({"action": "accept", "content": {"approve": true}});
    let reply = rig.pipeline.call(round(Some(yes.clone()), Some(state.clone()))).await;
    assert_eq!(code(&reply), ErrorCode::AccessDenied);
    assert_eq!(code(&rig.call("write", denied.clone()).await), ErrorCode::AccessDenied);
    let approvals = rig.store.list_approvals(None).await.unwrap();
    assert_eq!(approvals.len(), 1, "the answer is not recorded: {approvals:?}");
    assert_eq!(approvals[0].state, store::ApprovalState::Approved);

    rig.pipeline.replace_options(PipelineOptions::default());
    assert_eq!(rig.pipeline.call(round(Some(yes), Some(state))).await.code(), None);
    assert_eq!(rig.call("write", denied).await.code(), None);
}

#[tokio::test]
async fn rule_withholds_result_and_keeps_it_for_people() {
    let rig = Rig::with_options(with_keyword_policy()).await;
    for (text, rule) in [("classified", "no-secrets"), ("doubtful", "doubt")] {
        let reply = reply_to_json(&rig.call("echo", json!({"text": text})).await);
        assert_eq!(
            (&reply["code"], &reply["details"]["rule"]),
            (&json!("ACCESS_DENIED"), &json!(rule))
        );
        assert_eq!(reply["details"]["tool"], "echo");
        assert!(!reply.to_string().contains(text), "{reply}");
        let kept = rig
            .store
            .find_withheld_answer(reply["details"]["callId"].as_str().unwrap())
            .await
            .unwrap();
        assert!(kept.raw.contains(text), "{}", kept.raw);
        assert!(kept.answer.violation.contains(rule), "{}", kept.answer.violation);
    }
    assert_eq!(rig.audit_records().await[0]["code"], "ACCESS_DENIED");
}

/// Denies everything.
struct ClosedPolicy;

impl CallPolicy for ClosedPolicy {
    fn on_call(&self, _: &PolicySubject<'_>) -> PolicyVerdict {
        PolicyVerdict::Deny { rule: "closed".into(), reason: None }
    }

    fn on_result(&self, _: &PolicySubject<'_>, _: &Value) -> PolicyVerdict {
        PolicyVerdict::Deny { rule: "closed".into(), reason: None }
    }
}

/// Rules are written for tools and their arguments; resources have filters by client.
#[tokio::test]
async fn rules_do_not_apply_to_resources() {
    let mut catalog = Catalog::default();
    let tool = scripted_tool("echo", Constraints::default(), |_, _| answer("up"));
    catalog.add_tool(tool).unwrap();
    catalog.add_resources(Arc::new(OneDocument), |_| {}).unwrap();
    let options =
        PipelineOptions { policy: Some(Arc::new(ClosedPolicy)), ..PipelineOptions::default() };
    let rig = Rig::with_catalog(catalog, options).await;
    assert_eq!(code(&rig.call("echo", json!({"text": ""})).await), ErrorCode::AccessDenied);
    let read = ToolCall::for_resource("test://one".into(), Caller::new("tester"));
    assert_eq!(rig.pipeline.call(read).await.code(), None);
}

struct OneDocument;

impl ResourceProvider for OneDocument {
    fn list_resources(&self) -> Vec<Resource> {
        Vec::new()
    }

    fn read_resource(&self, uri: &str, _: &CallContext) -> Result<ResourceContent, ToolError> {
        Ok(ResourceContent::from_text(uri, "text/plain", "content"))
    }
}

fn restricted(principal: &str) -> PipelineOptions {
    let only_echo: Arc<dyn ToolFilter> = Arc::new(|tool: &str| tool.starts_with("ech"));
    let policy = ClientPolicy { tools: Some(only_echo), ..ClientPolicy::default() };
    let clients = HashMap::from([(principal.to_owned(), policy)]);
    PipelineOptions { clients, ..PipelineOptions::default() }
}

#[tokio::test]
async fn filtered_tool_looks_unknown_to_the_client() {
    let rig = Rig::with_options(restricted("tester")).await;
    assert!(rig.call("echo", json!({"text": ""})).await.code().is_none());
    // Except for the name, the reply equals that for an unknown tool, with valid and with invalid arguments.
    for arguments in [json!({"text": ""}), json!({})] {
        let hidden = reply_to_json(&rig.call("rare", arguments.clone()).await).to_string();
        let unknown = reply_to_json(&rig.call("none", arguments).await).to_string();
        assert_eq!(hidden, unknown.replace("none", "rare"));
    }
    let mut other = call("rare", json!({"text": ""}));
    other.caller = Caller::new("other");
    assert!(rig.pipeline.call(other).await.code().is_none());
    let lines = rig.audit_records().await;
    let codes: Vec<_> = lines.iter().map(|line| (&line["tool"], &line["code"])).collect();
    let (rare, none) = (json!("rare"), json!("none"));
    let (denied, unknown) = (json!("ACCESS_DENIED"), json!("TOOL_NOT_FOUND"));
    assert_eq!(
        codes[1..5],
        [(&rare, &denied), (&none, &unknown), (&rare, &denied), (&none, &unknown)]
    );
}

#[tokio::test]
async fn http_client_sees_only_allowed_tools() {
    let tokens = BearerTokens::parse("ci 0123456789abcdef\nall fedcba9876543210").unwrap();
    let rig = Rig::with_options(restricted("token:ci")).await;
    let server = HttpServer::with_rig(rig, |options| options.tokens = tokens).await;
    let tools = async |token: &str| {
        let json = async |request: reqwest::RequestBuilder| {
            request.bearer_auth(token).send().await.unwrap().json::<Value>().await.unwrap()
        };
        let mcp = json(server.rpc("tools/list", json!({}))).await;
        assert_eq!(mcp["result"]["cacheScope"], "private");
        let rest = json(server.get("/v1/tools")).await;
        let names = |tools: &Value| {
            let tools = tools.as_array().unwrap().iter();
            tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&mcp["result"]["tools"]), names(&rest["tools"]));
        let paths = json(server.get("/openapi.json")).await["paths"].clone();
        assert_eq!(
            paths.get("/v1/tools/rare").is_some(),
            names(&rest["tools"]).contains(&"rare".to_owned())
        );
        names(&rest["tools"])
    };
    assert_eq!(tools("0123456789abcdef").await, ["echo"]);
    assert!(tools("fedcba9876543210").await.len() > 5);
    for (request, says) in [
        (server.get("/v1/tools/rare"), "404"),
        (server.post("/v1/tools/rare").body("{}"), "404"),
        (server.get("/metrics"), "403"),
        (server.rpc("tools/call", json!({"name": "rare"})), "200"),
    ] {
        let reply = show_http(request.bearer_auth("0123456789abcdef")).await;
        assert!(reply.starts_with(says), "{reply}");
        assert!(says != "200" || reply.contains("Unknown tool: rare"), "{reply}");
    }
}

#[tokio::test]
async fn stdio_client_sees_only_allowed_tools() {
    let mut session = StdioSession::with_rig(Rig::with_options(restricted("stdio")).await);
    session.initialize(json!({})).await;
    session.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
    let reply = session.receive().await.unwrap();
    assert_eq!(reply["result"]["tools"].as_array().unwrap().len(), 1, "{reply}");
}
