//! Campaigns that agents watch and steer: `vouch fuzz --mcp-port`, `vouch serve --packs campaign`, and replayed commands.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, ExitStatus, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::stdio::Session;
use crate::support::{Project, read_response, send_signal, wait_for_exit, wait_until};

const SOURCE: &str = include_str!("../../../app/src/campaign/demo/Vault.sol");
const COMPILED: &str = include_str!("../../../app/src/campaign/demo/Vault.json");

/// A running `vouch fuzz` without a call limit; killed when dropped.
struct FuzzProcess {
    child: Child,
    address: SocketAddr,
    token: String,
    stderr: BufReader<ChildStderr>,
}

impl FuzzProcess {
    fn start(project: &Project, args: &[&str]) -> Self {
        let fixed = ["fuzz", "--demo", "--mcp-port", "0", "--seed", "1", "--workers", "1"];
        let endless = ["--test-limit", "1e15", "--json"];
        let mut command = project.command(&[&fixed, args, &endless].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut printed = String::new();
        while !printed.contains("over MCP at http://") {
            assert_ne!(stderr.read_line(&mut printed).unwrap(), 0, "it ended early:\n{printed}");
        }
        let url = printed.split("http://").nth(1).unwrap();
        let address = url.split('/').next().unwrap().parse().unwrap();
        Self { child, address, token: project.token(), stderr }
    }

    /// Calls a tool over REST.
    fn call(&self, tool: &str, arguments: &Value) -> (u16, Value) {
        self.post(&format!("/v1/tools/{tool}"), "", arguments)
    }

    fn rpc(&self, method: &str) -> Value {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}});
        let headers = format!(
            "Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n"
        );
        self.post("/mcp", &headers, &body).1
    }

    fn post(&self, path: &str, headers: &str, body: &Value) -> (u16, Value) {
        let body = body.to_string();
        let mut stream = TcpStream::connect(self.address).unwrap();
        let length = body.len();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}\
             Authorization: Bearer {}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}",
            self.token
        )
        .unwrap();
        read_response(stream)
    }

    /// Stops the campaign. Returns the exit status, the results and the rest of standard error.
    fn stop(mut self) -> (ExitStatus, Value, String) {
        send_signal(&self.child, Signal::INT);
        let mut results = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut results).unwrap();
        let mut printed = String::new();
        self.stderr.read_to_string(&mut printed).unwrap();
        let status = wait_for_exit(&mut self.child);
        (
            status,
            serde_json::from_str(&results).unwrap_or_else(|_| panic!("{results}{printed}")),
            printed,
        )
    }
}

impl Drop for FuzzProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const WITHDRAW: &str = "withdraw(uint256)";

#[test]
fn paused_campaign_makes_no_calls_until_resumed() {
    let project = Project::new();
    let fuzzing = FuzzProcess::start(&project, &["--paused"]);
    let status = || {
        let (code, reply) = fuzzing.call("campaign_status", &json!({}));
        assert_eq!(code, 200, "{reply}");
        reply
    };
    wait_until("it is prepared", || status()["state"] == "paused");
    assert_eq!(status()["calls"], 0);
    let (code, reply) =
        fuzzing.call("prioritize_function", &json!({"functionSignature": WITHDRAW}));
    assert_eq!(code, 200, "{reply}");
    assert_eq!(status()["calls"], 0);
    let (code, reply) = fuzzing.call("resume_campaign", &json!({}));
    assert_eq!(code, 200, "{reply}");
    wait_until("it makes calls", || status()["calls"].as_u64().unwrap() > 0);
}

#[test]
fn agents_watch_and_steer_running_campaign() {
    let project = Project::new();
    let fuzzing = FuzzProcess::start(&project, &["--corpus-dir", "corpus"]);
    let list = fuzzing.rpc("tools/list");
    let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("{list}"));
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for name in ["read_logs", "show_coverage", "inject_transaction", "clear_priorities"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(!names.contains(&"hello"), "only the campaign is served: {names:?}");
    wait_until("something is kept", || {
        let (status, reply) = fuzzing.call("get_corpus_size", &json!({}));
        assert_eq!(status, 200, "{reply}");
        reply["size"].as_u64().unwrap() > 0
    });
    wait_until("a test fails", || {
        let (_, reply) = fuzzing.call("read_logs", &json!({"eventType": "PropertyFalsified"}));
        !reply["events"].as_array().unwrap_or_else(|| panic!("{reply}")).is_empty()
    });
    let (status, reply) =
        fuzzing.call("prioritize_function", &json!({"functionSignature": WITHDRAW}));
    assert_eq!((status, &reply["prioritizedFunctions"]), (200, &json!([WITHDRAW])), "{reply}");
    let (status, reply) =
        fuzzing.call("prioritize_function", &json!({"functionSignature": "no()"}));
    assert_eq!((status, &reply["error"]["code"]), (400, &json!("INVALID_INPUT")), "{reply}");
    let address = fuzzing.address;
    let (status, results, printed) = fuzzing.stop();
    assert_eq!(status.code(), Some(1), "a test of the demo fails: {printed}");
    assert_eq!(results["seed"], 1, "{results}");
    assert!(TcpStream::connect(address).is_err(), "the server ended with the campaign");
    let log = project.read("corpus/mcp-commands.jsonl");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [line] = &lines[..] else { panic!("one command: {log}") };
    assert_eq!(line["tool"], "prioritize_function");
    assert!(
        project.run_text(&["audit", "verify"]).starts_with("exit: 0"),
        "every call is on record"
    );
}

