//! `/readyz` of a real server whose disk is full, whose audit log cannot be written, or which has lost an upstream.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::{Value, json};

use crate::index::{start_embeddings_endpoint, with_endpoint};
use crate::operating::get;
use crate::support::{LIMIT, Project, Server, VOUCH, adversary, wait_until};

/// The time limits are not tested here, and a busy machine would exceed the default ones.
const CONFIG: &str = "[policy]\napprove = \"always\"\n\
    [tools.hello]\nrate_per_minute = 1000000\ntimeout_ms = 60000\n\
    [tools.write_memory_entry]\nrate_per_minute = 1000000\ntimeout_ms = 60000\n";
/// More than the trial write of the disk check, less than the audit log of the test.
const SMALL_FILE: u64 = 80_000;

/// Starts a server by a shell script, which gets the path of `vouch` as `$0` and `path` as `$1`.
fn start_by_script(project: &Project, script: &str, path: &str) -> Server {
    let command = project.command(&[]);
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", script, VOUCH, path])
        .current_dir(&project.root)
        .env_clear()
        .envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))))
        .stdin(std::process::Stdio::null());
    Server::start(shell)
}

/// Starts a server whose writes over a file size limit fail, instead of ending it.
fn start_with_file_limit(project: &Project) -> Server {
    let script = "trap '' XFSZ; exec \"$0\" serve --port 0 --no-token --packs repo";
    start_by_script(project, script, "")
}

/// Limits the size of the files that a running server can write. Needs no rights.
fn limit_files(server: &Server, bytes: Option<u64>) {
    let limit = Rlimit { current: bytes, maximum: None };
    prlimit(Some(Pid::from_child(&server.child)), Resource::Fsize, limit).unwrap();
}

fn readiness(server: &Server) -> (u16, Value) {
    let (status, body) = get(server.address, "/readyz", "");
    (status, serde_json::from_str(&body).unwrap())
}

fn wait_for_readiness(server: &Server, expected: u16, checks: &[(&str, &str)]) {
    wait_until(&format!("/readyz answers {expected} with {checks:?}"), || {
        let (status, body) = readiness(server);
        status == expected && checks.iter().all(|(name, word)| body["checks"][name] == *word)
    });
}

fn write_entry(server: &Server, text: &str) -> (u16, Value) {
    server.call("write_memory_entry", &json!({"file": "best_practices.md", "entry": text}))
}

/// Fails unless writes are refused as a problem of the storage and leave nothing behind.
fn assert_writes_are_refused(project: &Project, server: &Server) {
    let (status, answer) = write_entry(server, "- refused");
    assert_eq!(
        (status, &answer["error"]["code"]),
        (503, &json!("STORAGE_UNAVAILABLE")),
        "{answer}"
    );
    let file = project.root.join(".claude/memory/best_practices.md");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    assert!(!text.contains("refused"), "{text}");
    assert_eq!(get(server.address, "/healthz", "").0, 200);
}

#[test]
fn disk_that_takes_no_byte_is_not_ready() {
    let project = Project::new().with("vouch.toml", CONFIG);
    let server = start_with_file_limit(&project);
    wait_for_readiness(&server, 200, &[("disk", "ok"), ("audit", "ok"), ("store", "ok")]);
    limit_files(&server, Some(0));
    // No call has needed the audit log yet.
    wait_for_readiness(&server, 503, &[("disk", "not writable"), ("audit", "ok")]);
    assert_writes_are_refused(&project, &server);
    wait_for_readiness(&server, 503, &[("disk", "not writable"), ("audit", "not writable")]);
    limit_files(&server, None);
    // Without another call: a server that is not ready may get none.
    wait_for_readiness(&server, 200, &[("disk", "ok"), ("audit", "ok")]);
    assert_eq!(write_entry(&server, "- written").0, 200);
    server.signal(Signal::TERM);
    assert!(server.wait().0.success());
    assert_eq!(project.run_json(&["audit", "verify", "--json"])["ok"], true);
}

