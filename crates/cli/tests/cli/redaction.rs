//! Secrets in the answers of our own tools over REST.

use serde_json::json;

use crate::operating::{get, metric};
use crate::support::Project;

fn github_token() -> String {
    format!("gh{}_{}", "p", "q7Zt4Kp9Xw2Lm5Vb8Nc3Rd6Hf1Jg0YsAb1Cd2")
}

/// A project with a token in a file that every tool may read, and in source code with a secret name.
fn project() -> Project {
    let token = github_token();
    Project::new()
        .with("deploy.txt", &format!("deploy with {token} on Mondays\n"))
        .with("src/deploy.py", &format!("def deploy():\n    return login(\"{token}\")\n"))
        .with("src/secrets.py", &format!("def load():\n    return \"{token}\"\n"))
}

#[test]
fn own_tools_return_no_secret() {
    let project = project();
    let token = github_token();
    let server = project.start_server(&[]);
    let calls = [
        ("read_repo_file", json!({"path": "deploy.txt"}), 200),
        ("read_file", json!({"path": "src/deploy.py"}), 200),
        ("grep_codebase", json!({"pattern": "deploy with|login"}), 200),
        ("context_search", json!({"query": "deploy login"}), 200),
        ("hello", json!({"name": token}), 200),
        // In an error.
        ("read_repo_file", json!({"path": format!("{token}.txt")}), 404),
    ];
    for (tool, arguments, expected) in calls {
        let (status, answer) = server.call(tool, &arguments);
        let text = answer.to_string();
        assert_eq!(status, expected, "{tool}: {text}");
        assert!(!text.contains(&token) && !text.contains(&token[10..30]), "{tool}: {text}");
        assert!(text.contains("[redacted: a GitHub token]"), "{tool}: {text}");
    }
    // The content of source code with a secret name was recognized before it was read.
    let (status, answer) = server.call("read_file", &json!({"path": "src/secrets.py"}));
    assert_eq!((status, &answer["error"]["code"]), (403, &json!("ACCESS_DENIED")), "{answer}");

    let (_, metrics) = get(server.address, "/metrics", &server.token);
    assert!(!metrics.contains(&token));
    let count = |tool: &str| {
        let start = format!("vouch_secrets_total{{tool=\"{tool}\",rule=\"github-token\"}} ");
        let line = metrics.lines().find_map(|line| line.strip_prefix(&start));
        line.and_then(|count| count.parse::<u64>().ok()).unwrap_or_default()
    };
    for tool in ["read_repo_file", "read_file", "grep_codebase", "context_search", "hello"] {
        assert!(count(tool) > 0, "{tool}\n{metrics}");
    }
    // The path of a caller is recorded as it came (`auditValues`); nothing that a tool read is.
    let tail = project.run_text(&["audit", "tail", "--json"]);
    let mut lines = tail.lines().filter(|line| !line.contains("NOT_FOUND"));
    assert!(lines.all(|line| !line.contains(&token)), "{tail}");
}

#[test]
fn own_tools_refuse_or_return_secrets_as_configured() {
    for (output, status) in [("refuse", 403), ("off", 200)] {
        let project = project();
        project.write("vouch.toml", &format!("[secrets]\noutput = {output:?}\n"));
        let server = project.start_server(&[]);
        let (code, answer) = server.call("read_repo_file", &json!({"path": "deploy.txt"}));
        assert_eq!(code, status, "{answer}");
        let is_shown = answer.to_string().contains(&github_token());
        assert_eq!(is_shown, output == "off", "{answer}");
        let line = "vouch_secrets_total{tool=\"read_repo_file\",rule=\"github-token\"} 1";
        assert_eq!(metric(&server, line), output == "refuse", "{output}");
    }
}
