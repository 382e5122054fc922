//! Calls to a child that has exited. A call is sent to a new child if the old one cannot have read it, and fails if it may have
//! run.
//!
//! The tests run on one thread and do not yield between the exit and the call. They therefore control whether the
//! connection has noticed the exit.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use link::{Connection, ConnectionError, StdioProgram};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{LIMIT, call, child, options, program, wait_until};

/// The processes of a connection: the server, and its supervisor.
#[derive(Clone, Copy)]
struct Processes {
    server: Pid,
    supervisor: Pid,
}

async fn processes(connection: &Connection) -> Processes {
    let answer = call(connection, "pids", json!({})).await.unwrap().structured.unwrap();
    let pid = |name: &str| {
        let pid = answer[name].as_i64().and_then(|pid| i32::try_from(pid).ok());
        pid.and_then(Pid::from_raw).unwrap()
    };
    Processes { server: pid("server"), supervisor: pid("supervisor") }
}

fn send_signal(pid: Pid, signal: Signal) {
    kill_process(pid, signal).unwrap();
}

/// Returns the state letter of a process: `Z` if it has exited and was not reaped, `None` once it is gone.
fn state(pid: Pid) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// Blocks the thread, so that the connection notices nothing meanwhile.
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
fn logging_program() -> (tempfile::TempDir, PathBuf, StdioProgram) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("calls");
    let mut program = program("handshake");
    program.env.insert("LOG".to_owned(), log.to_string_lossy().as_ref().into());
    (folder, log, program)
}

fn count_echoes(log: &PathBuf) -> usize {
    std::fs::read_to_string(log).unwrap().lines().filter(|line| *line == "echo").count()
}

/// Checks that a new process answers the call, and that the call ran once.
async fn check_answered_by_new_child(connection: &Connection, log: &PathBuf, old: Processes) {
    let answer = call(connection, "echo", json!({ "a": 1 })).await.unwrap();
    assert_eq!(answer.structured, Some(json!({ "a": 1 })));
    assert_ne!(processes(connection).await.server, old.server);
    assert_eq!(count_echoes(log), 1);
}

#[tokio::test]
async fn call_after_noticed_exit_goes_to_new_child() {
    let (_folder, log, program) = logging_program();
    let connection = Connection::new(options(program));
    let old = processes(&connection).await;
    kill_server(old.server);
    wait_until("the connection notices the exit", async || {
        !matches!(connection.status(), link::ConnectionStatus::Connected(_))
    })
    .await;
    check_answered_by_new_child(&connection, &log, old).await;
}

#[tokio::test]
async fn call_after_unnoticed_exit_goes_to_new_child() {
    let (_folder, log, program) = logging_program();
    let connection = Connection::new(options(program));
    let old = processes(&connection).await;
    kill_server(old.server);
    check_answered_by_new_child(&connection, &log, old).await;
}

/// The request is written successfully, because the supervisor holds the reading end of the pipe.
#[tokio::test]
async fn call_written_after_exit_into_open_pipe_goes_to_new_child() {
    let (_folder, log, program) = logging_program();
    let connection = Connection::new(options(program));
    let old = processes(&connection).await;
    stop_supervisor(old.supervisor);
    kill_server(old.server);
    // Longer than the connection waits for an exit status before it closes.
    let supervisor = thread::spawn(move || {
        thread::sleep(Duration::from_millis(500));
        send_signal(old.supervisor, Signal::CONT);
    });
    check_answered_by_new_child(&connection, &log, old).await;
    supervisor.join().unwrap();
}

/// With concurrent calls, a call rejected by the closed session must not change the byte count for the others.
#[tokio::test]
async fn calls_written_after_exit_all_go_to_new_child() {
    let connection = child("handshake");
    let old = processes(&connection).await;
    stop_supervisor(old.supervisor);
    kill_server(old.server);
    let supervisor = thread::spawn(move || {
        thread::sleep(Duration::from_millis(500));
        send_signal(old.supervisor, Signal::CONT);
    });
    let late = async {
        tokio::time::sleep(Duration::from_millis(350)).await;
        call(&connection, "echo", json!({ "late": true })).await
    };
    let (first, second, late) = tokio::join!(
        call(&connection, "echo", json!({})),
        call(&connection, "echo", json!({})),
        late
    );
    for answer in [first, second, late] {
        answer.unwrap();
    }
    supervisor.join().unwrap();
}

/// The request was written while the child ran and was still in the pipe at its exit, so it cannot have run.
#[tokio::test]
async fn call_that_living_child_did_not_read_goes_to_new_child() {
    let (_folder, log, program) = logging_program();
    let connection = Connection::new(options(program));
    let old = processes(&connection).await;
    send_signal(old.server, Signal::STOP);
    block_until(|| state(old.server) == Some('T'));
    let killer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        send_signal(old.server, Signal::KILL);
    });
    check_answered_by_new_child(&connection, &log, old).await;
    killer.join().unwrap();
}

#[tokio::test]
async fn call_that_child_read_before_exit_may_have_run() {
    let connection = child("handshake");
    let old = processes(&connection).await;
    let hanging = tokio::spawn({
        let connection = connection.clone();
        async move { call(&connection, "hang", json!({})).await }
    });
    wait_until("the server has read the call", async || {
        let seen = call(&connection, "seen", json!({})).await.unwrap().structured.unwrap();
        seen["requests"].to_string().contains("\"hang\"")
    })
    .await;
    // The supervisor is stopped: the count of read bytes does not depend on it.
    stop_supervisor(old.supervisor);
    kill_server(old.server);
    let error = hanging.await.unwrap().unwrap_err();
    send_signal(old.supervisor, Signal::CONT);
    assert!(matches!(error, ConnectionError::Unavailable { may_have_run: true, .. }), "{error:?}");
}

/// The child reads the call and exits because of it, so the call must not be retried.
#[tokio::test]
async fn call_that_ends_its_child_is_not_repeated() {
    let (_folder, log, program) = logging_program();
    let connection = Connection::new(options(program));
    let error = call(&connection, "die", Value::Object(serde_json::Map::new())).await.unwrap_err();
    assert!(matches!(error, ConnectionError::Unavailable { may_have_run: true, .. }), "{error:?}");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "die\n");
}
