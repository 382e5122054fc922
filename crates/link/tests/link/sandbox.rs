//! What a sandboxed child can and cannot do, and that it does not start without its sandbox.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use link::{Link, LinkError, Sandbox};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{options, program, script, words};

fn fenced(read: Vec<PathBuf>, write: Vec<PathBuf>, network: bool) -> std::sync::Arc<Link> {
    around(vec![], read, write, network)
}

fn around(
    hidden: Vec<PathBuf>,
    mut read: Vec<PathBuf>,
    write: Vec<PathBuf>,
    network: bool,
) -> std::sync::Arc<Link> {
    let mut program = program("handshake");
    read.push(script());
    program.folder = "/".into();
    program.sandbox = Sandbox::Landlock { read, write, hidden, network };
    Link::new(options(program))
}

struct Folders {
    root: TempDir,
}

impl Folders {
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
async fn only_what_is_granted() {
    let folders = Folders::new();
    let link = fenced(vec![folders.path("link")], vec![folders.path("out")], false);
    let mut seen = Vec::new();
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
        let did = words(&link, tool, json!({ "path": folders.path(name) })).await;
        seen.push(format!("{tool} {name}: {did}"));
    }
    let home =
        words(&link, "read", json!({ "path": concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml") }))
            .await;
    seen.push(format!("read elsewhere: {home}"));
    let hosts = words(&link, "read", json!({ "path": "/etc/passwd" })).await;
    seen.push(format!("read the system's: {}", &hosts[..4]));
    let own = format!("/proc/{}/cmdline", std::process::id());
    seen.push(format!(
        "read our command line: {}",
        words(&link, "read", json!({ "path": own })).await
    ));
    let signal = words(&link, "kill", json!({ "pid": std::process::id() })).await;
    seen.push(format!("signal us: {signal}"));
    insta::assert_snapshot!(seen.join("\n"));
}

#[tokio::test]
async fn what_is_hidden_is_in_no_grant() {
    let folders = Folders::new();
    std::fs::write(folders.path("open/.keep"), "1").unwrap();
    std::fs::create_dir(folders.path("open/sub")).unwrap();
    std::fs::write(folders.path("open/sub/file"), "1").unwrap();
    symlink(folders.path("closed"), folders.path("open/out")).unwrap();
    let state = folders.path("open/state");
    std::fs::create_dir_all(state.join("samples")).unwrap();
    std::fs::write(state.join("tokens"), "secret").unwrap();
    let read = || vec![folders.path("link")];
    // By whatever name, and beside one that is not there.
    let hidden = vec![folders.path("link/state"), folders.path("none")];
    let link = around(hidden.clone(), read(), vec![folders.path("out")], false);
    let mut seen = Vec::new();
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
        let did = words(&link, tool, json!({ "path": folders.path(name) })).await;
        seen.push(format!("{tool} {name}: {did}"));
    }
    for write in ["open", "open/state", "open/state/samples"] {
        let link = around(hidden.clone(), read(), vec![folders.path(write)], false);
        let error = link.connect().await.unwrap_err().to_string();
        seen.push(error.replace(&*folders.root.path().to_string_lossy(), "ROOT"));
    }
    for name in 0..2_000 {
        std::fs::write(folders.path("open").join(format!("{name}")), "").unwrap();
    }
    let error = around(hidden, read(), vec![], false).connect().await.unwrap_err().to_string();
    seen.push(error.replace(&*folders.root.path().to_string_lossy(), "ROOT"));
    insta::assert_snapshot!(seen.join("\n"));
}

#[tokio::test]
async fn the_network_is_granted_or_not() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let fenced_in = fenced(vec![], vec![], false);
    assert_eq!(
        words(&fenced_in, "connect", json!({ "port": port })).await,
        "refused: PermissionError"
    );
    let let_out = fenced(vec![], vec![], true);
    assert_eq!(words(&let_out, "connect", json!({ "port": port })).await, "done: connected");
    let off = Link::new(options(program("handshake")));
    assert_eq!(words(&off, "connect", json!({ "port": port })).await, "done: connected");
}

#[tokio::test]
async fn a_grant_of_nothing_stops_the_start() {
    let folders = Folders::new();
    let error = fenced(vec![], vec![folders.path("missing")], false).connect().await.unwrap_err();
    assert!(matches!(error, LinkError::SandboxUnavailable { .. }));
    let text = error.to_string().replace(&*folders.root.path().to_string_lossy(), "ROOT");
    assert_eq!(
        text,
        "the sandbox is not to be had: ROOT/missing does not exist: create it, or take it out of the sandbox's `write`"
    );
}

#[tokio::test]
async fn grandchildren_are_fenced_too_and_end() {
    let link = fenced(vec![], vec![], false);
    let spawned =
        crate::support::call(&link, "spawn", json!({})).await.unwrap().structured.unwrap();
    let pids = spawned["pids"].as_array().unwrap().clone();
    link.close().await;
    for pid in pids {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }
}
