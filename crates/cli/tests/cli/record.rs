//! `vouch audit` and `vouch stats`.

use std::io::{Read, Write};

use serde_json::{Value, json};

use crate::operating::get;
use crate::support::{Project, wait_until, with_filters};

fn project() -> Project {
    with_calls(Project::new())
}

fn with_calls(project: Project) -> Project {
    let project = project.with("a.txt", "a\n");
    project.run(&["call", "hello"]);
    project.run(&["call", "read_repo_file", "path=a.txt"]);
    project.run(&["call", "read_repo_file", "path=../a"]);
    project.run(&["call", "nothing"]);
    project
}

#[test]
fn reports_empty_audit_log() {
    let project = Project::new();
    insta::assert_snapshot!(project.transcript(&[
        &["audit", "verify"],
        &["audit", "tail"],
        &["stats"]
    ]));
    assert!(!project.state().exists(), "reading creates no state");
}

#[test]
fn prints_and_verifies_audit_log() {
    let project = project();
    let text = project.transcript(&[&["audit", "tail"], &["audit", "verify"]]);
    with_filters(|| insta::assert_snapshot!(text));
    let lines = project.run(&["audit", "tail", "-n", "2", "--json"]).stdout;
    let log = project.read_state("audit.jsonl");
    let last_two: Vec<_> = log.lines().skip(3).collect();
    assert_eq!(String::from_utf8(lines).unwrap().trim_end(), last_two.join("\n"));
}

#[test]
fn verify_names_changed_line() {
    let project = project();
    let log = project.read_state("audit.jsonl");
    project.write_state("audit.jsonl", &log.replace("a.txt", "b.txt"));
    with_filters(|| insta::assert_snapshot!(project.run_text(&["audit", "verify"])));
    let report = project.run_json(&["audit", "verify", "--json"]);
    assert_eq!((&report["ok"], &report["problems"][0]["line"]), (&false.into(), &3.into()));
}

#[test]
fn counts_calls_and_failures() {
    let project = project();
    let stats = project.run_json(&["stats", "--json"]);
    assert_eq!(stats[0]["tool"], "read_repo_file");
    assert_eq!((&stats[0]["calls"], &stats[0]["failures"]), (&2.into(), &1.into()));
    assert_eq!(stats[0]["byCode"]["ACCESS_DENIED"], 1);
    let table = project.run_text(&["stats", "--since", "1h"]);
    assert!(table.contains("read_repo_file  2      1       50.0 %"), "{table}");
    assert_eq!(
        project.run_json(&["stats", "--since", "2999-01-01T00:00:00Z", "--json"]),
        serde_json::json!([])
    );
}

#[test]
fn rotates_key() {
    let project = project();
    with_filters(|| insta::assert_snapshot!(project.run_text(&["audit", "rotate-key"])));
    project.run(&["call", "hello"]);
    let report = project.run_json(&["audit", "verify", "--json"]);
    assert_eq!((&report["ok"], &report["lines"]), (&json!(true), &json!(7)));
    let log = project.read_state("audit.jsonl");
    let keys: Vec<_> = log.lines().map(|line| line.rsplit("hmac:").next().unwrap()).collect();
    assert_ne!(keys[0][..16], keys[6][..16], "the last line has another key");
    let rotation = project.run_json(&["audit", "rotate-key", "--json"]);
    assert_eq!(rotation["before"], keys[6][..16]);
}

#[test]
fn lost_key_is_reported() {
    let project = project();
    std::fs::remove_dir_all(project.audit_keys()).unwrap();
    let report = project.run_json(&["audit", "verify", "--json"]);
    assert_eq!(
        (&report["ok"], &report["problems"][0]["kind"]),
        (&json!(false), &json!("keyMissing"))
    );
    // The next call begins a new chain, and the earlier lines stay unverifiable.
    assert!(project.run_text(&["call", "hello"]).starts_with("exit: 0"));
    with_filters(|| insta::assert_snapshot!(project.run_text(&["audit", "verify"])));
}

