//! The first stage: starts the second, waits for our end or the server's, and leaves nothing running.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions};

use super::STAGE;

/// For a server to end by itself once its input has ended.
const GRACE: Duration = Duration::from_secs(1);
/// For the processes that are left to obey.
const OBEY: Duration = Duration::from_millis(500);
/// For the kernel to take away what was killed.
const KILLED: Duration = Duration::from_secs(2);
const ROUND: Duration = Duration::from_millis(20);
const FAILED: u8 = 125;

pub(super) fn run() -> ExitCode {
    // Away from the terminal: an interrupt there is meant for us, and what we do then closes the lifeline.
    let _ = rustix::process::setsid();
    let own = rustix::process::getpid();
    let Ok(events) = rustix::process::set_child_subreaper(Some(own))
        .map_err(std::io::Error::from)
        .and_then(|()| start(own))
    else {
        return ExitCode::from(FAILED);
    };
    ExitCode::from(keep(own, events))
}

/// Starts the second stage, and a thread that reaps: it sends one byte, the status of the server, and hangs up when no
/// process is left below us.
fn start(own: Pid) -> std::io::Result<File> {
    let server = Command::new("/proc/self/exe")
        .args(std::env::args_os().skip(1))
        .env_clear()
        .env(STAGE, own.as_raw_nonzero().to_string())
        .spawn()?;
    // Output ends when the server's does, not when ours does.
    let nowhere = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    let (events, reaped) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let mut reaped = File::from(reaped);
    let server = server.id();
    thread::Builder::new().spawn(move || {
        loop {
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid.as_raw_nonzero().get().cast_unsigned() == server => {
                    let code = match (status.exit_status(), status.terminating_signal()) {
                        (Some(code), _) => code,
                        (None, signal) => 128 + signal.unwrap_or(0),
                    };
                    let _ = reaped.write_all(&[u8::try_from(code).unwrap_or(FAILED)]);
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    })?;
    Ok(events.into())
}

/// Waits for either end, then clears up. The status of the server.
fn keep(own: Pid, mut events: File) -> u8 {
    let stdin = rustix::stdio::stdin();
    let mut code = None;
    loop {
        // Nothing is asked of standard input but whether it hangs up.
        let mut fds =
            [PollFd::new(&stdin, PollFlags::empty()), PollFd::new(&events, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break,
        }
        let [lifeline, server] = fds.map(|fd| !fd.revents().is_empty());
        if server {
            break;
        }
        if lifeline {
            wait(&events, GRACE);
            break;
        }
    }
    if next(&mut events, Duration::ZERO, &mut code) {
        for (signal, patience) in [(Signal::TERM, OBEY), (Signal::KILL, KILLED)] {
            let until = Instant::now() + patience;
            let mut first = true;
            loop {
                // A child that is asked once has heard; one that must go is hunted, as it may still be starting others.
                if std::mem::take(&mut first) || signal == Signal::KILL {
                    for pid in below(own) {
                        let _ = rustix::process::kill_process(pid, signal);
                    }
                }
                if !next(&mut events, ROUND, &mut code) {
                    return code.unwrap_or(FAILED);
                }
                if Instant::now() >= until {
                    break;
                }
            }
        }
    }
    code.unwrap_or(FAILED)
}

fn wait(events: &File, limit: Duration) -> bool {
    let timeout =
        Timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: limit.subsec_nanos().into() };
    let mut fds = [PollFd::new(events, PollFlags::IN)];
    matches!(poll(&mut fds, Some(&timeout)), Ok(1..))
}

/// Takes in what the reaper says within the limit; false once nobody is left.
fn next(events: &mut File, limit: Duration, code: &mut Option<u8>) -> bool {
    while wait(events, if code.is_none() { limit } else { limit.min(ROUND) }) {
        let mut byte = [0];
        match events.read(&mut byte) {
            Ok(1) => *code = Some(byte[0]),
            Ok(_) => return false,
            Err(_) => return true,
        }
    }
    true
}

/// Every process below this one: children, theirs, and orphans that came to us.
fn below(own: Pid) -> Vec<Pid> {
    let parents: Vec<(i32, i32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            // `pid (name) state ppid …`, and the name may hold anything.
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
            Some((pid, parent))
        })
        .collect();
    let mut found = vec![own.as_raw_nonzero().get()];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        let children = parents.iter().filter(|(pid, of)| *of == parent && !found.contains(pid));
        let children: Vec<i32> = children.map(|(pid, _)| *pid).collect();
        found.extend(children);
        at += 1;
    }
    found.into_iter().skip(1).filter_map(Pid::from_raw).collect()
}
