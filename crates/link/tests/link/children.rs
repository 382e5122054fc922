//! Child processes end with their connection: when it is closed or dropped, and when its process is killed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use link::{Connection, ProgressSink, UpstreamCall};
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};

use crate::support::{LIMIT, call, call_text, child, options, program, wait_until};

fn is_running(pid: &Value) -> bool {
    let pid = pid.as_u64().unwrap();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start().starts_with('Z'));
    state == Some(false)
}

/// Returns the ids of the server, its supervisor, a grandchild in its own session, and an orphan.
async fn spawn_process_family(connection: &Connection) -> Vec<Value> {
    let spawned = call(connection, "spawn", json!({})).await.unwrap().structured.unwrap();
    let pids = spawned["pids"].as_array().unwrap().clone();
    assert!(pids.len() == 4 && pids.iter().all(is_running), "{pids:?}");
    pids
}

async fn wait_until_gone(pids: &[Value]) {
    wait_until("all processes have exited", async || !pids.iter().any(is_running)).await;
}

#[tokio::test]
async fn close_ends_all_processes() {
    let connection = child("handshake");
    let pids = spawn_process_family(&connection).await;
    connection.close().await;
    assert!(!pids.iter().any(is_running));
    let zombies = fs::read_to_string(format!("/proc/{}/stat", pids[1])).unwrap_or_default();
    assert_eq!(zombies, "");
}

/// If the lifeline stayed open, the supervisor would have to be killed and would leave grandchildren.
#[tokio::test]
async fn close_ends_all_processes_with_an_unread_response() {
    let connection = child("handshake");
    let pids = spawn_process_family(&connection).await;
    let clogged = Arc::new(AtomicBool::new(false));
    let clog = tokio::spawn({
        let (connection, clogged) = (connection.clone(), clogged.clone());
        async move {
            let none = Map::new();
            let progress: ProgressSink = Arc::new(move |_| clogged.store(true, Ordering::SeqCst));
            connection
                .call(UpstreamCall { progress: Some(progress), ..UpstreamCall::new("clog", &none) })
                .await
                .map(drop)
        }
    });
    wait_until("the server sent its request", async || clogged.load(Ordering::SeqCst)).await;
    connection.close().await;
    clog.await.unwrap().unwrap_err();
    wait_until_gone(&pids).await;
}

/// A server that holds both ends of its standard input never sees its end, and neither does its supervisor.
async fn hold_input(connection: &Connection) {
    let held = call_text(connection, "probe", json!({ "name": "hold input", "with": [] })).await;
    assert_eq!(held, "held");
}

#[tokio::test]
async fn close_ends_a_server_that_holds_its_input() {
    let connection = child("handshake");
    let pids = spawn_process_family(&connection).await;
    hold_input(&connection).await;
    connection.close().await;
    assert!(!pids.iter().any(is_running));
}

#[tokio::test]
async fn drop_ends_a_server_that_holds_its_input() {
    let connection = child("handshake");
    let pids = spawn_process_family(&connection).await;
    hold_input(&connection).await;
    drop(connection);
    wait_until_gone(&pids).await;
}

#[tokio::test]
async fn drop_ends_all_processes() {
    let connection = child("stateless");
    let pids = spawn_process_family(&connection).await;
    drop(connection);
    wait_until_gone(&pids).await;
}

#[tokio::test]
async fn server_exit_ends_its_descendants() {
    let connection = child("handshake");
    let pids = spawn_process_family(&connection).await;
    call(&connection, "die", json!({})).await.unwrap_err();
    wait_until_gone(&pids).await;
}

#[tokio::test]
async fn killed_supervisor_takes_the_server_with_it() {
    let connection = child("handshake");
    let pids = spawn_process_family(&connection).await;
    let killed = Command::new("kill").args(["-9", &pids[1].to_string()]).status().unwrap();
    assert!(killed.success());
    wait_until_gone(&pids[..1]).await;
    for pid in &pids[2..] {
        let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
    }
}

