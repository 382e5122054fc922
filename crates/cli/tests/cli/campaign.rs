//! Campaigns that agents watch and steer: `vouch fuzz --mcp-port`, `vouch serve --packs campaign`, and what is given again.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, ExitStatus, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::stdio::Session;
use crate::support::{Project, answer, send_signal, until, wait};

const SOURCE: &str = include_str!("../../../app/src/campaign/demo/Vault.sol");
const COMPILED: &str = include_str!("../../../app/src/campaign/demo/Vault.json");

/// A `vouch fuzz` that goes on until it is told to stop; killed when dropped.
struct Fuzzing {
    child: Child,
    address: SocketAddr,
    stderr: BufReader<ChildStderr>,
}

impl Fuzzing {
    fn start(project: &Project, args: &[&str]) -> Self {
        let fixed = ["fuzz", "--demo", "--mcp-port", "0", "--seed", "1", "--workers", "1"];
        let endless = ["--test-limit", "1e15", "--json"];
        let mut command = project.command(&[&fixed, args, &endless].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        while !said.contains("over MCP at http://") {
            assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "it ended early:\n{said}");
        }
        let url = said.split("http://").nth(1).unwrap();
        let address = url.split('/').next().unwrap().parse().unwrap();
        Self { child, address, stderr }
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
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .unwrap();
        answer(stream)
    }

    /// Ends the fuzzing; gives the status, the results and what was said since it began.
    fn stop(mut self) -> (ExitStatus, Value, String) {
        send_signal(&self.child, Signal::INT);
        let mut results = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut results).unwrap();
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        let status = wait(&mut self.child);
        (status, serde_json::from_str(&results).unwrap_or_else(|_| panic!("{results}{said}")), said)
    }
}

impl Drop for Fuzzing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const WITHDRAW: &str = "withdraw(uint256)";

#[test]
fn a_campaign_that_is_to_wait_makes_no_call_before_an_agent_lets_it() {
    let project = Project::new();
    let fuzzing = Fuzzing::start(&project, &["--paused"]);
    let status = || {
        let (code, reply) = fuzzing.call("campaign_status", &json!({}));
        assert_eq!(code, 200, "{reply}");
        reply
    };
    until("it is prepared", || status()["state"] == "paused");
    assert_eq!(status()["calls"], 0);
    let (code, reply) =
        fuzzing.call("prioritize_function", &json!({"functionSignature": WITHDRAW}));
    assert_eq!(code, 200, "{reply}");
    assert_eq!(status()["calls"], 0);
    let (code, reply) = fuzzing.call("resume_campaign", &json!({}));
    assert_eq!(code, 200, "{reply}");
    until("it makes calls", || status()["calls"].as_u64().unwrap() > 0);
}

#[test]
fn agents_reach_a_campaign_while_it_runs() {
    let project = Project::new();
    let fuzzing = Fuzzing::start(&project, &["--corpus-dir", "corpus"]);
    let list = fuzzing.rpc("tools/list");
    let tools = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("{list}"));
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for name in ["read_logs", "show_coverage", "inject_transaction", "clear_priorities"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(!names.contains(&"hello"), "only the campaign is served: {names:?}");
    until("something is kept", || {
        let (status, reply) = fuzzing.call("get_corpus_size", &json!({}));
        assert_eq!(status, 200, "{reply}");
        reply["size"].as_u64().unwrap() > 0
    });
    until("a test fails", || {
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
    let (status, results, said) = fuzzing.stop();
    assert_eq!(status.code(), Some(1), "a test of the demo fails: {said}");
    assert_eq!(results["seed"], 1, "{results}");
    assert!(TcpStream::connect(address).is_err(), "the server ended with the campaign");
    let log = project.read("corpus/mcp-commands.jsonl");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [line] = &lines[..] else { panic!("one command: {log}") };
    assert_eq!(line["tool"], "prioritize_function");
    assert!(project.check(&["audit", "verify"]).starts_with("exit: 0"), "every call is on record");
}

#[test]
fn a_client_that_listens_does_not_keep_the_campaign() {
    let project = Project::new();
    let fuzzing = Fuzzing::start(&project, &[]);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }})
    .to_string();
    let mut stream = TcpStream::connect(fuzzing.address).unwrap();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut head = [0; 15];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    let (status, _, said) = fuzzing.stop();
    assert!(matches!(status.code(), Some(1 | 130)), "it ends by itself: {status}, {said}");
    drop(stream);
}

/// What a run came to, without what depends on the clock.
fn results(project: &Project, args: &[&str]) -> Value {
    let fixed = ["fuzz", "--demo", "--seed", "1", "--workers", "2", "--json"];
    let mut results = project.json(&[&fixed, args].concat());
    let is_clock = |key: &String| key.contains("econd") || key.contains("elapsed");
    results.as_object_mut().unwrap().retain(|key, _| !is_clock(key));
    results
}

