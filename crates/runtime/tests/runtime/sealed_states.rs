//! Tests of the sealed state that a client carries between two rounds: what it is bound to, and what makes it unique.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use contract::{Caller, Constraints, ErrorCode, SideEffects};
use runtime::{
    CallOrigin, Catalog, ClientCapabilities, ElicitationChannel, Pipeline, PipelineOptions,
    ProtocolRefusal, RoundInput, ToolCall, ToolReply,
};
use serde_json::{Value, json};
use store::audit::AuditLog;
use store::{ApprovalDecision, ApprovalState, SqliteStore, StateDir, Store};

use crate::rig::{Rig, ann, answer, audit_options, call, code, scripted_tool};

/// Bytes of the time of expiry in front of a state's content.
const EXPIRY_BYTES: usize = 8;

/// Returns a round of a call whose client can ask its user. Together with a state it brings the user's approval.
fn round(tool: &str, arguments: Value, state: Option<&str>) -> ToolCall {
    let yes = json!({"action": "accept", "content": {"approve": true}});
    ToolCall {
        origin: CallOrigin::Local,
        channel: ElicitationChannel::MultiRound(RoundInput {
            capabilities: ClientCapabilities { elicitation: true, ..ClientCapabilities::default() },
            answers: state.map(|_| ("approval".to_owned(), yes)).into_iter().collect(),
            state: state.map(str::to_owned),
        }),
        ..call(tool, arguments)
    }
}

fn text() -> Value {
    json!({"text": "one"})
}

async fn first_state(pipeline: &Pipeline, tool: &str) -> String {
    match pipeline.call(round(tool, text(), None)).await {
        ToolReply::InputRequired { state, .. } => state,
        other => panic!("{other:?}"),
    }
}

/// Returns the time of expiry and the content of a sealed state. It is signed, not encrypted.
fn decode(state: &str) -> (i64, Value) {
    let body = URL_SAFE_NO_PAD.decode(state.split('.').nth(1).unwrap()).unwrap();
    let (expiry, content) = body.split_at(EXPIRY_BYTES);
    (i64::from_be_bytes(expiry.try_into().unwrap()), serde_json::from_slice(content).unwrap())
}

