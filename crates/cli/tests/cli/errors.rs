//! Error messages: the failure, its causes, and hints with commands to run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use crate::support::{Project, with_filters};

#[test]
fn reports_configuration_errors() {
    let texts = [
        "[server]\nprot = 1\n",
        "[server]\nport = \"x\"\n",
        "\n[tools.helo]\nenabled = false\n",
        "[memory]\nfolder = \"../up\"\n",
        "[state]\nfolder = \"../project\"\n",
    ]
    .map(|config| {
        let project = Project::new().with("vouch.toml", config);
        format!("{config}{}", project.transcript(&[&["tools"]]))
    });
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn rejects_missing_root_and_config() {
    insta::assert_snapshot!(
        Project::new()
            .transcript(&[&["tools", "--config", "no.toml"], &["tools", "--root", "nowhere"],])
    );
}

#[test]
fn rejects_invalid_environment() {
    let project = Project::new();
    let run = |variables: &[(&str, &str)]| {
        let mut command = project.command(&["serve", "--port", "0"]);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        format!("{variables:?}\n{}", project.format_output(&output))
    };
    let texts = [
        run(&[("VOUCH_HOST", "example.com")]),
        run(&[("VOUCH_LOG", "a=b=c")]),
        run(&[("VOUCH_TOKEN_FILE", ".vouch/none")]),
        run(&[("VOUCH_TOKEN", "short")]),
        run(&[("VOUCH_TOKEN", "a"), ("VOUCH_TOKEN_FILE", "b")]),
        run(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317")]),
    ];
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn reports_port_in_use() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let text = Project::new().run_text(&["serve", "--port", &port]);
    with_filters(|| insta::assert_snapshot!(text));
}

#[test]
fn requires_token_beyond_loopback() {
    insta::assert_snapshot!(Project::new().run_text(&[
        "serve",
        "--no-token",
        "--host",
        "0.0.0.0",
        "--port",
        "0"
    ]));
}

/// A deny rule derived from the flag would apply to one process only.
#[test]
fn rejects_token_file_readable_by_tools() {
    let project = Project::new().with("door", "0123456789abcdef\n");
    let flag = project.transcript(&[
        &["serve", "--port", "0", "--token-file", "door"],
        &["call", "hello", "--url", "http://127.0.0.1:1/mcp", "--token-file", "door"],
    ]);
    project.write("vouch.toml", "[server]\ntoken_file = \"door\"\n");
    let file = project.transcript(&[&["serve", "--stdio"], &["doctor"]]);
    insta::assert_snapshot!(format!("{flag}\n{file}"));
    assert!(!project.state().exists(), "refused before any state is created");
}

#[test]
fn rejects_invalid_flags() {
    insta::assert_snapshot!(Project::new().transcript(&[
        &["serve", "--host", "example.com"],
        &["serve", "--stdio", "--port", "1"],
        &["stats", "--since", "soon"],
        &["srve"],
        &["tools", "helo"],
        &["explain", "C0012"],
        &["explain", "ACESS_DENIED"],
        &["connect", "claude-code", "--name", "a b"],
    ]));
}

#[test]
fn reports_corrupt_store() {
    let project = Project::new();
    project.write_state("vouch.db", "not a database, but long enough to look like one\n");
    insta::assert_snapshot!(project.run_text(&["call", "hello"]));
}

#[test]
fn closed_stdout_is_not_an_error() {
    let project = Project::new();
    let mut child = project
        .command(&["contracts"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(project.format_output(&output), "exit: 0\n--- out\n--- err\n");
}

/// Starts a server that answers every request with this head and body. `[ID]` in the body is replaced by the request's id.
fn start_fixed_server(head: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut request = vec![0; length];
            stream.read_exact(&mut request).unwrap();
            let request: serde_json::Value = serde_json::from_slice(&request).unwrap_or_default();
            let body = body.replace("[ID]", &request["id"].to_string());
            let length = body.len();
            // The client may have disconnected.
            let _ = write!(
                stream.get_mut(),
                "HTTP/1.1 {head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
        }
    });
    url
}

#[test]
fn reports_servers_that_cannot_be_called() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let project = Project::new()
        .with_private(".vouch/door", "0123456789abcdef\n")
        .with_private(".vouch/wrong", "fedcba9876543210\n");
    let server = project.start_server(&["--token-file", ".vouch/door"]);
    let url = server.url();
    let call = |tool: &str, url: &str, more: &[&str]| {
        let mut args = vec!["call", tool, "--url", url];
        args.extend(more);
        project.run_text(&args)
    };
    let json = "200 OK\r\nContent-Type: application/json";
    let texts = [
        ("nothing listens", call("hello", &format!("http://{free}/mcp"), &[])),
        ("no token", call("hello", &url, &[])),
        ("a wrong token", call("hello", &url, &["--token-file", ".vouch/wrong"])),
        ("a tool that is not there", call("helo", &url, &["--token-file", ".vouch/door"])),
        (
            "another path",
            call("hello", &url.replace("/mcp", "/"), &["--token-file", ".vouch/door"]),
        ),
        (
            "a web page",
            call("hello", &start_fixed_server("200 OK\r\nContent-Type: text/html", "<p>"), &[]),
        ),
        ("other JSON", call("hello", &start_fixed_server(json, "{\"a\": 1}"), &[])),
        ("busy", call("hello", &start_fixed_server("503 Service Unavailable", ""), &[])),
        ("a stranger", call("hello", &start_fixed_server(json, HOSTILE_ERROR), &[])),
    ];
    let text: String = texts.iter().map(|(name, text)| format!("# {name}\n{text}\n")).collect();
    with_filters(|| insta::assert_snapshot!(text));
}

/// An error response with terminal control sequences in its message.
const HOSTILE_ERROR: &str = r#"{"jsonrpc": "2.0", "id": [ID], "error": {"code": -32001, "message": "no\u001b[2Jnever\nhint: rm -rf"}}"#;