#[test]
fn seals_and_verifies_against_checkpoints() {
    let project = project();
    let target = project.home.join("checkpoints.jsonl");
    let to = target.to_str().unwrap();
    assert!(project.run_text(&["audit", "seal", "--to", to]).contains("checkpoint 1 written to"));
    let key = project.run(&["audit", "seal", "--public-key"]).stdout;
    let key = String::from_utf8(key).unwrap().trim().to_owned();
    let verify =
        |more: &[&str]| project.run_text(&[&["audit", "verify", "--against", to], more].concat());
    let text = verify(&["--public-key", &key]);
    assert!(text.starts_with("exit: 0") && text.contains("proven up to seq 5"), "{text}");
    project.run(&["call", "hello"]);
    with_filters(|| insta::assert_snapshot!("seal_limit", verify(&[])));
    // A log that was begun again with the same keys is consistent, and yet another one.
    for file in ["audit.jsonl", "audit.head"] {
        std::fs::remove_file(project.state().join(file)).unwrap();
    }
    std::fs::remove_file(project.audit_keys().join("mark")).unwrap();
    project.run(&["call", "hello"]);
    assert!(project.run_text(&["audit", "verify"]).starts_with("exit: 0"), "consistent");
    let text = verify(&["--public-key", &key]);
    assert!(text.starts_with("exit: 1") && text.contains("rewritten or removed"), "{text}");
    let other = format!("ed25519:{}", "0".repeat(62) + "01");
    assert!(verify(&["--public-key", &other]).starts_with("exit: 2"), "not a key");
    assert!(verify(&["--public-key", "ed25519:12"]).starts_with("exit: 2"));
}

#[test]
fn sends_checkpoints_to_endpoint() {
    let project = project();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/in", listener.local_addr().unwrap());
    for (answer, status) in
        [("200 OK", "exit: 0"), ("500 Oops", "exit: 1"), ("302 Found", "exit: 1")]
    {
        let text = std::thread::scope(|scope| {
            let request = scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = vec![];
                let mut block = [0; 4096];
                while !request.ends_with(b"}") {
                    let size = stream.read(&mut block).unwrap();
                    request.extend_from_slice(&block[..size]);
                }
                let answer =
                    format!("HTTP/1.1 {answer}\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).unwrap();
                String::from_utf8(request).unwrap()
            });
            let text = project.run_text(&["audit", "seal", "--to", &url]);
            let request = request.join().unwrap();
            let body: Value = serde_json::from_str(request.lines().last().unwrap()).unwrap();
            assert_eq!(body["checkpoint"]["chains"][0]["seq"], 5);
            text
        });
        assert_eq!(text.starts_with("exit: 0"), status == "exit: 0", "{answer}: {text}");
    }
}

#[test]
fn seals_on_schedule_while_serving() {
    let project = project().with("vouch.toml", "[audit.seal]\nto = [\"../checkpoints.jsonl\"]\n");
    let server = project.start_server(&[]);
    server.signal(rustix::process::Signal::TERM);
    server.wait();
    let path = project.root.join("../checkpoints.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 1, "one checkpoint at the end: {text}");
    let report =
        project.run_json(&["audit", "verify", "--against", path.to_str().unwrap(), "--json"]);
    assert_eq!(report["ok"], true, "{report}");
    assert_eq!(report["checkpoints"]["provenThrough"], report["lastSeq"]);
}

/// A target that fails for a while gets everything later, so that its checkpoints have no gap.
#[test]
fn failed_delivery_is_repeated_with_the_next_checkpoint() {
    let project = project();
    let folder = project.home.join("mounted");
    let (away, here) = (folder.join("away.jsonl"), project.home.join("here.jsonl"));
    let [to, other] = [&away, &here].map(|path| path.to_str().unwrap());
    let seal = ["audit", "seal", "--to", to, "--to", other];
    let text = project.run_text(&seal);
    assert!(text.starts_with("exit: 3"), "{text}");
    assert!(text.contains("checkpoint 1 written to") && text.contains("here.jsonl"), "{text}");
    assert!(text.contains("failed to write checkpoint to") && text.contains("is kept"), "{text}");
    std::fs::create_dir(&folder).unwrap();
    let text = project.run_text(&seal);
    assert!(text.starts_with("exit: 0"), "{text}");
    assert!(text.contains("checkpoints 1 to 2 written to"), "{text}");
    assert!(text.contains("checkpoint 2 written to"), "{text}");
    let delivered = std::fs::read_to_string(&away).unwrap();
    assert_eq!(delivered, std::fs::read_to_string(&here).unwrap());
    let text = project.run_text(&["audit", "verify", "--against", to]);
    assert!(text.starts_with("exit: 0") && text.contains("by 2 checkpoints"), "{text}");
}

/// A checkpoint is not made of a log that is not there, and takes no number.
#[test]
fn missing_log_is_not_sealed() {
    let project = Project::new();
    let text = project.run_text(&["audit", "seal"]);
    assert!(text.starts_with("exit: 3") && text.contains("no calls recorded yet"), "{text}");
    let project = self::project();
    for log in ["/nonexistent/audit.jsonl", "a.txt"] {
        let text = project.run_text(&["audit", "seal", "--log", log]);
        assert!(text.starts_with("exit: 3") && text.contains("no audit lines there"), "{text}");
        assert!(text.contains("hint:"), "{text}");
    }
    assert_eq!(project.run_json(&["audit", "seal", "--json"])["checkpoint"]["number"], 1);
    // The log was removed.
    for file in ["audit.jsonl", "audit.head"] {
        std::fs::remove_file(project.state().join(file)).unwrap();
    }
    let text = project.run_text(&["audit", "seal"]);
    assert!(text.starts_with("exit: 3") && text.contains("no audit lines there"), "{text}");
}

/// The endpoint of the last checkpoint accepts the connection and never answers.
#[test]
fn hanging_endpoint_does_not_keep_the_server_alive() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let seal = format!("[audit.seal]\nto = [\"http://{address}/in\", \"../checkpoints.jsonl\"]\n");
    let project = project().with("vouch.toml", &seal);
    let server = project.start_server(&[]);
    server.signal(rustix::process::Signal::TERM);
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("is not delivered everywhere yet"), "{log}");
    let path = project.root.join("../checkpoints.jsonl");
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1);
    drop(listener);
    // The next one is not lost either.
    let text = project.run_text(&["audit", "seal"]);
    assert!(text.starts_with("exit: 3") && text.contains("failed to send checkpoint 1"), "{text}");
}

