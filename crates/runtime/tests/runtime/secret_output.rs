//! Tests of secrets in what leaves the pipeline: results, texts, errors, resources, upstream answers and elicitations.
//! Fake secrets are assembled at run time, so that no scanner reports this file as a leak.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use contract::{
    CallContext, Caller, Constraints, ContentBlock, Contract, ErrorCode, RawResult, Resource,
    ResourceContent, ResourceProvider, ResourceTemplate, Tool, ToolDefinition, ToolError,
    ToolOutput,
};
use runtime::{
    CallInterruption, Catalog, ClientCapabilities, ElicitationBroker, ElicitationChannel,
    ElicitationHandler, ElicitationKind, ElicitationRequest, PipelineOptions, RoundInput,
    SecretOutputMode, ToolCall, ToolReply,
};
use serde_json::{Value, json};

use crate::http::HttpServer;
use crate::rig::{AsyncScript, Rig, ScriptedUpstream, call, code};

pub(crate) const NOISE: &str = "q7Zt4Kp9Xw2Lm5Vb8Nc3Rd6Hf1Jg0YsAe2Bf4Cg";

pub(crate) fn token() -> String {
    format!("gh{}_{}", "p", &NOISE[..36])
}

/// Returns a private key of several lines.
pub(crate) fn key_lines() -> Vec<String> {
    let line = |start: &str| format!("{start}{}", &NOISE.repeat(2)[..60]);
    vec![
        format!("-----{} RSA PRIVATE KEY-----", "BEGIN"),
        line("MIIE"),
        line("zx9Q"),
        line("0aPl"),
        format!("-----{} RSA PRIVATE KEY-----", "END"),
    ]
}

/// A tool that answers any arguments with a fixed output.
struct FixedTool {
    contract: Arc<Contract>,
    output: Result<ToolOutput, ToolError>,
}

impl Tool for FixedTool {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn call(&self, _: Value, _: &CallContext) -> Result<ToolOutput, ToolError> {
        self.output.clone()
    }
}

fn contract(output_schema: Option<Value>) -> Arc<Contract> {
    let definition = ToolDefinition {
        name: "tool".into(),
        input_schema: Some(json!({"type": "object"})),
        output_schema,
        constraints: Some(Constraints::default()),
        ..ToolDefinition::default()
    };
    Arc::new(Contract::new(definition, &[]).unwrap())
}

async fn rig_with(mode: SecretOutputMode, fill: impl FnOnce(&mut Catalog)) -> Rig {
    let mut catalog = Catalog::default();
    fill(&mut catalog);
    let options = PipelineOptions { output_secrets: mode, ..PipelineOptions::default() };
    Rig::with_catalog(catalog, options).await
}

async fn local_rig(
    mode: SecretOutputMode,
    schema: Option<Value>,
    output: Result<ToolOutput, ToolError>,
) -> Rig {
    let tool = FixedTool { contract: contract(schema), output };
    rig_with(mode, |catalog| catalog.add_tool(Arc::new(tool)).unwrap()).await
}

/// Calls a local tool that returns this value.
pub(crate) async fn call_local(value: Value) -> ToolReply {
    let schema = Some(json!({"type": "object"}));
    let output = Ok(ToolOutput::from_structured(value));
    let rig = local_rig(SecretOutputMode::Redact, schema, output).await;
    rig.call("tool", json!({})).await
}

fn raw_output(text: &str) -> ToolOutput {
    let whole: Value = serde_json::from_str(text).unwrap();
    let blocks = whole["content"].as_array().into_iter().flatten().cloned();
    ToolOutput {
        structured: whole.get("structuredContent").cloned(),
        content: blocks.map(ContentBlock::Block).collect(),
        is_error: whole["isError"] == true,
        raw: Some(RawResult {
            text: text.into(),
            has_type: false,
            has_content: whole.get("content").is_some(),
            has_structured: whole.get("structuredContent").is_some(),
        }),
        has_derived_text: false,
    }
}

async fn upstream_rig(mode: SecretOutputMode, text: &str) -> Rig {
    let output = raw_output(text);
    let invoker = Arc::new(ScriptedUpstream(move |_: Value| Ok(output.clone())));
    rig_with(mode, |catalog| catalog.add_invoker(contract(None), invoker).unwrap()).await
}

