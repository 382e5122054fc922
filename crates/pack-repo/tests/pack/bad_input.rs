//! Bad inputs of this pack: one line each, with the code and the message that a caller gets.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use contract::{Tool, ToolError};
use pack_repo::{RepoOptions, build_tools};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use crate::{TestRepo, call_tool, find_tool, test_context};

const MARKER: &str = "content from outside the root";

/// Returns what a caller sees as one line; long arguments are truncated.
fn format_outcome(shown: &str, outcome: Result<Value, ToolError>) -> String {
    let shown: String = shown.chars().take(60).collect();
    match outcome {
        Ok(value) => format!("{shown} -> {}", value["path"]),
        Err(error) => {
            let details = Value::from(error.details.clone()).to_string();
            let text = format!("{} {} {details}", error.code.http_status(), error);
            format!("{shown} -> {text}").replace(&"x".repeat(190), "xx…")
        }
    }
}

fn create_repository() -> TestRepo {
    let repo = TestRepo::new();
    for path in [
        "README.md",
        "docs/guide.md",
        "docs/deep/note.md",
        ".env",
        ".git/config",
        "id.pem",
        "config/Secrets/x",
        ".gitignore",
    ] {
        repo.write(path, format!("content of {path}"));
    }
    repo.write("limit.bin", vec![b'x'; 1_048_576]);
    repo.write("over.bin", vec![b'x'; 1_048_577]);
    repo.write("latin1.txt", b"caf\xe9");
    repo.write("empty.txt", "");
    repo.write("closed.txt", "x");
    fs::write(repo.outside("outside.txt"), MARKER).unwrap();
    let outside = repo.outside("outside.txt");
    let link = |target: &str, name: &str| symlink(target, repo.path(name)).unwrap();
    link(outside.to_str().unwrap(), "link-absolute-out");
    link("../outside.txt", "link-out");
    link("../nowhere.txt", "link-out-dangling");
    link("..", "link-folder-out");
    link(repo.path("README.md").to_str().unwrap(), "link-absolute-in");
    link("docs/guide.md", "link-in");
    link("../README.md", "docs/link-up");
    link("docs", "link-folder");
    link("missing.txt", "link-dangling");
    link("link-loop-b", "link-loop-a");
    link("link-loop-a", "link-loop-b");
    link(".env", "link-env");
    link(".env.missing", "link-env-dangling");
    link("docs/../.git/config", "link-git");
    link(".git/../README.md", "link-through-git");
    link(".", "link-root");
    mknodat(CWD, repo.path("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    repo
}

#[test]
fn reads_or_rejects_paths() {
    let repo = create_repository();
    let _socket = UnixListener::bind(repo.path("socket")).unwrap();
    let long = "x/".repeat(2_500);
    let long_name = "x".repeat(256);
    let lines: Vec<_> = [
        "README.md",
        "./README.md",
        "docs//guide.md",
        "docs/./deep/note.md",
        "link-in",
        "docs/link-up",
        "link-folder/guide.md",
        "link-root/README.md",
        "limit.bin",
        "empty.txt",
        ".gitignore",
        "../x",
        "/etc/passwd",
        "a/../../x",
        "docs/../README.md",
        "..",
        "/",
        "//etc/passwd",
        "link-absolute-out",
        "link-out",
        "link-out-dangling",
        "link-folder-out/outside.txt",
        "link-absolute-in",
        "link-env",
        "link-env-dangling",
        "link-git",
        "link-through-git",
        ".env",
        ".ENV.local",
        ".env/x",
        "config/Secrets/x",
        "config/secrets/missing",
        "id.pem",
        "missing.key",
        ".git/config",
        ".git/",
        ".GIT",
        "my-credentials.json",
        "docs",
        "docs/",
        "docs/.",
        "link-folder",
        "link-root",
        ".",
        "./",
        "pipe",
        "socket",
        "missing.txt",
        "docs/missing/x",
        "README.md/x",
        "README.md/",
        "link-dangling",
        "link-loop-a",
        "over.bin",
        "latin1.txt",
        "",
        "a b",
        "nul\0byte",
        "a\nb",
        "caf\u{e9}",
        "a\\b",
        "C:/x",
        &long,
        &long_name,
    ]
    .iter()
    .map(|path| {
        format_outcome(&format!("{path:?}"), repo.call("read_repo_file", json!({"path": path})))
    })
    .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn rejects_devices() {
    let tools = build_tools("/dev", RepoOptions::default()).unwrap();
    let tool = find_tool(&tools, "read_repo_file");
    let lines: Vec<_> = ["null", "zero"]
        .iter()
        .map(|path| format_outcome(path, call_tool(tool, json!({"path": path}), &test_context())))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

/// Calls the tool without its schema in front, as another pack with a wider pattern would.
#[test]
fn tool_rejects_paths_without_schema_validation() {
    let repo = create_repository();
    let tool = repo.tool("read_repo_file");
    let lines: Vec<_> =
        ["nul\0byte", "\u{202e}gnp.exe", "README.md\n", ".e\u{200b}nv", "", "\u{17f}ecret"]
            .iter()
            .map(|path| {
                let arguments = json!({"path": path});
                let error = tool.call(arguments, &test_context()).unwrap_err();
                format_outcome(&format!("{path:?}"), Err(error))
            })
            .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn rejects_arguments_of_the_wrong_shape() {
    let repo = create_repository();
    let deep = (0..100).fold(json!("README.md"), |inner, _| json!([inner]));
    let lines: Vec<_> = [
        ("read_repo_file", json!({})),
        ("read_repo_file", json!({"path": 7})),
        ("read_repo_file", json!({"path": deep})),
        ("read_repo_file", json!({"path": "README.md", "encoding": "latin1"})),
        ("read_repo_file", json!({"path": "README.md", "follow": true})),
        ("read_repo_file", json!([])),
        ("hello", json!({"name": 7})),
        ("hello", json!({"greeting": "x"})),
        ("write_memory_entry", json!({"file": "progress_log.jsonl"})),
        ("write_memory_entry", json!({"file": "notes.md", "entry": "x"})),
        ("write_memory_entry", json!({"file": "../progress_log.jsonl", "entry": "{}"})),
        ("write_memory_entry", json!({"file": "best_practices.md", "entry": {"a": 1}})),
        ("write_memory_entry", json!({"file": "best_practices.md", "entry": "x", "mode": "w"})),
    ]
    .into_iter()
    .map(|(tool, arguments)| {
        format_outcome(&format!("{tool} {arguments}"), repo.call(tool, arguments))
    })
    .collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert!(!repo.path(".claude").exists(), "nothing was written");
}

#[test]
fn rejects_invalid_entries() {
    let repo = TestRepo::new();
    let token = format!("gh{}_{}", "p", "q7Zt4Kp9Xw2Lm5Vb8Nc3Rd6Hf1Jg0YsAb12C");
    let lines: Vec<_> = [
        ("progress_log.jsonl", "not json".to_owned()),
        ("progress_log.jsonl", "{\"a\": 1,\n\"b\": }".to_owned()),
        ("progress_log.jsonl", "{} {}".to_owned()),
        ("decisions.jsonl", "{\"a\": 1}\n{\"a\": 2}".to_owned()),
        ("decisions.jsonl", "[".repeat(5_000)),
        ("decisions.jsonl", format!("\"{}\"", "x".repeat(9_999))),
        ("best_practices.md", "x".repeat(10_001)),
        ("best_practices.md", "x".repeat(10_241)),
        ("best_practices.md", "\u{e9}".repeat(5_001)),
        ("best_practices.md", String::new()),
        ("best_practices.md", " \n".to_owned()),
        ("progress_log.jsonl", String::new()),
        ("best_practices.md", "ok\nnul \0 byte".to_owned()),
        ("best_practices.md", "\u{1b}[31mred".to_owned()),
        ("best_practices.md", format!("the token is {token}")),
        ("progress_log.jsonl", format!("{{\"note\": \"{}\"}}", token.replace('_', "\\u005f"))),
    ]
    .into_iter()
    .map(|(file, entry)| {
        let outcome = repo.call("write_memory_entry", json!({"file": file, "entry": entry}));
        let message = format!("{:?}", outcome.as_ref().unwrap_err());
        assert!(!message.contains(&token[4..]), "the error repeats the secret");
        format_outcome(&format!("{file} {:?}", entry.replace(&token, "TOKEN")), outcome)
    })
    .collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert!(!repo.path(".claude").exists(), "nothing was written");
}

/// Rules that need no file access are checked before a person is asked, and again by the call itself.
#[test]
fn call_rejects_everything_that_check_rejects() {
    let repo = create_repository();
    for (tool, arguments) in [
        ("read_repo_file", json!({"path": "../x", "encoding": "utf-8"})),
        ("read_repo_file", json!({"path": ".env", "encoding": "utf-8"})),
        ("write_memory_entry", json!({"file": "decisions.jsonl", "entry": "{"})),
    ] {
        let tool: &dyn Tool = repo.tool(tool);
        let error = tool.check_arguments(&arguments).unwrap_err();
        assert_eq!(tool.call(arguments, &test_context()).unwrap_err(), error);
    }
}

#[test]
fn denies_files_without_read_permission() {
    let repo = create_repository();
    fs::set_permissions(repo.path("closed.txt"), fs::Permissions::from_mode(0o000)).unwrap();
    // Root can read any file, so the call runs without that right.
    let read = || repo.call("read_repo_file", json!({"path": "closed.txt"}));
    let error = test_rights::run_unprivileged(read).unwrap_err();
    assert_eq!(error.code, contract::ErrorCode::AccessDenied);
}

#[test]
fn rejects_memory_files_that_are_not_regular_files() {
    let entry = json!({"file": "best_practices.md", "entry": "x"});
    let memory = ".claude/memory/best_practices.md";
    type Prepare = fn(&TestRepo, &str);
    let cases: [(&str, Prepare); 8] = [
        ("link out", |repo, memory| symlink("../../../outside.txt", repo.path(memory)).unwrap()),
        ("link out, dangling", |repo, memory| {
            symlink("../../../fresh.txt", repo.path(memory)).unwrap();
        }),
        ("link inside", |repo, memory| symlink("../../README.md", repo.path(memory)).unwrap()),
        ("folder", |repo, memory| fs::create_dir(repo.path(memory)).unwrap()),
        ("pipe", |repo, memory| {
            mknodat(CWD, repo.path(memory), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        }),
        ("memory folder leads out", |repo, _| {
            fs::remove_dir(repo.path(".claude/memory")).unwrap();
            symlink("../..", repo.path(".claude/memory")).unwrap();
        }),
        ("memory folder leads out, dangling", |repo, _| {
            fs::remove_dir(repo.path(".claude/memory")).unwrap();
            symlink("../../fresh", repo.path(".claude/memory")).unwrap();
        }),
        ("memory folder is a file", |repo, _| {
            fs::remove_dir(repo.path(".claude/memory")).unwrap();
            repo.write(".claude/memory", "x");
        }),
    ];
    let lines: Vec<_> = cases
        .into_iter()
        .map(|(name, prepare)| {
            let repo = TestRepo::new();
            fs::create_dir_all(repo.path(".claude/memory")).unwrap();
            fs::write(repo.outside("outside.txt"), MARKER).unwrap();
            repo.write("README.md", "kept");
            prepare(&repo, memory);
            let outcome = format_outcome(name, repo.call("write_memory_entry", entry.clone()));
            assert_eq!(fs::read_to_string(repo.outside("outside.txt")).unwrap(), MARKER);
            assert_eq!(fs::read_dir(repo.outside(".")).unwrap().count(), 2, "nothing new outside");
            assert_eq!(repo.read("README.md"), "kept");
            outcome
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn operator_can_add_a_denied_name() {
    let options = RepoOptions {
        deny: RepoOptions::default().deny.with_pattern("private*"),
        ..Default::default()
    };
    let repo = TestRepo::with_options(options);
    repo.write("docs/Private-notes.md", "x");
    let error = repo.call("read_repo_file", json!({"path": "docs/Private-notes.md"})).unwrap_err();
    assert_eq!(error.details["pattern"], "private*");
    let rules = &Arc::clone(repo.tool("read_repo_file").contract()).constraints.rules;
    assert!(rules.iter().any(|rule| rule.contains("`private*`")), "the contract lists the pattern");
}
