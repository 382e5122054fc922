//! Resources of a real project, read through the pack.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::Path;
use std::sync::Arc;

use contract::{CallContext, Caller, ErrorCode, ResourceBody, ResourceProvider};
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
        let resources: Arc<dyn ResourceProvider> = self.pack.resources();
        match resources.read_resource(uri, &CallContext::new(caller)).unwrap().body {
            ResourceBody::Text(text) => text,
            ResourceBody::Blob(_) => panic!("a page is text"),
        }
    }
}

fn state(root: &Path) -> StateDir {
    StateDir::from_path(root.join(".vouch"))
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
fn pages_show_modules_and_discoveries() {
    let project = shop();
    let overview = project.read("context://project/overview", "a");
    for expected in [
        "# shop\n",
        "- `auth`: ",
        "2026-01-02 decision: **Use SQLite**",
        "`crates/auth/src/token.rs:1`",
    ] {
        assert!(overview.contains(expected), "{expected}:\n{overview}");
    }
    let module = project.read("context://module/auth", "a");
    for expected in ["# Module auth", "`crates/auth/src/token.rs`", "TODO: refresh tokens"] {
        assert!(module.contains(expected), "{expected}:\n{module}");
    }
    let whole = format!("{overview}{module}");
    assert!(
        !whole.contains(&*project.folder.path().to_string_lossy()),
        "pages must not contain absolute paths: {whole}"
    );
}

#[test]
fn unknown_module_is_invalid_input() {
    let project = shop();
    let ctx = CallContext::new(Caller::new("stdio"));
    let error =
        project.pack.resources().read_resource("context://module/nothing", &ctx).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidInput);
    assert!(error.to_string().contains("`auth`"), "{error}");
    let error = project.pack.resources().read_resource("context://nothing", &ctx).unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
}

#[test]
fn reads_appear_only_in_callers_session() {
    let project = shop();
    let read_file = project.pack.tools().unwrap();
    let read_file = read_file.iter().find(|tool| tool.contract().name == "read_file").unwrap();
    let caller = Caller { session: Some("a".into()), ..Caller::new("stdio") };
    let arguments = serde_json::json!({"path": "crates/auth/src/token.rs", "includeDeps": false, "maxDepth": 1});
    read_file.call(arguments, &CallContext::new(caller)).unwrap();
    assert!(project.read("context://session/current", "a").contains("`crates/auth/src/token.rs`"));
    assert!(project.read("context://session/current", "b").contains("No searches or file reads"));
    assert!(
        project
            .read("context://sessions/recent?limit=1", "b")
            .contains("`crates/auth/src/token.rs`")
    );
}

/// Attacks: a caller with another token reads the sessions of this one by any page, handle or search.
#[test]
fn sessions_are_hidden_from_other_principals() {
    let project = shop();
    let tools = project.pack.tools().unwrap();
    let call = |tool: &str, arguments: serde_json::Value, caller: &Caller| {
        let tool = tools.iter().find(|it| it.contract().name == tool).unwrap();
        tool.call(arguments, &CallContext::new(caller.clone())).unwrap().structured.unwrap()
    };
    let alice = Caller { session: Some("a".into()), ..Caller::new("token:alice") };
    let read = serde_json::json!({"path": "crates/auth/src/token.rs", "includeDeps": false, "maxDepth": 1});
    call("read_file", read, &alice);
    let search = |text: &str| serde_json::json!({"query": text, "type": "all", "limit": 20});
    call("context_search", search("zanzibar quokka"), &alice);

    // Another token, also with her session handle, her client name, or a name that begins with hers.
    let mallory = Caller::new("token:mallory");
    let own_handle = Caller { session: Some("b".into()), ..alice.clone() };
    for caller in [
        mallory.clone(),
        Caller { session: alice.session.clone(), ..mallory.clone() },
        Caller { client: Some("token:alice".into()), ..mallory.clone() },
        Caller::new("token:alice2"),
        Caller::new("token:ali"),
        Caller::new("local"),
        Caller::new("stdio"),
        Caller::new(""),
    ] {
        let read = |uri: &str| {
            let ctx = CallContext::new(caller.clone());
            match project.pack.resources().read_resource(uri, &ctx).unwrap().body {
                ResourceBody::Text(text) => text,
                ResourceBody::Blob(_) => panic!("a page is text"),
            }
        };
        for uri in [
            "context://session/current",
            "context://sessions/recent",
            "context://sessions/recent?limit=50",
        ] {
            let page = read(uri);
            assert!(!page.contains("quokka") && !page.contains("token.rs"), "{uri}: {page}");
        }
        project.pack.index().scan_without_embedding(&|| false);
        let found = call("context_search", search("session about zanzibar"), &caller);
        assert!(!found["results"].to_string().contains("quokka"), "{caller:?}: {found}");
    }
    // In another session of hers, both are there.
    let ctx = CallContext::new(own_handle.clone());
    let page = project.pack.resources().read_resource("context://sessions/recent", &ctx).unwrap();
    let ResourceBody::Text(page) = page.body else { panic!("a page is text") };
    assert!(page.contains("quokka"), "{page}");
    project.pack.index().scan_without_embedding(&|| false);
    let found = call("context_search", search("session about zanzibar"), &own_handle);
    assert!(found["results"].to_string().contains("quokka"), "{found}");
}

#[test]
fn pages_include_discoveries_added_by_another_process() {
    let project = shop();
    assert!(!project.read("context://project/overview", "a").contains("Cookies"));
    let state = StateDir::open(state(&project.root()).path()).unwrap();
    let new = pack_context::discover::NewDiscovery {
        content: "Cookies must be httpOnly".into(),
        module: Some("auth".into()),
        ..Default::default()
    };
    let new = new.validate("cli:ada", jiff::Timestamp::now()).unwrap();
    ContextStore::open(&state).unwrap().add_discoveries(&[new]).unwrap();
    assert!(project.read("context://project/overview", "a").contains("Cookies must be httpOnly"));
    assert!(project.read("context://module/auth", "a").contains("Cookies must be httpOnly"));
}
