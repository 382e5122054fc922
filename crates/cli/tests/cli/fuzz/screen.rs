//! The screen of `vouch fuzz` on a terminal: when it is shown, and that it leaves the terminal as it was.

use std::fs::File;
use std::io::{Read, Write};
use std::process::ExitStatus;

use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

use crate::support::{Project, send_signal, wait};

const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";

/// Something that somebody does once the screen is there.
enum Deed {
    Type(&'static str),
    Send(Signal),
}

/// Runs the command at a terminal. Each deed is done once the terminal has shown its text since the one before.
fn check(
    args: &[&str],
    environment: &[(&str, &str)],
    deeds: &[(&str, Deed)],
) -> (ExitStatus, String) {
    let project = Project::new();
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    tcsetwinsize(&master, Winsize { ws_col: 100, ws_row: 30, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let slave = File::from(slave);
    let before = format!("{:?}", tcgetattr(&master).unwrap());
    let mut command = project.command(&[&["fuzz", "--demo", "--seed", "1"], args].concat());
    command.env("TERM", "xterm-256color").envs(environment.iter().copied());
    command.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap()).stderr(slave);
    let mut child = command.spawn().unwrap();
    // The command holds the terminal, too; as long as it lives, what it writes does not end.
    drop(command);
    let mut master = File::from(master);
    let mut shown = String::new();
    let mut seen = 0;
    for (text, deed) in deeds {
        while !shown[seen..].contains(text) {
            assert!(read(&mut master, &mut shown), "it ended without {text:?}:\n{shown}");
        }
        seen = shown.len();
        match deed {
            Deed::Type(keys) => master.write_all(keys.as_bytes()).unwrap(),
            Deed::Send(signal) => send_signal(&child, *signal),
        }
    }
    while read(&mut master, &mut shown) {}
    let status = wait(&mut child);
    assert_eq!(format!("{:?}", tcgetattr(&master).unwrap()), before, "{shown}");
    (status, shown)
}

/// Reads more of what is shown; false once nobody writes any more, which Linux calls an error.
fn read(master: &mut File, shown: &mut String) -> bool {
    let mut buffer = [0; 4096];
    let count = master.read(&mut buffer).unwrap_or(0);
    shown.push_str(&String::from_utf8_lossy(&buffer[..count]));
    count > 0
}

/// Long enough for whatever is to happen; a campaign that nobody ends must not keep the test for ever.
const ENDLESS: [&str; 4] = ["--test-limit", "1000000000000", "--timeout", "60"];

/// The screen was there and is gone, and the results came after it.
fn assert_left(shown: &str) {
    assert_eq!((shown.matches(ENTER).count(), shown.matches(LEAVE).count()), (1, 1), "{shown}");
    let (_, after) = shown.split_once(LEAVE).unwrap();
    assert!(after.starts_with("\u{1b}[?25h"), "the cursor is back: {after:?}");
    // No table of functions: whoever ends it may be quicker than the first call.
    for text in ["echidna_fee_stays_within_its_limit: ", "seed", "because it was stopped"] {
        assert!(after.contains(text), "{text}: {after}");
    }
}

#[test]
fn q_ends_it_with_results() {
    let (status, shown) = check(&ENDLESS, &[], &[("running", Deed::Type("q"))]);
    assert!(matches!(status.code(), Some(1 | 130)), "{status} {shown}");
    assert_left(&shown);
}

#[test]
fn ctrl_c_is_a_key_and_a_campaign_can_pause() {
    let deeds = [
        ("running", Deed::Type("?")),
        ("Keys", Deed::Type("?p")),
        ("paused", Deed::Type("p")),
        ("running", Deed::Type("\u{3}")),
    ];
    assert_left(&check(&ENDLESS, &[], &deeds).1);
}

#[test]
fn a_signal_ends_it_with_results() {
    let (status, shown) = check(&ENDLESS, &[], &[("running", Deed::Send(Signal::TERM))]);
    assert!(matches!(status.code(), Some(1 | 130)), "{status} {shown}");
    assert_left(&shown);
}

#[test]
fn a_campaign_that_ends_ends_its_screen() {
    let (status, shown) = check(&["--test-limit", "10000"], &[("NO_COLOR", "1")], &[]);
    assert_eq!(status.code(), Some(1), "{shown}");
    let (screen, after) = shown.split_once(LEAVE).unwrap();
    assert!(screen.contains(ENTER), "{shown}");
    assert!(after.contains("FAILED") && after.contains("FUNCTION"), "{shown}");
    for color in ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[38;5;"] {
        assert!(!shown.contains(color), "{color:?} {shown}");
    }
}

#[test]
fn where_nobody_wants_it_there_are_lines() {
    let plain = |args: &[&str], environment: &[(&str, &str)]| {
        let args = [&["--test-limit", "1000"], args].concat();
        let (_, shown) = check(&args, environment, &[]);
        assert!(!shown.contains(ENTER), "{args:?} {environment:?} {shown}");
    };
    plain(&["--plain"], &[]);
    plain(&["--format", "text"], &[]);
    plain(&["--json"], &[]);
    plain(&["--quiet"], &[]);
    plain(&[], &[("CI", "true")]);
    plain(&[], &[("TERM", "dumb")]);
}
