//! Calls with side effects leave their intent in the audit log before the tool runs, and their outcome after it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contract::{Constraints, ErrorCode, SideEffects, Tool};
use disk::simulated::{DiskFault, OperationKind, SimulatedDisk};
use runtime::{
    CallOrigin, Catalog, ClientCapabilities, ElicitationChannel, Pipeline, PipelineOptions,
    RoundInput, ToolCall, ToolReply,
};
use serde_json::{Value, json};
use store::audit::{AuditKeyLocation, AuditLog, AuditOptions, verify_log};
use store::{SqliteStore, StateDir, Store};

use crate::rig::{answer, call, code, scripted_tool};

/// A pipeline whose audit log is on a simulated disk.
struct DiskRig {
    pipeline: Arc<Pipeline>,
    disk: Arc<SimulatedDisk>,
    log: PathBuf,
    keys: AuditKeyLocation,
    _folder: tempfile::TempDir,
}

impl DiskRig {
    /// Creates a pipeline with the tools that `tools` returns for the disk and the path of the log.
    async fn new(tools: impl FnOnce(&Arc<SimulatedDisk>, PathBuf) -> Vec<Arc<dyn Tool>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path().join("state")).unwrap();
        let log = state.audit_log_path().canonicalize().unwrap_or_else(|_| state.audit_log_path());
        let keys = AuditKeyLocation::new(folder.path().join("keys"));
        let disk = SimulatedDisk::with_exclusion(folder.path(), |path| {
            path.to_str()
                .is_some_and(|path| path.contains("vouch.db") || path.contains("keys.json"))
        })
        .unwrap();
        let mut catalog = Catalog::default();
        for tool in tools(&disk, log.clone()) {
            catalog.add_tool(tool).unwrap();
        }
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&state).unwrap());
        let options = AuditOptions { disk: disk.clone(), ..AuditOptions::new(keys.clone()) };
        let audit = AuditLog::open(&log, &options).unwrap();
        let options = PipelineOptions::default();
        let pipeline = Pipeline::new(catalog, store, audit, options).await.unwrap();
        Self { pipeline, disk, log, keys, _folder: folder }
    }

    async fn lines(&self) -> Vec<Value> {
        self.pipeline.drain().await;
        read_lines(&self.log)
    }
}

fn read_lines(log: &PathBuf) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line.get("event").is_none()).collect()
}

fn with_effects() -> Constraints {
    Constraints { side_effects: SideEffects::Write, ..Constraints::default() }
}

/// Returns a tool that counts its runs.
fn counting_tool(runs: &Arc<AtomicUsize>) -> Arc<dyn Tool> {
    let runs = Arc::clone(runs);
    scripted_tool("change", with_effects(), move |_, _| {
        runs.fetch_add(1, Ordering::SeqCst);
        answer("done")
    })
}

#[tokio::test]
async fn intent_is_on_disk_before_the_tool_runs_and_outcome_before_the_answer() {
    let rig = DiskRig::new(|disk, log| {
        let disk = Arc::clone(disk);
        vec![scripted_tool("change", with_effects(), move |_, _| {
            let operations = disk.operations();
            let is_log = |path: &std::path::Path| path.ends_with("audit.jsonl");
            let last = operations.iter().rposition(|it| is_log(&it.path));
            assert_eq!(operations[last.unwrap()].kind, OperationKind::SyncData, "not synced");
            let lines = read_lines(&log);
            assert_eq!(lines.len(), 1);
            assert_eq!((&lines[0]["tool"], lines[0].get("outcome")), (&json!("change"), None));
            answer("done")
        })]
    })
    .await;
    let reply = rig.pipeline.call(call("change", json!({"text": "x"}))).await;
    assert_eq!(reply.code(), None, "{reply:?}");
    // Read without a flush: the answer comes after the sync of the outcome.
    let last = rig.disk.operations();
    let last = last.iter().rfind(|it| it.path.ends_with("audit.jsonl")).unwrap().kind;
    assert_eq!(last, OperationKind::SyncData);
    let lines = read_lines(&rig.log);
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[1]["call"], &lines[1]["outcome"]), (&lines[0]["intent"], &json!("ok")));
    let report = verify_log(&rig.log, &rig.keys).unwrap();
    assert_eq!((report.ok, report.unknown), (true, 0));
}

