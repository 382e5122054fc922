//! Attacks by other users of the machine and by callers that approve their own calls, on the binary.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::pty::Pty;
use crate::stdio::Session;
use crate::support::{LIMIT, Project, Server, wait_until, with_filters};

const ENTRY: [&str; 2] = ["file=best_practices.md", "entry=- Test first."];

fn entry() -> Value {
    json!({"file": "best_practices.md", "entry": "- Test first."})
}

/// Sends a request as another local user would, with this token. Returns the head and the body.
fn send(address: SocketAddr, line: &str, token: Option<&str>, body: &str) -> (String, String) {
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
    send_with_headers(address, line, &token.unwrap_or_default(), body)
}

fn send_with_headers(
    address: SocketAddr,
    line: &str,
    headers: &str,
    body: &str,
) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    write!(
        stream,
        "{line} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// The attack: another user reads a private project and writes into its memory through the open port.
#[test]
fn other_users_are_refused_without_the_token() {
    let project = Project::new().with("launch-plan.md", "the plan\n");
    project.write("vouch.toml", "[policy]\napprove = \"always\"\n");
    let server = project.start_server(&[]);
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }})
    .to_string();
    let write = entry().to_string();
    let read = json!({"path": "launch-plan.md"}).to_string();
    let wrong = format!("vouch_{}", "0".repeat(64));
    for (line, body) in [
        ("POST /v1/tools/read_repo_file", &*read),
        ("POST /v1/tools/write_memory_entry", &write),
        ("GET /v1/tools", ""),
        ("GET /v1/resources", ""),
        ("GET /v1/resources/read?uri=context://project/overview", ""),
        ("POST /mcp", &hello),
        ("GET /mcp", ""),
        ("DELETE /mcp", ""),
        ("GET /metrics", ""),
        ("GET /openapi.json", ""),
        ("GET /nowhere", ""),
    ] {
        for token in [None, Some(""), Some("local"), Some(&*wrong)] {
            let (head, body) = send(server.address, line, token, body);
            assert!(head.starts_with("HTTP/1.1 401"), "{line} {token:?}: {head}");
            assert!(!body.contains("the plan") && !body.contains("launch-plan"), "{line}: {body}");
        }
    }
    assert!(!project.root.join(".claude").exists(), "nothing was written");
    assert!(send(server.address, "GET /healthz", None, "").0.starts_with("HTTP/1.1 200"));

    // The owner of the project needs nothing but the project.
    assert_eq!(server.call("read_repo_file", &json!({"path": "launch-plan.md"})).0, 200);
    let call = ["call", "read_repo_file", "path=launch-plan.md", "--url", &server.url()];
    assert_eq!(project.run_json(&call)["content"], "the plan\n");
    let log = project.run_text(&["audit", "tail", "-n", "100"]);
    assert!(log.contains("by token:project") && !log.contains("by local"), "{log}");
}

#[test]
fn token_is_private_stable_and_shown_once() {
    let project = Project::new();
    let first = project.start_server(&[]);
    let token = project.token();
    assert!(first.banner.contains(&format!("TOKEN {token}\n")), "{}", first.banner);
    drop(first);
    let again = project.start_server(&[]);
    assert!(!again.banner.contains(&token), "shown once: {}", again.banner);
    assert!(again.banner.contains("vouch token"), "{}", again.banner);
    assert_eq!(again.call("hello", &json!({})).0, 200);

    // Neither logs nor other output contain it.
    assert!(!project.run_text(&["doctor"]).contains(&token));
    assert!(!project.run_text(&["audit", "tail"]).contains(&token));
    let file = project.state().join("token");
    assert_eq!(std::fs::read_to_string(&file).unwrap().trim(), token);
    let path = format!("path={}", file.display());
    assert!(!project.run_text(&["call", "read_repo_file", &path]).contains(&token));

    let rotated = project.run(&["token", "rotate"]);
    let rotated = String::from_utf8(rotated.stdout).unwrap().trim().to_owned();
    assert_ne!(rotated, token);
    assert_eq!(project.token(), rotated);
    let mut again = again;
    assert_eq!(again.call("hello", &json!({})).0, 200, "until it is reloaded or restarted");
    again.signal(Signal::HUP);
    wait_until("the old token is void", || again.call("hello", &json!({})).0 == 401);
    again.token.clone_from(&rotated);
    assert_eq!(again.call("hello", &json!({})).0, 200, "after a reload");
    again.signal(Signal::TERM);
    again.wait();
    let mut restarted = project.start_server(&[]);
    assert_eq!(restarted.call("hello", &json!({})).0, 200);
    restarted.token = token;
    assert_eq!(restarted.call("hello", &json!({})).0, 401, "the old token is void");
}

