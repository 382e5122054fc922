//! Text after the last newline, and lines that another process wrote meanwhile.

use std::fs;
use std::path::Path;

use store::audit::VerificationFindingKind;
use tempfile::TempDir;

use crate::audit::{call_record, messages, open_log, verify, write_log};

fn append_raw(log: &Path, text: &str) {
    let content = [fs::read(log).unwrap(), text.as_bytes().to_vec()].concat();
    fs::write(log, content).unwrap();
}

fn append_call(log: &Path) {
    let writer = open_log(log).unwrap();
    writer.append(call_record(9));
}

/// Removes the last newline.
fn tear(log: &Path) -> Vec<u8> {
    let content = fs::read(log).unwrap();
    fs::write(log, &content[..content.len() - 1]).unwrap();
    content
}

#[test]
fn line_without_its_newline_is_continued() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 3);
    let before = tear(&log);
    append_call(&log);
    assert!(fs::read(&log).unwrap().starts_with(&before));
    let report = verify(&log).unwrap();
    assert!(report.ok && report.notes.is_empty(), "{:?}", messages(&report));
    assert_eq!((report.lines, report.last_seq), (5, 5));
}

#[test]
fn first_line_of_a_file_without_its_newline_is_kept() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 3);
    fs::rename(&log, log.with_file_name("audit.000001.jsonl")).unwrap();
    drop(open_log(&log).unwrap());
    let before = tear(&log);
    append_call(&log);
    assert!(fs::read(&log).unwrap().starts_with(&before));
    let report = verify(&log).unwrap();
    assert!(report.ok && report.notes.is_empty(), "{:?}", messages(&report));
    assert_eq!((report.files, report.last_seq), (2, 6));
}

/// A complete record that does not continue the chain is cut like any torn text.
#[test]
fn record_without_newline_that_does_not_follow_is_cut() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 3);
    let text = fs::read_to_string(&log).unwrap();
    for line in 0..4 {
        append_raw(&log, text.lines().nth(line).unwrap());
        drop(open_log(&log).unwrap());
    }
    append_call(&log);
    let report = verify(&log).unwrap();
    assert!(report.ok, "{:?}", messages(&report));
    let repaired = report.notes.iter().filter(|it| it.kind == VerificationFindingKind::Repaired);
    assert_eq!((repaired.count(), report.lines), (4, 4 + 4 + 1));
}

/// A running writer sets nothing aside: no power failed, so a damaged line is tampering.
#[test]
fn damage_under_a_running_writer_is_a_problem() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 3);
    let writer = open_log(&log).unwrap();
    append_raw(&log, "nonsense\n");
    writer.append(call_record(4));
    drop(writer);
    let report = verify(&log).unwrap();
    assert!(!report.ok, "{:?}", messages(&report));
    let debris = fs::read_dir(temp.path()).unwrap().map(|it| it.unwrap().path());
    assert_eq!(debris.filter(|it| it.extension().is_some_and(|it| it == "debris")).count(), 0);
}

#[test]
fn long_text_in_a_new_file_is_removed_completely() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 3);
    fs::rename(&log, log.with_file_name("audit.000001.jsonl")).unwrap();
    fs::write(&log, "x".repeat(20_000)).unwrap();
    append_call(&log);
    assert!(!fs::read_to_string(&log).unwrap().contains("xx"));
    let report = verify(&log).unwrap();
    assert!(report.ok, "{:?}", messages(&report));
    assert_eq!(messages(&report), ["line 2 records that a torn line of 20000 bytes was cut"]);
    assert_eq!((report.files, report.last_seq), (2, 7));
}
