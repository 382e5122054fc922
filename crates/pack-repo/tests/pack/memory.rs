//! Memory files: stored content, concurrent writers, crashes and full disks.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::thread;

use contract::ErrorCode;
use pack_repo::{RepoOptions, build_tools};
use serde_json::{Value, json};

use crate::{TestRepo, call_tool, find_tool, test_context};

const LOG: &str = ".claude/memory/progress_log.jsonl";

fn append_entry(repo: &TestRepo, file: &str, entry: &str) -> Value {
    repo.call("write_memory_entry", json!({"file": file, "entry": entry})).unwrap()
}

#[test]
fn entries_are_stored_in_order_and_read_back() {
    let repo = TestRepo::new();
    let first = append_entry(&repo, "progress_log.jsonl", "{\n  \"b\": 1.10,\n  \"a\": \"x y\"\n}");
    assert_eq!(first["bytes_written"], 21);
    append_entry(&repo, "progress_log.jsonl", "[1, 2]");
    append_entry(&repo, "best_practices.md", "# Title\r\n\n- one\ttab \u{e9}");
    append_entry(&repo, "best_practices.md", "- two\n");
    let read =
        |path: &str| repo.call("read_repo_file", json!({"path": path})).unwrap()["content"].clone();
    assert_eq!(read(LOG), "{\"b\":1.10,\"a\":\"x y\"}\n[1,2]\n");
    assert_eq!(
        read(".claude/memory/best_practices.md"),
        "# Title\r\n\n- one\ttab \u{e9}\n- two\n\n"
    );
    assert!(!repo.path(".claude/memory/decisions.jsonl").exists());
}

#[test]
fn memory_folder_is_configurable() {
    let options = RepoOptions { memory_folder: "notes/kept/".into(), ..Default::default() };
    let repo = TestRepo::with_options(options);
    append_entry(&repo, "decisions.jsonl", "{}");
    assert_eq!(repo.read("notes/kept/decisions.jsonl"), "{}\n");
}

#[test]
fn memory_folder_may_be_a_link_inside_the_root() {
    for target in ["../shared/memory", "../shared/memory/", ".."] {
        let repo = TestRepo::new();
        fs::create_dir(repo.path(".claude")).unwrap();
        symlink(target, repo.path(".claude/memory")).unwrap();
        append_entry(&repo, "decisions.jsonl", "{}");
        let stored = Path::new(".claude").join(target).join("decisions.jsonl");
        assert_eq!(repo.read(stored.to_str().unwrap()), "{}\n", "{target}");
    }
}

/// A writer that was killed in the middle of its write, and a person's editor that wrote no newline.
#[test]
fn next_entry_repairs_the_end_of_the_file() {
    let repo = TestRepo::new();
    for (before, after) in [
        ("{\"whole\":1}\n{\"torn\":", "{\"whole\":1}\n{\"next\":2}\n{\"last\":3}\n"),
        ("{\"whole\":1}\n{\"own\":1}", "{\"whole\":1}\n{\"own\":1}\n{\"next\":2}\n{\"last\":3}\n"),
    ] {
        repo.write(LOG, before);
        append_entry(&repo, "progress_log.jsonl", "{\"next\": 2}");
        append_entry(&repo, "progress_log.jsonl", "{\"last\": 3}");
        assert_eq!(repo.read(LOG), after);
    }
    const NOTES: &str = ".claude/memory/best_practices.md";
    repo.write(NOTES, "- whole\n- perhaps to");
    append_entry(&repo, "best_practices.md", "- next");
    assert_eq!(repo.read(NOTES), "- whole\n- perhaps to\n- next\n");
}

#[test]
fn concurrent_threads_never_interleave_entries() {
    let repo = TestRepo::new();
    thread::scope(|scope| {
        for writer in 0..8 {
            let repo = &repo;
            scope.spawn(move || {
                for number in 0..25 {
                    let padding = "x".repeat(1 + (writer * 1_237 + number * 311) % 9_000);
                    append_entry(
                        repo,
                        "progress_log.jsonl",
                        &build_entry(writer, number, &padding),
                    );
                }
            });
        }
    });
    let stored = count_stored_ids(&repo.read(LOG));
    assert_eq!(stored.len(), 8 * 25);
    assert!(stored.values().all(|times| *times == 1));
}

/// Uses more writers than could each take the lock within a second on a slow disk: no writer starves.
#[test]
fn two_hundred_concurrent_writers_all_succeed() {
    let repo = TestRepo::new();
    let start = Barrier::new(200);
    thread::scope(|scope| {
        for writer in 0..200 {
            let (repo, start) = (&repo, &start);
            scope.spawn(move || {
                start.wait();
                append_entry(repo, "progress_log.jsonl", &build_entry(writer, 0, ""));
            });
        }
    });
    let stored = count_stored_ids(&repo.read(LOG));
    assert_eq!(stored.len(), 200);
    assert!(stored.values().all(|times| *times == 1));
}

fn build_entry(writer: usize, number: usize, padding: &str) -> String {
    json!({"id": format!("{writer}-{number}"), "padding": padding}).to_string()
}

