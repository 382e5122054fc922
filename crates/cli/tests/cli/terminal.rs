//! Prompts at a terminal: calls are approved or denied there.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::support::{Project, wait_for_exit};

const CALL: [&str; 4] =
    ["call", "write_memory_entry", "file=best_practices.md", "entry=- one\n- two \u{9}tab"];

/// Runs a command that prompts and types an answer. Returns the exit code and the output up to the prompt.
fn answer_prompt(project: &Project, args: &[&str], typed: &str) -> (i32, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let slave = File::from(slave);
    let mut child = project
        .command(&[&["--color", "never"], args].concat())
        .stdin(slave.try_clone().unwrap())
        .stdout(Stdio::null())
        .stderr(slave)
        .spawn()
        .unwrap();
    let mut master = File::from(master);
    let mut shown = Vec::new();
    while !String::from_utf8_lossy(&shown).contains("[y/N]") {
        let mut buffer = [0; 1024];
        let count = master.read(&mut buffer).unwrap();
        shown.extend(&buffer[..count]);
    }
    master.write_all(typed.as_bytes()).unwrap();
    let status = wait_for_exit(&mut child);
    (status.code().unwrap(), String::from_utf8(shown).unwrap().replace("\r\n", "\n"))
}

#[test]
fn approves_only_on_yes() {
    let project = Project::new();
    for (typed, code) in [("\n", 1), ("n\n", 1), ("maybe\n", 1), ("y\n", 0)] {
        assert_eq!(answer_prompt(&project, &CALL, typed).0, code, "{typed:?}");
    }
    assert_eq!(project.read(".claude/memory/best_practices.md"), "- one\n- two \ttab\n");
    insta::assert_snapshot!(answer_prompt(&project, &CALL, "n\n").1);
}

#[test]
fn shows_call_before_approval() {
    let project = Project::new();
    // Without a terminal the call is queued.
    let queued = project.run_json(&CALL);
    let id = queued["error"]["details"]["approvalId"].as_str().unwrap();
    let approve = ["approvals", "approve", id];
    let state = || project.run_json(&["approvals", "show", id, "--json"])["state"].clone();
    let (code, shown) = answer_prompt(&project, &approve, "\n");
    assert_eq!((code, state()), (1, "pending".into()));
    insta::assert_snapshot!(shown);
    assert_eq!(answer_prompt(&project, &approve, "n\n").0, 1);
    assert_eq!(state(), "pending");
    assert_eq!(answer_prompt(&project, &approve, "y\n").0, 0);
    assert_eq!(state(), "approved");
    assert_eq!(project.run_json(&CALL)["success"], true);
}