#[test]
fn stdio_creates_no_token() {
    let project = Project::new();
    let mut session = Session::start(project.command(&["serve", "--stdio"]));
    session.handshake().unwrap();
    assert!(!project.state().join("token").exists());
    assert!(project.run_text(&["doctor"]).contains("created when `vouch serve` first needs it"));
}

#[test]
fn refuses_token_files_of_others() {
    let project = Project::new().with_private(".vouch/door", "0123456789abcdef\n");
    project.token();
    let refused = |args: &[&str], why: &str| {
        let text = project.run_text(args);
        assert!(text.starts_with("exit: 2") && text.contains(why), "{args:?}: {text}");
        text
    };
    for mode in [0o644, 0o640, 0o604, 0o620, 0o602, 0o666] {
        project.set_mode(".vouch/door", mode);
        project.set_mode(project.state().join("token"), mode);
        refused(&["serve", "--port", "0", "--token-file", ".vouch/door"], "run `chmod 600 ");
        refused(&["serve", "--port", "0"], "run `chmod 600 ");
        refused(&["fuzz", "--demo", "--mcp-port", "0"], "run `chmod 600 ");
        refused(&["token"], "run `chmod 600 ");
        refused(&["connect", "cursor", "--http"], "run `chmod 600 ");
        let call = ["call", "hello", "--url", "http://127.0.0.1:1/mcp"];
        refused(&call, "run `chmod 600 ");
        refused(&[&call[..], &["--token-file", ".vouch/door"]].concat(), "run `chmod 600 ");
        assert!(project.run_text(&["doctor"]).contains("run `chmod 600 "));
    }
    let variable = project
        .command(&["serve", "--port", "0"])
        .env("VOUCH_TOKEN_FILE", ".vouch/door")
        .output()
        .unwrap();
    assert_eq!(variable.status.code(), Some(2), "{}", project.format_output(&variable));
    project.write("vouch.toml", "[server]\ntoken_file = \".vouch/door\"\n");
    let text = refused(&["serve", "--port", "0"], "is accessible by other users (mode 666)");
    with_filters(|| insta::assert_snapshot!(text));
    project.set_mode(".vouch/door", 0o600);
    project.start_server(&["--token-file", ".vouch/door"]);

    if test_rights::can_change_owners(module_path!(), "refuses_token_files_of_others") {
        let file = project.root.join(".vouch/door");
        rustix::fs::chown(&file, Some(rustix::fs::Uid::from_raw(12345)), None).unwrap();
        refused(&["serve", "--port", "0"], "belongs to another user (uid 12345)");
    }
}

#[test]
fn no_token_is_explicit_and_warned_about() {
    let project = Project::new().with("vouch.toml", "[clients.local]\ntools = [\"hello\"]\n");
    let server = project.start_server(&["--no-token"]);
    assert!(server.banner.contains("every user and program of this machine"), "{}", server.banner);
    assert!(send(server.address, "GET /v1/tools", None, "").0.starts_with("HTTP/1.1 200"));
    assert!(!project.state().join("token").exists());
    let denied = project.run_text(&["serve", "--no-token", "--host", "0.0.0.0", "--port", "0"]);
    assert!(denied.starts_with("exit: 2") && denied.contains("--no-token"), "{denied}");
    drop(server);

    // A limit on callers without a name holds for callers with the token of the project.
    let server = project.start_server(&[]);
    let (status, tools) = send(server.address, "GET /v1/tools", Some(&server.token), "");
    assert!(status.starts_with("HTTP/1.1 200"), "{status}");
    let tools: Value = serde_json::from_str(&tools).unwrap();
    assert_eq!(tools["tools"].as_array().unwrap().len(), 1, "{tools}");
    let overview = "GET /v1/resources/read?uri=context://project/overview";
    let (status, _) = send(server.address, overview, Some(&server.token), "");
    assert!(status.starts_with("HTTP/1.1 404"), "limited tools, no resources: {status}");
}

