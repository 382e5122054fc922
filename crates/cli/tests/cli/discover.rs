//! `vouch discover`: discoveries added by hand, and discoveries found in the project.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::support::Project;

fn project() -> Project {
    Project::new()
        .with("docs/adr/0001-sqlite.md", "# 1. Keep state in SQLite\n\nDate: 2026-01-02\n\n## Status\n\nAccepted\n\n## Decision\n\nOne file, nothing to install.\n")
        .with("AGENTS.md", "# Agents\n\n- Never commit a secret.\n")
        .with("src/main.rs", "fn main() {} // TODO: say hello\n")
}

/// Asserts a snapshot with times and dates redacted. Ids are digests and therefore stable.
fn assert_redacted_snapshot(name: &str, printed: &str) {
    let filters = [
        (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "[TIME]"),
        (r"(2026-1\d|20(2[7-9]|[3-9]\d)-\d\d)-\d\d", "[TODAY]   "),
        (r"(?m) +$", ""),
    ];
    insta::with_settings!({filters => filters}, { insta::assert_snapshot!(name, printed) });
}

fn list_ids(project: &Project, args: &[&str]) -> Vec<String> {
    let listed = project.run_json(&[&["discover", "list", "--json"], args].concat());
    let ids = listed.as_array().unwrap().iter().map(|discovery| discovery["id"].as_str().unwrap());
    ids.map(str::to_owned).collect()
}

#[test]
fn lists_discoveries_of_all_sources() {
    let project = project();
    let printed = project.transcript(&[
        &["discover", "list", "--type", "decision"],
        &["discover", "list", "--module", "nothing"],
    ]);
    assert_redacted_snapshot("listed", &printed);
    assert_eq!(list_ids(&project, &[]).len(), 3);
    assert!(!project.state().exists(), "listing creates no state");
    let added = project.run(&[
        "discover",
        "add",
        "--type",
        "rule",
        "--module",
        "auth",
        "Cookies are httpOnly",
    ]);
    assert!(added.status.success(), "{}", project.format_output(&added));
    assert_eq!(list_ids(&project, &[]).len(), 4);
    assert_eq!(list_ids(&project, &["--module", "AUTH"]).len(), 1);
}

#[test]
fn reports_skipped_files() {
    let project = project().with("docs/adr/0002-long.md", &"x".repeat((4 << 20) + 1));
    let listed = project.run(&["discover", "list"]);
    let printed = project.format_output(&listed);
    assert!(printed.contains("skipped: docs/adr/0002-long.md (too large to read)"), "{printed}");
}

#[test]
fn adds_shows_and_removes_discovery() {
    let project = project();
    let add = [
        "discover",
        "add",
        "--module",
        "auth",
        "--title",
        "Cookies",
        "We decided to keep\ntokens in cookies",
    ];
    let mut printed = project.transcript(&[&add, &add]);
    let id = list_ids(&project, &["--module", "auth"]).remove(0);
    printed += &project.transcript(&[
        &["discover", "show", &id[..6]],
        &["discover", "remove", &id],
        &["discover", "remove", &id],
    ]);
    let decision = list_ids(&project, &["--type", "decision"]).remove(0);
    printed += &project.transcript(&[&["discover", "remove", &decision]]);
    assert_redacted_snapshot("added_shown_removed", &printed);
}

