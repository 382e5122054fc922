//! `vouch upstream tools`, `vouch accept` and `vouch learn`.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::stdio::Session;
use crate::support::{Project, wait_for_exit, with_filters};

#[test]
fn lists_tools_with_reasons() {
    let args = ["--only", "good,count,vacuous,no_description,poisoned,hidden_text,twin"];
    let project = Project::new()
        .with_adversary(&args, "tools = [\"[!c]*\"]\n")
        .with("contracts/adv/no_description.json", "{\"description\": \"Says the text again.\"}")
        .with("contracts/adv/nobody.json", "{\"title\": \"x\"}");
    with_filters(|| insta::assert_snapshot!(project.run_text(&["upstream", "tools"])));
    let tools = project.run_json(&["upstream", "tools", "adv", "--json"]);
    let states: Vec<_> =
        tools.as_array().unwrap().iter().map(|tool| tool["state"].clone()).collect();
    assert_eq!(
        states,
        ["ready", "not-allowed", "refused", "overlaid", "refused", "refused", "refused", "refused"]
    );
    let vacuous = &tools[2];
    assert_eq!(vacuous["name"], "adv__vacuous");
    let reason = vacuous["reasons"][0].as_object().unwrap();
    assert_eq!(reason.keys().collect::<Vec<_>>(), ["rule", "severity", "message", "remedy"]);
    let sarif = project.run_json(&["upstream", "tools", "--sarif"]);
    assert_eq!(sarif["runs"].as_array().unwrap().len(), 1);
    assert_eq!(sarif["runs"][0]["properties"]["server"]["name"], "adversary", "{sarif:#}");
}

/// Prints the last lines of standard error of failed servers, with hints.
#[test]
fn prints_stderr_of_failed_servers() {
    let project = Project::new().with(
        "vouch.toml",
        "[[upstream]]\nname = \"npm\"\ncommand = \"./npx\"\n\n\
         [[upstream]]\nname = \"own\"\ncommand = \"./server\"\n\n\
         [[upstream]]\nname = \"free\"\ncommand = \"./server\"\nsandbox = \"off\"\n\n\
         [[upstream]]\nname = \"poor\"\ncommand = \"./server\"\nenv = { A = \"${NO_SUCH}\" }\n",
    );
    for name in ["npx", "server"] {
        let printed =
            "for line in 1 2 3 4 5 6 7 8 9 10 11 12 13; do echo \"\u{1b}[2J no $line\" >&2; done";
        project.write(name, &format!("#!/bin/sh\n{printed}\nexit 1\n"));
        let path = project.root.join(name);
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o700)).unwrap();
    }
    with_filters(|| insta::assert_snapshot!(project.run_text(&["upstream", "tools"])));
}

#[test]
fn exit_code_reflects_tool_states() {
    let code = |args: &[&str], more: &str, words: &[&str]| {
        let project = Project::new().with_adversary(args, more);
        let words = ["upstream", "tools"].iter().chain(words).copied().collect::<Vec<_>>();
        project.run(&words).status.code()
    };
    let good = &["--only", "good,count"];
    let bad = &["--only", "good,vacuous"];
    assert_eq!(code(good, "", &[]), Some(0));
    assert_eq!(code(good, "tools = [\"good\"]\n", &[]), Some(0), "left out is not refused");
    assert_eq!(code(bad, "", &["--json"]), Some(1));
    assert_eq!(code(bad, "policy = \"observe\"\n", &[]), Some(0), "it runs");
    assert_eq!(code(&["--exit-at-start"], "", &["--json"]), Some(3));
    assert_eq!(code(good, "env = { A = \"${NO_SUCH}\" }\n", &[]), Some(3));
    assert_eq!(code(good, "", &["nobody"]), Some(2));
}

#[test]
fn accept_pins_tools_and_shows_changes() {
    let args = ["--only", "good,count", "--state", "adv/state.json"];
    let project = Project::new().with_adversary(&args, "");
    let mut all = project.transcript(&[&["accept"], &["accept"]]);
    let lock = project.read("vouch.lock");
    for (mutation, words) in [
        ("description", &["accept", "--yes"][..]),
        ("breaking", &["accept", "adv", "good"]),
        ("breaking", &["accept", "adv", "good", "--yes"]),
        ("removal", &["accept"]),
    ] {
        project.write("adv/state.json", &json!({"mutation": mutation}).to_string());
        all.push_str(&format!("\n# {mutation}\n{}", project.transcript(&[words])));
    }
    with_filters(|| insta::assert_snapshot!(all));
    assert_ne!(lock, project.read("vouch.lock"));
    let unknown = project.run_text(&["accept", "adv", "goood"]);
    assert!(unknown.starts_with("exit: 1") && unknown.contains("`good`"), "{unknown}");
}

#[test]
fn gateway_records_samples_for_learn() {
    let args = ["--only", "no_output_schema"];
    let project = Project::new().with_adversary(&args, "policy = \"observe\"\n");
    let mut session = Session::start(project.command(&["gateway", "--stdio", "--learn"]));
    session.handshake().unwrap();
    crate::gateway::wait_for_tools(&mut session);
    let listed = session.request(1, "tools/list", json!({}));
    assert!(listed.to_string().contains("observed: would be refused"), "it is marked: {listed}");
    for (id, text) in [(2, "a"), (3, "b")] {
        let answer = session.call(id, "adv__no_output_schema", json!({"text": text}));
        assert_eq!(answer["content"][0]["text"], "{\"text\":\"unchecked\"}", "{answer}");
    }
    session.close_input();
    assert_eq!(wait_for_exit(&mut session.child).code(), Some(0));
    let drafts = project.run_json(&["learn", "adv", "--json"]);
    assert_eq!(drafts[0]["samples"], 2, "{drafts:#}");
    assert_eq!(drafts[0]["overlay"]["result"], "json");
}

#[test]
fn learns_contract_from_calls() {
    let args = ["--only", "good,no_output_schema"];
    let project = Project::new().with_adversary(&args, "");
    let call = "no_output_schema {\"text\": \"x\"}";
    let learn = ["learn", "adv", "--call", call];
    with_filters(|| insta::assert_snapshot!("learned", project.run_text(&learn)));
    assert!(!project.root.join("contracts").exists(), "it is a draft");
    let written = project.run_json(&[&learn[..], &["--write", "--json"]].concat());
    assert_eq!(written[0]["written"], true, "{written:#}");
    let again = project.run_json(&[&learn[..], &["--write", "--json"]].concat());
    assert_eq!(again[0]["written"], false, "an existing overlay is kept");
    let state = project.run_json(&["upstream", "tools", "--json"]);
    assert_eq!(state[1]["state"], "overlaid", "{state:#}");
    let answer = project.run_json(&["call", "adv__no_output_schema", "text=y"]);
    assert_eq!(answer, json!({"text": "unchecked"}));
    let calls = project.run_json(&["stats", "--json"]);
    assert_eq!(calls[0]["calls"], 4, "calls for learning are recorded: {calls:#}");
    for (words, exit) in [
        (&["learn", "adv", "--call", "good"][..], "exit: 1"),
        (&["learn", "adv", "--call", "good [1]"], "exit: 2"),
        (&["learn", "adv", "--tool", "nope"], "exit: 1"),
        (&["learn", "nobody"], "exit: 2"),
    ] {
        let printed = project.run_text(words);
        assert!(printed.starts_with(exit), "{words:?}: {printed}");
    }
    let nothing = project.run_json(&["learn", "adv", "--json"]);
    assert_eq!(nothing, json!([]), "every tool has its contract now");
}
