//! Snapshots of all help texts, so that changes of the command line show up in review.

use crate::support::{Project, with_filters};

pub(crate) const COMMANDS: [&str; 28] = [
    "serve",
    "connect",
    "token",
    "init",
    "trust",
    "untrust",
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
fn prints_short_and_long_help() {
    let project = Project::new();
    insta::assert_snapshot!("short", project.run_text(&["-h"]));
    insta::assert_snapshot!("long", project.run_text(&["--help"]));
    assert!(project.run_text(&[]).starts_with("exit: 2"), "no command is a usage error");
}

#[test]
fn prints_help_of_each_command() {
    let project = Project::new();
    for command in COMMANDS {
        insta::assert_snapshot!(command, project.run_text(&[command, "--help"]));
    }
    for (command, actions) in [
        ("approvals", &["list", "show", "approve", "deny"][..]),
        ("audit", &["verify", "tail", "seal", "export", "rotate-key"]),
        ("calls", &["list", "show"]),
        ("discover", &["add", "list", "show", "remove", "import"]),
        ("index", &["status", "rebuild"]),
        ("solc", &["install"]),
        ("token", &["rotate"]),
        ("trace", &["list", "show"]),
        ("trust", &["list"]),
        ("upstream", &["add", "list", "tools", "remove", "import"]),
    ] {
        let texts: Vec<_> =
            actions.iter().map(|action| project.run_text(&[command, action, "-h"])).collect();
        insta::assert_snapshot!(format!("{command}_actions"), texts.join("\n"));
    }
}

#[test]
fn all_commands_are_covered() {
    let help = Project::new().run_text(&["-h"]);
    let listed =
        help.lines().filter(|line| line.starts_with("  ") && !line.trim_start().starts_with('-'));
    let listed = listed.filter_map(|line| line.split_whitespace().next());
    let listed: Vec<_> = listed.take_while(|word| *word != "vouch").collect();
    assert_eq!(listed, COMMANDS);
}

#[test]
fn uses_color_only_if_requested() {
    let project = Project::new();
    let has_color = |args: &[&str]| project.run(args).stdout.contains(&0x1b);
    assert!(!has_color(&["tools"]));
    assert!(has_color(&["tools", "--color", "always"]));
    let mut command = project.command(&["tools"]);
    assert!(!command.env("NO_COLOR", "1").output().unwrap().stdout.contains(&0x1b));
}

#[test]
fn prints_completions_and_man_pages() {
    let project = Project::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = project.run_text(&["completions", shell]);
        assert!(script.starts_with("exit: 0") && script.contains("approvals"), "{shell}");
    }
    assert!(project.run_text(&["man"]).contains(".TH vouch 1"));
    with_filters(|| insta::assert_snapshot!(project.run_text(&["man", "--dir", "pages"])));
    let pages = crate::support::list_files(&project.root.join("pages"));
    assert!(pages.contains(&"vouch-serve.1".to_owned()), "{pages:?}");
}
