//! The callers of the soak: every answer is right, an expected refusal, or wrong.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::process::BENCH_TOKEN;

/// Content of the file that callers read.
pub(super) const KNOWN_TEXT: &str = "the content that every answer must have\n";
/// Pause between two calls of a caller.
const PAUSE: Duration = Duration::from_millis(20);
/// Codes with which a call may be refused while the disk is full or an upstream restarts.
const EXPECTED_CODES: [&str; 2] = ["STORAGE_UNAVAILABLE", "UPSTREAM_UNAVAILABLE"];

/// Counts of answers.
#[derive(Default)]
pub(super) struct CallCounts {
    right: AtomicUsize,
    refused: AtomicUsize,
    wrong: AtomicUsize,
    /// The first wrong answers.
    examples: Mutex<Vec<String>>,
    /// Entries whose write was acknowledged.
    written: Mutex<Vec<String>>,
}

impl CallCounts {
    pub(super) fn right(&self) -> usize {
        self.right.load(Ordering::Relaxed)
    }

    pub(super) fn wrong(&self) -> usize {
        self.wrong.load(Ordering::Relaxed)
    }

    pub(super) fn print(&self) {
        let refused = self.refused.load(Ordering::Relaxed);
        println!("answers: {} right, {refused} refused, {} wrong", self.right(), self.wrong());
        for example in self.examples.lock().iter().flat_map(|examples| examples.iter()) {
            println!("wrong: {example}");
        }
    }

    /// Errors unless every acknowledged entry is in the memory file exactly once.
    pub(super) fn check_memory_file(&self, root: &Path) -> Result<()> {
        let text = fs::read_to_string(root.join(".claude/memory/best_practices.md"))
            .context("no entry was written")?;
        let written = self.written.lock().map_err(|_| anyhow::anyhow!("a caller panicked"))?;
        for entry in &*written {
            let count = text.lines().filter(|line| line == entry).count();
            ensure!(count == 1, "the entry `{entry}` is in the file {count} times");
        }
        println!("acknowledged entries: {}, each in the file once", written.len());
        Ok(())
    }

    fn record(&self, outcome: Outcome) {
        match outcome {
            Outcome::Right => &self.right,
            Outcome::Refused => &self.refused,
            Outcome::Wrong(example) => {
                if let Ok(mut examples) = self.examples.lock()
                    && examples.len() < 10
                {
                    examples.push(example);
                }
                &self.wrong
            }
        }
        .fetch_add(1, Ordering::Relaxed);
    }
}

enum Outcome {
    Right,
    Refused,
    Wrong(String),
}

/// Calls tools in turn until `stop`.
pub(super) fn run_caller(address: &str, caller: usize, counts: &CallCounts, stop: &AtomicBool) {
    for number in 0_usize.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let outcome = match number % 3 {
            0 => check(
                call(address, "up__read_repo_file", &json!({"path": "known.txt"})),
                |answer| answer["content"] == KNOWN_TEXT,
            ),
            1 => check(call(address, "read_repo_file", &json!({"path": "known.txt"})), |answer| {
                answer["content"] == KNOWN_TEXT
            }),
            _ => {
                let entry = format!("- caller {caller}, entry {number}");
                let arguments = json!({"file": "best_practices.md", "entry": entry});
                let outcome = check(call(address, "write_memory_entry", &arguments), |answer| {
                    answer["success"] == true
                });
                if matches!(outcome, Outcome::Right)
                    && let Ok(mut written) = counts.written.lock()
                {
                    written.push(entry);
                }
                outcome
            }
        };
        counts.record(outcome);
        std::thread::sleep(PAUSE);
    }
}

fn check(answer: Result<(u16, Value)>, is_right: impl FnOnce(&Value) -> bool) -> Outcome {
    match answer {
        Ok((200, answer)) if is_right(&answer) => Outcome::Right,
        Ok((status, answer)) => {
            let code = answer["error"]["code"].as_str().unwrap_or_default();
            match status != 200 && EXPECTED_CODES.contains(&code) {
                true => Outcome::Refused,
                false => Outcome::Wrong(format!("{status} {answer}")),
            }
        }
        Err(error) => Outcome::Wrong(format!("{error:#}")),
    }
}

fn call(address: &str, tool: &str, arguments: &Value) -> Result<(u16, Value)> {
    let body = arguments.to_string();
    let mut stream = TcpStream::connect(address).context("failed to connect")?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let length = body.len();
    write!(
        stream,
        "POST /v1/tools/{tool} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Authorization: Bearer {BENCH_TOKEN}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text).context("failed to read the answer")?;
    let (head, body) = text.split_once("\r\n\r\n").context("the connection ended early")?;
    let status = head.split(' ').nth(1).context("no status")?.parse()?;
    Ok((status, serde_json::from_str(body).with_context(|| format!("no JSON: {text}"))?))
}
