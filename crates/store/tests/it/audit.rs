use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Value, json};
use store::audit::{self, Arguments, AuditLog, Entry, Event, Kind, Outcome, Record};
use tempfile::TempDir;

/// A call that differs from others by its number alone.
pub(crate) fn record(n: u64) -> Record {
    Record {
        time: Timestamp::from_millisecond(1_772_366_400_000 + i64::try_from(n).unwrap()).unwrap(),
        caller: "alice".into(),
        client: None,
        tool: Some("hello".into()),
        contract: None,
        arguments: None,
        outcome: Outcome::Ok,
        code: None,
        duration_us: n,
        result_bytes: 2,
        trace: None,
    }
}

/// A log of `count` calls, closed.
pub(crate) fn log(temp: &TempDir, count: u64) -> PathBuf {
    let path = temp.path().join("audit.jsonl");
    let log = AuditLog::open(&path).unwrap();
    (1..=count).for_each(|n| log.append(record(n)));
    path
}

pub(crate) fn messages(report: &audit::Report) -> Vec<String> {
    report.problems.iter().chain(&report.notes).map(|finding| finding.message.clone()).collect()
}

fn events(path: &Path) -> Vec<Event> {
    let entries = audit::read(path).unwrap().map(|line| line.unwrap().entry);
    entries
        .filter_map(|entry| match entry {
            Entry::Event { event, .. } => Some(event),
            Entry::Call(_) => None,
        })
        .collect()
}

fn cut(path: &Path, bytes: u64) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(file.metadata().unwrap().len() - bytes).unwrap();
}

fn append_raw(path: &Path, text: &str) {
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn last_line(path: &Path) -> String {
    fs::read_to_string(path).unwrap().lines().last().unwrap().to_owned()
}

#[test]
fn a_line_has_its_fields_in_order() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("audit.jsonl");
    let log = AuditLog::open(&path).unwrap();
    log.append(record(1));
    log.append(Record {
        client: Some("editor 1.0".into()),
        contract: Some("sha256:c".into()),
        arguments: Some(Arguments {
            digest: "sha256:a".into(),
            shape: json!({"path": "string(9)"}),
            values: Some(json!({"path": "README.md"})),
        }),
        outcome: Outcome::Error,
        code: Some("NOT_FOUND".into()),
        trace: Some("00-4bf9-00f0-01".into()),
        ..record(2)
    });
    log.append(Record { outcome: Outcome::InputRequired, tool: None, ..record(3) });
    drop(log);
    insta::assert_snapshot!(fs::read_to_string(&path).unwrap());
    insta::assert_snapshot!(
        "the_head",
        fs::read_to_string(temp.path().join("audit.head")).unwrap()
    );

    let read: Vec<_> = audit::read(&path).unwrap().map(Result::unwrap).collect();
    let again: Vec<_> = read.iter().map(|line| serde_json::to_string(line).unwrap()).collect();
    assert_eq!(again.join("\n") + "\n", fs::read_to_string(&path).unwrap());
}

#[tokio::test]
async fn the_chain_holds_over_many_batches_and_writers() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("audit.jsonl");
    let logs: Vec<_> = (0..4).map(|_| AuditLog::open(&path).unwrap()).collect();
    for n in 0..2_000 {
        let log = &logs[n as usize % logs.len()];
        log.append(record(n));
        if n % 97 == 0 {
            log.flush().await.unwrap();
            assert_eq!(log.pending(), 0);
        }
    }
    logs[0].append_durable(record(2_000)).await.unwrap();
    drop(logs);
    let report = audit::verify(&path).unwrap();
    assert!(report.ok && report.notes.is_empty(), "{report:?}");
    assert_eq!((report.lines, report.last_seq), (2_001, 2_001));
    let mut durations: Vec<_> = audit::read(&path)
        .unwrap()
        .map(|line| match line.unwrap().entry {
            Entry::Call(record) => record.duration_us,
            event => panic!("{event:?}"),
        })
        .collect();
    durations.sort_unstable();
    assert_eq!(durations, (0..=2_000).collect::<Vec<_>>());
}