/// Returns everything that a transport could send of a reply.
pub(crate) fn everything(reply: &ToolReply) -> String {
    match reply {
        ToolReply::Done(output) => {
            let texts: Vec<_> = output.content.iter().map(ContentBlock::to_block).collect();
            let raw = output.raw.as_ref().map(|raw| raw.text.to_string());
            format!("{:?}{}{raw:?}", output.structured, json!(texts))
        }
        ToolReply::Failed(error) => error.to_envelope().to_string(),
        other => format!("{other:?}"),
    }
}

pub(crate) fn done(reply: &ToolReply) -> &ToolOutput {
    match reply {
        ToolReply::Done(output) => output,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn secrets_are_replaced_in_structured_content_and_text_alike() {
    let token = token();
    let reply = call_local(json!({"text": format!("use {token} now"), "n": 1})).await;
    let output = done(&reply);
    let expected = json!({"text": "use [redacted: a GitHub token] now", "n": 1});
    assert_eq!(output.structured, Some(expected.clone()));
    let [ContentBlock::Text(text)] = &output.content[..] else { panic!("{output:?}") };
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), expected);
}

#[tokio::test]
async fn secrets_are_found_in_every_place_and_spelling() {
    let token = token();
    let escaped: String = token.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let nested = json!({"a": [json!({"note": &token}).to_string()]}).to_string();
    let half = token.len() / 2;
    for value in [
        json!({"deep": [[{"x": [&token]}]]}),
        json!({&token: 1}),
        json!({"text": escaped}),
        json!({"text": nested}),
        json!({"text": format!("print(\"x\\n{token}\")")}),
        json!({"text": format!("'Header:\\t{token}'")}),
        json!({"content": STANDARD.encode(format!("line\n{token}\nline")), "encoding": "base64"}),
        json!({"password": "tr0ub4dor&3xyz"}),
        json!({"text": "password = \"tr0ub4dor&3xyz\"", "copy": "see tr0ub4dor&3xyz here"}),
        json!({"highlights": ["tr0ub4dor&3xyz"], "text": "db_password: 'tr0ub4dor&3xyz'"}),
        json!({"url": format!("postgres://app:{}@db.internal/x", "hunter2hunter2")}),
        json!({"parts": [&token[..half], &token[half..]]}),
        json!({"parts": token.chars().map(String::from).collect::<Vec<_>>()}),
        json!({"blob": STANDARD.encode([b"\xff\xfe", token.as_bytes(), b"\0\0"].concat())}),
    ] {
        let reply = call_local(value.clone()).await;
        let all = everything(&reply);
        for secret in [&token, &token[half..], "tr0ub4dor&3xyz", "hunter2hunter2", &escaped] {
            assert!(!all.contains(secret), "{value}: {all}");
        }
        if let ToolReply::Done(output) = &reply {
            let content = output.structured.as_ref().unwrap()["content"].as_str();
            let decoded = content.and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&decoded).contains(&token), "{value}");
        }
    }
}

#[tokio::test]
async fn lines_of_a_private_key_are_replaced_in_fields_around_a_match() {
    let lines = key_lines();
    let whole = lines.join("\n");
    for value in [
        json!({"text": whole}),
        json!({"text": lines[0], "before": ["x"], "after": [lines[1], lines[2]]}),
        json!({"text": lines[4], "before": [lines[2], lines[3]], "after": []}),
        json!({"text": format!("key: |\n{whole}\nend"), "highlights": [lines[2]]}),
        json!({"text": serde_json::to_string(&whole).unwrap()}),
        json!({"matches": [{"text": lines[0], "after": [lines[1]]}, {"text": format!("  {}", lines[3])}]}),
    ] {
        let reply = call_local(value.clone()).await;
        let all = everything(&reply);
        for line in &lines[1..4] {
            assert!(!all.contains(line.as_str()), "{value}: {all}");
        }
        assert!(matches!(reply, ToolReply::Done(_)), "{reply:?}");
    }
}

#[tokio::test]
async fn replies_without_secrets_are_not_changed() {
    let value = json!({
        "text": "let token = parse_token(input)?; // -----BEGIN PRIVATE KEY-----",
        "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "id": "550e8400-e29b-41d4-a716-446655440000",
        "nextPageToken": "CAUQAA7f3k2j1h5g4",
        "token": "0xdAC17F958D2ee523a2206206994597C13D831ec7",
        "image": STANDARD.encode([7_u8, 200, 3].repeat(100)),
        "integrity": format!("sha512-{}==", NOISE.repeat(2)),
    });
    let reply = call_local(value.clone()).await;
    assert_eq!(done(&reply).structured, Some(value));
    let text = format!(
        r#" {{"content":[],"structuredContent":{{"text":"b\u00e9","f":1.10}} ,"_meta":{{"x":"{NOISE}"}}}}"#
    );
    let rig = upstream_rig(SecretOutputMode::Redact, &text).await;
    let reply = rig.call("tool", json!({})).await;
    assert_eq!(&*done(&reply).raw.as_ref().unwrap().text, text, "byte for byte");
}

