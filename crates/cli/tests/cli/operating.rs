//! Operation of a server: reloads, shutdown and sockets of a service manager.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Command, ExitStatus};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{LIMIT, Project, Server, VOUCH, read_response, wait_until};

pub(crate) const OLD: &str = "old_0123456789abcdef";
pub(crate) const NEW: &str = "new_0123456789abcdef";

pub(crate) fn get(address: SocketAddr, path: &str, token: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Returns true if the metrics contain the line.
pub(crate) fn metric(server: &Server, line: &str) -> bool {
    // Refused requests are logged, and a test that waits does not read the log.
    [&server.token, NEW, OLD]
        .iter()
        .any(|token| get(server.address, "/metrics", token).1.lines().any(|one| one == line))
}

/// Calls a tool over REST, also while its server is borrowed. Errors if the connection ends early.
pub(crate) fn call(
    address: SocketAddr,
    token: &str,
    tool: &str,
    arguments: &Value,
) -> std::io::Result<String> {
    let body = arguments.to_string();
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(LIMIT))?;
    write!(
        stream,
        "POST /v1/tools/{tool} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Authorization: Bearer {token}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

pub(crate) fn token_project() -> (Project, String) {
    let project = Project::new();
    std::fs::write(project.home.join("tokens"), format!("ci {OLD}\n")).unwrap();
    project.set_mode(project.home.join("tokens"), 0o600);
    let file = project.home.join("tokens").display().to_string();
    (project, file)
}

#[test]
fn reload_applies_tokens_limits_and_tools_without_dropping_a_call() {
    let (project, tokens) = token_project();
    let mut server = project.start_server(&["--token-file", &tokens]);
    server.token = OLD.into();
    assert_eq!(server.call("hello", &json!({})).0, 200);
    std::fs::write(&tokens, format!("ci {NEW}\n")).unwrap();
    project.write("vouch.toml", "[tools.hello]\nenabled = false\n[limits]\nsessions = 1\n");
    server.signal(Signal::HUP);
    wait_until("the reload is done", || metric(&server, "vouch_reloads_total{result=\"ok\"} 1"));
    assert_eq!(server.call("read_repo_file", &json!({"path": "vouch.toml"})).0, 401);
    server.token = NEW.into();
    assert_eq!(server.call("hello", &json!({})).0, 404);
    assert_eq!(server.call("read_repo_file", &json!({"path": "vouch.toml"})).0, 200);
}

#[test]
fn rejected_reload_changes_nothing_and_is_reported() {
    let (project, tokens) = token_project();
    let mut server = project.start_server(&["--token-file", &tokens]);
    server.token = OLD.into();
    std::fs::write(&tokens, format!("ci {NEW}\n")).unwrap();
    for (number, file) in
        ["[tools.hello\n", "[http]\nmax_conections = 1\n", "[tools.nothing]\nenabled = false\n"]
            .into_iter()
            .enumerate()
    {
        project.write("vouch.toml", file);
        server.signal(Signal::HUP);
        let line = format!("vouch_reloads_total{{result=\"failed\"}} {}", number + 1);
        wait_until("the reload has failed", || metric(&server, &line));
    }
    assert_eq!(server.call("hello", &json!({})).0, 200, "the old token is still valid");
    let (status, body) = get(server.address, "/readyz", "");
    assert_eq!(status, 200);
    assert!(body.contains(r#""configuration":"new configuration rejected""#), "{body}");
    server.signal(Signal::TERM);
    let (status, log) = server.wait();
    assert!(status.success());
    assert!(log.contains("max_conections"), "{log}");
}

/// A trusted folder whose file changed must not gain anything by a reload.
#[test]
fn reload_of_a_changed_folder_needs_its_trust() {
    let project = Project::new().untrusted().with("vouch.toml", "[policy]\napprove = \"ask\"\n");
    assert!(project.run(&["trust", "--yes"]).status.success());
    let server = project.start_server(&[]);
    project.write("vouch.toml", "[policy]\napprove = \"always\"\n");
    server.signal(Signal::HUP);
    wait_until("the reload has failed", || {
        metric(&server, "vouch_reloads_total{result=\"failed\"} 1")
    });
    let entry = json!({"file": "best_practices.md", "entry": "- Test first."});
    assert_eq!(server.call("write_memory_entry", &entry).0, 403);
    assert!(project.run(&["trust", "--yes"]).status.success());
    server.signal(Signal::HUP);
    wait_until("the reload is done", || metric(&server, "vouch_reloads_total{result=\"ok\"} 1"));
    assert_eq!(server.call("write_memory_entry", &entry).0, 200);
}

#[test]
fn gateway_reload_adds_and_removes_upstreams() {
    let project = Project::new().with_adversary(&["--only", "good"], "");
    let config = project.read("vouch.toml");
    let server = project.start_gateway(&[], &["adv__good"]);
    let call = |server: &Server, tool: &str| server.call(tool, &json!({"text": "hi"})).0;
    assert_eq!(call(&server, "adv__good"), 200);
    assert_eq!(get(server.address, "/readyz", "").0, 200);
    std::fs::create_dir(project.root.join("two")).unwrap();
    let second = config.replace("\"adv\"", "\"two\"");
    project.write("vouch.toml", &format!("{config}\n{second}"));
    server.signal(Signal::HUP);
    wait_until("the reload is done", || metric(&server, "vouch_reloads_total{result=\"ok\"} 1"));
    server.wait_for_tool("two__good");
    assert_eq!(call(&server, "adv__good"), 200);
    assert_eq!(call(&server, "two__good"), 200);
    project.write("vouch.toml", &second);
    server.signal(Signal::HUP);
    wait_until("the reload is done", || metric(&server, "vouch_reloads_total{result=\"ok\"} 2"));
    assert_eq!(call(&server, "adv__good"), 404);
    assert_eq!(call(&server, "two__good"), 200);
}

/// Clients that never finish a request, never read, or keep a stream open do not delay the end.
#[test]
fn stops_in_time_whatever_clients_do() {
    crate::shutdown::assert_ends_by_own_limits(end_with_stubborn_clients);
}

fn end_with_stubborn_clients() -> (ExitStatus, String) {
    let project = Project::new();
    let server = project.start_server(&[]);
    let connect = || TcpStream::connect(server.address).unwrap();
    let idle = connect();
    let mut half_open = connect();
    half_open.write_all(b"POST /mcp HTTP/1.1\r\nHost: loc").unwrap();
    let mut unfinished = connect();
    let token = &server.token;
    write!(
        unfinished,
        "POST /v1/tools/hello HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
    )
    .unwrap();
    let mut unread = connect();
    for _ in 0..200 {
        let request = format!(
            "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        unread.write_all(request.as_bytes()).unwrap();
    }
    wait_until("the connections are open", || metric(&server, "vouch_connections_open 5"));
    server.signal(Signal::TERM);
    let end = server.wait();
    drop((idle, half_open, unfinished, unread));
    end
}

#[test]
fn serves_on_the_socket_of_a_service_manager() {
    let project = Project::new();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    // The shell moves the socket from its standard input to the first descriptor of the protocol.
    let script = "exec 3<&0 0</dev/null; \
        LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" serve --no-token --packs repo";
    let command = project.command(&[]);
    let mut activated = Command::new("/bin/sh");
    activated
        .args(["-c", script, VOUCH])
        .stdin(OwnedFd::from(listener))
        .current_dir(&project.root)
        .env_clear()
        .envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    // A connection that waits in the queue of the socket is served.
    let mut early = TcpStream::connect(address).unwrap();
    early
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let server = Server::start(activated);
    assert_eq!(server.address, address);
    let (status, body): (u16, Value) = read_response(early);
    assert_eq!((status, &body["status"]), (200, &json!("ok")));
}
