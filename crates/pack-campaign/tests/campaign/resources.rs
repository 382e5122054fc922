//! The resources `campaign://…`.

use contract::{CallContext, Caller, ErrorCode, ResourceBody};
use serde_json::{Value, json};

use crate::support::{CampaignSetup, TestCampaign, wait_until};

fn test_context() -> CallContext {
    CallContext::new(Caller::new("test"))
}

fn read_resource(scene: &TestCampaign, uri: &str) -> Value {
    let content = scene.pack.resources().read_resource(uri, &test_context()).unwrap();
    assert_eq!(content.mime_type, "application/json");
    match content.body {
        ResourceBody::Text(text) => serde_json::from_str(&text).unwrap(),
        ResourceBody::Blob(_) => panic!("{uri} is not text"),
    }
}

#[test]
fn resources_equal_tool_outputs() {
    let scene = TestCampaign::ended();
    assert_eq!(
        read_resource(&scene, "campaign://events"),
        scene.call_ok("read_logs", json!({"count": 100}))
    );
    assert_eq!(
        read_resource(&scene, "campaign://coverage"),
        scene.call_ok("show_coverage", json!({}))
    );
    let unknown =
        scene.pack.resources().read_resource("campaign://nothing", &test_context()).unwrap_err();
    assert_eq!(
        (unknown.code, unknown.message.as_str()),
        (
            ErrorCode::NotFound,
            "unknown resource `campaign://nothing`; known resources: `campaign://events`, `campaign://coverage`"
        )
    );
}

#[test]
fn events_version_changes_only_on_new_events() {
    let scene = TestCampaign::paused();
    let resources = scene.pack.resources();
    assert!(resources.has_revisions());
    let events = || resources.resource_revision("campaign://events").unwrap();
    let before = events();
    assert_eq!(before, events(), "no new event");
    scene.shared.resume();
    wait_until("an event occurs", || events() != before);
    assert_eq!(resources.resource_revision("campaign://nothing"), None);
}

#[test]
fn coverage_version_grows_with_coverage() {
    let scene = TestCampaign::running(CampaignSetup::default());
    let resources = scene.pack.resources();
    let version = || resources.resource_revision("campaign://coverage").unwrap();
    wait_until("coverage grows", || version() > 1);
    scene.shared.kill();
    wait_until("the campaign ends", || scene.shared.has_ended());
    let last = read_resource(&scene, "campaign://coverage");
    let settled = version();
    assert_eq!(read_resource(&scene, "campaign://coverage"), last);
    assert_eq!(version(), settled, "the version is stable after the end");
}
