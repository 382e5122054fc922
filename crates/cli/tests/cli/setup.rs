//! `vouch init`, `connect` and `doctor`.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Project, list_files, with_filters};

#[test]
fn init_does_not_overwrite_file() {
    let project = Project::new();
    insta::assert_snapshot!(project.run_text(&["init"]));
    assert_eq!(project.read("vouch.toml"), include_str!("../../../app/src/config/template.toml"));
    project.write("vouch.toml", "packs = []\n");
    insta::assert_snapshot!(project.run_text(&["init"]));
    assert_eq!(project.read("vouch.toml"), "packs = []\n");
    assert!(project.run_text(&["init", "--force"]).starts_with("exit: 0"));
    assert_eq!(list_files(&project.root), ["vouch.toml"]);
    assert!(project.run_text(&["tools"]).contains("hello"), "the file is valid");
}

#[test]
fn root_is_folder_of_config_file() {
    let project = Project::new().with("vouch.toml", "").with("a/b/x.txt", "deep\n");
    let mut command = project.command(&["call", "read_repo_file", "path=a/b/x.txt"]);
    let output = command.current_dir(project.root.join("a/b")).output().unwrap();
    assert!(output.status.success(), "{}", project.format_output(&output));
    assert!(project.state().exists() && !project.root.join("a/b/.vouch").exists());
}

#[test]
fn connect_prints_client_config() {
    let project = Project::new();
    for client in ["claude-code", "cursor", "vscode", "codex", "claude-desktop"] {
        let text = project.run_text(&["connect", client]);
        insta::assert_snapshot!(format!("connect_{client}"), text);
    }
    let texts = ["claude-code", "cursor", "vscode", "codex"]
        .map(|client| project.run_text(&["connect", client, "--http"]));
    with_filters(|| insta::assert_snapshot!("connect_http", texts.join("\n")));
    insta::assert_snapshot!(project.run_text(&["connect", "claude-desktop", "--http"]));
    let written = list_files(&project.root);
    assert!(written.is_empty(), "{written:?}");
    let texts = ["claude-code", "cursor", "vscode", "codex"]
        .map(|client| project.run_text(&["connect", client, "--http", "--token-env"]));
    with_filters(|| insta::assert_snapshot!("connect_http_token_env", texts.join("\n")));
}

#[test]
fn connect_http_names_token() {
    let project = Project::new().with("vouch.toml", "[server]\ntoken_file = \".vouch/door\"\n");
    let texts = ["claude-code", "cursor", "vscode", "codex"]
        .map(|client| project.run_text(&["connect", client, "--http"]));
    with_filters(|| insta::assert_snapshot!(texts.join("\n")));
}

