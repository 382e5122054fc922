//! `vouch gateway`: enforced contracts, isolation of upstreams, quarantine, and shutdown.

use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::stdio::Session;
use crate::support::{
    Project, Server, VOUCH, send_signal, wait_for_exit, wait_until, with_filters,
};

/// Starts a gateway and waits for the tools of its upstream, which may take longer than the gateway waits.
fn start_gateway(project: &Project) -> Session {
    let mut session = Session::start(project.command(&["gateway", "--stdio"]));
    session.handshake().unwrap();
    wait_for_tools(&mut session);
    session
}

pub(crate) fn wait_for_tools(session: &mut Session) {
    let mut id = 1_000;
    wait_until("a tool is listed", || {
        id += 1;
        !session.list_tools(id).is_empty()
    });
}

#[test]
fn server_with_little_memory_starts() {
    let project = Project::new().with_adversary(&["--only", "good"], "");
    let config = project.read("vouch.toml").replace("write =", "memory = \"128MB\", write =");
    project.write("vouch.toml", &config);
    let mut session = start_gateway(&project);
    assert_eq!(session.list_tools(1), ["adv__good"]);
}

#[test]
fn withholds_answers_that_break_contracts() {
    let args = ["--only", "good,violates,error,text_only,vacuous,poisoned"];
    let project = Project::new().with_adversary(&args, "");
    let mut session = start_gateway(&project);
    assert_eq!(
        session.list_tools(1),
        ["adv__error", "adv__good", "adv__text_only", "adv__violates"],
        "tools without a valid contract are not listed"
    );
    let good = session.call(2, "adv__good", json!({"text": "hi"}));
    assert_eq!(good["structuredContent"], json!({"text": "hi"}));

    let bad_input = session.call(3, "adv__good", json!({"text": 7}));
    assert_eq!(bad_input["structuredContent"]["error"]["code"], "INVALID_INPUT", "{bad_input}");
    let unknown =
        session.request(4, "tools/call", json!({"name": "adv__poisoned", "arguments": {}}));
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
    let shown = project.run_text(&["calls", "show", id]);
    assert!(shown.contains("ignore the schema") && shown.contains("adv__violates"), "{shown}");
    let raw = project.run(&["calls", "show", id, "--raw"]);
    let raw: Value = serde_json::from_slice(&raw.stdout).unwrap();
    assert_eq!(raw["structuredContent"]["note"], "ignore the schema");
    assert_eq!(project.run_json(&["calls", "list", "--json"]).as_array().unwrap().len(), 2);
    let missing = project.run_text(&["calls", "show", "zzzz"]);
    assert!(missing.starts_with("exit: 1"), "{missing}");

    session.close_input();
    assert_eq!(wait_for_exit(&mut session.child).code(), Some(0));
    assert!(project.run_text(&["audit", "verify"]).starts_with("exit: 0"));
}