#[test]
fn a_torn_line_is_cut_and_the_repair_is_on_record() {
    let temp = TempDir::new().unwrap();
    let path = log(&temp, 3);
    append_raw(&path, r#"{"seq":4,"time":"2026"#);
    let report = audit::verify(&path).unwrap();
    assert!(report.ok);
    assert_eq!(messages(&report), ["torn last line (21 bytes); the next start repairs it"]);

    drop(AuditLog::open(&path).unwrap());
    let line: Value = serde_json::from_str(&last_line(&path)).unwrap();
    assert_eq!(line["tornBytes"], 21);
    assert_eq!(line["event"], "repaired");
    let log = AuditLog::open(&path).unwrap();
    log.append(record(5));
    drop(log);
    let report = audit::verify(&path).unwrap();
    assert!(report.ok);
    assert_eq!(report.lines, 5);
    assert_eq!(messages(&report), ["line 4 records that a torn line of 21 bytes was cut"]);
}

#[test]
fn a_long_torn_line_leaves_nothing_behind() {
    let temp = TempDir::new().unwrap();
    let path = log(&temp, 3);
    append_raw(&path, &"x".repeat(20_000));
    drop(AuditLog::open(&path).unwrap());
    assert!(matches!(events(&path)[..], [Event::Repaired { torn_bytes: 20_000, .. }]));
    assert!(audit::verify(&path).unwrap().ok);
}

#[test]
fn a_line_that_lacks_only_its_newline_is_kept() {
    let temp = TempDir::new().unwrap();
    let path = log(&temp, 3);
    let before = fs::read(&path).unwrap();
    cut(&path, 1);
    let report = audit::verify(&path).unwrap();
    assert!(report.ok);
    assert_eq!(report.notes[0].kind, Kind::Torn);
    drop(AuditLog::open(&path).unwrap());
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_running_writer_repairs_what_another_left_torn() {
    let temp = TempDir::new().unwrap();
    let path = log(&temp, 2);
    let log = AuditLog::open(&path).unwrap();
    append_raw(&path, "{\"seq\":3,");
    log.append(record(4));
    drop(log);
    assert!(matches!(events(&path)[..], [Event::Repaired { torn_bytes: 9, .. }]));
    assert!(audit::verify(&path).unwrap().ok);
}

#[test]
fn lines_cut_from_the_end_stay_known_after_the_next_start() {
    let temp = TempDir::new().unwrap();
    let path = log(&temp, 5);
    cut(&path, last_line(&path).len() as u64 + 1);
    cut(&path, last_line(&path).len() as u64 + 1);
    assert_eq!(messages(&audit::verify(&path).unwrap()), ["the last 2 lines are missing"]);
    let log = AuditLog::open(&path).unwrap();
    log.append(record(6));
    drop(log);
    let report = audit::verify(&path).unwrap();
    assert!(!report.ok);
    assert_eq!(messages(&report), ["line 4 records that 2 lines before it had been removed"]);
}

#[test]
fn a_last_line_changed_while_nobody_looked_stays_known() {
    let temp = TempDir::new().unwrap();
    let path = log(&temp, 3);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(r#""durationUs":3"#, r#""durationUs":9"#)).unwrap();
    assert_eq!(
        messages(&audit::verify(&path).unwrap()),
        ["line 3 was changed after it was written"]
    );
    drop(AuditLog::open(&path).unwrap());
    let report = audit::verify(&path).unwrap();
    assert_eq!(messages(&report), ["line 4 records that the line before it had been changed"]);
}

#[test]
fn a_log_removed_whole_is_missed() {
    let temp = TempDir::new().unwrap();
    let path = log(&temp, 3);
    let log = AuditLog::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(messages(&audit::verify(&path).unwrap()), ["the last 3 lines are missing"]);
    log.append(record(4));
    drop(log);
    let report = audit::verify(&path).unwrap();
    assert_eq!(messages(&report), ["line 1 records that 3 lines before it had been removed"]);
    assert_eq!(report.lines, 2);
}

#[test]
fn a_removed_head_is_noted() {
    let temp = TempDir::new().unwrap();
    let path = log(&temp, 3);
    fs::remove_file(temp.path().join("audit.head")).unwrap();
    let report = audit::verify(&path).unwrap();
    assert!(report.ok);
    assert_eq!(
        messages(&report),
        ["audit.head is missing: whether the last lines are missing cannot be known"]
    );
    drop(AuditLog::open(&path).unwrap());
    assert_eq!(events(&path), [Event::HeadMissing]);
    assert_eq!(audit::verify(&path).unwrap().notes[0].line, Some(4));
}

#[test]
fn a_log_may_be_ahead_of_its_head_after_a_kill() {
    let temp = TempDir::new().unwrap();
    let path = log(&temp, 2);
    let head = temp.path().join("audit.head");
    let behind = fs::read(&head).unwrap();
    log(&temp, 2);
    fs::write(&head, behind).unwrap();
    let report = audit::verify(&path).unwrap();
    assert!(report.ok && report.notes.is_empty(), "{report:?}");
    drop(AuditLog::open(&path).unwrap());
    assert_eq!(events(&path), []);
}

#[test]
fn what_never_was_is_not_an_error() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("audit.jsonl");
    assert!(audit::verify(&path).unwrap().ok);
    assert_eq!(audit::tail(&path, 3).unwrap(), []);
    assert_eq!(audit::stats(&path, None).unwrap(), []);
}

#[test]
fn a_link_in_place_of_the_log_is_not_followed() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("audit.jsonl");
    let target = temp.path().join("precious");
    fs::write(&target, "no newline at the end").unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    assert!(AuditLog::open(&path).is_err());
    assert_eq!(fs::read_to_string(&target).unwrap(), "no newline at the end");
}

#[tokio::test]
async fn records_wait_while_the_log_cannot_be_written() {
    let temp = TempDir::new().unwrap();
    let path = log(&temp, 1);
    let log = AuditLog::open(&path).unwrap();
    let moved = temp.path().join("moved");
    fs::rename(&path, &moved).unwrap();
    fs::create_dir(&path).unwrap();
    log.append(record(2));
    let error = log.append_durable(record(3)).await.unwrap_err();
    assert!(error.to_string().starts_with("cannot write the audit log"), "{error}");
    assert!(!log.is_healthy());
    assert!(log.flush().await.is_err());
    assert_eq!(log.pending(), 2);

    fs::remove_dir(&path).unwrap();
    fs::rename(&moved, &path).unwrap();
    log.append_durable(record(4)).await.unwrap();
    assert!(log.is_healthy());
    assert_eq!(log.pending(), 0);
    let durations: Vec<_> = audit::tail(&path, 3)
        .unwrap()
        .into_iter()
        .map(|line| serde_json::to_value(line).unwrap()["durationUs"].clone())
        .collect();
    assert_eq!(durations, [2, 3, 4]);
    assert!(audit::verify(&path).unwrap().ok);
}

#[tokio::test]
async fn too_many_waiting_records_are_counted_as_lost() {
    let temp = TempDir::new().unwrap();
    let path = log(&temp, 0);
    let log = AuditLog::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    for n in 0..65_536 + 10 {
        log.append(record(n));
    }
    log.flush().await.unwrap_err();
    fs::remove_dir(&path).unwrap();
    log.flush().await.unwrap();
    let Event::Lost { records } = events(&path)[0] else { panic!("{:?}", events(&path)) };
    assert_eq!(records, 10);
    let report = audit::verify(&path).unwrap();
    assert!(report.ok, "{:?}", report.problems);
    assert_eq!((report.lines, report.notes[0].count), (65_537, 10));
}

#[test]
fn the_tail_is_the_last_whole_lines() {
    let temp = TempDir::new().unwrap();
    let path = log(&temp, 300);
    append_raw(&path, "torn");
    for (count, first) in [(0, 301), (1, 300), (250, 51), (300, 1), (9_999, 1)] {
        let numbers: Vec<_> =
            audit::tail(&path, count).unwrap().iter().map(|line| line.seq).collect();
        assert_eq!(numbers, (first..=300).collect::<Vec<_>>());
    }
}

#[test]
fn stats_count_by_tool_and_time() {
    let temp = TempDir::new().unwrap();
    let path = log(&temp, 200);
    let log = AuditLog::open(&path).unwrap();
    for (n, code) in [(201, "RATE_LIMITED"), (202, "NOT_FOUND"), (203, "RATE_LIMITED")] {
        let tool = Some("read_repo_file".into());
        log.append(Record { tool, outcome: Outcome::Error, code: Some(code.into()), ..record(n) });
    }
    log.append(Record { tool: Some("read_repo_file".into()), ..record(204) });
    log.append(Record { tool: None, outcome: Outcome::InputRequired, ..record(205) });
    drop(log);
    insta::assert_json_snapshot!(audit::stats(&path, None).unwrap());
    let since = audit::stats(&path, Some(record(204).time)).unwrap();
    assert_eq!(since.iter().map(|tool| tool.calls).collect::<Vec<_>>(), [1, 1]);
}