/// No file of a project can switch the token off.
#[test]
fn configuration_cannot_switch_the_token_off() {
    let project = Project::new();
    for text in ["[server]\ntoken = false\n", "[server]\nno_token = true\n"] {
        project.write("vouch.toml", text);
        let output = project.run_text(&["serve", "--port", "0"]);
        assert!(output.starts_with("exit: 2") && output.contains("unknown key"), "{output}");
    }
}

/// Calls the tool over 2026-07-28 as a client that declares elicitation and answers with yes from the start.
fn call_with_own_answer(server: &Server) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "write_memory_entry", "arguments": entry(), "_meta": meta,
        "inputResponses": {"approval": {"action": "accept", "content": {"approve": true}}},
    }})
    .to_string();
    let headers = format!(
        "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
         Mcp-Name: write_memory_entry\r\nAuthorization: Bearer {}\r\n",
        server.token
    );
    let (_, body) = send_with_headers(server.address, "POST /mcp", &headers, &body);
    let body: Value = serde_json::from_str(&body).unwrap();
    body["result"].clone()
}

#[test]
fn caller_does_not_approve_its_own_call() {
    // Callers without a token may be asked; callers with the token of the project may not.
    let project = Project::new().with("vouch.toml", "[clients.local]\napprove = \"ask\"\n");
    let server = project.start_server(&[]);
    let refused = call_with_own_answer(&server);
    let error = &refused["structuredContent"]["error"];
    assert_eq!(error["code"], "APPROVAL_REQUIRED", "{refused}");
    let (status, rest) = server.call("write_memory_entry", &entry());
    assert_eq!((status, &rest["error"]["code"]), (403, &json!("APPROVAL_REQUIRED")));
    assert_eq!(rest["error"]["details"]["approvalId"], error["details"]["approvalId"]);
    assert!(!project.root.join(".claude").exists());

    // The developer approves the call of the assistant at the terminal.
    let id = error["details"]["approvalId"].as_str().unwrap();
    let approved = project.run_json(&["approvals", "approve", id, "--yes", "--json"]);
    assert_eq!(
        (&approved["decidedBy"], &approved["channel"]),
        (&json!(Project::local_principal()), &json!("queue"))
    );
    let (status, _) = server.call("write_memory_entry", &entry());
    assert_eq!(status, 200);
    let log = project.run_text(&["audit", "tail"]);
    let approver = Project::local_principal();
    assert!(log.contains(&format!("approved by {approver} (queue, {id})")), "{log}");
    assert!(project.run_text(&["audit", "verify"]).starts_with("exit: 0"));
}

/// The name of an approver is that of the user id. A variable cannot name another person.
#[test]
fn environment_does_not_name_the_approver() {
    for user in [None, Some("mallory")] {
        let project = Project::new();
        let call = [&["call", "write_memory_entry"], &ENTRY[..]].concat();
        let queued = project.run_json(&call);
        let id = queued["error"]["details"]["approvalId"].as_str().unwrap();
        let mut command = project.command(&["approvals", "approve", id, "--yes", "--json"]);
        command.env_remove("USER").env("LOGNAME", "mallory");
        let output = command.envs(user.map(|user| ("USER", user))).output().unwrap();
        let approved: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(approved["decidedBy"], Project::local_principal(), "{approved}");
        assert!(project.run_text(&call).starts_with("exit: 0"));
    }
}

/// Returns the approval in the audit record of the last call.
fn last_approval(project: &Project) -> Value {
    let lines = project.run(&["audit", "tail", "--json"]).stdout;
    let lines = String::from_utf8(lines).unwrap();
    let records = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut approvals = records.map(|record| record["approval"].clone());
    approvals.rfind(|approval| !approval.is_null()).unwrap_or_default()
}

