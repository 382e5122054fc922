//! `/readyz` of a real server whose disk is full, whose audit log cannot be written, or which has lost an upstream.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::{Value, json};

use crate::operating::get;
use crate::support::{Project, Server, VOUCH, adversary, wait_until};

const CONFIG: &str = "[policy]\napprove = \"always\"\n[tools.hello]\nrate_per_minute = 1000000\n\
    [tools.write_memory_entry]\nrate_per_minute = 1000000\n";
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
    let server = Server::start(project.command(&["gateway", "--port", "0", "--no-token"]));
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
