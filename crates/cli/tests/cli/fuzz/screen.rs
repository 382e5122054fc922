//! The full-screen view of `vouch fuzz`: when it is shown, its keys, and that it restores the terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::process::ExitStatus;

use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};

use crate::support::{Project, send_signal, wait_for_exit};

const ENTER: &str = "\u{1b}[?1049h";
const LEAVE: &str = "\u{1b}[?1049l";

/// An input to the running command.
enum UserInput {
    Type(&'static str),
    Send(Signal),
}

/// Runs the command at a terminal. Each action is performed once its text appeared after the previous action.
///
/// Returns the exit status and everything that was shown. Panics if the terminal mode is not restored.
fn run_at_terminal(
    args: &[&str],
    environment: &[(&str, &str)],
    inputs: &[(&str, UserInput)],
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
    // The command also holds the terminal, which would keep reads from ending.
    drop(command);
    let mut master = File::from(master);
    let mut shown = String::new();
    let mut seen = 0;
    for (text, input) in inputs {
        while !shown[seen..].contains(text) {
            assert!(read_output(&mut master, &mut shown), "it ended without {text:?}:\n{shown}");
        }
        seen = shown.len();
        match input {
            UserInput::Type(keys) => master.write_all(keys.as_bytes()).unwrap(),
            UserInput::Send(signal) => send_signal(&child, *signal),
        }
    }
    while read_output(&mut master, &mut shown) {}
    let status = wait_for_exit(&mut child);
    assert_eq!(format!("{:?}", tcgetattr(&master).unwrap()), before, "{shown}");
    (status, shown)
}

/// Reads more output. Returns false once the terminal is closed, which Linux reports as an error.
fn read_output(master: &mut File, shown: &mut String) -> bool {
    let mut buffer = [0; 4096];
    let count = master.read(&mut buffer).unwrap_or(0);
    shown.push_str(&String::from_utf8_lossy(&buffer[..count]));
    count > 0
}

/// Flags for a campaign that outlasts the test. The timeout ends it if the test does not.
const ENDLESS: [&str; 4] = ["--test-limit", "1000000000000", "--timeout", "60"];

/// Asserts that the screen was opened and closed once, and that the results were printed after it.
fn assert_screen_closed(shown: &str) {
    assert_eq!((shown.matches(ENTER).count(), shown.matches(LEAVE).count()), (1, 1), "{shown}");
    let (_, after) = shown.split_once(LEAVE).unwrap();
    assert!(after.starts_with("\u{1b}[?25h"), "the cursor is back: {after:?}");
    // The table of functions may be missing: the campaign may be stopped before its first call.
    for text in ["echidna_fee_stays_within_its_limit: ", "seed", "because it was stopped"] {
        assert!(after.contains(text), "{text}: {after}");
    }
}

#[test]
fn q_stops_and_prints_results() {
    let (status, shown) = run_at_terminal(&ENDLESS, &[], &[("running", UserInput::Type("q"))]);
    assert!(matches!(status.code(), Some(1 | 130)), "{status} {shown}");
    assert_screen_closed(&shown);
}

#[test]
fn pauses_resumes_and_stops_on_ctrl_c_key() {
    let inputs = [
        ("running", UserInput::Type("?")),
        ("Keys", UserInput::Type("?p")),
        ("paused", UserInput::Type("p")),
        ("running", UserInput::Type("\u{3}")),
    ];
    assert_screen_closed(&run_at_terminal(&ENDLESS, &[], &inputs).1);
}

#[test]
fn signal_stops_and_prints_results() {
    let (status, shown) =
        run_at_terminal(&ENDLESS, &[], &[("running", UserInput::Send(Signal::TERM))]);
    assert!(matches!(status.code(), Some(1 | 130)), "{status} {shown}");
    assert_screen_closed(&shown);
}

#[test]
fn screen_closes_when_campaign_ends() {
    let (status, shown) = run_at_terminal(&["--test-limit", "10000"], &[("NO_COLOR", "1")], &[]);
    assert_eq!(status.code(), Some(1), "{shown}");
    let (screen, after) = shown.split_once(LEAVE).unwrap();
    assert!(screen.contains(ENTER), "{shown}");
    assert!(after.contains("FAILED") && after.contains("FUNCTION"), "{shown}");
    for color in ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[38;5;"] {
        assert!(!shown.contains(color), "{color:?} {shown}");
    }
}

#[test]
fn prints_lines_where_screen_is_unwanted() {
    let plain = |args: &[&str], environment: &[(&str, &str)]| {
        let args = [&["--test-limit", "1000"], args].concat();
        let (_, shown) = run_at_terminal(&args, environment, &[]);
        assert!(!shown.contains(ENTER), "{args:?} {environment:?} {shown}");
    };
    plain(&["--plain"], &[]);
    plain(&["--format", "text"], &[]);
    plain(&["--json"], &[]);
    plain(&["--quiet"], &[]);
    plain(&[], &[("CI", "true")]);
    plain(&[], &[("TERM", "dumb")]);
}
