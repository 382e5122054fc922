//! `vouch upstream add`, `list` and `remove`: edits of vouch.toml that preserve the rest of the file.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Project, list_files};

const FILE: &str = "# mine
packs = [\"repo\"]   # kept

# the files
[[upstream]]
name = \"files\"
command = \"./server\" # here
args = [
  \"--quiet\", # why
]

[upstream.env]
A = \"b\"

# about the other

# right above
[[upstream]]
name = \"other\"
url = \"https://user:pw@example.com/mcp?key=abc\"
headers = { Authorization = \"Bearer ${OTHER_TOKEN}\" }
enabled = false

[server]
port = 1
# the end
";

#[test]
fn adds_upstreams_one_by_one() {
    let project = Project::new();
    std::fs::create_dir(project.root.join("out")).unwrap();
    let printed = project.transcript(&[
        &["upstream", "list"],
        &["upstream", "add", "files", "--", "npx", "-y", "pkg", "."],
        &[
            "upstream",
            "add",
            "small",
            "--env",
            "KEY=${SMALL_KEY}",
            "--read",
            ".",
            "--write",
            "out",
            "--network",
            "--policy",
            "strict",
            "--",
            "./server",
            "--flag",
        ],
        &["upstream", "add", "wild", "--no-sandbox", "--", "/usr/bin/server"],
        &[
            "upstream",
            "add",
            "remote",
            "--url",
            "https://example.com/mcp/",
            "--header",
            "Authorization: Bearer ${TOKEN}",
        ],
        &[
            "upstream",
            "add",
            "old",
            "--url",
            "http://127.0.0.1:9/sse",
            "--sse",
            "--policy",
            "observe",
        ],
        &["upstream", "list"],
        &["upstream", "list", "--json"],
    ]);
    insta::assert_snapshot!(format!("{printed}\n=====\n{}", project.read("vouch.toml")));
    assert_eq!(list_files(&project.root), ["vouch.toml"]);
}

#[test]
fn rejects_invalid_upstreams() {
    let project =
        Project::new().with("vouch.toml", "[[upstream]]\nname = \"a\"\ncommand = \"x\"\n");
    let secret = format!("KEY=ghp_{}", "a1B2".repeat(9));
    let printed = project.transcript(&[
        &["upstream", "add", "a", "--", "y"],
        &["upstream", "add", "A_b", "--", "y"],
        &["upstream", "add", "b"],
        &["upstream", "add", "b", "--url", "http://h", "--", "y"],
        &["upstream", "add", "b", "--url", "h"],
        &["upstream", "add", "b", "--url", "http://h", "--network"],
        &["upstream", "add", "b", "--sse", "--", "y"],
        &["upstream", "add", "b", "--header", "A: b", "--", "y"],
        &["upstream", "add", "b", "--env", "A-B=c", "--", "y"],
        &["upstream", "add", "b", "--env", "A=c$d", "--", "y"],
        &["upstream", "add", "b", "--no-sandbox", "--network", "--", "y"],
        &["upstream", "add", "b", "--url", "http://h", "--header", "no header"],
        &["upstream", "add", "b", "--write", ".", "--", "y"],
        &["upstream", "add", "b", "--write", "contracts", "--", "y"],
        &["upstream", "add", "b", "--read", ".vouch", "--", "y"],
        &["check", "--write", ".", "--", "y"],
    ]);
    insta::assert_snapshot!(printed);
    let printed = project.run_text(&["upstream", "add", "b", "--env", &secret, "--", "y"]);
    assert!(printed.starts_with("exit: 2") && printed.contains("'${KEY}'"), "{printed}");
    assert!(!printed.contains(&secret), "{printed}");
    assert_eq!(project.read("vouch.toml"), "[[upstream]]\nname = \"a\"\ncommand = \"x\"\n");
}

/// The rest of the file stays identical, byte for byte.
#[test]
fn add_and_remove_preserve_file() {
    let project = Project::new().with("vouch.toml", FILE);
    let permissions = PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(project.root.join("vouch.toml"), permissions).unwrap();
    assert!(project.run_text(&["upstream", "add", "third", "--", "./x"]).starts_with("exit: 0"));
    let added = project.read("vouch.toml");
    assert!(added.starts_with(FILE), "{added}");
    let mode = project.root.join("vouch.toml").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    insta::assert_snapshot!(
        "list_of_a_file",
        project.transcript(&[&["upstream", "list"], &["upstream", "list", "--json"]])
    );

    assert!(project.run_text(&["upstream", "remove", "third", "--yes"]).starts_with("exit: 0"));
    assert_eq!(project.read("vouch.toml").trim_end(), FILE.trim_end());
    insta::assert_snapshot!(
        "removal_output",
        project.run_text(&["upstream", "remove", "files", "--yes"])
    );
    insta::assert_snapshot!("without_the_first", project.read("vouch.toml"));
    assert!(project.run_text(&["upstream", "remove", "other", "-y"]).starts_with("exit: 0"));
    insta::assert_snapshot!("without_both", project.read("vouch.toml"));
}

#[test]
fn adds_to_generated_template() {
    let project = Project::new();
    assert!(project.run_text(&["init"]).starts_with("exit: 0"));
    let template = project.read("vouch.toml");
    assert!(project.run_text(&["upstream", "add", "a", "--", "./x"]).starts_with("exit: 0"));
    assert!(project.read("vouch.toml").starts_with(&template));
    assert!(project.run_text(&["upstream", "remove", "a", "--yes"]).starts_with("exit: 0"));
    assert_eq!(project.read("vouch.toml").trim_end(), template.trim_end());
}

#[test]
fn edits_inline_upstream_array() {
    let text = "upstream = [{ name = \"a\", command = \"x\" }] # short\n[server]\nport = 2\n";
    let project = Project::new().with("vouch.toml", text);
    assert!(project.run_text(&["upstream", "add", "b", "--", "./y"]).starts_with("exit: 0"));
    assert_eq!(
        project.read("vouch.toml"),
        text.replace("}]", "}, { name = \"b\", command = \"./y\" }]")
    );
    assert!(project.run_text(&["upstream", "remove", "b", "--yes"]).starts_with("exit: 0"));
    assert_eq!(project.read("vouch.toml"), text);
}

#[test]
fn remove_requires_confirmation() {
    let project = Project::new().with("vouch.toml", FILE);
    insta::assert_snapshot!(project.transcript(&[
        &["upstream", "remove", "files"],
        &["upstream", "remove", "flies", "--yes"],
    ]));
    assert_eq!(project.read("vouch.toml"), FILE);
}

#[test]
fn invalid_file_is_not_changed() {
    let project = Project::new().with("vouch.toml", "[[upstream]]\nname = \"a\"\n");
    insta::assert_snapshot!(
        project.transcript(&[&["upstream", "add", "b", "--", "./x"], &["upstream", "list"],])
    );
    assert_eq!(project.read("vouch.toml"), "[[upstream]]\nname = \"a\"\n");
}

#[test]
fn reports_invalid_rules() {
    let rule = |when: &str| format!("[[rule]]\nname = \"r\"\neffect = \"deny\"\nwhen = '{when}'\n");
    let printed = ["arguments.path ==", "argument.path == 1", "caller.name == \"x\"", "\"text\""]
        .map(|when| Project::new().with("vouch.toml", &rule(when)).run_text(&["tools"]));
    insta::assert_snapshot!(printed.join("\n"));
}

#[test]
fn doctor_checks_secrets() {
    let project = Project::new().with("key", "s3cret\n").with(
        "vouch.toml",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\nenv = { A = \"${NOT_SET}\" }\n[[upstream]]\nname = \"b\"\ncommand = \"x\"\nenv = { A = \"${file:key}\" }\n",
    );
    std::fs::set_permissions(project.root.join("key"), PermissionsExt::from_mode(0o644)).unwrap();
    let printed = project.run_text(&["doctor"]);
    let lines = printed.split("upstream").skip(1).collect::<Vec<_>>().join("upstream");
    assert!(
        lines.contains(
            "failed to resolve env.A of upstream `a`: environment variable NOT_SET is not set"
        ),
        "{printed}"
    );
    assert!(lines.contains("chmod 600 [ROOT]/key"), "{printed}");
    assert!(!printed.contains("s3cret"), "{printed}");
}

#[test]
fn adds_hosts_level_and_limits_of_the_sandbox() {
    let project = Project::new();
    let add = |args: &[&str]| project.run_text(&[&["upstream", "add"], args].concat());
    let limits = ["--memory", "512MB", "--processes", "50", "--open-files", "100"];
    let hosts = ["--allow-host", "API.GitHub.com:443", "--allow-host", "[::1]:9"];
    let end = ["--cpu-seconds", "60", "--", "true"];
    let output = add(&[&["one"][..], &hosts, &limits, &end].concat());
    assert!(output.starts_with("exit: 0"), "{output}");
    let output = add(&["two", "--sandbox-level", "landlock", "--network", "--", "true"]);
    assert!(output.starts_with("exit: 0"), "{output}");
    let text = project.read("vouch.toml");
    for line in [
        "sandbox = { network = [\"api.github.com:443\", \"[::1]:9\"], memory = \"512MB\", processes = 50, \
         open_files = 100, cpu_seconds = 60 }",
        "sandbox = { level = \"landlock\", network = true }",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    for command in [&["upstream", "add", "three"][..], &["check"]] {
        for (flags, why) in [
            (&["--allow-host", "a:1", "--network"][..], "cannot be used with"),
            (&["--allow-host", "example.com"], "expected a host and a port"),
            (&["--memory", "1MB"], "at least 64MB"),
            (&["--processes", "0"], "invalid value"),
            (&["--no-sandbox", "--memory", "1GB"], "cannot be used with"),
            (&["--sandbox-level", "none"], "invalid value"),
            (
                &["--sandbox-level", "landlock", "--allow-host", "a:1"],
                "requires `--sandbox-level full`",
            ),
            (
                &["--sandbox-level", "landlock", "--cpu-seconds", "1"],
                "requires `--sandbox-level full`",
            ),
        ] {
            let output = project.run_text(&[command, flags, &["--", "true"]].concat());
            assert!(output.starts_with("exit: 2"), "{command:?} {flags:?}: {output}");
            assert!(output.contains(why), "{command:?} {flags:?}: {output}");
        }
    }
    for args in [
        &["upstream", "add", "four", "--url", "http://127.0.0.1:9/", "--memory", "1GB"][..],
        &["check", "http://127.0.0.1:9/", "--memory", "1GB"],
        &["check", "one", "--sandbox-level", "landlock"],
    ] {
        let output = project.run_text(args);
        assert!(output.starts_with("exit: 2"), "{args:?}: {output}");
        assert!(output.contains("requires a program after `--`"), "{args:?}: {output}");
    }
}

/// A server that writes, or downloads, beyond its grants: the message names the grant that it lacks.
#[test]
fn failed_server_names_the_missing_grant() {
    for (script, grant) in [
        ("touch memory.json || exit 1", "add the folder to `write`"),
        ("echo 'npm error code EAI_AGAIN' >&2; exit 1", "add the hosts that it needs to `network`"),
        ("sleep 60", "add the hosts to `network`"),
    ] {
        let project = Project::new();
        project.write_script("server.sh", script);
        let output = project.run_text(&["check", "--timeout", "2", "--", "./server.sh"]);
        assert!(output.contains(grant), "{script}: {output}");
        assert!(!output.contains("to `read`"), "{script}: {output}");
    }
    let project = Project::new();
    for launcher in ["npx", "uvx"] {
        project.write_script(&format!("../bin/{launcher}"), "exit 1");
    }
    let bin = project.root.with_file_name("bin").display().to_string();
    for (launcher, hosts) in [
        ("npx", "--allow-host registry.npmjs.org:443 --write"),
        ("uvx", "--allow-host pypi.org:443 --allow-host files.pythonhosted.org:443 --write"),
    ] {
        let mut command = project.command(&["check", "--", launcher, "-y", "server"]);
        command.env("PATH", format!("{bin}:/usr/bin:/bin"));
        let output = project.format_output(&command.output().unwrap());
        assert!(output.contains(hosts), "{output}");
        let output = project.run_text(&["upstream", "add", launcher, "--", launcher, "x"]);
        assert!(output.contains(":443\"]") && !output.contains("network = true"), "{output}");
    }
}
