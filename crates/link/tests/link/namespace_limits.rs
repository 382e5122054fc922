//! Resource limits of servers in namespaces, and the end of their processes.

use std::fs;
use std::path::Path;
use std::time::Duration;

use link::{Connection, ResourceLimits, SandboxPolicy};
use serde_json::json;

use crate::jail::{Account, Jail, probe};
use crate::support::{call, options, wait_until};

#[tokio::test]
async fn bounds_memory_and_open_files() {
    for account in Account::all() {
        let jail = Jail::new(account);
        let mut policy = jail.policy();
        policy.limits = ResourceLimits {
            memory: Some(300 << 20),
            open_files: Some(64),
            ..ResourceLimits::default()
        };
        let connection = jail.start(policy);
        assert_eq!(probe(&connection, "allocate", json!([64])).await, "64 MB");
        assert_eq!(probe(&connection, "allocate", json!([400])).await, "refused: ENOMEM");
        assert_eq!(probe(&connection, "open files", json!([30])).await, "30");
        assert_eq!(probe(&connection, "open files", json!([100])).await, "refused: EMFILE");
        // The private folder is bounded too.
        assert_eq!(probe(&connection, "fill", json!(["/tmp/big", 200])).await, "200 MB");
        assert_eq!(probe(&connection, "fill", json!(["/tmp/big", 300])).await, "refused: ENOSPC");
    }
}

#[tokio::test]
async fn bounds_processes() {
    for account in Account::all() {
        let jail = Jail::new(account);
        let mut policy = jail.policy();
        policy.limits = ResourceLimits { processes: Some(40), ..ResourceLimits::default() };
        let connection = jail.start(policy);
        assert_eq!(probe(&connection, "fork", json!([20])).await, "20", "{account:?}");
        assert_eq!(
            probe(&connection, "fork", json!([500])).await,
            "refused: EAGAIN",
            "{account:?}"
        );
        // It still works afterwards.
        assert_eq!(probe(&connection, "fork", json!([20])).await, "20", "{account:?}");
    }
}

#[tokio::test]
async fn bounds_processor_time() {
    let jail = Jail::new(Account::Current);
    let mut policy = jail.policy();
    policy.limits.cpu_seconds = Some(1);
    let connection = jail.start(policy);
    let outcome = probe(&connection, "burn", json!([])).await;
    assert!(["killed by 24", "killed by 9"].contains(&outcome.as_str()), "{outcome}");
}

/// Returns the processes of a jail: its supervisor, init, server, and everything that the server forked.
fn find_processes(jail: &Jail) -> Vec<(i32, String)> {
    let marks = ["supervisor", "code/server.py"].map(|name| jail.path(name));
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let line = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        let program = fs::read_link(entry.path().join("exe")).unwrap_or_default();
        let is_ours = |mark: &Path| program == mark || line.contains(&*mark.to_string_lossy());
        // A zombie has no command line.
        if !line.is_empty() && marks.iter().any(|mark| is_ours(mark)) {
            found.push((pid, line.replace('\0', " ")));
        }
    }
    found
}

async fn start_with_daemon(jail: &Jail) -> std::sync::Arc<Connection> {
    let connection = jail.start(jail.policy());
    probe(&connection, "escape", json!([])).await.parse::<u32>().unwrap();
    let running = find_processes(jail);
    let count = |mark: &str| running.iter().filter(|(_, line)| line.contains(mark)).count();
    assert_eq!(count("code/server.py"), 2, "{running:?}");
    connection
}

async fn wait_until_gone(jail: &Jail) {
    wait_until("all processes have exited", async || find_processes(jail).is_empty()).await;
}

#[tokio::test]
async fn daemon_ends_with_the_connection() {
    for account in Account::all() {
        let jail = Jail::new(account);
        let connection = start_with_daemon(&jail).await;
        connection.close().await;
        assert_eq!(find_processes(&jail), []);
    }
}

#[tokio::test]
async fn daemon_ends_with_the_server() {
    for account in Account::all() {
        let jail = Jail::new(account);
        let connection = start_with_daemon(&jail).await;
        call(&connection, "die", json!({})).await.unwrap_err();
        wait_until_gone(&jail).await;
    }
}

#[tokio::test]
async fn daemon_ends_with_a_killed_supervisor() {
    for account in Account::all() {
        let jail = Jail::new(account);
        let _connection = start_with_daemon(&jail).await;
        let mark = jail.path("supervisor").display().to_string();
        let supervisor =
            find_processes(&jail).into_iter().find(|(_, line)| line.starts_with(&mark));
        let pid = rustix::process::Pid::from_raw(supervisor.unwrap().0).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        wait_until_gone(&jail).await;
    }
}

/// The end of standard input does not tell the supervisor: the server and this process hold the pipe. The owner of the
/// supervisor is a shell, so that it can be killed.
#[tokio::test]
async fn daemon_that_holds_its_input_ends_with_a_killed_owner() {
    for account in Account::all() {
        let jail = Jail::new(account);
        let mut program = jail.program(SandboxPolicy::Namespaces(Box::new(jail.policy())));
        let script = "exec 3<&0; \"$@\" <&3 3<&- & exec 3<&-; wait";
        let mut owner: Vec<_> = ["sh", "-c", script, "owner"].map(Into::into).to_vec();
        owner.append(&mut program.supervisor);
        program.supervisor = owner;
        let connection = Connection::new(options(program));
        // The pipe belongs to the user who runs the test. This process holds it in either case.
        let expected = match account {
            Account::Current => "held",
            Account::Ordinary => "refused: EACCES",
        };
        assert_eq!(probe(&connection, "hold input", json!([])).await, expected);
        probe(&connection, "escape", json!([])).await.parse::<u32>().unwrap();
        let owner = find_processes(&jail).into_iter().find(|(_, line)| line.starts_with("sh -c"));
        let pid = rustix::process::Pid::from_raw(owner.unwrap().0).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        wait_until_gone(&jail).await;
    }
}

/// The supervisor is killed before the init of the namespaces has bound itself to it.
#[tokio::test]
async fn killed_supervisor_leaves_nothing_at_any_time() {
    let jail = Jail::new(Account::Current);
    for delay in 0..12 {
        let connection = jail.start(jail.policy());
        let connecting = tokio::spawn({
            let connection = connection.clone();
            async move { connection.connect().await.map(drop) }
        });
        let mark = jail.path("supervisor").display().to_string();
        wait_until("the supervisor runs", async || {
            find_processes(&jail).iter().any(|(_, line)| line.starts_with(&mark))
        })
        .await;
        std::thread::sleep(Duration::from_millis(delay * 3));
        for (pid, line) in find_processes(&jail) {
            if line.starts_with(&mark) {
                let pid = rustix::process::Pid::from_raw(pid).unwrap();
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        drop(connection);
        let _ = connecting.await;
        wait_until_gone(&jail).await;
    }
}

#[tokio::test]
async fn exit_status_of_the_server_is_reported() {
    let jail = Jail::new(Account::Current);
    for (script, expected) in [
        ("exit 3", "it exited with status 3"),
        ("kill -TERM $$", "it was killed by signal 15"),
        ("kill -SEGV $$", "it was killed by signal 11"),
    ] {
        let mut program = jail.program(SandboxPolicy::Namespaces(Box::new(jail.policy())));
        program.command = "sh".to_owned();
        program.args = vec!["-c".to_owned(), script.to_owned()];
        let error = Connection::new(options(program)).connect().await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
