//! `campaign://…`

use contract::{CallContext, Caller, Code, ResourceBody};
use serde_json::{Value, json};

use crate::support::{Scene, Setting, until};

fn context() -> CallContext {
    CallContext::new(Caller::new("test"))
}

fn read(scene: &Scene, uri: &str) -> Value {
    let content = scene.pack.resources().read(uri, &context()).unwrap();
    assert_eq!(content.mime_type, "application/json");
    match content.body {
        ResourceBody::Text(text) => serde_json::from_str(&text).unwrap(),
        ResourceBody::Blob(_) => panic!("{uri} is no text"),
    }
}

#[test]
fn documents_are_what_the_tools_answer() {
    let scene = Scene::ended();
    assert_eq!(read(&scene, "campaign://events"), scene.ask("read_logs", json!({"count": 100})));
    assert_eq!(read(&scene, "campaign://coverage"), scene.ask("show_coverage", json!({})));
    let unknown = scene.pack.resources().read("campaign://nothing", &context()).unwrap_err();
    assert_eq!(
        (unknown.code, unknown.message.as_str()),
        (
            Code::NotFound,
            "there is no document `campaign://nothing`; there are `campaign://events`, `campaign://coverage`"
        )
    );
}

#[test]
fn who_watches_is_told_of_changes_and_of_nothing_else() {
    let scene = Scene::paused();
    let resources = scene.pack.resources();
    assert!(resources.has_changes());
    let events = || resources.changes("campaign://events").unwrap();
    let before = events();
    assert_eq!(before, events(), "nothing has happened");
    scene.shared.resume();
    until("something happens", || events() != before);
    assert_eq!(resources.changes("campaign://nothing"), None);
}

#[test]
fn who_watches_is_told_that_coverage_grows() {
    let scene = Scene::running(Setting::default());
    let resources = scene.pack.resources();
    let version = || resources.changes("campaign://coverage").unwrap();
    until("something is covered", || version() > 1);
    scene.shared.kill();
    until("it ends", || scene.shared.has_ended());
    let last = read(&scene, "campaign://coverage");
    let settled = version();
    assert_eq!(read(&scene, "campaign://coverage"), last);
    assert_eq!(version(), settled, "after the end nothing changes");
}