#[tokio::test]
async fn refuse_names_the_rule_and_off_changes_nothing() {
    let token = token();
    let schema = Some(json!({"type": "object"}));
    let output = || Ok(ToolOutput::from_structured(json!({"text": token.clone()})));
    let rig = local_rig(SecretOutputMode::Refuse, schema.clone(), output()).await;
    let reply = rig.call("tool", json!({})).await;
    assert_eq!(code(&reply), ErrorCode::AccessDenied);
    let ToolReply::Failed(error) = &reply else { panic!("{reply:?}") };
    assert!(error.message.contains("a GitHub token"), "{}", error.message);
    assert_eq!(error.details["rules"], json!(["github-token"]));
    assert!(!everything(&reply).contains(&token));

    let rig = local_rig(SecretOutputMode::Off, schema, output()).await;
    assert!(everything(&rig.call("tool", json!({})).await).contains(&token));
}

#[tokio::test]
async fn result_that_would_break_its_schema_is_refused() {
    for rule in [
        json!({"pattern": "^gh[a-z]_[A-Za-z0-9]+$"}),
        json!({"maxLength": 40, "minLength": 40}),
        json!({"enum": [token()]}),
    ] {
        let mut text = json!({"type": "string"});
        text.as_object_mut().unwrap().extend(rule.as_object().unwrap().clone());
        let schema = json!({"type": "object", "properties": {"text": text}});
        let output = Ok(ToolOutput::from_structured(json!({"text": token()})));
        let rig = local_rig(SecretOutputMode::Redact, Some(schema), output).await;
        let reply = rig.call("tool", json!({})).await;
        assert_eq!(code(&reply), ErrorCode::AccessDenied, "{rule}");
        assert!(!everything(&reply).contains(&token()), "{rule}");
    }
}

#[tokio::test]
async fn errors_are_replaced_and_keep_their_code() {
    let token = token();
    let error = ToolError::new(ErrorCode::NotFound, format!("no file `{token}`"))
        .with_detail("path", token.as_str())
        .with_detail("nested", json!({"list": [format!("{token}!")], "api_key": "Xk29fLq81zPw"}));
    for mode in [SecretOutputMode::Redact, SecretOutputMode::Refuse] {
        let rig = local_rig(mode, None, Err(error.clone())).await;
        let reply = rig.call("tool", json!({})).await;
        assert_eq!(code(&reply), ErrorCode::NotFound);
        let all = everything(&reply);
        assert!(!all.contains(&token) && !all.contains("Xk29fLq81zPw"), "{all}");
        assert!(all.contains("no file `[redacted: a GitHub token]`"), "{all}");
    }
}

