//! Settings of vouch.toml for upstream tools, and errors about them.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::stdio::Session;
use crate::support::{Project, adversary, wait_for_exit};

const ONLY_GOOD: &[&str] = &["--only", "good,good_many,instructs,count"];

/// Runs a gateway with an invalid configuration and returns its output.
fn run_invalid_gateway(more: &str) -> String {
    let project = Project::new().with_adversary(ONLY_GOOD, more);
    project.run_text(&["gateway", "--stdio"])
}

#[test]
fn reports_config_errors_before_serving() {
    let project = Project::new();
    let mut all = format!("# no upstream\n{}", project.run_text(&["gateway"]));
    for (what, more) in [
        ("a secret is missing", "env = { KEY = \"${NO_SUCH_KEY}\" }\n"),
        ("no such tool", "[tools.adv__god]\nrate_per_minute = 1\n"),
        (
            "a rule that reads what no tool has",
            "[[rule]]\nname = \"r\"\neffect = \"deny\"\ntools = [\"adv__good\"]\nwhen = 'arguments.txt == \"x\"'\n",
        ),
        ("all are switched off", "enabled = false\n"),
    ] {
        all.push_str(&format!("\n# {what}\n{}", run_invalid_gateway(more)));
    }
    let broken = Project::new().with_adversary(ONLY_GOOD, "").with("contracts/adv/good.json", "[]");
    all.push_str(&format!("\n# an overlay that is none\n{}", broken.run_text(&["gateway"])));
    let broken = Project::new().with_adversary(ONLY_GOOD, "").with("vouch.lock", "{}");
    all.push_str(&format!("\n# a lock that is none\n{}", broken.run_text(&["gateway"])));
    insta::assert_snapshot!(all);
}

#[test]
fn applies_limits_rules_and_allowlists() {
    let project = Project::new().with_adversary(
        ONLY_GOOD,
        "tools = [\"good*\", \"instructs\"]\n\
         [tools.adv__good]\nrate_per_minute = 2\n\
         [tools.adv__instructs]\napprove = \"never\"\n\
         [[rule]]\nname = \"quiet\"\neffect = \"deny\"\ntools = [\"adv__good\"]\nwhen = 'arguments.text == \"LOUD\"'\n\
         [[rule]]\nname = \"later\"\neffect = \"deny\"\ntools = [\"other__*\"]\nwhen = 'true'\n\
         [clients.stdio]\ntools = [\"adv__good\", \"adv__instructs\", \"adv__count\"]\n",
    );
    let mut command = project.command(&["gateway", "--stdio"]);
    let log = std::fs::File::create(project.root.join("log")).unwrap();
    let mut session = Session::start({
        command.stderr(log);
        command
    });
    session.handshake().unwrap();
    crate::gateway::wait_for_tools(&mut session);
    // `good_many` is not on the client's allowlist, `count` not on the upstream's.
    assert_eq!(session.list_tools(1), ["adv__good", "adv__instructs"]);
    let code = |answer: serde_json::Value| answer["structuredContent"]["error"]["code"].clone();
    let loud = session.call(2, "adv__good", json!({"text": "LOUD"}));
    assert_eq!(code(loud), "ACCESS_DENIED", "the rule holds");
    let printed = session.call(3, "adv__good", json!({"text": "a"}));
    assert_eq!(printed["structuredContent"], json!({"text": "a"}), "{printed}");
    let third = session.call(4, "adv__good", json!({"text": "b"}));
    assert_eq!(code(third), "RATE_LIMITED");
    let never = session.call(5, "adv__instructs", json!({}));
    assert_eq!(code(never), "APPROVAL_DENIED");
    let log = project.read("log");
    assert!(log.contains("rule `later`: no tool matches `other__*`"), "{log}");
}

/// Rules are checked against an upstream that connects later, too.
#[test]
fn checks_rules_against_late_upstream() {
    let project = Project::new().with(
        "vouch.toml",
        "[[upstream]]\nname = \"late\"\ncommand = \"./late\"\nsandbox = \"off\"\n\
         [[rule]]\nname = \"typo\"\neffect = \"deny\"\ntools = [\"late__*\"]\nwhen = 'arguments.txt == \"x\"'\n",
    );
    let mut command = project.command(&["gateway", "--stdio"]);
    command.stderr(std::fs::File::create(project.root.join("log")).unwrap());
    let mut session = Session::start(command);
    session.handshake().unwrap();
    assert_eq!(session.list_tools(1), [""; 0]);
    let script = project.root.join("new");
    std::fs::write(&script, format!("#!/bin/sh\nexec {} --only good\n", adversary())).unwrap();
    std::fs::set_permissions(&script, PermissionsExt::from_mode(0o700)).unwrap();
    std::fs::rename(&script, project.root.join("late")).unwrap();
    assert_eq!(wait_for_exit(&mut session.child).code(), Some(2));
    let log = project.read("log");
    assert!(log.contains("arguments.txt") && log.contains("`typo`"), "{log}");
}

#[test]
fn rules_apply_to_own_tools() {
    let rule = |when: &str| {
        let text = format!(
            "[[rule]]\nname = \"r\"\neffect = \"deny\"\ntools = [\"hello\"]\nwhen = '{when}'\n"
        );
        Project::new().with("vouch.toml", &text)
    };
    let denied = rule("arguments.name == \"Ada\"").run_text(&["call", "hello", "name=Ada"]);
    assert!(denied.starts_with("exit: 1") && denied.contains("the rule `r` denies"), "{denied}");
    let wrong = rule("arguments.nam == \"Ada\"").run_text(&["serve", "--stdio"]);
    assert!(wrong.starts_with("exit: 2") && wrong.contains("arguments.nam"), "{wrong}");
}

#[test]
fn calls_upstream_tool_from_shell() {
    let project = Project::new().with_adversary(&["--only", "good,vacuous"], "");
    insta::assert_snapshot!(project.transcript(&[
        &["call", "adv__good", "text=hi"],
        &["call", "adv__good", "txt=hi"],
        &["call", "adv__god", "text=hi"],
        &["call", "adv__vacuous", "text=hi"],
    ]));
    let shown = project.run_text(&["tools", "adv__good"]);
    assert!(shown.contains("What to say."), "{shown}");
    assert!(!project.root.join("vouch.lock").exists(), "nothing is pinned by a call");
}