fn assert_foreign(reply: &ToolReply) {
    match reply {
        ToolReply::Refused(ProtocolRefusal::InvalidState(why)) => {
            assert!(why.contains("belongs to another call"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

fn asking() -> Constraints {
    let constraints = Constraints { approval: true, ..Constraints::default() };
    Constraints { side_effects: SideEffects::Append, idempotent: false, ..constraints }
}

fn catalog_with<const N: usize>(tools: [(&str, Constraints); N]) -> Catalog {
    let mut catalog = Catalog::default();
    for (name, constraints) in tools {
        catalog.add_tool(scripted_tool(name, constraints, |_, _| answer("written"))).unwrap();
    }
    catalog
}

#[tokio::test]
async fn states_of_equal_calls_differ_in_every_byte_of_the_nonce() {
    const STATES: usize = 24;
    let rig = Rig::new().await;
    let (mut states, mut nonces) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..STATES {
        let state = first_state(&rig.pipeline, "write").await;
        let nonce = decode(&state).1["nonce"].as_str().unwrap().to_owned();
        assert_eq!(nonce.len(), 32, "{nonce}");
        assert!(nonce.bytes().all(|digit| digit.is_ascii_hexdigit()), "{nonce}");
        nonces.insert(nonce);
        states.insert(state);
    }
    assert_eq!((states.len(), nonces.len()), (STATES, STATES));
    // A byte that is always the same would make nonces easier to repeat.
    for digit in 0..32 {
        let values: BTreeSet<_> = nonces.iter().map(|nonce| nonce.as_bytes()[digit]).collect();
        assert!(values.len() > 4, "digit {digit}: {values:?}");
    }
    // All of them are valid at the same time, and using one does not use another.
    for state in &states {
        let reply = rig.pipeline.call(round("write", text(), Some(state))).await;
        assert_eq!(reply.code(), None, "{reply:?}");
    }
}

#[tokio::test]
async fn state_expires_with_the_approval() {
    let options =
        PipelineOptions { approval_lifetime: Duration::from_secs(600), ..Default::default() };
    let rig = Rig::with_options(options).await;
    let before = jiff::Timestamp::now().as_millisecond();
    let state = first_state(&rig.pipeline, "write").await;
    let after = jiff::Timestamp::now().as_millisecond();
    let (expiry, _) = decode(&state);
    assert!((before + 600_000..=after + 600_000).contains(&expiry), "{expiry}");
}

#[tokio::test]
async fn state_opens_only_for_the_tool_that_asked() {
    let rig = Rig::with_catalog(
        catalog_with([("append", asking()), ("delete", asking())]),
        PipelineOptions::default(),
    )
    .await;
    let state = first_state(&rig.pipeline, "append").await;
    assert_foreign(&rig.pipeline.call(round("delete", text(), Some(&state))).await);
    let mut other = round("append", text(), Some(&state));
    other.caller = Caller::new("other");
    assert_foreign(&rig.pipeline.call(other).await);
    assert_foreign(&rig.pipeline.call(round("append", json!({"text": "two"}), Some(&state))).await);
    let reply = rig.pipeline.call(round("append", text(), Some(&state))).await;
    assert_eq!(reply.code(), None, "{reply:?}");
}

/// The person saw the old contract, so the approval is not one of the new contract.
#[tokio::test]
async fn state_opens_only_for_the_contract_that_asked() {
    let rig =
        Rig::with_catalog(catalog_with([("append", asking())]), PipelineOptions::default()).await;
    let state = first_state(&rig.pipeline, "append").await;
    let destructive = Constraints { side_effects: SideEffects::Write, ..asking() };
    rig.pipeline.publish(catalog_with([("append", destructive)]));
    assert_foreign(&rig.pipeline.call(round("append", text(), Some(&state))).await);
    // The refused attempts have not used the state up.
    rig.pipeline.publish(catalog_with([("append", asking())]));
    let reply = rig.pipeline.call(round("append", text(), Some(&state))).await;
    assert_eq!(reply.code(), None, "{reply:?}");
}

/// Like a state, an approval in the queue is one of the contract that the person saw.
#[tokio::test]
async fn queued_approval_is_used_only_by_its_tool_and_contract() {
    let destructive = Constraints { side_effects: SideEffects::Write, ..asking() };
    let catalog = |constraints| catalog_with([("append", constraints), ("delete", asking())]);
    let rig = Rig::with_catalog(catalog(asking()), PipelineOptions::default()).await;
    assert_eq!(code(&rig.call("append", text()).await), ErrorCode::ApprovalRequired);
    let id = rig.store.list_approvals(None).await.unwrap()[0].id.clone();
    rig.store.decide_approval(&id, ApprovalDecision::Approve, &ann()).await.unwrap();

    assert_eq!(code(&rig.call("delete", text()).await), ErrorCode::ApprovalRequired);
    rig.pipeline.publish(catalog(destructive));
    assert_eq!(code(&rig.call("append", text()).await), ErrorCode::ApprovalRequired);
    assert_eq!(rig.store.find_approval(&id).await.unwrap().state, ApprovalState::Approved);
    rig.pipeline.publish(catalog(asking()));
    assert_eq!(rig.call("append", text()).await.code(), None);
    assert_eq!(code(&rig.call("append", text()).await), ErrorCode::ApprovalRequired);
}

async fn pipeline_in(folder: &tempfile::TempDir, name: &str) -> Arc<Pipeline> {
    let state = StateDir::open(folder.path().join(name)).unwrap();
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&state).unwrap());
    let audit = AuditLog::open(state.audit_log_path(), &audit_options(folder)).unwrap();
    let catalog = catalog_with([("append", asking())]);
    Pipeline::new(catalog, store, audit, PipelineOptions::default()).await.unwrap()
}

#[tokio::test]
async fn state_opens_after_a_restart_but_not_in_another_project() {
    let folder = tempfile::tempdir().unwrap();
    let first = pipeline_in(&folder, "own").await;
    let state = first_state(&first, "append").await;
    first.drain().await;
    drop(first);
    let other = pipeline_in(&folder, "other").await;
    assert_foreign(&other.call(round("append", text(), Some(&state))).await);
    let restarted = pipeline_in(&folder, "own").await;
    let reply = restarted.call(round("append", text(), Some(&state))).await;
    assert_eq!(reply.code(), None, "{reply:?}");
    // One state opens once, also in a process that did not issue it.
    let reply = restarted.call(round("append", text(), Some(&state))).await;
    assert!(
        matches!(&reply, ToolReply::Refused(ProtocolRefusal::InvalidState(why))
        if why.contains("used before")),
        "{reply:?}"
    );
}
