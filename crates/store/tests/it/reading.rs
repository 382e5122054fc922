//! Reads logs that are unusual: long lines, files that cannot be read, other files beside the log.

use std::fs;
use std::path::Path;

use serde_json::json;
use store::audit::{self, AuditRotation};
use tempfile::TempDir;

use crate::audit::{append_calls, messages, verify, write_log};

/// Maximum length of an audit record.
const MAX_LINE_BYTES: usize = 16 << 20;

fn list_numbers(log: &Path) -> Vec<u64> {
    audit::read_records(log).unwrap().map(|record| record.unwrap().seq).collect()
}

/// Returns a record whose line has this length, by spaces after it.
fn line_of_length(seq: u64, length: usize) -> String {
    let line = json!({
        "seq": seq, "time": "2026-03-01T12:00:00.001Z", "caller": "alice", "tool": "hello",
        "outcome": "ok", "durationUs": 1, "resultBytes": 2, "prev": format!("sha256:{}", "0".repeat(64)),
    });
    let line = line.to_string();
    let padding = length.saturating_sub(line.len());
    format!("{line}{}\n", " ".repeat(padding))
}

#[test]
fn lines_above_the_limit_are_not_records() {
    let temp = TempDir::new().unwrap();
    let log = temp.path().join("audit.jsonl");
    let lines = [
        line_of_length(1, MAX_LINE_BYTES),
        line_of_length(2, MAX_LINE_BYTES + 1),
        line_of_length(3, 300),
    ];
    fs::write(&log, lines.concat()).unwrap();
    assert_eq!(list_numbers(&log), [1, 3]);
}

#[test]
fn numbers_above_the_highest_are_not_records() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 1);
    let text = fs::read_to_string(&log).unwrap();
    let highest = 1_u64 << 53;
    for (seq, expected) in [
        (highest, format!("lines between seq 2 and seq {highest} are missing")),
        (highest + 1, "line 3 was inserted: it is not an audit record".to_owned()),
    ] {
        fs::write(&log, format!("{text}{}", line_of_length(seq, 0))).unwrap();
        let report = verify(&log).unwrap();
        assert!(messages(&report).contains(&expected), "{:?}", messages(&report));
    }
}

/// A directory in place of a file cannot be read. The error is reported once.
#[test]
fn file_that_cannot_be_read_ends_the_records() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 2);
    fs::create_dir(temp.path().join("audit.000001.jsonl")).unwrap();
    // A directory needs an entry to have a length on every file system.
    fs::write(temp.path().join("audit.000001.jsonl/entry"), "x").unwrap();
    let error = audit::read_records(&log).err().unwrap();
    assert!(error.to_string().starts_with("failed to read audit log"), "{error}");
    assert!(audit::compute_tool_stats(&log, None).is_err());
    assert!(audit::read_last_records(&log, 2).is_ok(), "the last file is enough");
    assert!(audit::read_last_records(&log, 9).is_err());
}

#[test]
fn missing_folder_is_an_empty_log_and_a_file_in_its_place_is_an_error() {
    let temp = TempDir::new().unwrap();
    let missing = temp.path().join("missing/audit.jsonl");
    assert_eq!(list_numbers(&missing), [0_u64; 0]);
    assert!(verify(&missing).unwrap().ok);
    fs::write(temp.path().join("file"), "").unwrap();
    let inside = temp.path().join("file/audit.jsonl");
    assert!(audit::read_records(&inside).is_err());
    assert!(verify(&inside).is_err());
}

/// Only the spelling that a writer uses is a file of the log.
#[test]
fn other_files_beside_the_log_are_not_part_of_it() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 2);
    for name in [
        "audit.000000.jsonl",
        "audit.1.jsonl",
        "audit.0000001.jsonl",
        "audit.+00001.jsonl",
        "audit.000001.json",
        "audit000001.jsonl",
        "other.000001.jsonl",
        "audit.99999999999.jsonl",
    ] {
        fs::write(temp.path().join(name), "nonsense\n").unwrap();
    }
    assert_eq!(list_numbers(&log), [1, 2, 3]);
    let report = verify(&log).unwrap();
    assert!(report.ok && report.files == 1, "{:?}", messages(&report));
}

#[test]
fn closed_files_are_read_in_order_of_their_numbers() {
    let temp = TempDir::new().unwrap();
    let log = temp.path().join("audit.jsonl");
    for number in [7, 3, 100_000, 1_000_000, 20, 1] {
        let name = format!("audit.{number:06}.jsonl");
        fs::write(temp.path().join(name), line_of_length(number, 0)).unwrap();
    }
    fs::write(&log, line_of_length(2_000_000, 0)).unwrap();
    assert_eq!(list_numbers(&log), [1, 3, 7, 20, 100_000, 1_000_000, 2_000_000]);
}

/// Files are closed and removed again and again while others read the log.
#[test]
fn reading_during_rotations_finds_a_consistent_log() {
    let temp = TempDir::new().unwrap();
    let log = temp.path().join("audit.jsonl");
    let rotation =
        AuditRotation { max_file_bytes: 1, keep_files: Some(3), ..AuditRotation::default() };
    append_calls(&log, &rotation, 5);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| append_calls(&log, &rotation, 60));
        while !writer.is_finished() {
            let report = verify(&log).unwrap();
            assert!(report.ok, "{:?}", messages(&report));
            let numbers = list_numbers(&log);
            assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
            assert!(!audit::read_last_records(&log, 2).unwrap().is_empty());
        }
    });
    assert_eq!(verify(&log).unwrap().files, 4);
}