/// Returns how often each id is stored.
fn count_stored_ids(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for line in text.lines() {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("torn: {line}"));
        *counts.entry(value["id"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

/// Starts this test binary again to run one of the ignored tests below in a process of its own.
fn test_process(test: &str, root: &Path, writer: usize) -> Command {
    // Ignores SIGXFSZ, so that a write over the size limit returns an error instead of ending the process.
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", test])
        .env("TEST_ROOT", root)
        .env("TEST_WRITER", writer.to_string())
        .stdout(Stdio::piped());
    command
}

#[test]
fn entries_acknowledged_by_killed_processes_are_stored_exactly_once() {
    let repo = TestRepo::new();
    let mut acknowledged = Vec::new();
    thread::scope(|scope| {
        let killed: Vec<_> = (0..4)
            .map(|writer| {
                let root = repo.path("");
                scope.spawn(move || {
                    let mut child =
                        test_process("memory::writing_process", &root, writer).spawn().unwrap();
                    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
                    let mut ids = Vec::new();
                    for line in lines.map_while(Result::ok) {
                        ids.extend(line.strip_prefix("stored ").map(str::to_owned));
                        if ids.len() == 15 + 7 * writer {
                            // Continues reading: acknowledgements printed before the process died also count.
                            child.kill().unwrap();
                        }
                    }
                    child.wait().unwrap();
                    ids
                })
            })
            .collect();
        for ids in killed {
            acknowledged.extend(ids.join().unwrap());
        }
    });
    append_entry(&repo, "progress_log.jsonl", &build_entry(9, 9, ""));
    acknowledged.push("9-9".into());
    let stored = count_stored_ids(&repo.read(LOG));
    assert!(acknowledged.len() >= 4 * 15);
    for id in &acknowledged {
        assert_eq!(stored.get(id), Some(&1), "{id}");
    }
}

#[test]
#[ignore = "run as a process of its own by the test above"]
fn writing_process() {
    let root = std::env::var("TEST_ROOT").unwrap();
    let writer = std::env::var("TEST_WRITER").unwrap().parse().unwrap();
    let tools = build_tools(root, RepoOptions::default()).unwrap();
    for number in 0.. {
        let entry = build_entry(writer, number, &"x".repeat(number * 977 % 9_000));
        let arguments = json!({"file": "progress_log.jsonl", "entry": entry});
        call_tool(find_tool(&tools, "write_memory_entry"), arguments, &test_context()).unwrap();
        println!("\nstored {writer}-{number}");
    }
}

#[test]
fn removes_an_entry_that_a_full_disk_cut_short() {
    let repo = TestRepo::new();
    let before = format!("\"{}\"\n", "x".repeat(8_000));
    // An earlier writer left the start of an entry.
    repo.write(LOG, format!("{before}{{\"to"));
    let output =
        test_process("memory::process_with_a_file_size_limit", &repo.path(""), 0).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert_eq!(repo.read(LOG), before);
    append_entry(&repo, "progress_log.jsonl", "1");
    assert_eq!(repo.read(LOG), before + "1\n");
}

#[test]
#[ignore = "run as a process of its own by the test above"]
fn process_with_a_file_size_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // Leaves room for part of the entry: the kernel writes that part and reports a short write.
    let limit = Rlimit { current: Some(8_053), ..getrlimit(Resource::Fsize) };
    setrlimit(Resource::Fsize, limit).unwrap();
    let tools = build_tools(std::env::var("TEST_ROOT").unwrap(), RepoOptions::default()).unwrap();
    let arguments =
        json!({"file": "progress_log.jsonl", "entry": build_entry(0, 0, &"x".repeat(500))});
    let error =
        call_tool(find_tool(&tools, "write_memory_entry"), arguments, &test_context()).unwrap_err();
    assert_eq!(error.code, ErrorCode::StorageUnavailable);
    assert_eq!(
        error.message,
        "failed to store the entry in `.claude/memory/progress_log.jsonl`; nothing was written"
    );
}

/// Covers the writer that waits for the lock and those queued behind it. An unlocked file is not blocked by them.
#[test]
fn writers_wait_for_the_lock_until_they_are_cancelled() {
    let repo = TestRepo::new();
    repo.write(LOG, "");
    let other = File::open(repo.path(LOG)).unwrap();
    other.lock().unwrap();
    let tool = repo.tool("write_memory_entry");
    let arguments = json!({"file": "progress_log.jsonl", "entry": "1"});
    let ctx = test_context();
    thread::scope(|scope| {
        let waiting = [(); 3].map(|()| scope.spawn(|| call_tool(tool, arguments.clone(), &ctx)));
        while open_handles(&repo.path(LOG)) < 2 {
            thread::yield_now();
        }
        append_entry(&repo, "decisions.jsonl", "1");
        assert_eq!(
            open_handles(&repo.path(LOG)),
            2,
            "one writer polls the lock, the others are queued"
        );
        ctx.cancel();
        for writer in waiting {
            assert_eq!(writer.join().unwrap().unwrap_err().code, ErrorCode::Cancelled);
        }
    });
    assert_eq!(repo.read(LOG), "");
    other.unlock().unwrap();
    append_entry(&repo, "progress_log.jsonl", "1");
    assert_eq!(repo.read(LOG), "1\n");
}

/// Replaces the file as an editor or a checkout does: the entry must not go into the old file.
#[test]
fn appends_to_a_file_replaced_while_waiting_for_the_lock() {
    let repo = TestRepo::new();
    repo.write(LOG, "\"old\"\n");
    let other = File::open(repo.path(LOG)).unwrap();
    other.lock().unwrap();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| append_entry(&repo, "progress_log.jsonl", "1"));
        // The writer holds a handle on the old file as soon as a second one is open in this process.
        while open_handles(&repo.path(LOG)) < 2 {
            thread::yield_now();
        }
        repo.write("new.jsonl", "\"new\"\n");
        fs::rename(repo.path("new.jsonl"), repo.path(LOG)).unwrap();
        other.unlock().unwrap();
        waiting.join().unwrap();
    });
    assert_eq!(repo.read(LOG), "\"new\"\n1\n");
}

fn open_handles(path: &Path) -> usize {
    let path = path.canonicalize().unwrap();
    fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter(|handle| {
            handle
                .as_ref()
                .is_ok_and(|handle| fs::read_link(handle.path()).is_ok_and(|to| to == path))
        })
        .count()
}
