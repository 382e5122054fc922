//! Eight processes append to one log and are killed repeatedly. Each acknowledged record must be in the log once.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use store::audit::{self, AuditCall, AuditEntry};
use tempfile::TempDir;

use crate::audit::{call_record, open_log, verify as verify_log};

const LOG_PATH_VARIABLE: &str = "VOUCH_TEST_AUDIT_LOG";
const PROCESSES: usize = 8;
/// Number of times that each process is started and killed.
const KILLS_PER_PROCESS: usize = 12;

/// The child process of the other test; does nothing when run as a test itself.
#[tokio::test]
async fn append_until_killed() {
    let Some(path) = std::env::var_os(LOG_PATH_VARIABLE) else { return };
    let log = open_log(Path::new(&path)).unwrap();
    let mut out = std::io::stdout();
    for n in 0_u64.. {
        // Batches of several pages, so that a kill can interrupt a write.
        for filler in 0..40 {
            log.append(AuditCall { trace: Some("x".repeat(300)), ..call_record(filler) });
        }
        let id = format!("{}-{n}", std::process::id());
        log.append_durable(AuditCall { caller: id.clone(), ..call_record(n) }).await.unwrap();
        // One write, so that an acknowledgement is never incomplete.
        if out.write_all(format!("ack {id}\n").as_bytes()).and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

#[test]
fn killed_processes_lose_no_acknowledged_records() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("audit.jsonl");
    let acknowledged = Mutex::new(vec![]);
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            let (path, acknowledged) = (&path, &acknowledged);
            scope.spawn(move || {
                for run in 0..KILLS_PER_PROCESS {
                    let mut child = Command::new(std::env::current_exe().unwrap())
                        .args([
                            "--exact",
                            "crash::append_until_killed",
                            "--nocapture",
                            "--test-threads=1",
                        ])
                        .env(LOG_PATH_VARIABLE, path)
                        .stdout(Stdio::piped())
                        .spawn()
                        .unwrap();
                    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
                    // Each process is killed after a different number of acknowledgements, during its next write.
                    let mut left = 1 + (process * 7 + run * 5) % 23;
                    for line in lines.map_while(Result::ok) {
                        let Some(id) = line.split("ack ").nth(1) else { continue };
                        acknowledged.lock().unwrap().push(id.to_owned());
                        left = left.saturating_sub(1);
                        if left == 0 {
                            // Acknowledgements sent before the signal arrives are read as well.
                            let _ = child.kill();
                        }
                    }
                    child.wait().unwrap();
                }
            });
        }
    });

    drop(open_log(&path).unwrap());
    let report = verify_log(&path).unwrap();
    assert!(report.ok, "{:?}", report.problems);
    let mut found: HashMap<String, usize> = HashMap::new();
    for line in audit::read_records(&path).unwrap() {
        if let AuditEntry::Call(record) = line.unwrap().entry {
            *found.entry(record.caller).or_default() += 1;
        }
    }
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(acknowledged.len() >= PROCESSES * KILLS_PER_PROCESS);
    for id in &acknowledged {
        assert_eq!(found.get(id), Some(&1), "{id}");
    }
    println!(
        "{} acknowledged, {} lines, {} repairs",
        acknowledged.len(),
        report.lines,
        report.notes.len()
    );
}