/// The sandbox grants a folder that contains the state of this and of other projects, with tokens and withheld answers.
#[test]
fn upstreams_cannot_read_state() {
    let project = Project::new().with("a.txt", "a");
    let above = project.root.parent().unwrap().to_owned();
    project.write(
        "vouch.toml",
        &format!(
            "[[upstream]]\nname = \"adv\"\ncommand = {:?}\nargs = [\"--only\", \"read_path\"]\n\
             sandbox = {{ read = [\"..\"] }}\n",
            crate::support::adversary()
        ),
    );
    project.write(".vouch/tokens", "secret");
    let other = project.state_home.join("vouch/other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("tokens"), "secret").unwrap();
    std::fs::write(above.join("b.txt"), "b").unwrap();
    let mut session = start_gateway(&project);
    for (path, done) in [
        (project.root.clone(), true),
        (project.root.join("a.txt"), true),
        (project.root.join("vouch.toml"), true),
        (above.join("b.txt"), true),
        (project.root.join(".vouch/tokens"), false),
        (project.state().join("vouch.db"), false),
        (project.state().join("audit.jsonl"), false),
        (project.audit_keys().join("keys.json"), false),
        (project.state().join("project.json"), false),
        (other.join("tokens"), false),
    ] {
        assert!(path.exists(), "{}", path.display());
        let answer = session.call(1, "adv__read_path", json!({"path": path}));
        assert_eq!(answer["structuredContent"]["done"], done, "{}: {answer}", path.display());
    }
}

/// Serves over HTTP, with `vouch serve` as one upstream and an unavailable server as another.
#[test]
fn serves_own_server_as_upstream() {
    let project = Project::new();
    let config = format!(
        "[[upstream]]\nname = \"inner\"\ncommand = {VOUCH:?}\n\
         args = [\"--root\", \"inner\", \"serve\", \"--stdio\", \"--packs\", \"repo\"]\n\
         env = {{ XDG_STATE_HOME = {:?} }}\n\
         sandbox = {{ read = [\".\"], write = [\"inner\", \"inner-state\"] }}\n\n\
         [[upstream]]\nname = \"gone\"\ncommand = \"/nowhere/at/all\"\n",
        project.root.join("inner-state"),
    );
    let project = project.with("vouch.toml", &config).with("inner/a.txt", "a\n");
    std::fs::create_dir(project.root.join("inner-state")).unwrap();
    let server = Server::start(project.command(&["gateway", "--port", "0"]));
    // Skips the log line about the unavailable upstream.
    let banner = server.banner.find("vouch ").map(|start| &server.banner[start..]).unwrap();
    with_filters(|| insta::assert_snapshot!("banner", project.redact_paths(banner)));
    server.wait_for_tool("inner__read_repo_file");
    let (status, body) = server.call("inner__read_repo_file", &json!({"path": "a.txt"}));
    assert_eq!((status, &body["content"]), (200, &json!("a\n")), "{body}");
    let (status, body) = server.call("gone__x", &json!({}));
    assert_eq!((status, &body["error"]["code"]), (404, &json!("TOOL_NOT_FOUND")), "{body}");
    server.signal(Signal::TERM);
    let (status, _) = server.wait();
    assert_eq!(status.code(), Some(0));
}

#[test]
fn changed_tool_is_quarantined_until_accepted() {
    let args = ["--only", "good,count", "--state", "adv/state.json"];
    let project = Project::new().with_adversary(&args, "");
    let mut session = start_gateway(&project);
    assert_eq!(session.list_tools(1), ["adv__count", "adv__good"]);
    // The next list has the changed tool, as after an update of the server.
    let state: Value = serde_json::from_str(&project.read("adv/state.json")).unwrap();
    let mutated = json!({"starts": state["starts"], "mutation": "instruction"});
    project.write("adv/state.json", &mutated.to_string());
    drop(session);

    let mut session = start_gateway(&project);
    assert_eq!(session.list_tools(1), ["adv__count"], "it is quarantined");
    let tools = project.run_json(&["upstream", "tools", "--json"]);
    assert_eq!(tools[0]["state"], "quarantined", "{tools:#}");
    assert!(tools[0]["change"]["classes"].to_string().contains("instruction"), "{tools:#}");

    let refused = project.run_text(&["accept"]);
    assert!(refused.starts_with("exit: 2") && refused.contains("IMPORTANT"), "{refused}");
    // A description with instructions to the model is refused even if accepted, so another change is used.
    let mutated = json!({"starts": 1, "mutation": "additive"});
    project.write("adv/state.json", &mutated.to_string());
    let accepted = project.run_json(&["accept", "adv", "good", "--yes", "--json"]);
    assert_eq!(accepted["accepted"][0]["class"], json!(["additive"]), "{accepted:#}");
    let mut id = 10;
    wait_until("the accepted tool is back", || {
        id += 1;
        session.list_tools(id) == ["adv__count", "adv__good"]
    });
    let loud = session.call(9, "adv__good", json!({"text": "hi", "loud": true}));
    assert_eq!(loud["structuredContent"], json!({"text": "hi"}), "{loud}");
}

/// Returns the processes that run in a folder. A zombie runs nowhere.
pub(crate) fn find_processes_in(folder: &Path) -> Vec<std::path::PathBuf> {
    let folder = folder.canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let runs_there = |process: &std::path::PathBuf| {
        std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == folder)
    };
    processes.filter(runs_there).collect()
}

#[test]
fn no_child_process_survives() {
    for signal in [Signal::TERM, Signal::KILL] {
        let args = ["--only", "count", "--grandchild", "--stubborn"];
        let project = Project::new().with_adversary(&args, "");
        let mut session = start_gateway(&project);
        session.call(1, "adv__count", json!({}));
        // The gateway, the supervisor, the server and its grandchild, which have ids of their own in their namespace.
        assert!(find_processes_in(&project.root).len() >= 4);
        send_signal(&session.child, signal);
        wait_for_exit(&mut session.child);
        wait_until("all children are gone", || find_processes_in(&project.root).is_empty());
    }
}
