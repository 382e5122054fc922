//! What an operator adds to the contracts: rules on calls and results, and who may call which tool.

use std::collections::HashMap;
use std::sync::Arc;

use contract::{CallPolicy, Caller, Code, PolicySubject, PolicyVerdict};
use runtime::doors::http::Tokens;
use runtime::{Approve, PipelineOptions, ToolFilter};
use serde_json::{Value, json};

use crate::http::{Server, show as show_http};
use crate::rig::{Rig, call, code, show};
use crate::stdio::Session;

/// Denies and asks by the words that it finds.
struct Words;

impl CallPolicy for Words {
    fn on_call(&self, subject: &PolicySubject<'_>) -> PolicyVerdict {
        // Defaults are there, and what was no valid call never comes here.
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

fn ruled() -> PipelineOptions {
    PipelineOptions { policy: Some(Arc::new(Words)), ..PipelineOptions::default() }
}

#[tokio::test]
async fn a_rule_denies_a_call_before_anybody_is_asked() {
    let rig = Rig::with(ruled()).await;
    for tool in ["echo", "write"] {
        let reply = show(&rig.call(tool, json!({"text": "/etc/passwd"})).await);
        assert_eq!(reply["code"], "ACCESS_DENIED", "{reply}");
        assert_eq!(reply["message"], "the rule `no-etc` denies this call: system files");
        assert_eq!(reply["details"], json!({"rule": "no-etc"}));
    }
    assert!(rig.store.approvals(None).await.unwrap().is_empty());
    assert_eq!(code(&rig.call("echo", json!({"text": 7})).await), Code::InvalidInput);
    assert!(rig.call("echo", json!({"text": "fine"})).await.code().is_none());
}

#[tokio::test]
async fn a_rule_asks_where_the_contract_does_not() {
    let rig = Rig::with(ruled()).await;
    assert_eq!(code(&rig.call("echo", json!({"text": "careful"})).await), Code::ApprovalRequired);
    let asked = rig.store.approvals(None).await.unwrap();
    assert!(
        asked[0].summary.contains("\nAsked for by the rule: look-first\n"),
        "{}",
        asked[0].summary
    );
    rig.store.decide(&asked[0].id, store::Decision::Approve, "ann").await.unwrap();
    assert!(rig.call("echo", json!({"text": "careful"})).await.code().is_none());
    // What holds for the tool does not undo what a rule says of a call, but `never` stays never.
    let approve =
        |approve| PipelineOptions { approve: [("echo".to_owned(), approve)].into(), ..ruled() };
    let rig = Rig::with(approve(Approve::Always)).await;
    assert_eq!(code(&rig.call("echo", json!({"text": "careful"})).await), Code::ApprovalRequired);
    assert!(rig.call("echo", json!({"text": "fine"})).await.code().is_none());
    let rig = Rig::with(approve(Approve::Never)).await;
    assert_eq!(code(&rig.call("echo", json!({"text": "careful"})).await), Code::ApprovalDenied);
}

#[tokio::test]
async fn a_rule_withholds_a_result_and_people_can_see_it() {
    let rig = Rig::with(ruled()).await;
    for (text, rule) in [("classified", "no-secrets"), ("doubtful", "doubt")] {
        let reply = show(&rig.call("echo", json!({"text": text})).await);
        assert_eq!(
            (&reply["code"], &reply["details"]["rule"]),
            (&json!("ACCESS_DENIED"), &json!(rule))
        );
        assert!(!reply.to_string().contains(text), "{reply}");
        let kept =
            rig.store.kept_answer(reply["details"]["callId"].as_str().unwrap()).await.unwrap();
        assert!(kept.raw.contains(text), "{}", kept.raw);
        assert!(kept.answer.violation.contains(rule), "{}", kept.answer.violation);
    }
    assert_eq!(rig.audit().await[0]["code"], "ACCESS_DENIED");
}

fn restricted(principal: &str) -> PipelineOptions {
    let only_echo: Arc<dyn ToolFilter> = Arc::new(|tool: &str| tool.starts_with("ech"));
    let clients = HashMap::from([(principal.to_owned(), only_echo)]);
    PipelineOptions { clients, ..PipelineOptions::default() }
}

#[tokio::test]
async fn a_tool_that_a_client_may_not_call_is_not_there_for_it() {
    let rig = Rig::with(restricted("tester")).await;
    assert!(rig.call("echo", json!({"text": ""})).await.code().is_none());
    // Valid arguments or not, it is what an unknown tool is, but for its name.
    for arguments in [json!({"text": ""}), json!({})] {
        let hidden = show(&rig.call("rare", arguments.clone()).await).to_string();
        let unknown = show(&rig.call("none", arguments).await).to_string();
        assert_eq!(hidden, unknown.replace("none", "rare"));
    }
    let mut other = call("rare", json!({"text": ""}));
    other.caller = Caller::new("somebody else");
    assert!(rig.pipeline.call(other).await.code().is_none());
    let lines = rig.audit().await;
    let codes: Vec<_> = lines.iter().map(|line| (&line["tool"], &line["code"])).collect();
    let (rare, none) = (json!("rare"), json!("none"));
    let (denied, unknown) = (json!("ACCESS_DENIED"), json!("TOOL_NOT_FOUND"));
    assert_eq!(
        codes[1..5],
        [(&rare, &denied), (&none, &unknown), (&rare, &denied), (&none, &unknown)]
    );
}

#[tokio::test]
async fn over_http_each_client_sees_what_it_may_call() {
    let tokens = Tokens::parse("ci 0123456789abcdef\nall fedcba9876543210").unwrap();
    let rig = Rig::with(restricted("token:ci")).await;
    let server = Server::on(rig, |options| options.tokens = tokens).await;
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
async fn over_stdio_too() {
    let mut session = Session::on(Rig::with(restricted("stdio")).await);
    session.shake_hands(json!({})).await;
    session.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
    let reply = session.receive().await.unwrap();
    assert_eq!(reply["result"]["tools"].as_array().unwrap().len(), 1, "{reply}");
}
