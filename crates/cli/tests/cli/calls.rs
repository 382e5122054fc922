//! `vouch call`, `tools`, `contracts`, `explain`.

use serde_json::json;

use crate::support::{Project, with_filters};

fn project() -> Project {
    Project::new().with("README.md", "# Hello\n").with(".env", "KEY=1\n")
}

#[test]
fn prints_results() {
    let text = project().transcript(&[
        &["call", "hello", "name=Ada"],
        &["call", "read_repo_file", "path=README.md"],
        &["call", "read_repo_file", "--json", r#"{"path": "README.md", "encoding": "base64"}"#],
    ]);
    with_filters(|| insta::assert_snapshot!(text));
}

#[test]
fn prints_errors() {
    let text = project().transcript(&[
        &["call", "read_repo_file", "path=.env"],
        &["call", "read_repo_file", "pth=README.md"],
        &["call", "read_repo"],
        &["call", "hello", "name"],
        &["call", "hello", "--json", "[1]"],
    ]);
    with_filters(|| insta::assert_snapshot!(text));
}

/// A project that contains the user's state folder, as the home folder does, contains the state of all projects.
#[test]
fn state_is_not_readable() {
    let project = project().with(".vouch/tokens", "0123456789abcdef\n").with("src/a.rs", "a\n");
    let state_home = project.root.join(".local/state");
    let run = |args: &[&str]| {
        let mut command = project.command(args);
        command.env_remove("XDG_STATE_HOME").env("HOME", &project.root).output().unwrap()
    };
    assert!(run(&["call", "hello"]).status.success());
    let files = crate::support::list_files(&state_home);
    assert!(files.iter().any(|file| file.ends_with("vouch.db")), "{files:?}");
    let read = |path: &str| -> serde_json::Value {
        let output = run(&["call", "read_repo_file", &format!("path={path}")]);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let state = files.iter().map(|file| format!(".local/state/{file}"));
    for path in state.chain([".vouch/tokens".to_owned(), ".vouch/vouch.db".to_owned()]) {
        let answer = read(&path);
        assert_eq!(answer["error"]["code"], "ACCESS_DENIED", "{path}: {answer}");
    }
    assert_eq!(read("src/a.rs")["content"], "a\n");
}

#[test]
fn rejects_state_folder_inside_the_project() {
    for folder in [".vouch", "var/keep", "x/../keep", "../project/keep"] {
        let project =
            Project::new().with("vouch.toml", &format!("\n[state]\nfolder = {folder:?}\n"));
        let text = project.run_text(&["call", "hello"]);
        assert!(text.starts_with("exit: 2"), "{folder}: {text}");
        assert!(
            text.contains("vouch.toml:3: invalid value for `state.folder`: it is inside"),
            "{text}"
        );
        assert_eq!(crate::support::list_files(&project.root), ["vouch.toml"]);
    }
}

/// A state folder that two projects name would carry approvals from one to the other.
#[test]
fn rejects_state_folder_of_another_project() {
    let one = Project::new();
    assert!(one.run(&["call", "hello"]).status.success());
    for folder in [
        one.state(),
        one.root.join("../state/vouch/../vouch").join(one.state().file_name().unwrap()),
    ] {
        let other = Project::new().with("vouch.toml", &format!("[state]\nfolder = {folder:?}\n"));
        for args in
            [&["call", "hello"][..], &["approvals", "list"], &["serve", "--port", "0"], &["index"]]
        {
            let text = other.run_text(args);
            assert!(!text.starts_with("exit: 0"), "{args:?}: {text}");
            assert!(text.contains("belongs to another project"), "{args:?}: {text}");
        }
    }
}

/// The folder at the path is another one, so it is another project.
#[test]
fn folder_placed_at_same_path_inherits_no_state() {
    let project = project();
    assert!(project.run(&["call", "hello"]).status.success());
    let state = project.state();
    std::fs::rename(&project.root, project.root.with_file_name("moved")).unwrap();
    std::fs::create_dir(&project.root).unwrap();
    assert!(project.run_text(&["audit", "verify"]).contains("no calls recorded"));
    assert_ne!(project.state(), state);
    assert!(state.join("audit.jsonl").exists(), "the state of the first folder stays");
}

#[test]
fn requires_a_state_folder() {
    let project = Project::new();
    let run = |home: Option<&str>| {
        let mut command = project.command(&["call", "hello"]);
        command.env_remove("XDG_STATE_HOME").env_remove("HOME");
        if let Some(home) = home {
            command.env("HOME", home).env("XDG_STATE_HOME", "relative");
        }
        project.format_output(&command.output().unwrap())
    };
    insta::assert_snapshot!(run(None));
    assert_eq!(run(Some("relative")), run(None));
    assert!(crate::support::list_files(&project.root).is_empty());
}

#[test]
fn folders_named_like_state_are_readable() {
    let project = project().with("src/tokens/a.rs", "a\n").with("app/b.rs", "b\n");
    let state = project.home.join("app");
    let config = format!(
        "[state]\nfolder = \"{}\"\n[server]\ntoken_file = \".vouch/tokens\"\n",
        state.display()
    );
    project.write("vouch.toml", &config);
    for (path, content) in [("src/tokens/a.rs", "a\n"), ("app/b.rs", "b\n")] {
        let answer = project.run_json(&["call", "read_repo_file", &format!("path={path}")]);
        assert_eq!(answer["content"], content, "{path}: {answer}");
    }
    assert!(state.join("vouch.db").exists());
}

#[test]
fn token_variable_is_parsed_like_token_file() {
    let project = project();
    let token = "ci 0123456789abcdef";
    let mut command = project.command(&["serve", "--port", "0"]);
    command.env("VOUCH_TOKEN", token);
    let server = crate::support::Server::start(command);
    let call = |token: &str| {
        let mut command = project.command(&["call", "hello", "--url", &server.url()]);
        command.env("VOUCH_TOKEN", token).output().unwrap()
    };
    for token in [token, "0123456789abcdef", "# ours\nother 0123456789abcdef\n"] {
        let output = call(token);
        assert!(output.status.success(), "{token}: {}", project.format_output(&output));
    }
    let refused = call("not a token");
    assert_eq!(refused.status.code(), Some(2), "{}", project.format_output(&refused));
    let doctor = project.command(&["doctor", "--json"]).env("VOUCH_TOKEN", token).output().unwrap();
    assert!(
        project.format_output(&doctor).contains("from VOUCH_TOKEN"),
        "{}",
        project.format_output(&doctor)
    );
}

#[test]
fn calls_running_server() {
    let project = project().with_private(".vouch/door", "# ours\nci 0123456789abcdef\n");
    let server = project.start_server(&["--token-file", ".vouch/door"]);
    let url = server.url();
    let call = |more: &[&str]| {
        let mut args = vec!["call", "read_repo_file", "path=README.md", "--url", &url];
        args.extend(more);
        project.run(&args)
    };
    let with_token = call(&["--token-file", ".vouch/door"]);
    assert!(with_token.status.success(), "{}", project.format_output(&with_token));
    let answer: serde_json::Value = serde_json::from_slice(&with_token.stdout).unwrap();
    assert_eq!(answer["content"], "# Hello\n");
    let without = call(&[]);
    assert_eq!(without.status.code(), Some(3), "{}", project.format_output(&without));
    let denied = project.run_json(&[
        "call",
        "read_repo_file",
        "path=.env",
        "--url",
        &url,
        "--token-file",
        ".vouch/door",
    ]);
    assert_eq!(denied["error"]["code"], "ACCESS_DENIED");
}

#[test]
fn applies_approval_policies() {
    let project = project();
    let entry = &["call", "write_memory_entry", "file=decisions.jsonl", r#"entry={"a": 1}"#][..];
    let approval = |project: &Project| {
        project.run_json(&["tools", "write_memory_entry", "--json"])["constraints"]["approval"]
            .clone()
    };
    assert_eq!(approval(&project), json!(true));
    project.write("vouch.toml", "[policy]\napprove = \"always\"\n");
    assert_eq!(approval(&project), json!(false));
    assert_eq!(project.run_json(entry)["success"], true);
    assert_eq!(project.read(".claude/memory/decisions.jsonl"), "{\"a\":1}\n");
    project.write("vouch.toml", "[tools.write_memory_entry]\napprove = \"never\"\n");
    assert_eq!(project.run_json(entry)["error"]["code"], "APPROVAL_DENIED");
    project.write(
        "vouch.toml",
        "[policy]\napprove = \"always\"\n[tools.write_memory_entry]\napprove = \"ask\"\n",
    );
    assert_eq!(project.run_json(entry)["error"]["code"], "APPROVAL_REQUIRED");
    project.write("vouch.toml", "[tools.hello]\napprove = \"ask\"\n");
    assert_eq!(project.run_json(&["call", "hello"])["error"]["code"], "APPROVAL_REQUIRED");
}

#[test]
fn lists_tools_with_limits() {
    let project = project();
    insta::assert_snapshot!(project.run_text(&["tools"]));
    let config = "[tools.hello]\nenabled = false\n[tools.read_repo_file]\nrate_per_minute = 2\ntimeout_ms = 7000\nmax_output_bytes = 100\n";
    project.write("vouch.toml", config);
    insta::assert_snapshot!(project.run_text(&["tools"]));
    project.write("long.txt", &"x".repeat(200));
    assert_eq!(
        project.run_json(&["call", "read_repo_file", "path=long.txt"])["error"]["code"],
        "TOO_LARGE"
    );
}

const TOOLS: [&str; 6] = [
    "context_search",
    "grep_codebase",
    "hello",
    "read_file",
    "read_repo_file",
    "write_memory_entry",
];

#[test]
fn prints_contracts_in_all_formats() {
    let project = project();
    let document = project.run_text(&["contracts"]);
    assert!(document.contains("# Tool contracts\n"), "{document}");
    for name in TOOLS {
        assert!(document.contains(&format!("## {name}\n")), "{name}\n{document}");
    }
    let list = project.run_json(&["contracts", "--format", "json"]);
    let names: Vec<_> =
        list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, TOOLS);
    assert_eq!(list, project.run_json(&["tools", "--json"]));
    let openapi = project.run_json(&["contracts", "--format", "openapi"]);
    assert_eq!(openapi["openapi"], "3.1.0");
    assert!(openapi["paths"]["/v1/tools/hello"]["post"].is_object());
    assert!(!project.state().exists(), "listing creates no state");
}

#[test]
fn explains_rules_and_error_codes() {
    let project = project();
    let list = project.run_text(&["explain"]);
    let rules = lint::list_rules().iter().map(|rule| rule.id);
    for name in rules.chain(contract::ErrorCode::ALL.iter().map(|code| code.as_str())) {
        assert!(list.lines().any(|line| line.starts_with(name)), "{name}\n{list}");
        assert!(project.run_text(&["explain", name]).starts_with("exit: 0"), "{name}");
    }
    insta::assert_snapshot!(project.run_text(&["explain", "access-denied"]));
    let by_id = project.run_text(&["explain", "c012"]);
    assert_eq!(by_id, project.run_text(&["explain", "undescribed-property"]));
    assert!(
        by_id.contains("C012 undescribed-property") && by_id.contains("## How to fix"),
        "{by_id}"
    );
    assert_eq!(project.run_json(&["explain", "C012", "--json"])["severity"], "warning");
}

/// Returns the head of the first request that `vouch call --url` sends to this host, in lower case.
fn first_request(project: &Project, host: &str, more: &[&str]) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{host}:{}/mcp", listener.local_addr().unwrap().port());
    let mut args = vec!["call", "hello", "--url", &url];
    args.extend(more);
    let mut child = project.command(&args).stderr(std::process::Stdio::null()).spawn().unwrap();
    let (stream, _) = listener.accept().unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(stream));
    let head: Vec<_> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    head.join("\n").to_lowercase()
}

#[test]
fn project_token_is_sent_to_loopback_only() {
    let project = project().with("vouch.toml", "[server]\ntoken_file = \".vouch/door\"\n");
    project.write_private(".vouch/door", "0123456789abcdef\n");
    let token = "authorization: bearer 0123456789abcdef";
    for host in ["127.0.0.1", "LocalHost"] {
        assert!(first_request(&project, host, &[]).contains(token), "{host}");
    }
    // On Linux, 0.0.0.0 reaches the same listener and is not a loopback address.
    assert!(!first_request(&project, "0.0.0.0", &[]).contains("authorization"));
    assert!(first_request(&project, "0.0.0.0", &["--token-file", ".vouch/door"]).contains(token));

    project.write("vouch.toml", "");
    assert!(!first_request(&project, "127.0.0.1", &[]).contains("authorization"), "none yet");
    let token = format!("authorization: bearer {}", project.token());
    assert!(first_request(&project, "127.0.0.1", &[]).contains(&token));
    assert!(!first_request(&project, "0.0.0.0", &[]).contains("authorization"));
}