#[tokio::test]
async fn upstream_answers_are_rewritten_only_where_the_secret_is() {
    let token = token();
    let escaped: String = token.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let inner = serde_json::to_string(&json!({"note": &token}).to_string()).unwrap();
    let half = token.len() / 2;
    let (left, right) = token.split_at(half);
    let encoded = STANDARD.encode(format!("line with {token} in it"));
    for text in [
        format!(r#"{{"content":[{{"type":"text","text":"a {token} b"}}]}}"#),
        format!(r#"{{"content":[],"structuredContent":{{"a":{{"b":["{token}"]}}}}}}"#),
        format!(r#"{{"content":[{{"type":"text","text":"{escaped}"}}]}}"#),
        format!(r#"{{"content":[{{"type":"text","text":{inner}}}]}}"#),
        format!(r#"{{"isError":true,"content":[{{"type":"text","text":"bad {token}"}}]}}"#),
        format!(r#"{{"content":[],"_meta":{{"x":"{token}"}}}}"#),
        format!(r#"{{"content":[],"more":{{"{token}":[]}}}}"#),
        // A line break is `\n` in the raw text, whose letter would be part of the word.
        format!(r#"{{"content":[{{"type":"text","text":"A=1\n{token}\nB=2"}}]}}"#),
        format!(r#"{{"content":[],"structuredContent":{{"a":"x\t{token}\r\n"}}}}"#),
        format!(r#"{{"isError":true,"content":[{{"type":"text","text":"x\n{token}"}}]}}"#),
        format!(r#"{{"content":[],"_meta":{{"x":"a\n{token}"}}}}"#),
        format!(
            r#"{{"content":[],"_meta":{{"x":"{}"}}}}"#,
            STANDARD.encode(format!("a {token} b"))
        ),
        format!(r#"{{"content":[{{"type":"text","text":"API_KEY={right}q8Zk3LmP0xVt\nB=2"}}]}}"#),
        format!(
            r#"{{"content":[{{"type":"text","text":"{left}"}},{{"type":"text","text":"{right}"}}]}}"#
        ),
        format!(
            r#"{{"content":[{{"type":"resource","resource":{{"uri":"x:y","blob":"{}"}}}}]}}"#,
            encoded
        ),
        // Members that the protocol does not define.
        format!(r#"{{"content":[],"other":"{encoded}"}}"#),
        format!(r#"{{"content":[],"other":["{left}","{right}"]}}"#),
        // Escapes that the search in the raw text does not decode.
        format!(r#"{{"content":[{{"type":"text","text":"a\f{token}"}}]}}"#),
        format!(r#"{{"content":[],"structuredContent":{{"a":"x\b{token}"}}}}"#),
    ] {
        let rig = upstream_rig(SecretOutputMode::Redact, &text).await;
        let reply = rig.call("tool", json!({})).await;
        let all = everything(&reply);
        assert!(!all.contains(right) && !all.contains(&escaped), "{text}: {all}");
        assert!(!all.contains(&encoded), "{text}: {all}");
        if let ToolReply::Done(output) = &reply {
            let raw: Value = serde_json::from_str(&output.raw.as_ref().unwrap().text).unwrap();
            assert_eq!(raw.get("structuredContent"), output.structured.as_ref(), "{text}");
            assert!(raw["content"].is_array(), "{text}");
        }
    }
    // The same bytes over a transport.
    let text = format!(
        r#"{{"content":[{{"type":"text","text":"a {token} b"}}],"structuredContent":{{"k":"{token}"}}}}"#
    );
    let server =
        HttpServer::with_rig(upstream_rig(SecretOutputMode::Redact, &text).await, |_| {}).await;
    let reply = server.rpc("tools/call", json!({"name": "tool"})).send().await.unwrap();
    let body = reply.text().await.unwrap();
    assert!(!body.contains(&token) && body.contains("a [redacted: a GitHub token] b"), "{body}");
    let rest = server.post("/v1/tools/tool").body("{}").send().await.unwrap().text().await.unwrap();
    assert_eq!(rest, r#"{"k":"[redacted: a GitHub token]"}"#);
}

/// Provides one document with a secret, as text or as bytes.
struct SecretDocuments;

impl ResourceProvider for SecretDocuments {
    fn list_resources(&self) -> Vec<Resource> {
        Vec::new()
    }

    fn list_templates(&self) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    fn constraints(&self) -> Constraints {
        Constraints::default()
    }

    fn read_resource(&self, uri: &str, _: &CallContext) -> Result<ResourceContent, ToolError> {
        let text = format!("# Notes\n\ntoken {}\n", token());
        match uri {
            "x:text" => Ok(ResourceContent::from_text(uri, "text/markdown", &text)),
            "x:blob" => Ok(ResourceContent::from_bytes(uri, "text/plain", text.into_bytes())),
            "x:bytes" => {
                let bytes = [b"\xff\xd8", text.as_bytes()].concat();
                Ok(ResourceContent::from_bytes(uri, "image/jpeg", bytes))
            }
            _ => Err(ToolError::new(ErrorCode::NotFound, format!("no `{uri}`"))),
        }
    }
}

#[tokio::test]
async fn resources_are_screened() {
    let rig = rig_with(SecretOutputMode::Redact, |catalog| {
        catalog.add_resources(Arc::new(SecretDocuments), |_| {}).unwrap();
    })
    .await;
    let bytes = STANDARD.encode(format!("# Notes\n\ntoken {}\n", token()));
    for uri in ["x:text".to_owned(), "x:blob".into(), "x:bytes".into(), format!("x:{}", token())] {
        let call = ToolCall::for_resource(uri.clone(), Caller::new("tester"));
        let reply = rig.pipeline.call(call).await;
        let all = everything(&reply);
        assert!(!all.contains(&token()) && !all.contains(&bytes), "{uri}: {all}");
        assert_eq!(
            matches!(reply, ToolReply::Done(_)),
            uri == "x:text" || uri == "x:blob",
            "{all}"
        );
    }
    let metrics = rig.pipeline.metrics().render().unwrap();
    let line = r#"vouch_secrets_total{tool="resources/read",rule="github-token"}"#;
    assert!(metrics.contains(line), "{metrics}");
}

#[tokio::test]
async fn hits_are_counted_and_audited_without_content() {
    let token = token();
    let value = json!({"a": &token, "b": format!("x {token} y"), "password": "tr0ub4dor&3xyz"});
    let output = Ok(ToolOutput::from_structured(value));
    let rig = local_rig(SecretOutputMode::Redact, None, output).await;
    rig.call("tool", json!({})).await;
    let metrics = rig.pipeline.metrics().render().unwrap();
    assert!(
        metrics.contains(r#"vouch_secrets_total{tool="tool",rule="github-token"} 2"#),
        "{metrics}"
    );
    assert!(
        metrics.contains(r#"vouch_secrets_total{tool="tool",rule="quoted-password"} 1"#),
        "{metrics}"
    );
    let records = rig.audit_records().await;
    assert_eq!(records[0]["secrets"], 3, "{records:?}");
    assert!(!records[0].to_string().contains(&token), "{records:?}");
}

#[tokio::test]
async fn large_answers_are_screened_too() {
    let token = token();
    let text =
        format!("{}{token}{}", "fn main() {}\n".repeat(20_000), "\nlet x = 1;".repeat(20_000));
    let reply = call_local(json!({"text": text})).await;
    assert!(!everything(&reply).contains(&token));
    assert!(matches!(reply, ToolReply::Done(_)));
}

/// An upstream that asks the client with a secret in its message.
struct AskingUpstream;

#[async_trait]
impl AsyncScript for AskingUpstream {
    async fn run(
        &self,
        _: Value,
        broker: &ElicitationBroker,
    ) -> Result<ToolOutput, CallInterruption> {
        let params = json!({"message": format!("use {}?", token()), "url": format!("https://x/?s={}", token())});
        let request =
            ElicitationRequest { key: "q".into(), kind: ElicitationKind::RawElicitation(params) };
        broker.elicit(vec![request]).await?;
        Ok(ToolOutput::from_text("done"))
    }
}

#[derive(Default)]
struct RecordingHandler(Mutex<Vec<Value>>);

#[async_trait]
impl ElicitationHandler for RecordingHandler {
    async fn elicit(&self, request: &ElicitationRequest) -> Result<Value, String> {
        let ElicitationKind::RawElicitation(params) = &request.kind else { panic!("{request:?}") };
        self.0.lock().unwrap().push(params.clone());
        Ok(json!({"action": "accept", "content": {}}))
    }
}

#[tokio::test]
async fn elicitations_of_upstreams_are_screened() {
    let rig = rig_with(SecretOutputMode::Redact, |catalog| {
        let invoker = Arc::new(ScriptedUpstream(AskingUpstream));
        catalog.add_invoker(contract(None), invoker).unwrap();
    })
    .await;
    let handler = Arc::new(RecordingHandler::default());
    let mut call = call("tool", json!({}));
    let capabilities = ClientCapabilities {
        elicitation: true,
        elicitation_url: true,
        ..ClientCapabilities::default()
    };
    call.channel = ElicitationChannel::Connected { capabilities, handler: handler.clone() };
    rig.pipeline.call(call).await;
    let asked = handler.0.lock().unwrap().clone();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0]["message"], "use [redacted: a GitHub token]?");
    assert_eq!(asked[0]["url"], format!("https://x/?s={}", token()), "a person visits it");

    // Since 2026-07-28 the elicitation is part of the reply.
    let mut call = crate::rig::call("tool", json!({}));
    let input = RoundInput { capabilities, ..RoundInput::default() };
    call.channel = ElicitationChannel::MultiRound(input);
    let ToolReply::InputRequired { elicitations, .. } = rig.pipeline.call(call).await else {
        panic!("the upstream asks");
    };
    assert_eq!(elicitations[0].kind, ElicitationKind::RawElicitation(asked[0].clone()));
    let hits = rig.audit_records().await.pop().expect("each call has a record");
    assert_eq!((&hits["outcome"], &hits["secrets"]), (&json!("input_required"), &json!(1)));
}
