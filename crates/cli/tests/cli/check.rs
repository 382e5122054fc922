//! `vouch check`: anybody's server under the rules, and exit codes that a pipeline can rely on.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use testkit::adversary::adversary_command;

use crate::support::{Project, VOUCH, files_below};

/// `vouch check` with these flags, of an adversary with those switches.
fn check<'a>(flags: &[&'a str], adversary: &'a [String]) -> Vec<&'a str> {
    let adversary = adversary.iter().map(String::as_str);
    ["check"].into_iter().chain(flags.iter().copied()).chain(["--"]).chain(adversary).collect()
}

fn run(project: &Project, flags: &[&str], switches: &[&str]) -> (i32, Value) {
    let adversary = adversary_command(switches);
    let output = project.run(&check(flags, &adversary));
    let code = output.status.code().unwrap();
    let json = serde_json::from_slice(&output.stdout);
    (code, json.unwrap_or_else(|_| panic!("{}", project.show(&output))))
}

#[test]
fn our_own_server() {
    // Its state is its own: ours is hidden from it.
    let project = Project::new().with("inner/a.txt", "a\n");
    let mut said = None;
    for deny in ["error", "warning", "note"] {
        let args = ["check", "--json", "--write", "inner", "--deny", deny];
        let server = ["--", VOUCH, "--root", "inner", "serve", "--stdio"];
        let output = project.run(&[&args[..], &server[..]].concat());
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", project.show(&output)));
        let summary = &report["summary"];
        assert_eq!((&summary["states"]["ready"], &summary["errors"]), (&6.into(), &0.into()));
        // Whatever it finds, the exit code follows from it.
        let bad = match deny {
            "error" => false,
            "warning" => summary["warnings"] != 0,
            _ => summary["warnings"] != 0 || summary["notes"] != 0,
        };
        assert_eq!(output.status.code(), Some(i32::from(bad)), "{deny}: {summary}");
        said = Some(report["server"].clone());
    }
    let server = said.unwrap();
    assert_eq!((&server["name"], &server["protocol"]), (&"vouchsafe".into(), &"2026-07-28".into()));
}

#[test]
fn what_is_wrong_is_named() {
    let project = Project::new();
    let only = "good,vacuous,no_output_schema,no_description,poisoned,hidden_text,bad_schema,twin,bad name!";
    let adversary = adversary_command(["--only", only]);
    let output = project.run(&check(&[], &adversary));
    assert!(
        !output.stdout.windows(4).any(|bytes| bytes == "\u{e0063}".as_bytes()),
        "nothing hides"
    );
    insta::assert_snapshot!(project.show(&output));
    let clean = adversary_command(["--only", "good"]);
    insta::assert_snapshot!("clean", project.check(&check(&["--deny", "note"], &clean)));
    assert_eq!(files_below(&project.root), [""; 0], "a look leaves nothing behind");
}

#[test]
fn as_json() {
    let (code, report) = run(&Project::new(), &["--json"], &["--only", "good,poisoned"]);
    assert_eq!(code, 1);
    assert_eq!(report["summary"]["worst"], "error");
    assert_eq!(report["tools"][0]["state"], "ready");
    let finding = &report["tools"][1]["findings"][0];
    assert_eq!((&finding["rule"], &finding["path"]), (&"C023".into(), &"/description".into()));
}

#[test]
fn as_sarif() {
    let switches = ["--only", "good,poisoned"];
    let at = |project: &Project, flags: &[&str]| {
        let (code, sarif) = run(project, &[&["--sarif"], flags].concat(), &switches);
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
fn drafts_of_overlays() {
    let project = Project::new();
    let adversary = adversary_command(["--only", "good,vacuous,no_output_schema,poisoned"]);
    let drafts = |flags: &[&str]| {
        let flags = [&["--quiet", "--fix-overlay", "contracts"], flags].concat();
        project.check(&check(&flags, &adversary))
    };
    insta::assert_snapshot!(drafts(&[]));
    let files = files_below(&project.root.join("contracts"));
    assert_eq!(
        files,
        ["adversary/no_output_schema.json", "adversary/poisoned.json", "adversary/vacuous.json"]
    );
    let text = project.read("contracts/adversary/no_output_schema.json");
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["result"], "text");
    // A person has worked on one; it stays until somebody says otherwise.
    project.write("contracts/adversary/vacuous.json", "mine");
    assert!(
        drafts(&[]).contains("kept (replace it with --force) contracts/adversary/vacuous.json")
    );
    assert_eq!(project.read("contracts/adversary/vacuous.json"), "mine");
    assert!(drafts(&["--force"]).contains("wrote contracts/adversary/vacuous.json"));
    assert_ne!(project.read("contracts/adversary/vacuous.json"), "mine");
    let flags = ["--json", "--fix-overlay", "contracts"];
    let (_, report) = run(&project, &flags, &["--only", "vacuous"]);
    let draft = &report["overlays"][0];
    assert_eq!((&draft["tool"], &draft["written"]), (&"vacuous".into(), &false.into()));
    assert!(draft["todo"][0].as_str().unwrap().contains("outputSchema"), "{draft}");
}

#[test]
fn an_upstream_by_its_name() {
    let command = adversary_command([""])[0].clone();
    let project = Project::new().with(
        "vouch.toml",
        &format!(
            "[gateway]\ncontracts = \"agreed\"\n\n[[upstream]]\nname = \"odd\"\ncommand = \"{command}\"\n\
             args = [\"--only\", \"no_output_schema\"]\nenabled = false\n"
        ),
    );
    let report = project.json(&["check", "odd", "--json"]);
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

/// An adversary over HTTP, killed when dropped.
struct Served {
    child: Child,
    url: String,
}

impl Served {
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

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn over_http_with_a_secret() {
    let project = Project::new();
    let record = project.root.join("record");
    let server = Served::start(&["--only", "good", "--record", record.to_str().unwrap()]);
    let mut command = project.command(&["check", &server.url, "--header", "X-Key: <${KEY}>"]);
    let output = command.env("KEY", "hunter2").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", project.show(&output));
    assert!(project.read("record").contains("<hunter2>"), "the header was sent");
    assert!(!project.show(&output).contains("hunter2"));
    let output = project.run(&["check", &server.url, "--header", "X-Key: ${NOT_SET_7}"]);
    insta::assert_snapshot!(project.show(&output));
}

#[test]
fn servers_that_cannot_be_checked() {
    let project = Project::new();
    let dies = adversary_command(["--exit-at-start"]);
    let dead = adversary_command(["--dead"]);
    let endless = adversary_command(["--pages-forever"]);
    let texts = [
        project.check(&check(&[], &dies)),
        project.check(&check(&["--no-sandbox", "--timeout", "1"], &dead)),
        project.check(&check(&[], &endless)),
        project.check(&["check", "--", "./no-such-program"]),
        project.check(&["check", "--read", "no-such-folder", "--", VOUCH, "serve", "--stdio"]),
        project.check(&["check", "http://127.0.0.1:9/mcp"]),
        project.check(&["check", "--env", "hunter2", "--", "./server"]),
    ];
    assert!(texts.iter().all(|text| !text.contains("hunter2")));
    crate::support::with_filters(|| insta::assert_snapshot!(texts.join("\n")));
}

#[test]
fn what_the_sandbox_stops_is_explained() {
    let project = Project::new();
    // It has to make its state folder, which it may not.
    let said = project.check(&["check", "--", VOUCH, "serve", "--stdio"]);
    assert!(said.starts_with("exit: 3"), "{said}");
    for part in ["cannot create the state folder", "Landlock", "--write DIR", "--no-sandbox"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}