#[test]
fn reads_text_from_stdin() {
    let project = project();
    let mut child = project
        .command(&["discover", "add", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"Never block a handler.\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let added: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&added["type"], &added["source"]), (&"rule".into(), &"added by cli:ada".into()));
    assert_eq!(added["content"], "Never block a handler.");
}

#[test]
fn rejects_invalid_discoveries() {
    let project = project();
    let token = format!("gh{}{}", "p_", "q7Zt4Kp9Xw2Lm5Vb8Nc3Rd6Hf1Jg0YsQ7aB2c");
    let secret = format!("We use the token {token} here");
    let mut printed = String::new();
    for text in ["", "  \n", "Blue", "Use \u{202e}this", &secret, &"must ".repeat(1_000)] {
        let shown = project.run_text(&["discover", "add", text]);
        assert!(!shown.contains(&token));
        printed.push_str(&shown);
    }
    assert!(!project.state().exists());
    printed += &project.transcript(&[
        &["discover", "add", "--type", "opinion", "Blue is nice"],
        &["discover", "show", "zzzz"],
    ]);
    assert_redacted_snapshot("not_added", &printed);
}

#[test]
fn imports_file_atomically() {
    let project = project()
        .with("notes.jsonl", "{\"type\": \"decision\", \"content\": \"Retry thrice\", \"date\": \"2026-01-05\", \"module\": \"http\"}\n\n\"Never retry a write\"\n")
        .with("notes.md", "# Decisions\n\n- Retry thrice\n\n## Known issues\n\nThe queue is slow.\n")
        .with("notes.json", "{\"discoveries\": [{\"rule\": \"No globals\"}]}")
        .with("bad.jsonl", "{\"content\": \"Blue\"}\nnot json\n7\n{\"rule\": \"\"}\n")
        .with("bad.json", "[1,");
    let mut printed = project.transcript(&[&["discover", "import", "notes.jsonl", "--dry-run"]]);
    assert!(!project.state().exists(), "a dry run creates no state");
    printed += &project.transcript(&[
        &["discover", "import", "notes.jsonl"],
        &["discover", "import", "notes.jsonl"],
        &["discover", "import", "notes.md"],
        &["discover", "import", "notes.json"],
    ]);
    let before = list_ids(&project, &[]);
    printed += &project.transcript(&[
        &["discover", "import", "bad.jsonl"],
        &["discover", "import", "bad.json"],
        &["discover", "import", "missing.md"],
    ]);
    assert_redacted_snapshot("imported", &printed);
    assert_eq!(list_ids(&project, &[]), before);
}

#[test]
fn processes_add_concurrently() {
    let project = project();
    let texts: Vec<_> = (0..8).map(|n| format!("Rule {n} must hold")).collect();
    let children: Vec<_> = texts
        .iter()
        .map(|text| project.command(&["discover", "add", text]).spawn().unwrap())
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(list_ids(&project, &["--type", "rule"]).len(), 9);
}

/// The variables that Git itself obeys, and a clone that names the objects of another repository of the user.
#[test]
fn shows_no_history_of_another_repository() {
    let foreign = Project::new().with("a.rs", "a\n");
    let git = |args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]).args(args);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        assert!(git.current_dir(&foreign.root).status().unwrap().success(), "{args:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "fix: not yours to see"]);
    let list = |project: &Project, variables: &[(&str, &str)]| {
        let mut command = project.command(&["discover", "list"]);
        command.envs(variables.iter().copied());
        project.format_output(&command.output().unwrap())
    };
    assert!(list(&foreign, &[]).contains("not yours"), "it is found in its own repository");

    let head = foreign.read(".git/refs/heads/main");
    let clone = Project::new()
        .with(".git/HEAD", "ref: refs/heads/main\n")
        .with(".git/refs/heads/main", &head)
        .with(".git/config", "[core]\n\trepositoryformatversion = 0\n")
        .with(".git/objects/pack/keep", "");
    let folder = foreign.root.join(".git").display().to_string();
    let objects = format!("{folder}/objects");
    for variables in [
        &[("GIT_DIR", folder.as_str())][..],
        &[("GIT_COMMON_DIR", &folder)],
        &[("GIT_OBJECT_DIRECTORY", &objects)],
        &[("GIT_ALTERNATE_OBJECT_DIRECTORIES", &objects)],
        &[("GIT_WORK_TREE", "/"), ("GIT_DIR", &folder), ("GIT_DISCOVERY_ACROSS_FILESYSTEM", "1")],
    ] {
        let listed = list(&clone, variables);
        assert!(listed.starts_with("exit: 0") && !listed.contains("not yours"), "{listed}");
    }
    clone.write(".git/objects/info/alternates", &format!("{objects}\n"));
    let listed = list(&clone, &[]);
    assert!(listed.starts_with("exit: 0") && !listed.contains("not yours"), "{listed}");
    assert!(
        listed.contains("skipped the git history: [ROOT]/.git/objects/info/alternates"),
        "{listed}"
    );
}