#[test]
fn connect_merges_into_existing_files() {
    let project = Project::new()
        .with(".mcp.json", "{\n    \"mcpServers\": {\n        \"db\": {\"command\": \"db\"}\n    },\n    \"x\": 1\n}\n")
        .with(".vscode/mcp.json", "{\"inputs\": []}");
    std::fs::create_dir(project.home.join(".codex")).unwrap();
    let codex = project.home.join(".codex/config.toml");
    std::fs::write(&codex, "# mine\nmodel = \"x\"\n").unwrap();
    std::fs::set_permissions(&codex, PermissionsExt::from_mode(0o600)).unwrap();

    let mut printed = String::new();
    for client in ["claude-code", "cursor", "vscode", "codex", "claude-desktop"] {
        printed += &project.run_text(&["connect", client, "--write"]);
    }
    insta::assert_snapshot!("connect_merge_output", printed);
    let home = |path: &str| std::fs::read_to_string(project.home.join(path)).unwrap();
    let files = [
        project.read(".mcp.json"),
        project.read(".cursor/mcp.json"),
        project.read(".vscode/mcp.json"),
        home(".codex/config.toml"),
        home(".config/Claude/claude_desktop_config.json"),
    ];
    insta::assert_snapshot!("connect_merged", project.redact_paths(&files.join("\n=====\n")));
    assert_eq!(codex.metadata().unwrap().permissions().mode() & 0o777, 0o600);

    for client in ["claude-code", "cursor", "vscode", "codex", "claude-desktop"] {
        assert!(
            project.run_text(&["connect", client, "--write"]).contains("is up to date"),
            "{client}"
        );
    }
    assert_eq!(files[0], project.read(".mcp.json"));
    assert!(project.run_text(&["connect", "claude-code", "--write", "--http"]).contains("changed"));
    assert!(project.read(".mcp.json").contains(r#""url": "http://127.0.0.1:8377/mcp""#));
    assert!(project.read(".mcp.json").contains(&format!("Bearer {}", project.token())));
    let mode = project.root.join(".mcp.json").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it contains the token now");
    assert_eq!(list_files(&project.root), [".cursor/mcp.json", ".mcp.json", ".vscode/mcp.json"]);
}

#[test]
fn connect_keeps_file_with_comments() {
    let project = Project::new().with(".vscode/mcp.json", "{\n  // mine\n  \"servers\": {}\n}\n");
    insta::assert_snapshot!(project.run_text(&["connect", "vscode", "--write"]));
    assert_eq!(project.read(".vscode/mcp.json"), "{\n  // mine\n  \"servers\": {}\n}\n");
}

/// The configured port may be in use on this machine, so it is set to a free one.
fn with_free_port(config: &str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("{config}\n[server]\nport = {}\n", listener.local_addr().unwrap().port())
}

#[test]
fn doctor_passes_on_healthy_project() {
    let project = Project::new().with("vouch.toml", &with_free_port(""));
    with_filters(|| insta::assert_snapshot!(project.run_text(&["doctor"])));
    assert_eq!(list_files(&project.root), ["vouch.toml"], "nothing is changed");
    assert!(project.run_text(&["call", "hello"]).starts_with("exit: 0"));
    with_filters(|| insta::assert_snapshot!(project.run_text(&["doctor"])));
}

#[test]
fn doctor_reports_state_of_earlier_version() {
    let project = Project::new().with(".vouch/audit.jsonl", "");
    let state = |project: &Project| {
        let report = project.run_json(&["doctor", "--json"]);
        let checks = report["checks"].as_array().unwrap().clone();
        checks.into_iter().filter(|check| check["check"] == "state").collect::<Vec<_>>()
    };
    let checks = state(&project);
    assert_eq!((&checks[0]["verdict"], &checks[1]["verdict"]), (&"ok".into(), &"warn".into()));
    assert!(checks[1]["fix"].as_str().unwrap().contains("vouch trust"), "{checks:?}");
    assert!(!project.state().exists(), "the checks change nothing");
    project.write_state("legacy.json", "{}");
    assert_eq!(state(&project).len(), 1, "it was taken over");
}

#[test]
fn doctor_reports_problems() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let project = Project::new().with(".vouch/door", "0123456789abcdef").with("notes", "a file");
    let config = format!(
        "[memory]\nfolder = \"notes\"\n[server]\nport = {port}\ntoken_file = \".vouch/door\"\n"
    );
    project.write("vouch.toml", &config);
    std::fs::set_permissions(project.root.join(".vouch/door"), PermissionsExt::from_mode(0o644))
        .unwrap();
    assert!(project.run_text(&["call", "hello"]).starts_with("exit: 0"));
    let log = project.read_state("audit.jsonl");
    project.write_state("audit.jsonl", &log.replace("hello", "jello"));
    std::fs::set_permissions(project.state(), PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = project.command(&["doctor"]);
    let output = command.env("VOUCH_PROT", "1").output().unwrap();
    drop(taken);
    with_filters(|| insta::assert_snapshot!(project.format_output(&output)));

    project.write("vouch.toml", "[server]\nprt = 1\n");
    insta::assert_snapshot!(project.run_text(&["doctor"]));
}

#[test]
fn doctor_recognizes_running_server() {
    let project = Project::new();
    let server = project.start_server(&[]);
    project.write("vouch.toml", &format!("[server]\nport = {}\n", server.address.port()));
    let text = project.run_text(&["doctor"]);
    assert!(text.contains(&format!("is serving on {}", server.address)), "{text}");
}
