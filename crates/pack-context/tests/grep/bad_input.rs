//! Invalid patterns, invalid globs and unusual files.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::Project;

fn refusal(arguments: Value) -> String {
    let project = Project::new();
    project.write("a.txt", "text\n");
    format!("{:#}", project.grep(arguments).unwrap_err().to_value())
}

#[test]
fn rejects_invalid_patterns() {
    let long = "a".repeat(201);
    let refused = [
        json!({"pattern": ""}),
        json!({"pattern": long}),
        json!({"pattern": "[invalid("}),
        json!({"pattern": "ä(b"}),
        json!({"pattern": r"one\ntwo"}),
        json!({"pattern": r"(\w{200}){200}"}),
        json!({"pattern": "(?=ahead)"}),
    ];
    insta::assert_snapshot!(refused.map(refusal).join("\n"));
}

#[test]
fn rejects_invalid_globs() {
    let refused = ["../*.ts", "src/../../x", "/etc/**", "[a", "{a,b", "!"]
        .map(|glob| refusal(json!({"pattern": "text", "filePattern": glob})));
    insta::assert_snapshot!(refused.join("\n"));
    let long = refusal(json!({"pattern": "text", "filePattern": "a".repeat(2000)}));
    assert!(long.contains("is longer than 1000 characters"), "{long}");
}

/// These patterns take exponential time in backtracking engines.
#[test]
fn searches_catastrophic_looking_patterns_in_linear_time() {
    let project = Project::new();
    project.write("a.txt", format!("{}!\n", "a".repeat(50_000)));
    for (pattern, total) in
        [(r"^(a+)+$", 0), (r"(a|a)*b", 0), (r"(a*)*!", 1), (r"^(([a-z])+.)+[A-Z]$", 0)]
    {
        let found = project.grep(json!({"pattern": pattern, "caseSensitive": true})).unwrap();
        assert_eq!(found["totalMatches"], total, "{pattern}");
    }
}

#[test]
fn searches_unusual_files() {
    let project = Project::new();
    project.write("invalid.txt", b"caf\xe9 needle\n\xff\xfe\n");
    project.write("one_line.js", format!("{}needle{}", "x;".repeat(300_000), "y".repeat(300_000)));
    project.write("binary", b"needle\0needle");
    project.write("folder/file", "needle");
    symlink("..", project.path("folder/up")).unwrap();
    symlink("loop", project.path("loop")).unwrap();
    symlink("/etc", project.path("etc")).unwrap();
    let found = project.grep(json!({"pattern": "needle"})).unwrap();
    let lines: Vec<_> = found["matches"].as_array().unwrap().iter().collect();
    assert_eq!(
        (lines.len(), &found["totalMatches"], &found["filesSearched"]),
        (3, &json!(3), &json!(4))
    );
    assert_eq!((&lines[1]["file"], &lines[1]["column"]), (&json!("invalid.txt"), &json!(6)));
    assert_eq!(lines[1]["text"], "caf\u{fffd} needle");
    assert_eq!((&lines[2]["line"], &lines[2]["column"]), (&json!(1), &json!(600_001)));
    assert!(lines[2]["text"].as_str().unwrap().chars().count() <= 502);
}

/// Unreadable folders are counted, and the rest is searched. The test may run as root, so it uses a folder that the
/// kernel itself refuses: one whose path is too long to be opened by name.
#[test]
fn counts_unreadable_folders() {
    let project = Project::new();
    project.write("readable", "needle");
    let mut folder = project.path("deep");
    fs::create_dir(&folder).unwrap();
    // Created step by step, because the whole path is too long for a system call.
    let name = "n".repeat(200);
    let mut held =
        cap_std::fs::Dir::open_ambient_dir(&folder, cap_std::ambient_authority()).unwrap();
    for _ in 0..25 {
        held.create_dir(&name).unwrap();
        held = held.open_dir(&name).unwrap();
        folder.push(&name);
    }
    held.write("file", "needle").unwrap();
    let found = project.grep(json!({"pattern": "needle"})).unwrap();
    assert_eq!((&found["totalMatches"], &found["skipped"]), (&json!(1), &json!(1)));
    assert!(!found.to_string().contains("nnnn"));
}
