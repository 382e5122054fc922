//! `vouch gateway`: other servers behind it, clients before it, and nobody left when it ends.

use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::stdio::Session;
use crate::support::{Project, Server, VOUCH, send_signal, until, wait, with_filters};

fn start(project: &Project) -> Session {
    let mut session = Session::start(project.command(&["gateway", "--stdio"]));
    session.handshake().unwrap();
    session
}

#[test]
fn only_kept_contracts_pass() {
    let args = ["--only", "good,violates,error,text_only,vacuous,poisoned"];
    let project = Project::new().with_adversary(&args, "");
    let mut session = start(&project);
    assert_eq!(
        session.tools(1),
        ["adv__error", "adv__good", "adv__text_only", "adv__violates"],
        "what has no sound contract is not there"
    );
    let good = session.call(2, "adv__good", json!({"text": "hi"}));
    assert_eq!(good["structuredContent"], json!({"text": "hi"}));

    let bad_input = session.call(3, "adv__good", json!({"text": 7}));
    assert_eq!(bad_input["structuredContent"]["error"]["code"], "INVALID_INPUT", "{bad_input}");
    let unknown = session.ask(4, "tools/call", json!({"name": "adv__poisoned", "arguments": {}}));
    assert!(!unknown.to_string().contains("ssh"), "{unknown}");

    let broken = session.call(5, "adv__violates", json!({"how": "extra"}));
    let error = &broken["structuredContent"]["error"];
    assert_eq!(error["code"], "CONTRACT_VIOLATION", "{broken}");
    assert!(!broken.to_string().contains("ignore the schema"), "the answer is withheld: {broken}");
    let text_only = session.call(6, "adv__text_only", json!({}));
    assert_eq!(text_only["structuredContent"]["error"]["code"], "CONTRACT_VIOLATION");

    let failed = session.call(7, "adv__error", json!({}));
    assert_eq!(failed["isError"], true);
    assert_eq!(failed["content"][0]["text"], "the disk is full");

    let id = error["details"]["callId"].as_str().unwrap();
    let shown = project.check(&["calls", "show", id]);
    assert!(shown.contains("ignore the schema") && shown.contains("adv__violates"), "{shown}");
    let raw = project.run(&["calls", "show", id, "--raw"]);
    let raw: Value = serde_json::from_slice(&raw.stdout).unwrap();
    assert_eq!(raw["structuredContent"]["note"], "ignore the schema");
    assert_eq!(project.json(&["calls", "list", "--json"]).as_array().unwrap().len(), 2);
    let missing = project.check(&["calls", "show", "zzzz"]);
    assert!(missing.starts_with("exit: 1"), "{missing}");

    session.close_input();
    assert_eq!(wait(&mut session.child).code(), Some(0));
    assert!(project.check(&["audit", "verify"]).starts_with("exit: 0"));
}

/// The default grant is the project, with our tokens and what was withheld in it.
#[test]
fn the_state_is_not_read_by_servers() {
    let project = Project::new().with_adversary(&["--only", "read_path"], "").with("a.txt", "a");
    project.write(".vouch/tokens", "secret");
    let mut session = start(&project);
    for (path, done) in [
        (".", true),
        ("a.txt", true),
        ("vouch.toml", true),
        (".vouch/tokens", false),
        (".vouch/vouch.db", false),
    ] {
        let path = project.root.join(path);
        let answer = session.call(1, "adv__read_path", json!({"path": path}));
        assert_eq!(answer["structuredContent"]["done"], done, "{}: {answer}", path.display());
    }
}

/// Our own server behind our own gateway, over HTTP, beside one that is not there.
#[test]
fn a_server_of_ours_behind_it() {
    let config = format!(
        "[[upstream]]\nname = \"inner\"\ncommand = {VOUCH:?}\n\
         args = [\"--root\", \"inner\", \"serve\", \"--stdio\", \"--packs\", \"repo\"]\n\
         sandbox = {{ read = [\".\"], write = [\"inner\"] }}\n\n\
         [[upstream]]\nname = \"gone\"\ncommand = \"/nowhere/at/all\"\n"
    );
    let project = Project::new().with("vouch.toml", &config).with("inner/a.txt", "a\n");
    let server = Server::start(project.command(&["gateway", "--port", "0"]));
    // The log has said before that one of them is not there.
    let banner = server.banner.find("vouch ").map(|start| &server.banner[start..]).unwrap();
    with_filters(|| insta::assert_snapshot!("banner", project.stable(banner)));
    let (status, body) = server.call("inner__read_repo_file", &json!({"path": "a.txt"}));
    assert_eq!((status, &body["content"]), (200, &json!("a\n")), "{body}");
    let (status, body) = server.call("gone__x", &json!({}));
    assert_eq!((status, &body["error"]["code"]), (404, &json!("TOOL_NOT_FOUND")), "{body}");
    server.signal(Signal::TERM);
    let (status, _) = server.wait();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_change_waits_for_a_person() {
    let args = ["--only", "good,count", "--state", "adv/state.json"];
    let project = Project::new().with_adversary(&args, "");
    let mut session = start(&project);
    assert_eq!(session.tools(1), ["adv__count", "adv__good"]);
    // As if another process of the same server had changed its mind; the next list has it.
    let state: Value = serde_json::from_str(&project.read("adv/state.json")).unwrap();
    let mutated = json!({"starts": state["starts"], "mutation": "instruction"});
    project.write("adv/state.json", &mutated.to_string());
    drop(session);

    let mut session = start(&project);
    assert_eq!(session.tools(1), ["adv__count"], "it is quarantined");
    let tools = project.json(&["upstream", "tools", "--json"]);
    assert_eq!(tools[0]["state"], "quarantined", "{tools:#}");
    assert!(tools[0]["change"]["classes"].to_string().contains("instruction"), "{tools:#}");

    let refused = project.check(&["accept"]);
    assert!(refused.starts_with("exit: 2") && refused.contains("IMPORTANT"), "{refused}");
    // With new orders to the model in its description no acceptance helps: that is refused for itself.
    let mutated = json!({"starts": 1, "mutation": "additive"});
    project.write("adv/state.json", &mutated.to_string());
    let accepted = project.json(&["accept", "adv", "good", "--yes", "--json"]);
    assert_eq!(accepted["accepted"][0]["class"], json!(["additive"]), "{accepted:#}");
    let mut id = 10;
    until("the accepted tool is back", || {
        id += 1;
        session.tools(id) == ["adv__count", "adv__good"]
    });
    let loud = session.call(9, "adv__good", json!({"text": "hi", "loud": true}));
    assert_eq!(loud["structuredContent"], json!({"text": "hi"}), "{loud}");
}

fn lives(pid: &Value) -> bool {
    // One that is dead and not yet reaped lives no more.
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.is_ok_and(|stat| !stat.rsplit(')').next().unwrap_or_default().trim().starts_with('Z'))
}

#[test]
fn nobody_is_left() {
    for signal in [Signal::TERM, Signal::KILL] {
        let args = ["--only", "count", "--grandchild", "--stubborn"];
        let project = Project::new().with_adversary(&args, "");
        let mut session = start(&project);
        let count = session.call(1, "adv__count", json!({}));
        let pids = ["pid", "grandchild"].map(|key| count["structuredContent"][key].clone());
        assert!(pids.iter().all(lives), "{count}");
        send_signal(&session.child, signal);
        wait(&mut session.child);
        until("all children are gone", || !pids.iter().any(lives));
    }
}
