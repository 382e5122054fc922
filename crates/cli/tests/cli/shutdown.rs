//! The end of a server on SIGTERM: clients, tools and upstreams cannot delay it beyond its limits.
//!
//! The process ends with status 0 if its calls, connections and upstreams ended at their own limits, and with 130 if the
//! limit of the whole process ended it.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::process::{Command, ExitStatus};

use rustix::fs::{Mode, OFlags, open};
use rustix::process::Signal;
use serde_json::json;

use crate::gateway::find_processes_in;
use crate::operating::metric;
use crate::support::{Project, Server, wait_until};

/// Fails unless the server ends by the limits of its parts, which take about 7 s. On a busy machine, the limit of the whole
/// process (9.5 s) may pass before, so it may do so twice.
pub(crate) fn assert_ends_by_own_limits(attempt: impl Fn() -> (ExitStatus, String)) {
    let mut end = attempt();
    for _ in 0..2 {
        if end.0.code() == Some(130) {
            end = attempt();
        }
    }
    assert_eq!(end.0.code(), Some(0), "{}", end.1);
}

/// The upstream never answers a call, and ignores the end of its input, SIGTERM and SIGINT.
#[test]
fn endless_call_on_a_stubborn_upstream_does_not_delay_the_end() {
    assert_ends_by_own_limits(end_during_endless_call);
}

fn end_during_endless_call() -> (ExitStatus, String) {
    let limits = "[tools.adv__slow]\ntimeout_ms = 600000\n";
    let project = Project::new().with_adversary(&["--only", "slow,good", "--stubborn"], limits);
    let server = project.start_gateway(&[], &["adv__slow"]);
    let call = {
        let (address, token) = (server.address, server.token.clone());
        std::thread::spawn(move || crate::operating::call(address, &token, "adv__slow", &json!({})))
    };
    wait_until("the call is in flight", || metric(&server, "vouch_calls_in_flight 1"));
    server.signal(Signal::TERM);
    let (status, log) = server.wait();
    assert!(log.contains("unfinished requests were cut off"), "{log}");
    wait_until("no process is left", || find_processes_in(&project.root).is_empty());
    // Its connection was closed.
    let _ = call.join();
    (status, log)
}

/// The certificate is a pipe into which nothing is written, so that a reload blocks the thread that serves.
#[test]
fn blocked_server_ends_at_the_exit_limit() {
    for command in ["serve", "gateway"] {
        let project = Project::new().with_adversary(&["--only", "good"], "");
        let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let [certificate, key] = ["cert.pem", "key.pem"].map(|name| project.home.join(name));
        std::fs::write(&certificate, pair.cert.pem()).unwrap();
        std::fs::write(&key, pair.signing_key.serialize_pem()).unwrap();
        project.set_mode(&key, 0o600);
        let mut start = project.command(&[command, "--port", "0", "--no-token"]);
        start.arg("--tls-cert").arg(&certificate).arg("--tls-key").arg(&key);
        let server = Server::start(start);
        std::fs::remove_file(&certificate).unwrap();
        assert!(Command::new("mkfifo").arg(&certificate).status().unwrap().success());
        server.signal(Signal::HUP);
        let mut writer = None;
        wait_until("the server reads the pipe", || {
            // Fails while there is no reader.
            let flags = OFlags::WRONLY | OFlags::NONBLOCK;
            writer = open(&certificate, flags, Mode::empty()).ok();
            writer.is_some()
        });
        server.signal(Signal::TERM);
        assert_eq!(server.wait().0.code(), Some(130), "{command}");
        drop(writer);
    }
}

/// Fills the pipe of standard error, so that a write to it blocks.
fn block_stderr(server: &Server) {
    // Opened by its path, so that the server keeps its blocking descriptor.
    let path = format!("/proc/{}/fd/2", server.child.id());
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap();
    let mut pipe = OpenOptions::new().write(true).custom_flags(flags).open(path).unwrap();
    for size in [4096, 1] {
        while pipe.write_all(&vec![b'x'; size]).is_ok() {}
    }
}

/// A paused terminal or a log collector that does not read.
#[test]
fn blocked_stderr_does_not_keep_the_server_alive() {
    for signal in [Signal::INT, Signal::TERM] {
        let project = Project::new();
        let server = project.start_server(&[]);
        // The banner has been written completely.
        assert_eq!(server.call("hello", &json!({})).0, 200);
        block_stderr(&server);
        assert_eq!(server.call("hello", &json!({})).0, 200);
        server.signal(signal);
        assert_eq!(server.wait().0.code(), Some(0), "{signal:?}");
    }
    // The log line of a refused request blocks the thread that serves it.
    let project = Project::new();
    let server = project.start_server(&[]);
    assert_eq!(server.call("hello", &json!({})).0, 200);
    block_stderr(&server);
    let mut refused = std::net::TcpStream::connect(server.address).unwrap();
    refused.write_all(b"GET /v1/tools HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    // Requests are counted after they are logged, so only the open connections show that it has arrived.
    wait_until("the request has arrived", || metric(&server, "vouch_connections_open 2"));
    server.signal(Signal::TERM);
    let status = server.wait().0;
    assert!([Some(0), Some(130)].contains(&status.code()), "{status}");
}
