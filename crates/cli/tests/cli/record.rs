//! `vouch audit` and `vouch stats`.

use crate::support::{Project, with_filters};

fn project() -> Project {
    let project = Project::new().with("a.txt", "a\n");
    project.run(&["call", "hello"]);
    project.run(&["call", "read_repo_file", "path=a.txt"]);
    project.run(&["call", "read_repo_file", "path=../a"]);
    project.run(&["call", "nothing"]);
    project
}

#[test]
fn reports_empty_audit_log() {
    let project = Project::new();
    insta::assert_snapshot!(project.transcript(&[
        &["audit", "verify"],
        &["audit", "tail"],
        &["stats"]
    ]));
    assert!(!project.state().exists(), "reading creates no state");
}

#[test]
fn prints_and_verifies_audit_log() {
    let project = project();
    let text = project.transcript(&[&["audit", "tail"], &["audit", "verify"]]);
    with_filters(|| insta::assert_snapshot!(text));
    let lines = project.run(&["audit", "tail", "-n", "2", "--json"]).stdout;
    let log = project.read_state("audit.jsonl");
    let last_two: Vec<_> = log.lines().skip(2).collect();
    assert_eq!(String::from_utf8(lines).unwrap().trim_end(), last_two.join("\n"));
}

#[test]
fn verify_names_changed_line() {
    let project = project();
    let log = project.read_state("audit.jsonl");
    project.write_state("audit.jsonl", &log.replace("a.txt", "b.txt"));
    with_filters(|| insta::assert_snapshot!(project.run_text(&["audit", "verify"])));
    let report = project.run_json(&["audit", "verify", "--json"]);
    assert_eq!((&report["ok"], &report["problems"][0]["line"]), (&false.into(), &2.into()));
}

#[test]
fn counts_calls_and_failures() {
    let project = project();
    let stats = project.run_json(&["stats", "--json"]);
    assert_eq!(stats[0]["tool"], "read_repo_file");
    assert_eq!((&stats[0]["calls"], &stats[0]["failures"]), (&2.into(), &1.into()));
    assert_eq!(stats[0]["byCode"]["ACCESS_DENIED"], 1);
    let table = project.run_text(&["stats", "--since", "1h"]);
    assert!(table.contains("read_repo_file  2      1       50.0 %"), "{table}");
    assert_eq!(
        project.run_json(&["stats", "--since", "2999-01-01T00:00:00Z", "--json"]),
        serde_json::json!([])
    );
}
