//! Tests of a store that fails: nothing runs on an approval or a state that could not be recorded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use contract::{Constraints, ErrorCode, SideEffects};
use parking_lot::Mutex;
use runtime::transports::http::{HttpOptions, HttpTransport};
use runtime::{
    CallOrigin, Catalog, ClientCapabilities, ElicitationChannel, Pipeline, PipelineOptions,
    ProtocolRefusal, RoundInput, ToolCall, ToolReply,
};
use serde_json::{Value, json};
use store::audit::AuditLog;
use store::{
    Approval, ApprovalDecision, ApprovalState, Approver, Consent, NewApproval, NewWithheldAnswer,
    RawWithheldAnswer, SqliteStore, StateDir, Store, StoreError, WithheldAnswer,
};
use tokio_util::sync::CancellationToken;

use crate::http::{fetch_summary, identity};
use crate::rig::{ann, answer, audit_options, call, code, scripted_tool};

/// A store one of whose operations fails.
struct FailingStore {
    inner: SqliteStore,
    failing: Mutex<&'static str>,
}

impl FailingStore {
    fn fail(&self, operation: &'static str) {
        *self.failing.lock() = operation;
    }

    fn check(&self, operation: &str) -> Result<(), StoreError> {
        match *self.failing.lock() == operation {
            true => Err(StoreError::SharedStateDir { path: "a/private/path".into() }),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl Store for FailingStore {
    async fn request_approval(&self, request: NewApproval) -> Result<Approval, StoreError> {
        self.check("request_approval")?;
        self.inner.request_approval(request).await
    }

    async fn find_approval(&self, id: &str) -> Result<Approval, StoreError> {
        self.check("find_approval")?;
        self.inner.find_approval(id).await
    }

    async fn list_approvals(
        &self,
        state: Option<ApprovalState>,
    ) -> Result<Vec<Approval>, StoreError> {
        self.inner.list_approvals(state).await
    }

    async fn decide_approval(
        &self,
        id: &str,
        decision: ApprovalDecision,
        approver: &Approver,
    ) -> Result<Approval, StoreError> {
        self.inner.decide_approval(id, decision, approver).await
    }

    async fn record_answer(
        &self,
        request: NewApproval,
        decision: ApprovalDecision,
        approver: &Approver,
    ) -> Result<Approval, StoreError> {
        self.check("record_answer")?;
        self.inner.record_answer(request, decision, approver).await
    }

    async fn claim_consent(
        &self,
        principal: &str,
        tool: &str,
        contract_digest: &str,
        arguments_digest: &str,
    ) -> Result<Consent, StoreError> {
        self.check("claim_consent")?;
        self.inner.claim_consent(principal, tool, contract_digest, arguments_digest).await
    }

    async fn issue_nonce(
        &self,
        nonce: &str,
        principal: &str,
        ttl: Duration,
    ) -> Result<(), StoreError> {
        self.check("issue_nonce")?;
        self.inner.issue_nonce(nonce, principal, ttl).await
    }

    async fn use_nonce(&self, nonce: &str) -> Result<bool, StoreError> {
        self.check("use_nonce")?;
        self.inner.use_nonce(nonce).await
    }

    async fn get_or_create_secret(&self, name: &str) -> Result<[u8; 32], StoreError> {
        self.check("get_or_create_secret")?;
        self.inner.get_or_create_secret(name).await
    }

    async fn save_withheld_answer(&self, answer: NewWithheldAnswer) -> Result<String, StoreError> {
        self.check("save_withheld_answer")?;
        self.inner.save_withheld_answer(answer).await
    }

    async fn list_withheld_answers(&self, limit: usize) -> Result<Vec<WithheldAnswer>, StoreError> {
        self.inner.list_withheld_answers(limit).await
    }

    async fn find_withheld_answer(&self, id: &str) -> Result<RawWithheldAnswer, StoreError> {
        self.inner.find_withheld_answer(id).await
    }
}

struct FailingRig {
    pipeline: Arc<Pipeline>,
    store: Arc<FailingStore>,
    runs: Arc<AtomicUsize>,
    _folder: tempfile::TempDir,
}

impl FailingRig {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join(".vouch")).unwrap();
        let inner = SqliteStore::open(&state).unwrap();
        let store = Arc::new(FailingStore { inner, failing: Mutex::new("") });
        let audit = AuditLog::open(state.audit_log_path(), &audit_options(&folder)).unwrap();
        let runs = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&runs);
        let asking = Constraints {
            approval: true,
            side_effects: SideEffects::Append,
            idempotent: false,
            ..Constraints::default()
        };
        let mut catalog = Catalog::default();
        let tool = scripted_tool("write", asking, move |_, _| {
            counter.fetch_add(1, Ordering::SeqCst);
            answer("written")
        });
        catalog.add_tool(tool).unwrap();
        let dynamic = Arc::clone(&store) as Arc<dyn Store>;
        let pipeline =
            Pipeline::new(catalog, dynamic, audit, PipelineOptions::default()).await.unwrap();
        Self { pipeline, store, runs, _folder: folder }
    }

    async fn queue(&self) -> ToolReply {
        self.pipeline.call(call("write", json!({"text": "one"}))).await
    }