/// Connects to a program that prints its process id and never answers. The time limit passes once the id is known, so that
/// it does not depend on how long the program takes to start. Returns the id.
async fn time_out_once_started(connection: &Connection) -> Value {
    let pid = || connection.stderr_tail().trim().parse::<u64>();
    let started = async {
        wait_until("the program has started", async || pid().is_ok()).await;
        tokio::time::pause();
        // Twice: the probe and the whole attempt each have a limit.
        for _ in 0..2 {
            tokio::time::advance(LIMIT).await;
        }
        tokio::time::resume();
    };
    let (ended, ()) = tokio::join!(connection.connect(), started);
    ended.unwrap_err();
    pid().unwrap().into()
}

#[tokio::test]
async fn connect_timeout_ends_the_child() {
    let mut stubborn = program("handshake");
    stubborn.command = "sh".to_owned();
    stubborn.args =
        vec!["-c".into(), "trap '' TERM; echo $$ >&2; while :; do sleep 1; done".into()];
    let connection = Connection::new(options(stubborn));
    let pid = time_out_once_started(&connection).await;
    drop(connection);
    wait_until_gone(&[pid]).await;
}

/// The server sends a request whose response exceeds the pipe buffer, reads nothing, and sends nothing else.
#[tokio::test]
async fn connect_timeout_ends_the_child_with_an_unread_response() {
    let mut deaf = program("handshake");
    deaf.command = "sh".to_owned();
    let ping = r#"printf '{"jsonrpc":"2.0","id":"%0100000d","method":"ping"}\n' 0"#;
    deaf.args = vec!["-c".into(), format!("echo $$ >&2; {ping}; exec sleep 1000 < /dev/null")];
    let connection = Connection::new(options(deaf));
    let pid = time_out_once_started(&connection).await;
    drop(connection);
    wait_until_gone(&[pid]).await;
}

/// Not a test itself: the process that the next test kills.
#[tokio::test]
#[ignore = "run by killed_owner_ends_all_processes"]
async fn owner() {
    let Some(role) = std::env::var_os("LINK_TEST_OWNER") else { return };
    let connection = child("handshake");
    let pids = spawn_process_family(&connection).await;
    if role == "held" {
        hold_input(&connection).await;
    }
    println!("\npids {}", Value::from(pids));
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn killed_owner_ends_all_processes() {
    for role in ["free", "held"] {
        let mut owner = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "children::owner", "--ignored", "--nocapture"])
            .env("LINK_TEST_OWNER", role)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines().map_while(Result::ok);
        let pids = lines.find_map(|line| line.strip_prefix("pids ").map(str::to_owned));
        let pids: Vec<Value> = serde_json::from_str(&pids.unwrap()).unwrap();
        // SIGKILL: the owner runs no cleanup.
        owner.kill().unwrap();
        owner.wait().unwrap();
        wait_until_gone(&pids).await;
    }
}

#[tokio::test]
async fn child_gets_only_configured_environment_and_secrets_stay_hidden() {
    let mut program = program("handshake");
    program.env.insert("API_KEY".to_owned(), "s3cret-value".into());
    program.args.push("an argument with spaces".to_owned());
    let folder = tempfile::tempdir().unwrap();
    program.folder = folder.path().canonicalize().unwrap();
    let shown = format!("{:?}", options(program.clone()));
    assert!(!shown.contains("s3cret-value") && shown.contains("API_KEY"), "{shown}");
    let connection = Connection::new(options(program.clone()));
    let reported = call(&connection, "environ", json!({})).await.unwrap().structured.unwrap();
    let mut environ = reported["environ"].as_object().unwrap().clone();
    // Set by Python itself.
    environ.remove("LC_CTYPE");
    let expected: serde_json::Map<String, Value> = program
        .env
        .iter()
        .map(|(name, value)| (name.clone(), value.expose_secret().into()))
        .collect();
    assert_eq!(Value::Object(environ), Value::Object(expected));
    assert_eq!(reported["argv"], json!(["an argument with spaces"]));
    assert_eq!(reported["cwd"], program.folder.to_string_lossy().as_ref());
    let pids = spawn_process_family(&connection).await;
    for pid in &pids {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
        assert!(!line.contains("s3cret-value"), "{line}");
    }
    assert_eq!(fs::read_to_string(format!("/proc/{}/environ", pids[1])).unwrap(), "");
}