#[test]
fn audit_log_that_cannot_grow_is_not_ready() {
    let project = Project::new().with("vouch.toml", CONFIG);
    let server = start_with_file_limit(&project);
    let log = project.state().join("audit.jsonl");
    wait_until("the audit log is long enough", || {
        assert_eq!(server.call("hello", &json!({})).0, 200);
        log.metadata().is_ok_and(|log| log.len() > SMALL_FILE)
    });
    limit_files(&server, Some(SMALL_FILE));
    assert_writes_are_refused(&project, &server);
    wait_for_readiness(&server, 503, &[("disk", "ok"), ("audit", "not writable")]);
    limit_files(&server, None);
    wait_for_readiness(&server, 200, &[("audit", "ok")]);
    assert_eq!(write_entry(&server, "- written").0, 200);
}

/// A tmpfs in a mount namespace of the server, filled through `/proc`.
#[test]
fn full_disk_is_not_ready() {
    let namespace = ["--user", "--map-root-user", "--mount", "true"];
    if !Command::new("unshare").args(namespace).status().is_ok_and(|status| status.success()) {
        test_rights::record_skip("probes::full_disk_is_not_ready", "no user namespaces");
        return;
    }
    let project = Project::new().with("vouch.toml", CONFIG);
    std::fs::create_dir(&project.state_home).unwrap();
    let script = "exec unshare --user --map-root-user --mount sh -c \
        'mount -t tmpfs -o size=16m tmpfs \"$1\" && exec \"$0\" serve --port 0 --no-token --packs repo' \"$0\" \"$1\"";
    let server = start_by_script(&project, script, &project.state_home.display().to_string());
    wait_for_readiness(&server, 200, &[("disk", "ok"), ("audit", "ok")]);
    let root = PathBuf::from(format!("/proc/{}/root", server.child.id()));
    let filler = root.join(project.state_home.strip_prefix("/").unwrap()).join("filler");
    let mut file = File::create(&filler).unwrap();
    for size in [64 * 1024, 512, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    wait_for_readiness(&server, 503, &[("disk", "full")]);
    // The last block of the audit log may have room.
    wait_until("writes are refused", || write_entry(&server, "- maybe written").0 != 200);
    assert_writes_are_refused(&project, &server);
    wait_for_readiness(&server, 503, &[("disk", "full"), ("audit", "not writable")]);
    std::fs::remove_file(&filler).unwrap();
    drop(file);
    wait_for_readiness(&server, 200, &[("disk", "ok"), ("audit", "ok")]);
    assert_eq!(write_entry(&server, "- written").0, 200);
}

/// The memory folder is a tmpfs in a mount namespace of the server, and the state is elsewhere.
#[test]
fn full_disk_of_the_memory_folder_refuses_entries_only() {
    let namespace = ["--user", "--map-root-user", "--mount", "true"];
    if !Command::new("unshare").args(namespace).status().is_ok_and(|status| status.success()) {
        let test = "probes::full_disk_of_the_memory_folder_refuses_entries_only";
        test_rights::record_skip(test, "no user namespaces");
        return;
    }
    let project = Project::new().with("vouch.toml", CONFIG);
    let memory = project.root.join(".claude/memory");
    std::fs::create_dir_all(&memory).unwrap();
    let script = "exec unshare --user --map-root-user --mount sh -c \
        'mount -t tmpfs -o size=1m tmpfs \"$1\" && exec \"$0\" serve --port 0 --no-token --packs repo' \"$0\" \"$1\"";
    let server = start_by_script(&project, script, &memory.display().to_string());
    let mounted = PathBuf::from(format!("/proc/{}/root", server.child.id()))
        .join(memory.strip_prefix("/").unwrap());
    let entries = || std::fs::read_to_string(mounted.join("best_practices.md")).unwrap();
    assert_eq!(write_entry(&server, "- written").0, 200);
    assert_eq!(entries(), "- written\n");
    let filler = mounted.join("filler");
    let mut file = File::create(&filler).unwrap();
    for size in [64 * 1024, 512, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
    // The last block of the file has room for some entries.
    let long = format!("- {}", "x".repeat(5_000));
    let (status, answer) = write_entry(&server, &long);
    assert_eq!(
        (status, &answer["error"]["code"]),
        (503, &json!("STORAGE_UNAVAILABLE")),
        "{answer}"
    );
    assert_eq!(entries(), "- written\n", "nothing is left of the refused entry");
    assert_eq!(readiness(&server).0, 200, "other calls are served");
    assert_eq!(server.call("hello", &json!({})).0, 200);
    std::fs::remove_file(&filler).unwrap();
    drop(file);
    assert_eq!(write_entry(&server, &long).0, 200);
    assert_eq!(entries(), format!("- written\n{long}\n"));
    server.signal(Signal::TERM);
    assert!(server.wait().0.success());
    let report = project.run_json(&["audit", "verify", "--json"]);
    assert_eq!((&report["ok"], &report["unknown"]), (&json!(true), &json!(0)), "{report}");
}

/// The endpoint of the embeddings never answers, so the index stays under construction.
#[test]
fn server_is_ready_while_it_builds_the_index() {
    let (asked, first_request) = std::sync::mpsc::channel();
    let endpoint = start_embeddings_endpoint(move |_| {
        // The test may have ended.
        let _ = asked.send(());
        None
    });
    let project = with_endpoint(&endpoint);
    let config = project.read("vouch.toml");
    project.write("vouch.toml", &format!("{config}[tools.grep_codebase]\ntimeout_ms = 60000\n"));
    let mut command = project.command(&["serve", "--port", "0", "--no-token"]);
    command.stdout(std::process::Stdio::null());
    let server = Server::start(command);
    first_request.recv_timeout(LIMIT).expect("the index asks for vectors");
    let status = project.run_json(&["index", "status", "--json"]);
    assert_ne!(status["vectors"]["done"], status["vectors"]["all"], "it is not complete: {status}");
    wait_for_readiness(&server, 200, &[("disk", "ok"), ("store", "ok")]);
    let (status, found) = server.call("grep_codebase", &json!({"pattern": "issue_\\w+"}));
    assert_eq!((status, &found["matches"][0]["file"]), (200, &json!("src/tokens.py")), "{found}");
}

/// Two upstreams exit during a call. Each cannot be started again while its file exists.
#[test]
fn lost_upstream_is_not_ready_unless_it_is_optional() {
    let upstream = |name: &str, required: bool| {
        format!(
            "[[upstream]]\nname = \"{name}\"\ncommand = \"./adv\"\nargs = [\"{name}\"]\nsandbox = \"off\"\n\
             required = {required}\n"
        )
    };
    let config = upstream("must", true) + &upstream("may", false);
    let project = Project::new().with("vouch.toml", &config);
    let script = format!("[ -e \"$1-down\" ] && exit 1\nexec {} --only good,dies", adversary());
    project.write_script("adv", &script);
    let server = project.start_gateway(&["--no-token"], &["must__good", "may__good"]);
    let call = |tool: &str| server.call(tool, &json!({"text": "hi"})).0;
    for name in ["must", "may"] {
        assert_eq!(call(&format!("{name}__good")), 200);
    }
    wait_for_readiness(&server, 200, &[("upstreams", "ok")]);
    for name in ["must", "may"] {
        project.write(&format!("{name}-down"), "");
        assert_eq!(server.call(&format!("{name}__dies"), &json!({})).0, 503);
    }
    wait_for_readiness(&server, 503, &[("upstreams", "not connected")]);
    assert_eq!(get(server.address, "/healthz", "").0, 200);
    // It is started again although there is no call, and the other one is not.
    std::fs::remove_file(project.root.join("must-down")).unwrap();
    wait_for_readiness(&server, 200, &[("upstreams", "ok")]);
    assert_eq!((call("must__good"), call("may__good")), (200, 503));
}
