//! What people read when something is wrong: what failed, why, and what to paste.

use std::net::TcpListener;

use crate::support::{Project, with_filters};

#[test]
fn wrong_configuration() {
    let texts = [
        "[server]\nprot = 1\n",
        "[server]\nport = \"x\"\n",
        "\n[tools.helo]\nenabled = false\n",
        "[memory]\nfolder = \"../up\"\n",
    ]
    .map(|config| {
        let project = Project::new().with("vouch.toml", config);
        format!("{config}{}", project.transcript(&[&["tools"]]))
    });
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn wrong_places() {
    insta::assert_snapshot!(
        Project::new()
            .transcript(&[&["tools", "--config", "no.toml"], &["tools", "--root", "nowhere"],])
    );
}

#[test]
fn wrong_environment() {
    let project = Project::new();
    let run = |variables: &[(&str, &str)]| {
        let mut command = project.command(&["serve", "--port", "0"]);
        let output = command.envs(variables.iter().copied()).output().unwrap();
        format!("{variables:?}\n{}", project.show(&output))
    };
    let texts = [
        run(&[("VOUCH_HOST", "example.com")]),
        run(&[("VOUCH_LOG", "a=b=c")]),
        run(&[("VOUCH_TOKEN_FILE", "none")]),
        run(&[("VOUCH_TOKEN", "short")]),
        run(&[("VOUCH_TOKEN", "a"), ("VOUCH_TOKEN_FILE", "b")]),
        run(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317")]),
    ];
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn a_port_that_is_taken() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let text = Project::new().check(&["serve", "--port", &port]);
    with_filters(|| insta::assert_snapshot!(text));
}

#[test]
fn no_token_beyond_loopback() {
    insta::assert_snapshot!(Project::new().check(&["serve", "--host", "0.0.0.0", "--port", "0"]));
}

#[test]
fn wrong_flags() {
    insta::assert_snapshot!(Project::new().transcript(&[
        &["serve", "--host", "example.com"],
        &["serve", "--stdio", "--port", "1"],
        &["stats", "--since", "soon"],
        &["srve"],
        &["tools", "helo"],
        &["explain", "C0012"],
        &["explain", "ACESS_DENIED"],
        &["connect", "claude-code", "--name", "a b"],
    ]));
}

#[test]
fn a_store_that_cannot_be_opened() {
    let project = Project::new()
        .with(".vouch/vouch.db", "not a database, but long enough to look like one\n");
    insta::assert_snapshot!(project.check(&["call", "hello"]));
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let project = Project::new();
    let mut child = project
        .command(&["contracts"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(project.show(&output), "exit: 0\n--- out\n--- err\n");
}
