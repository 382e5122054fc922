//! A person at a terminal is asked there.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::support::{Project, wait};

const CALL: [&str; 4] =
    ["call", "write_memory_entry", "file=best_practices.md", "entry=- one\n- two \u{9}tab"];

/// Runs a command that asks, types an answer, and gives the exit code and what the terminal showed until then.
fn check(project: &Project, args: &[&str], typed: &str) -> (i32, String) {
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
    let status = wait(&mut child);
    (status.code().unwrap(), String::from_utf8(shown).unwrap().replace("\r\n", "\n"))
}

#[test]
fn yes_and_no() {
    let project = Project::new();
    for (typed, code) in [("\n", 1), ("n\n", 1), ("maybe\n", 1), ("y\n", 0)] {
        assert_eq!(check(&project, &CALL, typed).0, code, "{typed:?}");
    }
    assert_eq!(project.read(".claude/memory/best_practices.md"), "- one\n- two \ttab\n");
    insta::assert_snapshot!(check(&project, &CALL, "n\n").1);
}

#[test]
fn nothing_is_approved_unseen() {
    let project = Project::new();
    // Without a terminal the call is queued.
    let queued = project.json(&CALL);
    let id = queued["error"]["details"]["approvalId"].as_str().unwrap();
    let approve = ["approvals", "approve", id];
    let state = || project.json(&["approvals", "show", id, "--json"])["state"].clone();
    let (code, shown) = check(&project, &approve, "\n");
    assert_eq!((code, state()), (1, "pending".into()));
    insta::assert_snapshot!(shown);
    assert_eq!(check(&project, &approve, "n\n").0, 1);
    assert_eq!(state(), "pending");
    assert_eq!(check(&project, &approve, "y\n").0, 0);
    assert_eq!(state(), "approved");
    assert_eq!(project.json(&CALL)["success"], true);
}