#[tokio::test]
async fn failed_change_has_a_durable_outcome_too() {
    let rig = DiskRig::new(|_, _| {
        vec![scripted_tool("change", with_effects(), |_, _| {
            Err(contract::ToolError::new(ErrorCode::ToolFailed, "half done"))
        })]
    })
    .await;
    rig.pipeline.call(call("change", json!({"text": "x"}))).await;
    let lines = read_lines(&rig.log);
    assert_eq!((&lines[1]["call"], &lines[1]["outcome"]), (&lines[0]["intent"], &json!("error")));
    let syncs = rig.disk.operations();
    let last = syncs.iter().rfind(|it| it.path.ends_with("audit.jsonl")).unwrap();
    assert_eq!(last.kind, OperationKind::SyncData);
}

/// The question to the user is on record before the user sees it.
#[tokio::test]
async fn request_for_an_approval_has_a_durable_record() {
    let rig = DiskRig::new(|_, _| {
        let asking = Constraints { approval: true, ..with_effects() };
        vec![scripted_tool("change", asking, |_, _| answer("done"))]
    })
    .await;
    rig.pipeline.drain().await;
    let call = ToolCall {
        origin: CallOrigin::Local,
        channel: ElicitationChannel::MultiRound(RoundInput {
            capabilities: ClientCapabilities { elicitation: true, ..ClientCapabilities::default() },
            ..RoundInput::default()
        }),
        ..call("change", json!({"text": "x"}))
    };
    let reply = rig.pipeline.call(call).await;
    assert!(matches!(reply, ToolReply::InputRequired { .. }), "{reply:?}");
    let operations = rig.disk.operations();
    let last = operations.iter().rfind(|it| it.path.ends_with("audit.jsonl")).unwrap();
    assert_eq!(last.kind, OperationKind::SyncData);
    let lines = read_lines(&rig.log);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["outcome"], "input_required");
    assert!(lines[0].get("intent").is_none() && lines[0].get("call").is_none());
}

#[tokio::test]
async fn reading_call_has_one_line() {
    let rig = DiskRig::new(|_, _| {
        vec![scripted_tool("look", Constraints::default(), |_, _| answer("seen"))]
    })
    .await;
    rig.pipeline.call(call("look", json!({"text": "x"}))).await;
    let lines = rig.lines().await;
    assert_eq!(lines.len(), 1);
    assert_eq!((lines[0].get("intent"), lines[0].get("call")), (None, None));
}

#[tokio::test]
async fn change_is_refused_if_its_intent_cannot_be_written() {
    // The write of the intent fails, and then its sync, which follows the heads in both folders.
    for (offset, lines_expected) in [(0, 1), (3, 2)] {
        let runs = Arc::new(AtomicUsize::new(0));
        let rig = DiskRig::new(|_, _| vec![counting_tool(&runs)]).await;
        rig.pipeline.drain().await;
        let next = rig.disk.operations().len();
        rig.disk.plan_fault(next + offset, DiskFault::Error(28));
        let reply = rig.pipeline.call(call("change", json!({"text": "x"}))).await;
        assert_eq!(code(&reply), ErrorCode::StorageUnavailable, "{reply:?}");
        assert_eq!(runs.load(Ordering::SeqCst), 0, "the tool ran without an intent");
        rig.disk.clear_faults();
        // The refused call is recorded once the log can be written, and no intent is left open.
        let lines = rig.lines().await;
        assert_eq!(lines.len(), lines_expected, "{lines:?}");
        assert_eq!(lines.last().unwrap()["outcome"], "error");
        assert_eq!(verify_log(&rig.log, &rig.keys).unwrap().unknown, 0);
    }
}

