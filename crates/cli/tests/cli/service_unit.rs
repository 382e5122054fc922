//! The systemd unit in `examples/systemd`: the server starts with its environment and with nothing else writable.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::operating::get;
use crate::support::{Project, Server, VOUCH};

const UNIT: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/systemd/vouch.service"));

/// Returns the values of a key of the unit.
fn values(key: &str) -> impl Iterator<Item = &'static str> {
    UNIT.lines().filter_map(move |line| line.strip_prefix(key)?.strip_prefix('='))
}

/// Binds `$2` read-only and each further path writable, and runs the command of the unit in `$1`. These mounts exist only
/// for the server.
const SCRIPT: &str = "\
    set -e; root=$1; base=$2; shift 2; \
    mount --bind \"$base\" \"$base\"; mount -o remount,bind,ro \"$base\"; \
    for path; do mount --bind \"$path\" \"$path\"; mount -o remount,bind,rw \"$path\"; done; \
    cd \"$root\"; exec \"$0\" serve --log-format json --port 0";

#[test]
fn server_starts_within_the_limits_of_the_unit() {
    let namespace = ["--user", "--map-root-user", "--mount"];
    let probe = Command::new("unshare").args(namespace).arg("true").stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        let test = "service_unit::server_starts_within_the_limits_of_the_unit";
        test_rights::record_skip(test, "no user namespaces");
        return;
    }
    assert_eq!(values("ExecStart").next(), Some("/usr/bin/vouch serve --log-format json"));
    let project = Project::new().with("vouch.toml", "[policy]\napprove = \"always\"\n");
    let base = project.root.parent().unwrap();
    let at = |path: &str| path.replace("/var/lib", &base.join("var").display().to_string());
    let memory = at(values("ReadWritePaths").next().unwrap().trim_start_matches('-'));
    let memory = memory.replace("/srv/project", &project.root.display().to_string());
    let state = values("StateDirectory").flat_map(str::split_whitespace);
    let writable: Vec<_> =
        state.map(|name| at(&format!("/var/lib/{name}"))).chain([memory]).collect();
    for path in &writable {
        std::fs::create_dir_all(path).unwrap();
        project.set_mode(Path::new(path), 0o700);
    }
    let mut command = Command::new("unshare");
    command.args(namespace).args(["sh", "-c", SCRIPT, VOUCH]);
    command.arg(&project.root).arg(base).args(&writable);
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", &project.home);
    command.env("VOUCH_TRUST", "1").stdin(Stdio::null());
    for setting in values("Environment") {
        let (key, value) = setting.split_once('=').unwrap();
        command.env(key, at(value));
    }
    let mut server = Server::start(command);
    assert_eq!(get(server.address, "/readyz", "").0, 200);
    let token = server.banner.split_whitespace().find(|word| word.starts_with("vouch_"));
    server.token = token.unwrap().to_owned();
    let entry = json!({"file": "best_practices.md", "entry": "- Test first."});
    assert_eq!(server.call("write_memory_entry", &entry).0, 200);
    assert_eq!(crate::support::list_files(&project.home), [""; 0], "nothing is in the home folder");
}