#[test]
fn approval_at_the_terminal_is_recorded_as_such() {
    let project = Project::new();
    let call = [&["--color", "never", "call", "write_memory_entry"], &ENTRY[..]].concat();
    for (typed, code) in [("n\n", 1), ("y\n", 0)] {
        let mut pty = Pty::start(project.command(&call));
        pty.wait_for("Approve? [y/N]");
        assert!(last_approval(&project).is_null());
        pty.type_text(typed);
        let (ended, shown) = pty.wait_for_exit();
        assert_eq!(ended, code, "{shown}");
    }
    let approval = last_approval(&project);
    assert_eq!(approval["channel"], "terminal", "{approval}");
    assert_eq!(approval["by"], Project::local_principal(), "{approval}");
    assert!(approval["id"].is_string(), "{approval}");
    let log = project.run_text(&["audit", "tail"]);
    let approver = Project::local_principal();
    assert!(log.contains(&format!("approved by {approver} (terminal")), "{log}");
}

/// With `--url` the command is a client over HTTP like any other: its terminal approves nothing.
#[test]
fn terminal_approves_nothing_at_a_running_server() {
    let project = Project::new();
    let server = project.start_server(&[]);
    let url = format!("http://{}/mcp", server.address);
    let call = [&["--color", "never", "call", "--url", &url, "write_memory_entry"], &ENTRY[..]];
    let pty = Pty::start(project.command(&call.concat()));
    let (code, shown) = pty.wait_for_exit();
    assert_eq!(code, 1, "{shown}");
    assert!(shown.contains("APPROVAL_REQUIRED") && !shown.contains("[y/N]"), "{shown}");
    assert!(!project.root.join(".claude").exists());
}

#[test]
fn queue_is_demanded_by_tool_client_or_policy() {
    for config in [
        "[tools.write_memory_entry]\napprove = \"queue\"\n",
        "[clients.stdio]\napprove = \"queue\"\n",
        "[policy]\napprove = \"queue\"\n",
        "[policy]\napprove = \"queue\"\n[tools.write_memory_entry]\napprove = \"ask\"\n[clients.stdio]\napprove = \"ask\"\n",
    ] {
        let project = Project::new().with("vouch.toml", config);
        let mut session = Session::start(project.command(&["serve", "--stdio"]));
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "t", "version": "1"},
        });
        session.request(0, "initialize", params);
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        session.send(&ready).unwrap();
        // A question would arrive instead of the result.
        let params = json!({"name": "write_memory_entry", "arguments": entry()});
        let reply = session.request(1, "tools/call", params);
        let code = &reply["structuredContent"]["error"]["code"];
        assert_eq!(code, "APPROVAL_REQUIRED", "{config}: {reply}");
        assert!(!project.root.join(".claude").exists());
    }
}

#[test]
fn connect_writes_a_private_entry_that_works() {
    let project = Project::new();
    let server = project.start_server(&[]);
    project.write("vouch.toml", &format!("[server]\nport = {}\n", server.address.port()));
    for (client, file) in [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
    ] {
        let text = project.run_text(&["connect", client, "--http", "--write"]);
        assert!(text.contains("keep it out of version control"), "{text}");
        let written = project.read(file);
        assert!(written.contains(&format!("Bearer {}", server.token)), "{written}");
        let mode = project.root.join(file).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
        let text = project.run_text(&["connect", client, "--http", "--write"]);
        assert!(text.contains("is up to date"), "{text}");
        project.run(&["connect", client, "--http", "--token-env", "--write"]);
        let written = project.read(file);
        assert!(!written.contains(&server.token) && written.contains("VOUCH_TOKEN"), "{written}");
    }
    let text = project.run_text(&["connect", "codex", "--http", "--write"]);
    assert!(!text.contains("version control"), "{text}");
    let codex = std::fs::read_to_string(project.home.join(".codex/config.toml")).unwrap();
    assert!(codex.contains("http_headers") && codex.contains(&server.token), "{codex}");
    let text = project.run_text(&["connect", "codex", "--http", "--write"]);
    assert!(text.contains("is up to date"), "{text}");
}
