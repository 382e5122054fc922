//! The first stage: starts the second, waits for the end of the owner or the server, and leaves no process running.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions};

use super::control_socket::ControlSocket;
use super::owner_watch::OwnerWatch;
use super::spec::{StartFailure, SupervisorSpec};
use super::{STAGE_VARIABLE, START_FAILED, egress_proxy, namespaces};
use crate::{NetworkAccess, SandboxPolicy};

/// Time for a server to exit by itself after the end of its input.
const EXIT_LIMIT: Duration = Duration::from_secs(1);
/// Time for the remaining processes to react to SIGTERM.
const TERM_LIMIT: Duration = Duration::from_millis(500);
/// Time for processes to disappear after SIGKILL.
const KILL_LIMIT: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Exit code if the status of the server is unknown.
const UNKNOWN_STATUS: u8 = 125;

/// Runs the first stage. Returns the exit code of the server.
pub(super) fn run_supervisor_stage() -> ExitCode {
    // Detached from the terminal: Ctrl-C there is for the owner, which closes the lifeline in response.
    let _ = rustix::process::setsid();
    let Ok(watch) = OwnerWatch::new() else {
        return ExitCode::from(UNKNOWN_STATUS);
    };
    let Ok(spec) = read_spec() else {
        return ExitCode::from(UNKNOWN_STATUS);
    };
    // The owner may have exited before it was watched. No server holds the pipe yet, so it says so reliably.
    if is_hung_up() {
        return ExitCode::from(UNKNOWN_STATUS);
    }
    let own = rustix::process::getpid();
    let started = check_watch(&watch, &spec).and_then(|()| start_server_stage(own, &spec));
    match started {
        Ok((events, _control)) => ExitCode::from(supervise_server(own, events, &watch)),
        Err(complaint) => {
            let _ = std::io::stdout().write_all(&complaint.into_line(&spec.nonce));
            ExitCode::from(START_FAILED)
        }
    }
}

/// Reads the spec from standard input, and nothing beyond it.
fn read_spec() -> std::io::Result<SupervisorSpec> {
    SupervisorSpec::read_from(File::from(rustix::io::dup(rustix::stdio::stdin())?))
}

/// Returns true if the owner has closed standard input.
fn is_hung_up() -> bool {
    let stdin = rustix::stdio::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::empty())];
    let polled = poll(&mut fds, Some(&Timespec::default()));
    polled.is_err() || fds[0].revents().contains(PollFlags::HUP)
}

/// Returns an error if the end of the owner cannot be noticed, unless the server is trusted anyway.
fn check_watch(watch: &OwnerWatch, spec: &SupervisorSpec) -> Result<(), StartFailure> {
    match (&watch.process, &spec.sandbox) {
        (Ok(_), _) | (Err(_), SandboxPolicy::Off) => Ok(()),
        (Err(error), _) => Err(namespaces::missing_part("process descriptors (pidfd)", error)),
    }
}

fn internal_failure(error: impl Into<std::io::Error>) -> StartFailure {
    StartFailure::Program(format!("its supervisor failed ({})", error.into()))
}

/// Starts the second stage and a thread that reaps processes. Returns a pipe from that thread, which sends one byte, the
/// exit status of the server, and hangs up when no descendant is left; and the socket to the second stage, which must stay
/// open.
fn start_server_stage(
    own: Pid,
    spec: &SupervisorSpec,
) -> Result<(File, ControlSocket), StartFailure> {
    rustix::process::set_child_subreaper(Some(own)).map_err(internal_failure)?;
    let policy = match &spec.sandbox {
        SandboxPolicy::Namespaces(policy) => Some(policy),
        SandboxPolicy::Off | SandboxPolicy::Landlock { .. } => None,
    };
    if policy.is_some() {
        namespaces::enter_user_namespace()?;
    }
    let (control, stage_end) = ControlSocket::new_pair().map_err(internal_failure)?;
    let (events, reaped) =
        rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(internal_failure)?;
    let (started, is_started) = mpsc::channel();
    let has_namespaces = policy.is_some();
    // The thread that starts the stage lives as long as the stage: the kernel kills the stage when its parent thread ends.
    let reaper = move || match spawn_server_stage(stage_end, has_namespaces) {
        Ok(server) => {
            let _ = started.send(Ok(()));
            reap_processes(server, reaped.into());
        }
        Err(failure) => {
            let _ = started.send(Err(failure));
        }
    };
    thread::Builder::new().spawn(reaper).map_err(internal_failure)?;
    is_started.recv().map_err(|_| internal_failure(std::io::ErrorKind::BrokenPipe))??;
    // The owner must see the end of output when the server exits, so the supervisor closes its own copies.
    close_output().map_err(internal_failure)?;
    // If the second stage has exited, the reaper reports it.
    let _ = control.send_spec(rustix::stdio::stdin(), spec);
    if let Some(NetworkAccess::Hosts(hosts)) = policy.map(|policy| &policy.network)
        && let Ok(Some(listener)) = control.receive_descriptor()
    {
        let hosts = hosts.clone();
        let proxy = move || egress_proxy::serve_proxy(&TcpListener::from(listener), &hosts);
        thread::Builder::new().spawn(proxy).map_err(internal_failure)?;
    }
    Ok((events.into(), control))
}

