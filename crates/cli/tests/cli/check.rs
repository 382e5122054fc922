//! `vouch check`: findings about any MCP server, output formats, and exit codes.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use testkit::adversary::adversary_command;

use crate::support::{Project, VOUCH, list_files};

/// Returns the arguments of `vouch check` with these flags, for an adversary command.
fn check_args<'a>(flags: &[&'a str], adversary: &'a [String]) -> Vec<&'a str> {
    let adversary = adversary.iter().map(String::as_str);
    ["check"].into_iter().chain(flags.iter().copied()).chain(["--"]).chain(adversary).collect()
}

fn run_check(project: &Project, flags: &[&str], switches: &[&str]) -> (i32, Value) {
    let adversary = adversary_command(switches);
    let output = project.run(&check_args(flags, &adversary));
    let code = output.status.code().unwrap();
    let json = serde_json::from_slice(&output.stdout);
    (code, json.unwrap_or_else(|_| panic!("{}", project.format_output(&output))))
}

#[test]
fn checks_own_server() {
    // The checked server has its own root, because the state of this project is hidden from it.
    let project = Project::new().with("inner/a.txt", "a\n");
    std::fs::create_dir(project.root.join("inner-state")).unwrap();
    let state = format!("XDG_STATE_HOME={}", project.root.join("inner-state").display());
    let mut printed = None;
    for deny in ["error", "warning", "note"] {
        let args = ["check", "--json", "--write", "inner-state", "--env", &state, "--deny", deny];
        let server = ["--", VOUCH, "--root", "inner", "serve", "--stdio"];
        let output = project.run(&[&args[..], &server[..]].concat());
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", project.format_output(&output)));
        let summary = &report["summary"];
        assert_eq!((&summary["states"]["ready"], &summary["errors"]), (&6.into(), &0.into()));
        // The exit code follows from the findings and `--deny`.
        let bad = match deny {
            "error" => false,
            "warning" => summary["warnings"] != 0,
            _ => summary["warnings"] != 0 || summary["notes"] != 0,
        };
        assert_eq!(output.status.code(), Some(i32::from(bad)), "{deny}: {summary}");
        printed = Some(report["server"].clone());
    }
    let server = printed.unwrap();
    assert_eq!((&server["name"], &server["protocol"]), (&"vouchsafe".into(), &"2026-07-28".into()));
}

#[test]
fn lists_findings_of_bad_tools() {
    let project = Project::new();
    let only = "good,vacuous,no_output_schema,no_description,poisoned,hidden_text,bad_schema,twin,bad name!";
    let adversary = adversary_command(["--only", only]);
    let output = project.run(&check_args(&[], &adversary));
    assert!(
        !output.stdout.windows(4).any(|bytes| bytes == "\u{e0063}".as_bytes()),
        "hidden characters are escaped"
    );
    insta::assert_snapshot!(project.format_output(&output));
    let clean = adversary_command(["--only", "good"]);
    insta::assert_snapshot!("clean", project.run_text(&check_args(&["--deny", "note"], &clean)));
    assert_eq!(list_files(&project.root), [""; 0], "checking creates no files");
}

#[test]
fn prints_json() {
    let (code, report) = run_check(&Project::new(), &["--json"], &["--only", "good,poisoned"]);
    assert_eq!(code, 1);
    assert_eq!(report["summary"]["worst"], "error");
    assert_eq!(report["tools"][0]["state"], "ready");
    let finding = &report["tools"][1]["findings"][0];
    assert_eq!((&finding["rule"], &finding["path"]), (&"C023".into(), &"/description".into()));
}

