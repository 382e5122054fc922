//! Access of a sandboxed child, and failures to start without its sandbox.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use link::{Connection, ConnectionError, SandboxPolicy};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{call_text, options, program, script};

fn sandboxed_child(
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    network: bool,
) -> std::sync::Arc<Connection> {
    sandboxed_child_hiding(vec![], read, write, network)
}

fn sandboxed_child_hiding(
    hidden: Vec<PathBuf>,
    mut read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    network: bool,
) -> std::sync::Arc<Connection> {
    let mut program = program("handshake");
    read.push(script());
    program.folder = "/".into();
    program.sandbox = SandboxPolicy::Landlock { read, write, hidden, network };
    Connection::new(options(program))
}

struct TestFolders {
    root: TempDir,
}

impl TestFolders {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["open", "closed", "out"] {
            std::fs::create_dir(root.path().join(name)).unwrap();
            std::fs::write(root.path().join(name).join("file"), "12345").unwrap();
        }
        symlink(root.path().join("open"), root.path().join("link")).unwrap();
        Self { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }
}

#[tokio::test]
async fn grants_only_listed_paths() {
    let folders = TestFolders::new();
    let connection = sandboxed_child(vec![folders.path("link")], vec![folders.path("out")], false);
    let mut outcomes = Vec::new();
    for (tool, name) in [
        ("read", "open/file"),
        ("read", "link/file"),
        ("read", "closed/file"),
        ("read", "out/file"),
        ("write", "open/file"),
        ("write", "open/new"),
        ("write", "closed/new"),
        ("write", "out/file"),
        ("write", "out/new"),
    ] {
        let did = call_text(&connection, tool, json!({ "path": folders.path(name) })).await;
        outcomes.push(format!("{tool} {name}: {did}"));
    }
    let home = call_text(
        &connection,
        "read",
        json!({ "path": concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml") }),
    )
    .await;
    outcomes.push(format!("read other folder: {home}"));
    let hosts = call_text(&connection, "read", json!({ "path": "/etc/passwd" })).await;
    outcomes.push(format!("read system file: {}", &hosts[..4]));
    let own = format!("/proc/{}/cmdline", std::process::id());
    outcomes.push(format!(
        "read command line of owner: {}",
        call_text(&connection, "read", json!({ "path": own })).await
    ));
    let signal = call_text(&connection, "kill", json!({ "pid": std::process::id() })).await;
    outcomes.push(format!("signal owner: {signal}"));
    insta::assert_snapshot!(outcomes.join("\n"));
}

#[tokio::test]
async fn excludes_hidden_paths_from_grants() {
    let folders = TestFolders::new();
    std::fs::write(folders.path("open/.keep"), "1").unwrap();
    std::fs::create_dir(folders.path("open/sub")).unwrap();
    std::fs::write(folders.path("open/sub/file"), "1").unwrap();
    symlink(folders.path("closed"), folders.path("open/out")).unwrap();
    let state = folders.path("open/state");
    std::fs::create_dir_all(state.join("samples")).unwrap();
    std::fs::write(state.join("tokens"), "secret").unwrap();
    let read = || vec![folders.path("link")];
    // Named through a link, and together with a path that does not exist.
    let hidden = vec![folders.path("link/state"), folders.path("none")];
    let connection =
        sandboxed_child_hiding(hidden.clone(), read(), vec![folders.path("out")], false);
    let mut outcomes = Vec::new();
    for (tool, name) in [
        ("list", "open"),
        ("read", "open/file"),
        ("read", "open/.keep"),
        ("read", "open/sub/file"),
        ("read", "open/state/tokens"),
        ("read", "open/out/file"),
        ("write", "open/state/tokens"),
        ("write", "out/new"),
    ] {
        let did = call_text(&connection, tool, json!({ "path": folders.path(name) })).await;
        outcomes.push(format!("{tool} {name}: {did}"));
    }
    for write in ["open", "open/state", "open/state/samples"] {
        let connection =
            sandboxed_child_hiding(hidden.clone(), read(), vec![folders.path(write)], false);
        let error = connection.connect().await.unwrap_err().to_string();
        outcomes.push(error.replace(&*folders.root.path().to_string_lossy(), "ROOT"));
    }
    for name in 0..2_000 {
        std::fs::write(folders.path("open").join(format!("{name}")), "").unwrap();
    }
    let error = sandboxed_child_hiding(hidden, read(), vec![], false)
        .connect()
        .await
        .unwrap_err()
        .to_string();
    outcomes.push(error.replace(&*folders.root.path().to_string_lossy(), "ROOT"));
    insta::assert_snapshot!(outcomes.join("\n"));
}

#[tokio::test]
async fn network_access_follows_the_grant() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let isolated = sandboxed_child(vec![], vec![], false);
    assert_eq!(
        call_text(&isolated, "connect", json!({ "port": port })).await,
        "refused: PermissionError"
    );
    let connected = sandboxed_child(vec![], vec![], true);
    assert_eq!(call_text(&connected, "connect", json!({ "port": port })).await, "done: connected");
    let off = Connection::new(options(program("handshake")));
    assert_eq!(call_text(&off, "connect", json!({ "port": port })).await, "done: connected");
}

#[tokio::test]
async fn missing_granted_path_prevents_the_start() {
    let folders = TestFolders::new();
    let error =
        sandboxed_child(vec![], vec![folders.path("missing")], false).connect().await.unwrap_err();
    assert!(matches!(error, ConnectionError::SandboxUnavailable { .. }));
    let text = error.to_string().replace(&*folders.root.path().to_string_lossy(), "ROOT");
    assert_eq!(
        text,
        "sandbox unavailable: ROOT/missing does not exist: create it, or remove it from the sandbox's `write`"
    );
}

#[tokio::test]
async fn sandboxed_grandchildren_end_with_the_connection() {
    let connection = sandboxed_child(vec![], vec![], false);
    let spawned =
        crate::support::call(&connection, "spawn", json!({})).await.unwrap().structured.unwrap();
    let pids = spawned["pids"].as_array().unwrap().clone();
    connection.close().await;
    for pid in pids {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }
}
