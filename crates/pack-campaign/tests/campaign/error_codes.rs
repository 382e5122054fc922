//! Error codes of the contract, each by its name, through the pipeline.

use std::fs::OpenOptions;
use std::sync::Arc;
use std::time::Duration;

use contract::{Caller, ToolError};
use pack_campaign::{CampaignSlot, CommandLog, LiveCampaign};
use runtime::{Catalog, Pipeline, PipelineOptions, ToolCall, ToolReply};
use serde_json::{Value, json};
use store::audit::{AuditKeyLocation, AuditLog, AuditOptions};
use store::{SqliteStore, StateDir};

use crate::support::{CampaignSetup, TestCampaign};

/// Calls a tool through the pipeline and returns its error.
fn call_through_pipeline(
    scene: &TestCampaign,
    limit: Duration,
    tool: &str,
    arguments: Value,
) -> ToolError {
    let mut catalog = Catalog::default();
    for tool in &scene.tools {
        catalog.add_tool_with(Arc::clone(tool), |limits| limits.timeout = limit).unwrap();
    }
    let state = StateDir::open(scene.folder.path().join(".vouch")).unwrap();
    let store = Arc::new(SqliteStore::open(&state).unwrap());
    let keys = AuditKeyLocation::new(scene.folder.path().join(".audit-keys"));
    let audit = AuditLog::open(state.audit_log_path(), &AuditOptions::new(keys)).unwrap();
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    let call = ToolCall::new(tool, arguments, Caller::new("test"));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let reply = runtime.block_on(async {
        let pipeline = Pipeline::new(catalog, store, audit, PipelineOptions::default()).await;
        pipeline.unwrap().call(call).await
    });
    match reply {
        ToolReply::Failed(error) => error,
        other => panic!("expected a failure, got {other:?}"),
    }
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn invalid_input_400() {
    let error =
        call_through_pipeline(&TestCampaign::paused(), LONG, "read_logs", json!({"count": 0}));
    assert_eq!((error.code.as_str(), error.code.http_status()), ("INVALID_INPUT", 400));
    assert_eq!(error.to_envelope()["success"], false);
    assert!(error.message.contains("`count`"), "{error}");
}

#[test]
fn tool_not_found_404() {
    let error = call_through_pipeline(&TestCampaign::paused(), LONG, "unknown_tool", json!({}));
    assert_eq!((error.code.as_str(), error.code.http_status()), ("TOOL_NOT_FOUND", 404));
    assert!(error.message.contains("unknown_tool"), "{error}");
}

/// The campaign is paused, so the awaited calls never happen.
#[test]
fn execution_timeout_504() {
    let arguments = json!({"functionSignature": "deposit(uint256)"});
    let limit = Duration::from_millis(1);
    let error = call_through_pipeline(&TestCampaign::paused(), limit, "sample_function", arguments);
    assert_eq!((error.code.as_str(), error.code.http_status()), ("EXECUTION_TIMEOUT", 504));
    assert_eq!(error.message, "`sample_function` exceeded its time limit of 1 ms");
}

/// On a full disk the command cannot be logged, so it is not given.
#[cfg(target_os = "linux")]
#[test]
fn internal_error_500() {
    let campaign = CampaignSetup::default().start();
    let shared = Arc::clone(campaign.shared());
    let slot = Arc::new(CampaignSlot::new("vault"));
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    slot.set_live(LiveCampaign {
        shared: Arc::clone(&shared),
        output: None,
        scene: None,
        log: CommandLog::from_file(full),
    });
    let scene = TestCampaign::from_slot(slot, shared, tempfile::tempdir().unwrap(), campaign);
    let arguments = json!({"functionSignature": "deposit(uint256)"});
    let error = call_through_pipeline(&scene, LONG, "prioritize_function", arguments);
    assert_eq!((error.code.as_str(), error.code.http_status()), ("INTERNAL_ERROR", 500));
    assert!(scene.shared.priorities().is_empty(), "the command was not given");
    assert!(scene.shared.last_commands(1).is_empty());
}
