//! `vouch upstream add`, `list` and `remove`: the file as a person keeps it.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Project, files_below};

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
fn added_one_after_the_other() {
    let project = Project::new();
    std::fs::create_dir(project.root.join("out")).unwrap();
    let said = project.transcript(&[
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
    insta::assert_snapshot!(format!("{said}\n=====\n{}", project.read("vouch.toml")));
    assert_eq!(files_below(&project.root), ["vouch.toml"]);
}

#[test]
fn what_cannot_be_added() {
    let project =
        Project::new().with("vouch.toml", "[[upstream]]\nname = \"a\"\ncommand = \"x\"\n");
    let secret = format!("KEY=ghp_{}", "a1B2".repeat(9));
    let said = project.transcript(&[
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
    insta::assert_snapshot!(said);
    let said = project.check(&["upstream", "add", "b", "--env", &secret, "--", "y"]);
    assert!(said.starts_with("exit: 2") && said.contains("'${KEY}'"), "{said}");
    assert!(!said.contains(&secret), "{said}");
    assert_eq!(project.read("vouch.toml"), "[[upstream]]\nname = \"a\"\ncommand = \"x\"\n");
}

/// Everything else in the file is as it was, to the byte.
#[test]
fn the_file_is_kept() {
    let project = Project::new().with("vouch.toml", FILE);
    let permissions = PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(project.root.join("vouch.toml"), permissions).unwrap();
    assert!(project.check(&["upstream", "add", "third", "--", "./x"]).starts_with("exit: 0"));
    let added = project.read("vouch.toml");
    assert!(added.starts_with(FILE), "{added}");
    let mode = project.root.join("vouch.toml").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    insta::assert_snapshot!(
        "list_of_a_file",
        project.transcript(&[&["upstream", "list"], &["upstream", "list", "--json"]])
    );

    assert!(project.check(&["upstream", "remove", "third", "--yes"]).starts_with("exit: 0"));
    assert_eq!(project.read("vouch.toml").trim_end(), FILE.trim_end());
    insta::assert_snapshot!(
        "removal_says",
        project.check(&["upstream", "remove", "files", "--yes"])
    );
    insta::assert_snapshot!("without_the_first", project.read("vouch.toml"));
    assert!(project.check(&["upstream", "remove", "other", "-y"]).starts_with("exit: 0"));
    insta::assert_snapshot!("without_both", project.read("vouch.toml"));
}

#[test]
fn the_commented_file_can_be_added_to() {
    let project = Project::new();
    assert!(project.check(&["init"]).starts_with("exit: 0"));
    let template = project.read("vouch.toml");
    assert!(project.check(&["upstream", "add", "a", "--", "./x"]).starts_with("exit: 0"));
    assert!(project.read("vouch.toml").starts_with(&template));
    assert!(project.check(&["upstream", "remove", "a", "--yes"]).starts_with("exit: 0"));
    assert_eq!(project.read("vouch.toml").trim_end(), template.trim_end());
}

#[test]
fn lists_on_one_line() {
    let text = "upstream = [{ name = \"a\", command = \"x\" }] # short\n[server]\nport = 2\n";
    let project = Project::new().with("vouch.toml", text);
    assert!(project.check(&["upstream", "add", "b", "--", "./y"]).starts_with("exit: 0"));
    assert_eq!(
        project.read("vouch.toml"),
        text.replace("}]", "}, { name = \"b\", command = \"./y\" }]")
    );
    assert!(project.check(&["upstream", "remove", "b", "--yes"]).starts_with("exit: 0"));
    assert_eq!(project.read("vouch.toml"), text);
}

#[test]
fn removal_is_asked_for() {
    let project = Project::new().with("vouch.toml", FILE);
    insta::assert_snapshot!(project.transcript(&[
        &["upstream", "remove", "files"],
        &["upstream", "remove", "flies", "--yes"],
    ]));
    assert_eq!(project.read("vouch.toml"), FILE);
}

#[test]
fn a_file_that_does_not_load_is_not_touched() {
    let project = Project::new().with("vouch.toml", "[[upstream]]\nname = \"a\"\n");
    insta::assert_snapshot!(
        project.transcript(&[&["upstream", "add", "b", "--", "./x"], &["upstream", "list"],])
    );
    assert_eq!(project.read("vouch.toml"), "[[upstream]]\nname = \"a\"\n");
}

#[test]
fn a_rule_that_is_none_is_an_error_of_the_file() {
    let rule = |when: &str| format!("[[rule]]\nname = \"r\"\neffect = \"deny\"\nwhen = '{when}'\n");
    let said = ["arguments.path ==", "argument.path == 1", "caller.name == \"x\"", "\"text\""]
        .map(|when| Project::new().with("vouch.toml", &rule(when)).check(&["tools"]));
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn doctor_looks_at_secrets() {
    let project = Project::new().with("key", "s3cret\n").with(
        "vouch.toml",
        "[[upstream]]\nname = \"a\"\ncommand = \"x\"\nenv = { A = \"${NOT_SET}\" }\n[[upstream]]\nname = \"b\"\ncommand = \"x\"\nenv = { A = \"${file:key}\" }\n",
    );
    std::fs::set_permissions(project.root.join("key"), PermissionsExt::from_mode(0o644)).unwrap();
    let said = project.check(&["doctor"]);
    let lines = said.split("upstream").skip(1).collect::<Vec<_>>().join("upstream");
    assert!(
        lines.contains("its env.A has no value: the environment variable NOT_SET is not set"),
        "{said}"
    );
    assert!(lines.contains("chmod 600 [ROOT]/key"), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
}
