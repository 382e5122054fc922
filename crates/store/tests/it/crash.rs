//! Eight processes append to one log and are killed at random; whatever was acknowledged is there, once.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use store::audit::{self, AuditLog, Entry, Record};
use tempfile::TempDir;

use crate::audit::record;

const LOG: &str = "VOUCH_TEST_AUDIT_LOG";
const PROCESSES: usize = 8;
/// Each process is killed this many times, and started again.
const LIVES: usize = 12;

/// Not a test by itself: the other one runs it as a process of its own.
#[tokio::test]
async fn child() {
    let Some(path) = std::env::var_os(LOG) else { return };
    let log = AuditLog::open(path).unwrap();
    let mut out = std::io::stdout();
    for n in 0_u64.. {
        // Large batches of several pages each, so that a kill can tear a write.
        for filler in 0..40 {
            log.append(Record { trace: Some("x".repeat(300)), ..record(filler) });
        }
        let id = format!("{}-{n}", std::process::id());
        log.append_durable(Record { caller: id.clone(), ..record(n) }).await.unwrap();
        // One write, so that an acknowledgement is never half.
        if out.write_all(format!("ack {id}\n").as_bytes()).and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

#[test]
fn killed_processes_lose_nothing_that_was_acknowledged() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("audit.jsonl");
    let acknowledged = Mutex::new(vec![]);
    std::thread::scope(|scope| {
        for process in 0..PROCESSES {
            let (path, acknowledged) = (&path, &acknowledged);
            scope.spawn(move || {
                for life in 0..LIVES {
                    let mut child = Command::new(std::env::current_exe().unwrap())
                        .args(["--exact", "crash::child", "--nocapture", "--test-threads=1"])
                        .env(LOG, path)
                        .stdout(Stdio::piped())
                        .spawn()
                        .unwrap();
                    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
                    // Each life ends after another number of acknowledgements, while the next write is under way.
                    let mut left = 1 + (process * 7 + life * 5) % 23;
                    for line in lines.map_while(Result::ok) {
                        let Some(id) = line.split("ack ").nth(1) else { continue };
                        acknowledged.lock().unwrap().push(id.to_owned());
                        left = left.saturating_sub(1);
                        if left == 0 {
                            // What it still acknowledges until the signal arrives is read, too.
                            let _ = child.kill();
                        }
                    }
                    child.wait().unwrap();
                }
            });
        }
    });

    drop(AuditLog::open(&path).unwrap());
    let report = audit::verify(&path).unwrap();
    assert!(report.ok, "{:?}", report.problems);
    let mut found: HashMap<String, usize> = HashMap::new();
    for line in audit::read(&path).unwrap() {
        if let Entry::Call(record) = line.unwrap().entry {
            *found.entry(record.caller).or_default() += 1;
        }
    }
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(acknowledged.len() >= PROCESSES * LIVES);
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