#[test]
fn server_shows_what_is_sealed_and_what_waits() {
    let seal = "[audit.seal]\nto = [\"../missing/checkpoints.jsonl\", \"../checkpoints.jsonl\"]\n";
    let project = project().with("vouch.toml", seal);
    let server = project.start_server(&[]);
    // A refused request would leave a record, so only the right token is used.
    let has = |line: &str| {
        get(server.address, "/metrics", &server.token).1.lines().any(|found| found == line)
    };
    let shows = |line: &str| wait_until(line, || has(line));
    assert_eq!(server.call("hello", &json!({})).0, 200);
    shows("vouch_audit_records_total 1");
    shows("vouch_audit_undelivered_checkpoints 0");
    assert!(has("vouch_audit_sealed_seq 0"));
    let text = project.run_text(&["audit", "seal"]);
    assert!(text.starts_with("exit: 3"), "{text}");
    shows("vouch_audit_sealed_seq 6");
    shows("vouch_audit_undelivered_checkpoints 1");
    assert!(!has("vouch_audit_sealed_timestamp_seconds 0"));
}

#[test]
fn exports_records() {
    let project = project();
    let lines = String::from_utf8(project.run(&["audit", "export"]).stdout).unwrap();
    assert_eq!(lines, project.read_state("audit.jsonl"));
    let none = project.run(&["audit", "export", "--since", "2999-01-01T00:00:00Z"]).stdout;
    assert!(none.is_empty());
    let path = project.root.join("otlp.jsonl");
    let args = ["audit", "export", "--format", "otlp", "--output", path.to_str().unwrap()];
    assert!(project.run_text(&args).starts_with("exit: 0"));
    let text = std::fs::read_to_string(path).unwrap();
    let request: Value = serde_json::from_str(text.trim_end()).unwrap();
    let records = &request["resourceLogs"][0]["scopeLogs"][0]["logRecords"];
    assert_eq!(records.as_array().unwrap().len(), 5);
    assert_eq!(records[1]["body"]["stringValue"], "hello by cli");
    assert_eq!(records[1]["severityText"], "INFO");
    assert_eq!(records[3]["severityText"], "ERROR");
}

