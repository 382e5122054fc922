//! `vouch trace`: lists and shows traces of `vouch ask`.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Project, with_filters};

#[test]
fn lists_and_shows_traces() {
    let project = Project::new()
        .with("README.md", "# A project\n")
        .with("vouch.toml", "[ask]\nforbid = [\"(?i)password\"]\n");
    insta::assert_snapshot!(
        "none",
        project
            .transcript(&[&["trace", "list"], &["trace", "list", "--json"], &["trace", "show"],])
    );
    for query in ["read_repo_file path=README.md", "find the password hunter2", "read the file"] {
        project.run(&["ask", query, "--planner", "embedded"]);
    }
    let listed = project.run_json(&["trace", "list", "--json"]);
    let ids: Vec<_> =
        listed.as_array().unwrap().iter().map(|ask| ask["ask"].as_str().unwrap()).collect();
    let stable = |text: String| {
        ids.iter().enumerate().fold(text, |text, (n, id)| text.replace(id, &format!("[ASK {n}]")))
    };
    assert_eq!(listed[1]["verdict"], "stop");
    assert_eq!(
        (&listed[0]["tool"], &listed[0]["gate"]),
        (&"vouch/read_repo_file".into(), &4.into())
    );
    with_filters(|| {
        insta::assert_snapshot!(
            "list",
            collapse_columns(&stable(project.run_text(&["trace", "list"])))
        );
        let shown =
            [ids[0], &ids[1][..9], "last"].map(|id| project.run_text(&["trace", "show", id]));
        insta::assert_snapshot!("show", collapse_columns(&stable(shown.join("\n"))));
    });
    let shown = project.run_json(&["trace", "show", "last", "--json"]);
    assert_eq!((&shown["ask"], &shown["lines"][0]["gate"]), (&ids[2].into(), &0.into()));
    assert!(project.run_text(&["trace", "show", "nothing"]).starts_with("exit: 1"));
    let file = project.state().join("traces.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("hunter2") && !text.contains("# A project"), "{text}");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

/// Collapses column padding, which depends on the width of times.
fn collapse_columns(text: &str) -> String {
    let line = |line: &str| {
        let words: Vec<_> =
            line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect();
        words.join("  ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn escapes_control_characters_of_trace_file() {
    let project = Project::new();
    let line = r#"{"ask":"evil\u001b[31m","time":"\u202et","gate":0,"name":"n","verdict":"stop","detail":"d\u001b[2J","elapsedUs":1}"#;
    project.write_state("traces.jsonl", &format!("{{torn\n{line}\n"));
    for args in [&["trace", "list"][..], &["trace", "show"], &["trace", "show", "--json"]] {
        let output = project.run(args);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains("evil"), "{text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    }
}
