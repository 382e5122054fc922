//! Help texts are golden: a change of the command line is seen in review.

use crate::support::{Project, with_filters};

const COMMANDS: [&str; 25] = [
    "serve",
    "connect",
    "init",
    "doctor",
    "index",
    "discover",
    "tools",
    "call",
    "contracts",
    "explain",
    "ask",
    "gateway",
    "upstream",
    "accept",
    "learn",
    "calls",
    "check",
    "fuzz",
    "solc",
    "approvals",
    "audit",
    "trace",
    "stats",
    "completions",
    "man",
];

#[test]
fn short_and_long() {
    let project = Project::new();
    insta::assert_snapshot!("short", project.check(&["-h"]));
    insta::assert_snapshot!("long", project.check(&["--help"]));
    assert!(project.check(&[]).starts_with("exit: 2"), "no command is a usage error");
}

#[test]
fn each_command() {
    let project = Project::new();
    for command in COMMANDS {
        insta::assert_snapshot!(command, project.check(&[command, "--help"]));
    }
    for (command, actions) in [
        ("approvals", &["list", "show", "approve", "deny"][..]),
        ("audit", &["verify", "tail"]),
        ("calls", &["list", "show"]),
        ("discover", &["add", "list", "show", "remove", "import"]),
        ("index", &["status", "rebuild"]),
        ("solc", &["install"]),
        ("trace", &["list", "show"]),
        ("upstream", &["add", "list", "tools", "remove", "import"]),
    ] {
        let texts: Vec<_> =
            actions.iter().map(|action| project.check(&[command, action, "-h"])).collect();
        insta::assert_snapshot!(format!("{command}_actions"), texts.join("\n"));
    }
}

#[test]
fn every_command_is_tested_here() {
    let help = Project::new().check(&["-h"]);
    let listed =
        help.lines().filter(|line| line.starts_with("  ") && !line.trim_start().starts_with('-'));
    let listed = listed.filter_map(|line| line.split_whitespace().next());
    let listed: Vec<_> = listed.take_while(|word| *word != "vouch").collect();
    assert_eq!(listed, COMMANDS);
}

#[test]
fn colour_only_where_asked_for() {
    let project = Project::new();
    let has_colour = |args: &[&str]| project.run(args).stdout.contains(&0x1b);
    assert!(!has_colour(&["tools"]));
    assert!(has_colour(&["tools", "--color", "always"]));
    let mut command = project.command(&["tools"]);
    assert!(!command.env("NO_COLOR", "1").output().unwrap().stdout.contains(&0x1b));
}

#[test]
fn completions_and_manual() {
    let project = Project::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = project.check(&["completions", shell]);
        assert!(script.starts_with("exit: 0") && script.contains("approvals"), "{shell}");
    }
    assert!(project.check(&["man"]).contains(".TH vouch 1"));
    with_filters(|| insta::assert_snapshot!(project.check(&["man", "--dir", "pages"])));
    let pages = crate::support::files_below(&project.root.join("pages"));
    assert!(pages.contains(&"vouch-serve.1".to_owned()), "{pages:?}");
}
