//! The documents of a real project, read through the pack.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::Path;
use std::sync::Arc;

use contract::{CallContext, Caller, Code, ResourceBody, Resources};
use pack_context::{ContextOptions, ContextPack};
use store::{ContextStore, StateDir};
use tempfile::TempDir;

struct Project {
    folder: TempDir,
    pack: ContextPack,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = TempDir::new().unwrap();
        for (path, text) in files {
            let path = folder.path().join("shop").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let root = folder.path().join("shop");
        let pack = ContextPack::open(&root, &state(&root), ContextOptions::default()).unwrap();
        Self { folder, pack }
    }

    fn root(&self) -> std::path::PathBuf {
        self.folder.path().join("shop")
    }

    fn read(&self, uri: &str, session: &str) -> String {
        let caller = Caller { session: Some(session.into()), ..Caller::new("stdio") };
        let documents: Arc<dyn Resources> = self.pack.resources();
        match documents.read(uri, &CallContext::new(caller)).unwrap().body {
            ResourceBody::Text(text) => text,
            ResourceBody::Blob(_) => panic!("a page is text"),
        }
    }
}

fn state(root: &Path) -> StateDir {
    StateDir::at(root.join(".vouch"))
}

fn shop() -> Project {
    Project::new(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"crates/*\"]\n"),
        ("crates/auth/Cargo.toml", "[package]\nname = \"auth\"\n"),
        ("crates/auth/src/lib.rs", "mod token;\n"),
        ("crates/auth/src/token.rs", "// TODO: refresh tokens\npub fn token() {}\n"),
        (
            "docs/adr/0001-sqlite.md",
            "# 1. Use SQLite\n\nDate: 2026-01-02\n\n## Decision\n\nOne file.\n",
        ),
    ])
}

#[test]
fn the_overview_and_a_module_tell_what_is_there() {
    let project = shop();
    let overview = project.read("context://project/overview", "a");
    for told in [
        "# shop\n",
        "- `auth`: ",
        "2026-01-02 decision: **Use SQLite**",
        "`crates/auth/src/token.rs:1`",
    ] {
        assert!(overview.contains(told), "{told}:\n{overview}");
    }
    let module = project.read("context://module/auth", "a");
    for told in ["# Module auth", "`crates/auth/src/token.rs`", "TODO: refresh tokens"] {
        assert!(module.contains(told), "{told}:\n{module}");
    }
    let whole = format!("{overview}{module}");
    assert!(
        !whole.contains(&*project.folder.path().to_string_lossy()),
        "no path of this machine: {whole}"
    );
}

#[test]
fn an_unknown_module_is_the_callers_mistake() {
    let project = shop();
    let ctx = CallContext::new(Caller::new("stdio"));
    let error = project.pack.resources().read("context://module/nothing", &ctx).unwrap_err();
    assert_eq!(error.code, Code::InvalidInput);
    assert!(error.to_string().contains("`auth`"), "{error}");
    let error = project.pack.resources().read("context://nothing", &ctx).unwrap_err();
    assert_eq!(error.code, Code::NotFound);
}

#[test]
fn what_was_read_is_in_the_callers_session_and_in_no_other() {
    let project = shop();
    let read_file = project.pack.tools().unwrap();
    let read_file = read_file.iter().find(|tool| tool.contract().name == "read_file").unwrap();
    let caller = Caller { session: Some("a".into()), ..Caller::new("stdio") };
    let arguments = serde_json::json!({"path": "crates/auth/src/token.rs", "includeDeps": false, "maxDepth": 1});
    read_file.call(arguments, &CallContext::new(caller)).unwrap();
    assert!(project.read("context://session/current", "a").contains("`crates/auth/src/token.rs`"));
    assert!(project.read("context://session/current", "b").contains("Nothing was searched for"));
    assert!(
        project
            .read("context://sessions/recent?limit=1", "b")
            .contains("`crates/auth/src/token.rs`")
    );
}

#[test]
fn what_another_process_adds_is_on_the_next_page() {
    let project = shop();
    assert!(!project.read("context://project/overview", "a").contains("Cookies"));
    let state = StateDir::open(state(&project.root()).path()).unwrap();
    let new = pack_context::discover::NewDiscovery {
        content: "Cookies must be httpOnly".into(),
        module: Some("auth".into()),
        ..Default::default()
    };
    let new = new.check("cli:ada", jiff::Timestamp::now()).unwrap();
    ContextStore::open(&state).unwrap().add(&[new]).unwrap();
    assert!(project.read("context://project/overview", "a").contains("Cookies must be httpOnly"));
    assert!(project.read("context://module/auth", "a").contains("Cookies must be httpOnly"));
}