#[test]
fn what_agents_did_is_done_again() {
    let project = Project::new();
    let fuzzing = Fuzzing::start(&project, &["--corpus-dir", "corpus"]);
    for (tool, arguments) in [
        ("prioritize_function", json!({"functionSignature": WITHDRAW})),
        ("inject_transaction", json!({"sequence": ["deposit(?)", "withdraw(1)"]})),
    ] {
        let (status, reply) = fuzzing.call(tool, &arguments);
        assert_eq!(status, 200, "{reply}");
    }
    fuzzing.stop();
    // Rounds in which the short runs below still are.
    let log = project.read("corpus/mcp-commands.jsonl");
    let early = log.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["round"] = json!(1);
        format!("{line}\n")
    });
    project.write("commands.jsonl", &early.collect::<String>());
    let limit = ["--test-limit", "60000"];
    let again = [&limit[..], &["--replay-mcp-commands", "commands.jsonl"]].concat();
    let first = results(&project, &again);
    assert_eq!(first, results(&project, &again));
    assert_ne!(first, results(&project, &limit), "the commands have an effect");
}

#[test]
fn a_server_that_fuzzes() {
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
    until("the campaign runs", || {
        let reply = request(&mut session, "tools/call", call("get_corpus_size", json!({})));
        let result = &reply["result"]["structuredContent"];
        // It is said that it is being prepared, and nothing else.
        let code = &result["error"]["code"];
        assert!(code.is_null() || code == "UPSTREAM_UNAVAILABLE", "{reply}");
        result["size"].as_u64().is_some_and(|size| size > 0)
    });
    let listed = request(&mut session, "resources/list", json!({}));
    assert_eq!(listed["result"]["resources"][0]["uri"], "campaign://events", "{listed}");
    let uri = json!({"uri": "campaign://events"});
    let reply = request(&mut session, "resources/subscribe", uri.clone());
    assert_eq!(reply["result"], json!({}), "{reply}");
    // A campaign that runs has news; the first that nobody asked for is told.
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
    assert_eq!(wait(&mut session.child).code(), Some(0));
    let kept = crate::support::files_below(&project.root.join("corpus"));
    let has = |part: &str| kept.iter().any(|file| file.contains(part));
    assert!(has("coverage/") && has("covered.") && has("mcp-commands.jsonl"), "{kept:?}");
}

#[test]
fn several_campaigns_of_which_one_cannot_be() {
    let project = Project::new().with("Vault.sol", SOURCE).with("Vault.json", COMPILED).with(
        "vouch.toml",
        "packs = [\"campaign\"]\n[campaign]\ntarget = [\"Vault.json\", \"none.sol\"]\n",
    );
    let server = project.serve(&[]);
    assert!(server.banner.contains("FUZZ  "), "{}", server.banner);
    let size = |campaign: &str| server.call("get_corpus_size", &json!({"campaign": campaign}));
    until("the one campaign runs", || {
        let (_, reply) = size("Vault");
        reply["size"].as_u64().is_some_and(|size| size > 0)
    });
    until("the other is given up", || {
        let (status, reply) = size("none");
        assert_eq!(status, 503, "{reply}");
        reply["error"]["message"].as_str().unwrap().contains("could not be prepared")
    });
    let (status, reply) = size("other");
    assert_eq!((status, &reply["error"]["code"]), (400, &json!("INVALID_INPUT")), "{reply}");
    let (status, reply) = server.call("get_corpus_size", &json!({}));
    assert_eq!((status, &reply["error"]["details"]["field"]), (400, &json!("campaign")), "{reply}");
    server.signal(Signal::TERM);
    let (status, said) = server.wait();
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(said.contains("Vault: ") && said.contains("tests failed within"), "{said}");
}

#[test]
fn tools_can_be_looked_at_without_a_campaign() {
    let project = Project::new().with("vouch.toml", "packs = [\"campaign\"]\n");
    let tools = project.json(&["tools", "--json"]);
    let names =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    let names: Vec<_> = names.collect();
    assert!(names.contains(&"read_logs") && names.contains(&"campaign_status"), "{names:?}");
    let contracts = project.check(&["contracts", "--format", "md"]);
    assert!(contracts.starts_with("exit: 0") && contracts.contains("inject_transaction"));
    let call = project.check(&["call", "get_corpus_size"]);
    assert!(call.starts_with("exit: 1") && call.contains("--url"), "{call}");
}

#[test]
fn wrong_flags() {
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
fn a_port_that_is_taken() {
    let project = Project::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let text = project.check(&["fuzz", "--demo", "--seed", "1", "--mcp-port", &port]);
    insta::assert_snapshot!(text.replace(&port, "[PORT]"));
}
