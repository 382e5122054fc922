//! A server without enough descriptors for its connections answers, and recovers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::json;

use crate::operating::{get, metric};
use crate::support::{LIMIT, Project, Server, VOUCH, wait_until};

/// The time limits are not tested here, and a busy machine would exceed the default ones.
const CONFIG: &str = "[tools.read_repo_file]\nrate_per_minute = 1000000\ntimeout_ms = 60000\n\
    [tools.hello]\nrate_per_minute = 1000000\ntimeout_ms = 60000\n";
/// Connections of strangers, many times the number of descriptors.
const STRANGERS: usize = 400;

/// Starts a server with a low limit of descriptors.
fn start_with_descriptors(project: &Project, limit: u32) -> Server {
    let script = format!("ulimit -Sn {limit}; exec \"$0\" serve --port 0 --packs repo");
    let command = project.command(&[]);
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", &script, VOUCH])
        .current_dir(&project.root)
        .env_clear()
        .envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))))
        .stdin(Stdio::null());
    let mut server = Server::start(shell);
    server.token = project.token();
    server
}

fn count_descriptors(server: &Server) -> u64 {
    let folder = std::fs::read_dir(format!("/proc/{}/fd", server.child.id()));
    u64::try_from(folder.unwrap().count()).unwrap()
}

/// Opens connections that send nothing or half of a request.
fn open_strangers(address: SocketAddr, number: usize) -> Vec<TcpStream> {
    let open = |number| {
        let mut stranger = TcpStream::connect(address).unwrap();
        if number % 3 == 0 {
            // It may already be closed.
            let _ = stranger.write_all(b"POST /mcp HTTP/1.1\r\nHost: loc");
        }
        stranger
    };
    (0..number).map(open).collect()
}

const READ: (&str, &str, &str) = ("read_repo_file", r#"{"path":"known.txt"}"#, "known text");
const GREET: (&str, &str, &str) = ("hello", r#"{"name":"Ada"}"#, "Hello, Ada!");

/// Calls a tool again and again on one connection until `stop`, and counts the answers. Each must be right.
fn work(
    address: SocketAddr,
    token: &str,
    (tool, body, expected): (&str, &str, &str),
    stop: &AtomicBool,
    answers: &AtomicUsize,
) {
    let mut client = BufReader::new(TcpStream::connect(address).unwrap());
    client.get_ref().set_read_timeout(Some(LIMIT)).unwrap();
    while !stop.load(Ordering::Relaxed) {
        write!(
            client.get_mut(),
            "POST /v1/tools/{tool} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let start = head.len();
            let number = answers.load(Ordering::Relaxed);
            assert!(client.read_line(&mut head).unwrap() > 0, "displaced after {number}: {head}");
            if let Some(value) = head[start..].to_ascii_lowercase().strip_prefix("content-length:")
            {
                length = value.trim().parse().unwrap();
            }
        }
        let mut answer = vec![0; length];
        client.read_exact(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        assert!(head.starts_with("HTTP/1.1 200") && answer.contains(expected), "{answer}");
        answers.fetch_add(1, Ordering::Relaxed);
    }
}

/// Ends the client, also if the test fails before.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Floods the server while a client works. Returns the open connections of strangers.
fn flood(server: &Server, call: (&str, &str, &str)) -> Vec<TcpStream> {
    let (stop, address, token) = (AtomicBool::new(false), server.address, server.token.as_str());
    let answers = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let client = scope.spawn(|| work(address, token, call, &stop, &answers));
        let _stop = StopOnDrop(&stop);
        let is_answered = || {
            let before = answers.load(Ordering::Relaxed);
            wait_until("the client is answered", || {
                client.is_finished() || answers.load(Ordering::Relaxed) > before
            });
        };
        // A connection without a request yet could be displaced.
        is_answered();
        let mut strangers = Vec::new();
        for _ in 0..8 {
            strangers.extend(open_strangers(address, STRANGERS / 8));
            assert_eq!(get(address, "/healthz", "").0, 200);
            is_answered();
        }
        assert!(!client.is_finished(), "the client was displaced");
        strangers
    })
}

#[test]
fn few_descriptors_suffice_for_clients_in_a_flood() {
    let project = Project::new().with("vouch.toml", CONFIG).with("known.txt", "known text");
    let server = start_with_descriptors(&project, 64);
    let strangers = flood(&server, READ);
    assert!(metric(&server, "vouch_accept_failures_total 0"), "the limit of connections is lower");
    drop(strangers);
    // The connection that asks.
    wait_until("all is released", || metric(&server, "vouch_connections_open 1"));
    server.signal(Signal::TERM);
    let (status, log) = server.wait();
    assert!(status.success() && !log.contains("failed to accept"), "{status} {log}");
}

fn accept_failures(server: &Server) -> String {
    let metrics = get(server.address, "/metrics", &server.token).1;
    let line = metrics.lines().find(|line| line.starts_with("vouch_accept_failures_total "));
    line.unwrap().to_owned()
}

/// The system takes descriptors away that the server counted on at its start.
#[test]
fn lack_of_descriptors_closes_idle_connections() {
    // Otherwise the connections would end by themselves.
    let config = format!("{CONFIG}[http]\nheader_timeout_ms = 600000\n");
    let project = Project::new().with("vouch.toml", &config).with("known.txt", "known text");
    let server = start_with_descriptors(&project, 1024);
    let pid = Pid::from_child(&server.child);
    let set_limit = |limit| {
        let limit = Rlimit { current: Some(limit), maximum: Some(1024) };
        prlimit(Some(pid), Resource::Nofile, limit).unwrap();
    };
    let before = count_descriptors(&server);
    set_limit(before + 24);
    let strangers = flood(&server, GREET);
    assert!(!metric(&server, "vouch_accept_failures_total 0"), "there was no lack");
    wait_until("a flood causes no further lack", || {
        let before = accept_failures(&server);
        let again = open_strangers(server.address, 60);
        let is_same = accept_failures(&server) == before;
        drop(again);
        is_same
    });
    assert_eq!(server.call("read_repo_file", &json!({"path": "known.txt"})).0, 200);
    set_limit(1024);
    drop(strangers);
    wait_until("all is released", || metric(&server, "vouch_connections_open 1"));
    wait_until("more connections are kept again", || {
        let again = open_strangers(server.address, 60);
        let all_are_open = metric(&server, "vouch_connections_open 61");
        drop(again);
        // Each attempt uses many ports.
        std::thread::sleep(Duration::from_millis(200));
        all_are_open
    });
    server.signal(Signal::TERM);
    let (status, log) = server.wait();
    assert!(status.success(), "{status} {log}");
    assert!(log.contains("failed to accept a connection; closing idle ones"), "{log}");
}