/// A copy of the log is verified instead of the log, with the keys of the project.
#[test]
fn verifies_the_named_log_only() {
    let project = project();
    let copy = project.home.join("copy.jsonl");
    let log = project.read_state("audit.jsonl");
    std::fs::write(&copy, &log).unwrap();
    std::fs::copy(project.state().join("audit.head"), project.home.join("copy.head")).unwrap();
    let copy = copy.to_str().unwrap();
    let is_ok = |args: &[&str]| {
        project.run_json(&[&["audit", "verify", "--json"], args].concat())["ok"] == true
    };
    assert!(is_ok(&[]) && is_ok(&["--log", copy]));
    std::fs::write(copy, log.replace("a.txt", "b.txt")).unwrap();
    assert!(is_ok(&[]) && !is_ok(&["--log", copy]));
    std::fs::write(copy, &log).unwrap();
    project.write_state("audit.jsonl", &log.replace("a.txt", "b.txt"));
    assert!(!is_ok(&[]) && is_ok(&["--log", copy]));
    // Every one of several counts.
    let own = project.state().join("audit.jsonl").display().to_string();
    let several = project.run_json(&["audit", "verify", "--json", "--log", copy, "--log", &own]);
    assert_eq!(several["ok"], false);
    let reports = several["logs"].as_array().unwrap();
    let found: Vec<_> = reports.iter().map(|log| (&log["log"], &log["report"]["ok"])).collect();
    assert_eq!(found, [(&json!(copy), &json!(true)), (&json!(own), &json!(false))]);
    let missing = project.home.join("missing/audit.jsonl").display().to_string();
    for args in [&["--log", &missing][..], &["--log", copy, "--log", &missing]] {
        let text = project.run_text(&[&["audit", "verify"], args].concat());
        assert!(text.starts_with("exit: 2") && text.contains("error: no audit log at"), "{text}");
    }
}

/// One checkpoint proves the logs of several projects.
#[test]
fn seal_includes_each_named_log() {
    let project = project();
    let others = [with_calls(project.another()), with_calls(project.another())];
    others[1].run(&["call", "hello"]);
    let target = project.home.join("checkpoints.jsonl");
    let to = target.to_str().unwrap();
    let [first, second] =
        others.each_ref().map(|other| other.state().join("audit.jsonl").display().to_string());
    let args = ["audit", "seal", "--to", to, "--log", &first, "--log", &second, "--json"];
    let checkpoint = project.run_json(&args);
    let chains = checkpoint["checkpoint"]["chains"].as_array().unwrap();
    let ends: Vec<_> = chains.iter().map(|chain| chain["seq"].as_u64().unwrap()).collect();
    assert_eq!(ends, [5, 5, 6]);
    let key = String::from_utf8(project.run(&["audit", "seal", "--public-key"]).stdout).unwrap();
    let own = project.state().join("audit.jsonl").display().to_string();
    let verify = ["audit", "verify", "--against", to, "--public-key", key.trim()];
    // Each log is verified with the keys of its own project, wherever the command runs.
    for owner in [&project, &others[0], &others[1]] {
        let logs = ["--log", &own, "--log", &first, "--log", &second];
        let text = owner.run_text(&[&verify[..], &logs].concat());
        let proven = text.matches("proven up to seq").count();
        assert!(text.starts_with("exit: 0") && proven == 3, "{text}");
    }
    // A log that is left out could have been removed.
    let text = project.run_text(&[&verify[..], &["--log", &own, "--log", &first]].concat());
    let chain = chains[2]["chain"].as_str().unwrap();
    let expected = format!("chain {chain} is in none of the logs: checkpoints name it up to seq 6");
    assert!(text.starts_with("exit: 1") && text.contains(&expected), "{text}");
}

/// A holder of the key removes a sealed file and records that as configured.
#[test]
fn sealed_lines_are_kept_as_configured() {
    let limits = "[audit]\nmax_file_bytes = 4096\n";
    let project = Project::new().with("vouch.toml", &format!("{limits}keep_files = 1\n"));
    let checkpoints = project.home.join("checkpoints.jsonl");
    let to = checkpoints.to_str().unwrap();
    project.run(&["call", "hello"]);
    assert!(project.run_text(&["audit", "seal", "--to", to]).starts_with("exit: 0"));
    let first = project.state().join("audit.000001.jsonl");
    let second = project.state().join("audit.000002.jsonl");
    while !second.exists() {
        project.run(&["call", "hello"]);
    }
    assert!(!first.exists());
    let verify = || project.run_text(&["audit", "verify", "--against", to]);
    let text = verify();
    assert!(text.starts_with("exit: 0") && text.contains("as configured"), "{text}");
    project.write("vouch.toml", &format!("{limits}keep_files = 2\n"));
    let text = verify();
    let expected = "sealed lines 1–2 are gone: the log records their removal, but keep_files = 2 does not allow it";
    assert!(text.starts_with("exit: 1") && text.contains(expected), "{text}");
}
