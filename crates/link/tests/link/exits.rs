//! A call to a child that has exited: it goes to a new child if the old one cannot have read it, and fails if it may have run.
//!
//! The tests run on one thread and do not yield between the exit and the call, so they choose what the link has noticed.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use link::{Link, LinkError, Program};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{LIMIT, call, child, options, program, until};

/// The processes of a connected link: the server, and the supervisor above it.
#[derive(Clone, Copy)]
struct Processes {
    server: Pid,
    supervisor: Pid,
}

async fn processes(link: &Link) -> Processes {
    let answer = call(link, "pids", json!({})).await.unwrap().structured.unwrap();
    let pid = |name: &str| {
        let pid = answer[name].as_i64().and_then(|pid| i32::try_from(pid).ok());
        pid.and_then(Pid::from_raw).unwrap()
    };
    Processes { server: pid("server"), supervisor: pid("supervisor") }
}

fn send_signal(pid: Pid, signal: Signal) {
    kill_process(pid, signal).unwrap();
}

/// The letter for the state of a process, `Z` for one that has exited and was not reaped; None once it is gone.
fn state(pid: Pid) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// Blocks the thread, so that the link notices nothing meanwhile.
fn block_until(condition: impl Fn() -> bool) {
    let ends = Instant::now() + LIMIT;
    while !condition() {
        assert!(Instant::now() < ends, "the process does not change its state in time");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Kills the server and blocks until it has exited.
fn kill_server(server: Pid) {
    send_signal(server, Signal::KILL);
    block_until(|| matches!(state(server), None | Some('Z')));
}

/// Stops the supervisor, so that it does not reap the server and the pipe to the server keeps its reader.
fn stop_supervisor(supervisor: Pid) {
    send_signal(supervisor, Signal::STOP);
    block_until(|| state(supervisor) == Some('T'));
}

/// A server that appends the name of each tool it is called with to a file.
fn logging_program() -> (tempfile::TempDir, PathBuf, Program) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("calls");
    let mut program = program("handshake");
    program.env.insert("LOG".to_owned(), log.to_string_lossy().as_ref().into());
    (folder, log, program)
}

fn count_echoes(log: &PathBuf) -> usize {
    std::fs::read_to_string(log).unwrap().lines().filter(|line| *line == "echo").count()
}

/// The call is answered by another process, and ran once.
async fn check_answered_by_new_child(link: &Link, log: &PathBuf, old: Processes) {
    let answer = call(link, "echo", json!({ "a": 1 })).await.unwrap();
    assert_eq!(answer.structured, Some(json!({ "a": 1 })));
    assert_ne!(processes(link).await.server, old.server);
    assert_eq!(count_echoes(log), 1);
}

#[tokio::test]
async fn call_after_noticed_exit_goes_to_new_child() {
    let (_folder, log, program) = logging_program();
    let link = Link::new(options(program));
    let old = processes(&link).await;
    kill_server(old.server);
    until("the link notices", async || !matches!(link.status(), link::Status::Connected(_))).await;
    check_answered_by_new_child(&link, &log, old).await;
}

#[tokio::test]
async fn call_after_unnoticed_exit_goes_to_new_child() {
    let (_folder, log, program) = logging_program();
    let link = Link::new(options(program));
    let old = processes(&link).await;
    kill_server(old.server);
    check_answered_by_new_child(&link, &log, old).await;
}

/// The request is written successfully, because the supervisor holds the reading end of the pipe.
#[tokio::test]
async fn call_written_after_exit_into_open_pipe_goes_to_new_child() {
    let (_folder, log, program) = logging_program();
    let link = Link::new(options(program));
    let old = processes(&link).await;
    stop_supervisor(old.supervisor);
    kill_server(old.server);
    // Longer than the link waits for an exit status before it gives the connection up.
    let supervisor = thread::spawn(move || {
        thread::sleep(Duration::from_millis(500));
        send_signal(old.supervisor, Signal::CONT);
    });
    check_answered_by_new_child(&link, &log, old).await;
    supervisor.join().unwrap();
}

/// Two calls at a time: the one that is refused by the closed connection must not spoil the count for the other.
#[tokio::test]
async fn calls_written_after_exit_all_go_to_new_child() {
    let link = child("handshake");
    let old = processes(&link).await;
    stop_supervisor(old.supervisor);
    kill_server(old.server);
    let supervisor = thread::spawn(move || {
        thread::sleep(Duration::from_millis(500));
        send_signal(old.supervisor, Signal::CONT);
    });
    let late = async {
        tokio::time::sleep(Duration::from_millis(350)).await;
        call(&link, "echo", json!({ "late": true })).await
    };
    let (first, second, late) =
        tokio::join!(call(&link, "echo", json!({})), call(&link, "echo", json!({})), late);
    for answer in [first, second, late] {
        answer.unwrap();
    }
    supervisor.join().unwrap();
}

/// Written while the child lived, and still in the pipe when it was gone: it cannot have run.
#[tokio::test]
async fn call_that_living_child_did_not_read_goes_to_new_child() {
    let (_folder, log, program) = logging_program();
    let link = Link::new(options(program));
    let old = processes(&link).await;
    send_signal(old.server, Signal::STOP);
    block_until(|| state(old.server) == Some('T'));
    let killer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        send_signal(old.server, Signal::KILL);
    });
    check_answered_by_new_child(&link, &log, old).await;
    killer.join().unwrap();
}

#[tokio::test]
async fn call_that_child_read_before_exit_may_have_run() {
    let link = child("handshake");
    let old = processes(&link).await;
    let hanging = tokio::spawn({
        let link = link.clone();
        async move { call(&link, "hang", json!({})).await }
    });
    until("the server has read the call", async || {
        let seen = call(&link, "seen", json!({})).await.unwrap().structured.unwrap();
        seen["requests"].to_string().contains("\"hang\"")
    })
    .await;
    // The supervisor lags: what was read is known without it.
    stop_supervisor(old.supervisor);
    kill_server(old.server);
    let error = hanging.await.unwrap().unwrap_err();
    send_signal(old.supervisor, Signal::CONT);
    assert!(matches!(error, LinkError::Unavailable { may_have_run: true, .. }), "{error:?}");
}

/// The child reads the call, and exits because of it: it must not run a second time.
#[tokio::test]
async fn call_that_ends_its_child_is_not_repeated() {
    let (_folder, log, program) = logging_program();
    let link = Link::new(options(program));
    let error = call(&link, "die", Value::Object(serde_json::Map::new())).await.unwrap_err();
    assert!(matches!(error, LinkError::Unavailable { may_have_run: true, .. }), "{error:?}");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "die\n");
}