#[test]
fn open_client_connection_does_not_delay_exit() {
    let project = Project::new();
    let fuzzing = FuzzProcess::start(&project, &[]);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }})
    .to_string();
    let mut stream = TcpStream::connect(fuzzing.address).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nAuthorization: Bearer {}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        fuzzing.token,
        body.len()
    )
    .unwrap();
    let mut head = [0; 15];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    let (status, _, printed) = fuzzing.stop();
    assert!(matches!(status.code(), Some(1 | 130)), "it ends by itself: {status}, {printed}");
    drop(stream);
}

/// Runs a campaign and returns its results without time-dependent keys.
fn run_campaign(project: &Project, args: &[&str]) -> Value {
    let fixed = ["fuzz", "--demo", "--seed", "1", "--workers", "2", "--json"];
    let mut results = project.run_json(&[&fixed, args].concat());
    let is_clock = |key: &String| key.contains("econd") || key.contains("elapsed");
    results.as_object_mut().unwrap().retain(|key, _| !is_clock(key));
    results
}

#[test]
fn replays_logged_commands() {
    let project = Project::new();
    let fuzzing = FuzzProcess::start(&project, &["--corpus-dir", "corpus"]);
    for (tool, arguments) in [
        ("prioritize_function", json!({"functionSignature": WITHDRAW})),
        ("inject_transaction", json!({"sequence": ["deposit(?)", "withdraw(1)"]})),
    ] {
        let (status, reply) = fuzzing.call(tool, &arguments);
        assert_eq!(status, 200, "{reply}");
    }
    fuzzing.stop();
    // Moved to round 1, which the short runs below reach.
    let log = project.read("corpus/mcp-commands.jsonl");
    let early = log.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["round"] = json!(1);
        format!("{line}\n")
    });
    project.write("commands.jsonl", &early.collect::<String>());
    let limit = ["--test-limit", "60000"];
    let again = [&limit[..], &["--replay-mcp-commands", "commands.jsonl"]].concat();
    let first = run_campaign(&project, &again);
    assert_eq!(first, run_campaign(&project, &again));
    assert_ne!(first, run_campaign(&project, &limit), "the commands have an effect");
}

#[test]
fn serves_campaign_over_stdio() {
    let project = Project::new();
    let mut session = Session::start(project.command(&[
        "serve",
        "--stdio",
        "--packs",
        "campaign",
        "--demo",
        "--corpus-dir",
        "corpus",
    ]));
    session.handshake().unwrap();
    let mut id = 0;
    let mut request = |session: &mut Session, method: &str, params: Value| {
        id += 1;
        session
            .send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .unwrap();
        loop {
            let frame = session.receive().expect("an answer");
            if frame["id"] == id {
                return frame;
            }
        }
    };
    let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    wait_until("the campaign runs", || {
        let reply = request(&mut session, "tools/call", call("get_corpus_size", json!({})));
        let result = &reply["result"]["structuredContent"];
        // While the campaign is being prepared, only this error is allowed.
        let code = &result["error"]["code"];
        assert!(code.is_null() || code == "UPSTREAM_UNAVAILABLE", "{reply}");
        result["size"].as_u64().is_some_and(|size| size > 0)
    });
    let listed = request(&mut session, "resources/list", json!({}));
    assert_eq!(listed["result"]["resources"][0]["uri"], "campaign://events", "{listed}");
    let uri = json!({"uri": "campaign://events"});
    let reply = request(&mut session, "resources/subscribe", uri.clone());
    assert_eq!(reply["result"], json!({}), "{reply}");
    // A running campaign has new events, so a notification arrives.
    let update = loop {
        let frame = session.receive().expect("an update");
        if frame["method"] == "notifications/resources/updated" {
            break frame;
        }
    };
    assert_eq!(update["params"]["uri"], "campaign://events");
    let reply = request(&mut session, "resources/read", uri);
    assert!(reply["result"]["contents"][0]["text"].is_string(), "{reply}");
    session.close_input();
    while session.receive().is_some() {}
    assert_eq!(wait_for_exit(&mut session.child).code(), Some(0));
    let kept = crate::support::list_files(&project.root.join("corpus"));
    let has = |part: &str| kept.iter().any(|file| file.contains(part));
    assert!(has("coverage/") && has("covered.") && has("mcp-commands.jsonl"), "{kept:?}");
}