/// Starts the second stage with the socket as its standard input. Returns its process id.
fn spawn_server_stage(stdin: OwnedFd, has_namespaces: bool) -> Result<u32, StartFailure> {
    if has_namespaces {
        namespaces::enter_process_namespace()?;
    }
    let stage = Command::new("/proc/self/exe")
        .args(std::env::args_os().skip(1))
        .env_clear()
        .env(STAGE_VARIABLE, "server")
        // The allocator of `vouch` reserves 1 GiB at a time, which would count as memory of the server.
        .env("MIMALLOC_ARENA_RESERVE", "0")
        .stdin(Stdio::from(stdin))
        .spawn()
        .map_err(internal_failure)?;
    Ok(stage.id())
}

fn close_output() -> std::io::Result<()> {
    let nowhere = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    Ok(())
}

/// Reaps processes until none is left, and reports the exit status of the server.
fn reap_processes(server: u32, mut reaped: File) {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get().cast_unsigned() == server => {
                let code = match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => code,
                    (None, signal) => 128 + signal.unwrap_or(0),
                };
                let _ = reaped.write_all(&[u8::try_from(code).unwrap_or(UNKNOWN_STATUS)]);
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Waits for the end of the lifeline, the owner or the server, then ends the remaining processes. Returns the status of the
/// server.
fn supervise_server(own: Pid, mut events: File, watch: &OwnerWatch) -> u8 {
    let stdin = rustix::stdio::stdin();
    let mut code = None;
    loop {
        // Standard input is polled only for hang-up.
        let mut fds =
            vec![PollFd::new(&events, PollFlags::IN), PollFd::new(&stdin, PollFlags::empty())];
        fds.extend(watch.descriptors().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break,
        }
        let mut is_ready = fds.iter().map(|fd| !fd.revents().is_empty());
        if is_ready.next() == Some(true) {
            break;
        }
        if is_ready.any(|ready| ready) {
            wait_readable(&events, EXIT_LIMIT);
            break;
        }
    }
    if read_reaper_events(&mut events, Duration::ZERO, &mut code) {
        for (signal, patience) in [(Signal::TERM, TERM_LIMIT), (Signal::KILL, KILL_LIMIT)] {
            let until = Instant::now() + patience;
            let mut first = true;
            loop {
                // SIGTERM is sent once. SIGKILL is repeated, because processes may still be starting others.
                if std::mem::take(&mut first) || signal == Signal::KILL {
                    for pid in find_descendants(own) {
                        let _ = rustix::process::kill_process(pid, signal);
                    }
                }
                if !read_reaper_events(&mut events, POLL_INTERVAL, &mut code) {
                    return code.unwrap_or(UNKNOWN_STATUS);
                }
                if Instant::now() >= until {
                    break;
                }
            }
        }
    }
    code.unwrap_or(UNKNOWN_STATUS)
}

/// Waits until the pipe is readable or hangs up. Returns false after the limit.
fn wait_readable(events: &File, limit: Duration) -> bool {
    let timeout =
        Timespec { tv_sec: limit.as_secs().cast_signed(), tv_nsec: limit.subsec_nanos().into() };
    let mut fds = [PollFd::new(events, PollFlags::IN)];
    matches!(poll(&mut fds, Some(&timeout)), Ok(1..))
}

/// Reads the events of the reaper within the limit. Returns false once no process is left.
fn read_reaper_events(events: &mut File, limit: Duration, code: &mut Option<u8>) -> bool {
    while wait_readable(events, if code.is_none() { limit } else { limit.min(POLL_INTERVAL) }) {
        let mut byte = [0];
        match events.read(&mut byte) {
            Ok(1) => *code = Some(byte[0]),
            Ok(_) => return false,
            Err(_) => return true,
        }
    }
    true
}

/// Returns all descendants of this process, including orphans that were reparented to it.
fn find_descendants(own: Pid) -> Vec<Pid> {
    let parents: Vec<(i32, i32)> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            // Format: `pid (name) state ppid …`. The name may contain any characters.
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
            Some((pid, parent))
        })
        .collect();
    let mut found = vec![own.as_raw_nonzero().get()];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        let children =
            parents.iter().filter(|(pid, of_parent)| *of_parent == parent && !found.contains(pid));
        let children: Vec<i32> = children.map(|(pid, _)| *pid).collect();
        found.extend(children);
        at += 1;
    }
    found.into_iter().skip(1).filter_map(Pid::from_raw).collect()
}