    async fn round(&self, answer: Option<Value>, state: Option<&str>) -> ToolReply {
        let call = ToolCall {
            origin: CallOrigin::Local,
            channel: ElicitationChannel::MultiRound(RoundInput {
                capabilities: ClientCapabilities {
                    elicitation: true,
                    ..ClientCapabilities::default()
                },
                answers: answer.map(|answer| ("approval".to_owned(), answer)).into_iter().collect(),
                state: state.map(str::to_owned),
            }),
            ..call("write", json!({"text": "one"}))
        };
        self.pipeline.call(call).await
    }

    async fn first_state(&self) -> String {
        match self.round(None, None).await {
            ToolReply::InputRequired { state, .. } => state,
            other => panic!("{other:?}"),
        }
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

fn yes() -> Value {
    json!({"action": "accept", "content": {"approve": true}})
}

/// Asserts an error of the storage whose text names neither the cause nor a path.
fn assert_unavailable(reply: &ToolReply, message: &str) {
    assert_eq!(code(reply), ErrorCode::StorageUnavailable, "{reply:?}");
    let ToolReply::Failed(error) = reply else { panic!("{reply:?}") };
    assert_eq!((error.message.as_str(), error.details.len()), (message, 0));
}

const NO_QUEUE: &str = "approval queue unavailable; see the server log for the cause";

#[tokio::test]
async fn queue_that_fails_approves_nothing() {
    for operation in ["claim_consent", "request_approval"] {
        let rig = FailingRig::new().await;
        rig.store.fail(operation);
        assert_unavailable(&rig.queue().await, NO_QUEUE);
        assert!(rig.store.list_approvals(None).await.unwrap().is_empty());
        assert_eq!(rig.runs(), 0);
    }
    // An approval whose use cannot be recorded could be used again.
    let rig = FailingRig::new().await;
    assert_eq!(code(&rig.queue().await), ErrorCode::ApprovalRequired);
    let id = rig.store.list_approvals(None).await.unwrap()[0].id.clone();
    rig.store.decide_approval(&id, ApprovalDecision::Approve, &ann()).await.unwrap();
    rig.store.fail("claim_consent");
    assert_unavailable(&rig.queue().await, NO_QUEUE);
    assert_eq!(rig.runs(), 0);
    rig.store.fail("");
    assert_eq!(rig.queue().await.code(), None);
    assert_eq!(rig.runs(), 1);
}

#[tokio::test]
async fn answer_that_cannot_be_recorded_approves_nothing() {
    let rig = FailingRig::new().await;
    let state = rig.first_state().await;
    rig.store.fail("record_answer");
    assert_unavailable(&rig.round(Some(yes()), Some(&state)).await, NO_QUEUE);
    assert_eq!(rig.runs(), 0);
    // A refusal is one, recorded or not.
    rig.store.fail("");
    let state = rig.first_state().await;
    rig.store.fail("record_answer");
    let reply = rig.round(Some(json!({"action": "decline"})), Some(&state)).await;
    assert_eq!(code(&reply), ErrorCode::ApprovalDenied);
    assert_eq!(rig.runs(), 0);
}

#[tokio::test]
async fn state_that_cannot_be_recorded_is_not_issued() {
    let rig = FailingRig::new().await;
    rig.store.fail("issue_nonce");
    let message = "failed to suspend the call; see the server log for the cause";
    assert_unavailable(&rig.round(None, None).await, message);
}

#[tokio::test]
async fn state_whose_use_cannot_be_recorded_is_not_opened() {
    let rig = FailingRig::new().await;
    let state = rig.first_state().await;
    rig.store.fail("use_nonce");
    let reply = rig.round(Some(yes()), Some(&state)).await;
    let ToolReply::Refused(ProtocolRefusal::InvalidState(why)) = &reply else {
        panic!("{reply:?}")
    };
    assert!(why.contains("its use could not be recorded"), "{why}");
    assert_eq!(rig.runs(), 0);
    rig.store.fail("");
    assert_eq!(rig.round(Some(yes()), Some(&state)).await.code(), None);
    assert_eq!(rig.runs(), 1);
}

#[tokio::test]
async fn failing_store_is_not_ready() {
    runtime::client::install_tls();
    for (operation, expected) in [
        ("", r#"200 {"status":"ready","checks":{"audit":"ok","store":"ok"}}"#),
        (
            "get_or_create_secret",
            r#"503 {"status":"not ready","checks":{"audit":"ok","store":"failing"}}"#,
        ),
    ] {
        let rig = FailingRig::new().await;
        rig.store.fail(operation);
        let options = HttpOptions::new(([127, 0, 0, 1], 0).into());
        let transport =
            HttpTransport::bind(Arc::clone(&rig.pipeline), identity(), options).await.unwrap();
        let url = format!("http://{}/readyz", transport.address());
        let running = tokio::spawn(transport.serve(CancellationToken::new()));
        assert_eq!(fetch_summary(reqwest::Client::new().get(url)).await, expected);
        running.abort();
    }
}

#[tokio::test]
async fn pipeline_needs_the_key_of_its_store() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path().join(".vouch")).unwrap();
    let inner = SqliteStore::open(&state).unwrap();
    let store = FailingStore { inner, failing: Mutex::new("get_or_create_secret") };
    let audit = AuditLog::open(state.audit_log_path(), &audit_options(&folder)).unwrap();
    let options = PipelineOptions::default();
    assert!(Pipeline::new(Catalog::default(), Arc::new(store), audit, options).await.is_err());
}