#[test]
fn prints_sarif() {
    let switches = ["--only", "good,poisoned"];
    let at = |project: &Project, flags: &[&str]| {
        let (code, sarif) = run_check(project, &[&["--sarif"], flags].concat(), &switches);
        assert_eq!(code, 1);
        sarif
    };
    let sarif = at(&Project::new(), &[]);
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "vouch");
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 1);
    assert_eq!((&results[0]["ruleId"], &results[0]["level"]), (&"C023".into(), &"error".into()));
    let rule = usize::try_from(results[0]["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!(run["tool"]["driver"]["rules"][rule]["id"], "C023");
    let place = &results[0]["locations"][0];
    assert_eq!(place["logicalLocations"][0]["fullyQualifiedName"], "poisoned/description");
    assert_eq!(place.get("physicalLocation"), None);
    let file = |sarif: &Value| {
        sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            .clone()
    };
    let project = Project::new().with("vouch.toml", "");
    assert_eq!(file(&at(&project, &[])), "vouch.toml");
    assert_eq!(file(&at(&project, &["--location", "src/my server.ts"])), "src/my%20server.ts");
}

#[test]
fn writes_overlay_drafts() {
    let project = Project::new();
    let adversary = adversary_command(["--only", "good,vacuous,no_output_schema,poisoned"]);
    let drafts = |flags: &[&str]| {
        let flags = [&["--quiet", "--fix-overlay", "contracts"], flags].concat();
        project.run_text(&check_args(&flags, &adversary))
    };
    insta::assert_snapshot!(drafts(&[]));
    let files = list_files(&project.root.join("contracts"));
    assert_eq!(
        files,
        ["adversary/no_output_schema.json", "adversary/poisoned.json", "adversary/vacuous.json"]
    );
    let text = project.read("contracts/adversary/no_output_schema.json");
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["result"], "text");
    // An edited draft is kept unless `--force` is passed.
    project.write("contracts/adversary/vacuous.json", "mine");
    assert!(
        drafts(&[])
            .contains("kept (pass `--force` to replace it) contracts/adversary/vacuous.json")
    );
    assert_eq!(project.read("contracts/adversary/vacuous.json"), "mine");
    assert!(drafts(&["--force"]).contains("wrote contracts/adversary/vacuous.json"));
    assert_ne!(project.read("contracts/adversary/vacuous.json"), "mine");
    let flags = ["--json", "--fix-overlay", "contracts"];
    let (_, report) = run_check(&project, &flags, &["--only", "vacuous"]);
    let draft = &report["overlays"][0];
    assert_eq!((&draft["tool"], &draft["written"]), (&"vacuous".into(), &false.into()));
    assert!(draft["todo"][0].as_str().unwrap().contains("outputSchema"), "{draft}");
}

#[test]
fn checks_configured_upstream_by_name() {
    let command = adversary_command([""])[0].clone();
    let project = Project::new().with(
        "vouch.toml",
        &format!(
            "[gateway]\ncontracts = \"agreed\"\n\n[[upstream]]\nname = \"odd\"\ncommand = \"{command}\"\n\
             args = [\"--only\", \"no_output_schema\"]\nenabled = false\n"
        ),
    );
    let report = project.run_json(&["check", "odd", "--json"]);
    let remedy = report["tools"][0]["findings"][0]["remedy"].as_str().unwrap();
    assert!(remedy.contains("agreed/odd/no_output_schema.json"), "{remedy}");
    insta::assert_snapshot!(project.transcript(&[
        &["check", "od"],
        &["check", "odd", "--sse"],
        &["check", "odd", "--network"],
        &["check"],
        &["check", "http://"],
    ]));
}

/// An adversary that serves HTTP; killed when dropped.
struct HttpAdversary {
    child: Child,
    url: String,
}

impl HttpAdversary {
    fn start(switches: &[&str]) -> Self {
        let command = adversary_command(switches.iter().copied().chain(["--http"]));
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { child, url: url.trim().to_owned() }
    }
}

impl Drop for HttpAdversary {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn sends_secret_header_over_http() {
    let project = Project::new();
    let record = project.root.join("record");
    let server = HttpAdversary::start(&["--only", "good", "--record", record.to_str().unwrap()]);
    let mut command = project.command(&["check", &server.url, "--header", "X-Key: <${KEY}>"]);
    let output = command.env("KEY", "hunter2").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", project.format_output(&output));
    assert!(project.read("record").contains("<hunter2>"), "the header was sent");
    assert!(!project.format_output(&output).contains("hunter2"));
    let output = project.run(&["check", &server.url, "--header", "X-Key: ${NOT_SET_7}"]);
    insta::assert_snapshot!(project.format_output(&output));
}

#[test]
fn reports_servers_that_cannot_be_checked() {
    let project = Project::new();
    let dies = adversary_command(["--exit-at-start"]);
    let dead = adversary_command(["--dead"]);
    let endless = adversary_command(["--pages-forever"]);
    let texts = [
        project.run_text(&check_args(&[], &dies)),
        project.run_text(&check_args(&["--no-sandbox", "--timeout", "1"], &dead)),
        project.run_text(&check_args(&[], &endless)),
        project.run_text(&["check", "--", "./no-such-program"]),
        project.run_text(&["check", "--read", "no-such-folder", "--", VOUCH, "serve", "--stdio"]),
        project.run_text(&["check", "http://127.0.0.1:9/mcp"]),
        project.run_text(&["check", "--env", "hunter2", "--", "./server"]),
    ];
    assert!(texts.iter().all(|text| !text.contains("hunter2")));
    crate::support::with_filters(|| insta::assert_snapshot!(texts.join("\n")));
}

#[test]
fn explains_sandbox_failures() {
    let project = Project::new();
    // The server must create its state folder, but system folders are read-only.
    let state = "XDG_STATE_HOME=/usr/share";
    let printed = project.run_text(&["check", "--env", state, "--", VOUCH, "serve", "--stdio"]);
    assert!(printed.starts_with("exit: 3"), "{printed}");
    for part in [
        "failed to create state directory",
        "sandbox may be the cause",
        "--write DIR",
        "--no-sandbox",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
}