#[test]
fn reports_one_failed_campaign_of_several() {
    let project = Project::new().with("Vault.sol", SOURCE).with("Vault.json", COMPILED).with(
        "vouch.toml",
        "packs = [\"campaign\"]\n[campaign]\ntarget = [\"Vault.json\", \"none.sol\"]\n",
    );
    let server = project.start_server(&[]);
    assert!(server.banner.contains("FUZZ  "), "{}", server.banner);
    let size = |campaign: &str| server.call("get_corpus_size", &json!({"campaign": campaign}));
    wait_until("the one campaign runs", || {
        let (_, reply) = size("Vault");
        reply["size"].as_u64().is_some_and(|size| size > 0)
    });
    wait_until("the other is given up", || {
        let (status, reply) = size("none");
        assert_eq!(status, 503, "{reply}");
        reply["error"]["message"].as_str().unwrap().contains("failed to prepare campaign")
    });
    let (status, reply) = size("other");
    assert_eq!((status, &reply["error"]["code"]), (400, &json!("INVALID_INPUT")), "{reply}");
    let (status, reply) = server.call("get_corpus_size", &json!({}));
    assert_eq!((status, &reply["error"]["details"]["field"]), (400, &json!("campaign")), "{reply}");
    server.signal(Signal::TERM);
    let (status, printed) = server.wait();
    assert_eq!(status.code(), Some(0), "{printed}");
    assert!(printed.contains("Vault: ") && printed.contains("tests failed within"), "{printed}");
}

#[test]
fn lists_campaign_tools_without_campaign() {
    let project = Project::new().with("vouch.toml", "packs = [\"campaign\"]\n");
    let tools = project.run_json(&["tools", "--json"]);
    let names =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    let names: Vec<_> = names.collect();
    assert!(names.contains(&"read_logs") && names.contains(&"campaign_status"), "{names:?}");
    let contracts = project.run_text(&["contracts", "--format", "md"]);
    assert!(contracts.starts_with("exit: 0") && contracts.contains("inject_transaction"));
    let call = project.run_text(&["call", "get_corpus_size"]);
    assert!(call.starts_with("exit: 1") && call.contains("--url"), "{call}");
}

#[test]
fn rejects_invalid_flags() {
    let project = Project::new()
        .with("Vault.sol", SOURCE)
        .with("Vault.json", COMPILED)
        .with("calls.txt", "[]")
        .with("bad.jsonl", "{\"round\": 1}\n")
        .with("other.jsonl", "{\"time\":\"\",\"round\":1,\"calls\":[],\"tool\":\"prioritize_function\",\"arguments\":{\"functionSignature\":\"mint()\"}}\n");
    insta::assert_snapshot!(project.transcript(&[
        &["fuzz", "--demo", "--mcp-port", "70000"],
        &["fuzz", "--demo", "--mcp-port", "0", "--replay", "calls.txt"],
        &["fuzz", "--demo", "--replay-mcp-commands"],
        &["fuzz", "--demo", "--replay-mcp-commands", "none.jsonl"],
        &["fuzz", "--demo", "--replay-mcp-commands", "bad.jsonl"],
        &["fuzz", "--demo", "--replay-mcp-commands", "other.jsonl"],
        &["serve", "--packs", "campaign"],
        &["serve", "--packs", "campain"],
        &["serve", "--target", "Vault.json"],
        &["serve", "--packs", "campaign", "--demo", "--target", "Vault.json"],
        &["serve", "--packs", "campaign", "--demo", "--contract", "Vault"],
        &["serve", "--packs", "campaign", "--target", "a", "--target", "b", "--contract", "A"],
    ]));
}

#[test]
fn rejects_port_in_use() {
    let project = Project::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let text = project.run_text(&["fuzz", "--demo", "--seed", "1", "--mcp-port", &port]);
    insta::assert_snapshot!(text.replace(&port, "[PORT]"));
}
