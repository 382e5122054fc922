//! The error codes of the contract, each by its name, through the pipeline that callers meet.

use std::fs::OpenOptions;
use std::sync::Arc;
use std::time::Duration;

use contract::{Caller, ToolError};
use pack_campaign::{CommandLog, Live, Seat};
use runtime::{Call, Catalog, Pipeline, PipelineOptions, Reply};
use serde_json::{Value, json};
use store::audit::AuditLog;
use store::{SqliteStore, StateDir};

use crate::support::{Scene, Setting};

/// What a caller gets that comes through the pipeline.
fn failure(scene: &Scene, limit: Duration, tool: &str, arguments: Value) -> ToolError {
    let mut catalog = Catalog::default();
    for tool in &scene.tools {
        catalog.add_tool_with(Arc::clone(tool), |limits| limits.timeout = limit).unwrap();
    }
    let state = StateDir::open(scene.folder.path().join(".vouch")).unwrap();
    let store = Arc::new(SqliteStore::open(&state).unwrap());
    let audit = AuditLog::open(state.audit_log()).unwrap();
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let call = Call::new(tool, arguments, Caller::new("test"));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let reply = runtime.block_on(async {
        let pipeline = Pipeline::new(catalog, store, audit, PipelineOptions::default()).await;
        pipeline.unwrap().call(call).await
    });
    match reply {
        Reply::Failed(error) => error,
        other => panic!("expected a failure, got {other:?}"),
    }
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn invalid_input_400() {
    let error = failure(&Scene::paused(), LONG, "read_logs", json!({"count": 0}));
    assert_eq!((error.code.as_str(), error.code.status()), ("INVALID_INPUT", 400));
    assert_eq!(error.envelope()["success"], false);
    assert!(error.message.contains("`count`"), "{error}");
}

#[test]
fn tool_not_found_404() {
    let error = failure(&Scene::paused(), LONG, "unknown_tool", json!({}));
    assert_eq!((error.code.as_str(), error.code.status()), ("TOOL_NOT_FOUND", 404));
    assert!(error.message.contains("unknown_tool"), "{error}");
}

/// The campaign is paused, so the calls that are waited for do not come.
#[test]
fn execution_timeout_504() {
    let arguments = json!({"functionSignature": "deposit(uint256)"});
    let limit = Duration::from_millis(1);
    let error = failure(&Scene::paused(), limit, "sample_function", arguments);
    assert_eq!((error.code.as_str(), error.code.status()), ("EXECUTION_TIMEOUT", 504));
    assert_eq!(error.message, "`sample_function` took longer than its limit of 1 ms");
}

/// A full disk: the command cannot be written down, so it is not given.
#[cfg(target_os = "linux")]
#[test]
fn internal_error_500() {
    let campaign = Setting::default().start();
    let shared = Arc::clone(campaign.shared());
    let seat = Arc::new(Seat::new("vault"));
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    seat.begin(Live {
        shared: Arc::clone(&shared),
        output: None,
        scene: None,
        log: CommandLog::to(full),
    });
    let scene = Scene::of(seat, shared, tempfile::tempdir().unwrap(), campaign);
    let arguments = json!({"functionSignature": "deposit(uint256)"});
    let error = failure(&scene, LONG, "prioritize_function", arguments);
    assert_eq!((error.code.as_str(), error.code.status()), ("INTERNAL_ERROR", 500));
    assert!(scene.shared.priorities().is_empty(), "the command was not given");
    assert!(scene.shared.last_commands(1).is_empty());
}