#[tokio::test]
async fn no_change_while_the_log_cannot_be_written() {
    let runs = Arc::new(AtomicUsize::new(0));
    let rig = DiskRig::new(|_, _| {
        let look = scripted_tool("look", Constraints::default(), |_, _| answer("seen"));
        vec![counting_tool(&runs), look]
    })
    .await;
    rig.pipeline.drain().await;
    rig.disk.plan_fault(rig.disk.operations().len(), DiskFault::Full(0));
    // The record of a reading call cannot be written, which makes the log unhealthy.
    let reply = rig.pipeline.call(call("look", json!({"text": "x"}))).await;
    assert_eq!(reply.code(), None, "reading goes on");
    rig.pipeline.drain().await;
    for _ in 0..3 {
        let reply = rig.pipeline.call(call("change", json!({"text": "x"}))).await;
        assert_eq!(code(&reply), ErrorCode::StorageUnavailable);
        let ToolReply::Failed(error) = reply else { panic!("{reply:?}") };
        assert!(error.message.contains("audit log cannot be written"), "{error:?}");
    }
    assert_eq!(runs.load(Ordering::SeqCst), 0);
    rig.disk.clear_faults();
    rig.pipeline.drain().await;
    let reply = rig.pipeline.call(call("change", json!({"text": "x"}))).await;
    assert_eq!(reply.code(), None, "{reply:?}");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn call_that_never_ends_is_reported_as_unknown() {
    let rig = DiskRig::new(|_, log| {
        vec![scripted_tool("change", with_effects(), move |_, _| {
            // What a kill during the call would leave.
            let root = log.with_file_name("..");
            let killed = root.join("killed-");
            for name in ["audit.jsonl", "audit.head"] {
                std::fs::copy(log.with_file_name(name), killed.join(name)).unwrap();
            }
            for entry in std::fs::read_dir(root.join("keys")).unwrap() {
                let entry = entry.unwrap();
                std::fs::copy(entry.path(), killed.join("keys").join(entry.file_name())).unwrap();
            }
            answer("done")
        })]
    })
    .await;
    let killed = rig.log.with_file_name("..").join("killed-");
    std::fs::create_dir_all(killed.join("keys")).unwrap();
    rig.pipeline.call(call("change", json!({"text": "x"}))).await;
    let keys = AuditKeyLocation::new(killed.join("keys"));
    let report = verify_log(killed.join("audit.jsonl"), &keys).unwrap();
    assert!(report.ok, "{:?}", report.problems);
    assert_eq!(report.unknown, 1);
    let note = report.notes.iter().find(|note| note.message.contains("unknown")).unwrap();
    assert!(note.message.contains("`change` by tester"), "{}", note.message);
}

#[tokio::test]
async fn abandoned_change_has_an_outcome() {
    let rig = DiskRig::new(|_, _| {
        let runs = Arc::new(AtomicUsize::new(0));
        vec![counting_tool(&runs)]
    })
    .await;
    for polls in 0..60 {
        let mut running = std::pin::pin!(rig.pipeline.call(call("change", json!({"text": "x"}))));
        // Dropped after this many polls, anywhere between the first stage and the flushed outcome.
        for _ in 0..=polls {
            if futures::poll!(&mut running).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
    }
    let lines = rig.lines().await;
    let outcomes = lines.iter().filter(|line| line.get("outcome").is_some()).count();
    assert_eq!(outcomes, 60);
    assert!(lines.iter().any(|line| line.get("intent").is_some()));
    assert_eq!(verify_log(&rig.log, &rig.keys).unwrap().unknown, 0);
}

#[tokio::test]
async fn digest_of_arguments_cannot_be_guessed() {
    let rig = DiskRig::new(|_, _| {
        vec![scripted_tool("look", Constraints::default(), |_, _| answer("seen"))]
    })
    .await;
    let arguments = json!({"text": "yes"});
    rig.pipeline.call(call("look", arguments.clone())).await;
    rig.pipeline.call(call("look", arguments.clone())).await;
    let lines = rig.lines().await;
    let digest = lines[0]["arguments"]["digest"].as_str().unwrap();
    assert_eq!(lines[1]["arguments"]["digest"], digest, "equal arguments can be recognized");
    assert!(digest.starts_with("hmac:"));
    let plain = contract::sha256_value_digest(&arguments);
    let text = std::fs::read_to_string(&rig.log).unwrap();
    assert!(!text.contains(plain.trim_start_matches("sha256:")), "the plain digest is in the log");
}
