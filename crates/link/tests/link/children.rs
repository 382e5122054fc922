//! Children end with us: when a link is closed or dropped, and when the process that holds it is killed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use link::{Call, Link, Options, ProgressSink};
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};

use crate::support::{call, child, options, program, until};

fn lives(pid: &Value) -> bool {
    let pid = pid.as_u64().unwrap();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start().starts_with('Z'));
    state == Some(false)
}

/// The server, its keeper, a grandchild in a session of its own, and an orphan.
async fn family(link: &Link) -> Vec<Value> {
    let spawned = call(link, "spawn", json!({})).await.unwrap().structured.unwrap();
    let pids = spawned["pids"].as_array().unwrap().clone();
    assert!(pids.len() == 4 && pids.iter().all(lives), "{pids:?}");
    pids
}

async fn check_gone(pids: &[Value]) {
    until("all processes are gone", async || !pids.iter().any(lives)).await;
}

#[tokio::test]
async fn after_close() {
    let link = child("handshake");
    let pids = family(&link).await;
    link.close().await;
    assert!(!pids.iter().any(lives));
    let zombies = fs::read_to_string(format!("/proc/{}/stat", pids[1])).unwrap_or_default();
    assert_eq!(zombies, "");
}

/// A keeper that had to be killed, because its lifeline stayed open, would leave grandchildren.
#[tokio::test]
async fn after_close_with_a_reply_unread() {
    let link = child("handshake");
    let pids = family(&link).await;
    let clogged = Arc::new(AtomicBool::new(false));
    let clog = tokio::spawn({
        let (link, clogged) = (link.clone(), clogged.clone());
        async move {
            let none = Map::new();
            let progress: ProgressSink = Arc::new(move |_| clogged.store(true, Ordering::SeqCst));
            link.call(Call { progress: Some(progress), ..Call::new("clog", &none) }).await.map(drop)
        }
    });
    until("it is asked", async || clogged.load(Ordering::SeqCst)).await;
    link.close().await;
    clog.await.unwrap().unwrap_err();
    check_gone(&pids).await;
}

#[tokio::test]
async fn after_drop() {
    let link = child("stateless");
    let pids = family(&link).await;
    drop(link);
    check_gone(&pids).await;
}

#[tokio::test]
async fn after_the_server_died() {
    let link = child("handshake");
    let pids = family(&link).await;
    call(&link, "die", json!({})).await.unwrap_err();
    check_gone(&pids).await;
}

#[tokio::test]
async fn after_the_keeper_was_killed() {
    let link = child("handshake");
    let pids = family(&link).await;
    let killed = Command::new("kill").args(["-9", &pids[1].to_string()]).status().unwrap();
    assert!(killed.success());
    check_gone(&pids[..1]).await;
    for pid in &pids[2..] {
        let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
    }
}

#[tokio::test]
async fn after_an_attempt_that_took_too_long() {
    let mut stubborn = program("handshake");
    stubborn.command = "sh".to_owned();
    stubborn.args =
        vec!["-c".into(), "trap '' TERM; echo $$ >&2; while :; do sleep 1; done".into()];
    let connect_timeout = std::time::Duration::from_millis(400);
    let link = Link::new(Options { connect_timeout, ..options(stubborn) });
    link.connect().await.unwrap_err();
    let pid: Value = link.stderr().trim().parse::<u64>().unwrap().into();
    drop(link);
    check_gone(&[pid]).await;
}

/// It asks something whose answer no pipe holds, reads nothing, and answers nothing.
#[tokio::test]
async fn after_an_attempt_that_left_a_reply_unread() {
    let mut deaf = program("handshake");
    deaf.command = "sh".to_owned();
    let ping = r#"printf '{"jsonrpc":"2.0","id":"%0100000d","method":"ping"}\n' 0"#;
    deaf.args = vec!["-c".into(), format!("echo $$ >&2; {ping}; exec sleep 1000 < /dev/null")];
    let connect_timeout = std::time::Duration::from_millis(400);
    let link = Link::new(Options { connect_timeout, ..options(deaf) });
    link.connect().await.unwrap_err();
    let pid: Value = link.stderr().trim().parse::<u64>().unwrap().into();
    drop(link);
    check_gone(&[pid]).await;
}

/// Not a test of its own: the process that the next test kills.
#[tokio::test]
#[ignore = "run by after_the_owner_was_killed"]
async fn owner() {
    if std::env::var_os("LINK_TEST_OWNER").is_none() {
        return;
    }
    let link = child("handshake");
    let pids = family(&link).await;
    println!("\npids {}", Value::from(pids));
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn after_the_owner_was_killed() {
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "children::owner", "--ignored", "--nocapture"])
        .env("LINK_TEST_OWNER", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    let pids =
        lines.map_while(Result::ok).find_map(|line| line.strip_prefix("pids ").map(str::to_owned));
    let pids: Vec<Value> = serde_json::from_str(&pids.unwrap()).unwrap();
    // SIGKILL: nothing of ours runs any more.
    owner.kill().unwrap();
    owner.wait().unwrap();
    check_gone(&pids).await;
}

#[tokio::test]
async fn the_environment_is_what_was_named_and_shows_nowhere() {
    let mut program = program("handshake");
    program.env.insert("API_KEY".to_owned(), "s3cret-value".into());
    program.args.push("an argument with spaces".to_owned());
    let folder = tempfile::tempdir().unwrap();
    program.folder = folder.path().canonicalize().unwrap();
    let shown = format!("{:?}", options(program.clone()));
    assert!(!shown.contains("s3cret-value") && shown.contains("API_KEY"), "{shown}");
    let link = Link::new(options(program.clone()));
    let told = call(&link, "environ", json!({})).await.unwrap().structured.unwrap();
    let mut environ = told["environ"].as_object().unwrap().clone();
    // Python sets it for itself.
    environ.remove("LC_CTYPE");
    let expected: serde_json::Map<String, Value> = program
        .env
        .iter()
        .map(|(name, value)| (name.clone(), value.expose_secret().into()))
        .collect();
    assert_eq!(Value::Object(environ), Value::Object(expected));
    assert_eq!(told["argv"], json!(["an argument with spaces"]));
    assert_eq!(told["cwd"], program.folder.to_string_lossy().as_ref());
    let pids = family(&link).await;
    for pid in &pids {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
        assert!(!line.contains("s3cret-value"), "{line}");
    }
    assert_eq!(fs::read_to_string(format!("/proc/{}/environ", pids[1])).unwrap(), "");
}
