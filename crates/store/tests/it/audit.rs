use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::{Value, json};
use store::audit::{
    self, AuditApproval, AuditArguments, AuditCall, AuditEntry, AuditIntent, AuditKeyLocation,
    AuditLog, AuditLogEvent, AuditOptions, AuditOutcome, AuditRotation, CheckpointEvidence,
    CheckpointKey, SignedCheckpoint, VerificationFindingKind, VerificationReport, VerifiedLog,
};
use tempfile::TempDir;

/// Returns a call whose time and duration depend on `n`.
pub(crate) fn call_record(n: u64) -> AuditCall {
    AuditCall {
        time: Timestamp::from_millisecond(1_772_366_400_000 + i64::try_from(n).unwrap()).unwrap(),
        caller: "alice".into(),
        client: None,
        tool: Some("hello".into()),
        contract: None,
        arguments: None,
        approval: None,
        outcome: AuditOutcome::Ok,
        code: None,
        duration_us: n,
        result_bytes: 2,
        trace: None,
        secrets: None,
        call: None,
    }
}

/// Returns the intent of a call that writes.
pub(crate) fn intent_record(id: &str, time: Timestamp) -> AuditIntent {
    AuditIntent {
        intent: id.to_owned(),
        time,
        caller: "alice".into(),
        client: None,
        tool: "write".into(),
        contract: None,
        arguments: None,
        approval: None,
        trace: None,
    }
}

/// Opens a log with a rotation, appends calls that are on disk afterwards, and closes it.
pub(crate) fn append_calls(log: &Path, rotation: &AuditRotation, count: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let options = AuditOptions { rotation: rotation.clone(), ..audit_options(log) };
    let log = AuditLog::open(log, &options).unwrap();
    for n in 0..count {
        runtime.block_on(log.append_durable(call_record(n))).unwrap();
    }
}

/// Returns the options of a log whose keys are in the folder `keys` beside it.
pub(crate) fn audit_options(log: &Path) -> AuditOptions {
    AuditOptions::new(AuditKeyLocation::new(log.with_file_name("keys")))
}

pub(crate) fn open_log(log: &Path) -> Result<AuditLog, store::StoreError> {
    AuditLog::open(log, &audit_options(log))
}

pub(crate) fn verify(log: &Path) -> Result<VerificationReport, store::StoreError> {
    audit::verify_log(log, &audit_options(log).keys)
}

/// Verifies a log against checkpoints that this key signed, with settings that keep all files.
pub(crate) fn verify_sealed(
    log: &Path,
    checkpoints: &[SignedCheckpoint],
    key: &CheckpointKey,
) -> VerificationReport {
    let rotation = AuditRotation::default();
    let now = Timestamp::now();
    verify_kept(log, &CheckpointEvidence { checkpoints, key, rotation: &rotation, now })
}

/// Verifies a log against checkpoints, with these settings.
pub(crate) fn verify_kept(log: &Path, evidence: &CheckpointEvidence<'_>) -> VerificationReport {
    let mut logs = [VerifiedLog::verify(log, &audit_options(log).keys).unwrap()];
    audit::verify_checkpoints(&mut logs, evidence).unwrap();
    let [log] = logs;
    log.report
}

/// Writes a log of `count` calls after its first line, closes it and returns its path.
pub(crate) fn write_log(temp: &TempDir, count: u64) -> PathBuf {
    let path = temp.path().join("audit.jsonl");
    let log = open_log(&path).unwrap();
    (1..=count).for_each(|n| log.append(call_record(n)));
    path
}

pub(crate) fn messages(report: &audit::VerificationReport) -> Vec<String> {
    report.problems.iter().chain(&report.notes).map(|finding| finding.message.clone()).collect()
}

fn events(path: &Path) -> Vec<AuditLogEvent> {
    let entries = audit::read_records(path).unwrap().map(|line| line.unwrap().entry);
    // The first line of a log is always an event.
    entries
        .filter_map(|entry| match entry {
            AuditEntry::Event { event: AuditLogEvent::Chain { .. }, .. } => None,
            AuditEntry::Event { event, .. } => Some(event),
            AuditEntry::Call(_) | AuditEntry::Intent(_) => None,
        })
        .collect()
}

/// Returns the text without keys, digests and the time of the first line, which differ in each run.
fn redact(text: &str) -> String {
    let mut lines: Vec<String> = vec![];
    for line in text.lines() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        for (field, value) in line.as_object_mut().unwrap() {
            match (field.as_str(), value.as_str()) {
                ("prev", Some(digest)) => {
                    let (prefix, rest) = digest.split_once(':').unwrap();
                    let (key, mac) = rest.split_once(':').unwrap();
                    assert_eq!((prefix, key.len(), mac.len()), ("hmac", 16, 64));
                    *value = json!("hmac:[key]:[digest]");
                }
                ("chain" | "key", Some(_)) => *value = json!("[id]"),
                ("time", Some(_)) if lines.is_empty() => *value = json!("[now]"),
                _ => {}
            }
        }
        lines.push(line.to_string());
    }
    lines.join("\n")
}

fn truncate_by(path: &Path, bytes: u64) {
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
fn writes_fields_in_documented_order() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("audit.jsonl");
    let log = open_log(&path).unwrap();
    log.append(call_record(1));
    log.append(AuditCall {
        client: Some("editor 1.0".into()),
        contract: Some("sha256:c".into()),
        arguments: Some(AuditArguments {
            digest: "sha256:a".into(),
            shape: json!({"path": "string(9)"}),
            values: Some(json!({"path": "README.md"})),
        }),
        approval: Some(AuditApproval {
            id: "3f9a000000".into(),
            by: "cli:ada".into(),
            channel: store::ApprovalChannel::Queue,
        }),
        outcome: AuditOutcome::Error,
        code: Some("NOT_FOUND".into()),
        trace: Some("00-4bf9-00f0-01".into()),
        ..call_record(2)
    });
    log.append(AuditCall { outcome: AuditOutcome::InputRequired, tool: None, ..call_record(3) });
    drop(log);
    insta::assert_snapshot!(redact(&fs::read_to_string(&path).unwrap()));

    let read: Vec<_> = audit::read_records(&path).unwrap().map(Result::unwrap).collect();
    let again: Vec<_> = read.iter().map(|line| serde_json::to_string(line).unwrap()).collect();
    assert_eq!(again.join("\n") + "\n", fs::read_to_string(&path).unwrap());
}

#[tokio::test]
async fn chain_is_valid_across_batches_and_writers() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("audit.jsonl");
    let logs: Vec<_> = (0..4).map(|_| open_log(&path).unwrap()).collect();
    for n in 0..2_000 {
        let log = &logs[n as usize % logs.len()];
        log.append(call_record(n));
        if n % 97 == 0 {
            log.flush().await.unwrap();
            assert_eq!(log.pending_count(), 0);
        }
    }
    logs[0].append_durable(call_record(2_000)).await.unwrap();
    drop(logs);
    let report = verify(&path).unwrap();
    assert!(report.ok && report.notes.is_empty(), "{report:?}");
    assert_eq!((report.lines, report.last_seq), (2_002, 2_002));
    let mut durations: Vec<_> = audit::read_records(&path)
        .unwrap()
        .skip(1)
        .map(|line| match line.unwrap().entry {
            AuditEntry::Call(record) => record.duration_us,
            event => panic!("{event:?}"),
        })
        .collect();
    durations.sort_unstable();
    assert_eq!(durations, (0..=2_000).collect::<Vec<_>>());
}

#[test]
fn removes_torn_line_and_records_repair() {
    let temp = TempDir::new().unwrap();
    let path = write_log(&temp, 3);
    append_raw(&path, r#"{"seq":4,"time":"2026"#);
    let report = verify(&path).unwrap();
    assert!(report.ok);
    assert_eq!(messages(&report), ["torn last line (21 bytes); the next start repairs it"]);

    drop(open_log(&path).unwrap());
    let line: Value = serde_json::from_str(&last_line(&path)).unwrap();
    assert_eq!(line["tornBytes"], 21);
    assert_eq!(line["event"], "repaired");
    let log = open_log(&path).unwrap();
    log.append(call_record(5));
    drop(log);
    let report = verify(&path).unwrap();
    assert!(report.ok);
    assert_eq!(report.lines, 6);
    assert_eq!(messages(&report), ["line 5 records that a torn line of 21 bytes was cut"]);
}

#[test]
fn removes_long_torn_line_completely() {
    let temp = TempDir::new().unwrap();
    let path = write_log(&temp, 3);
    append_raw(&path, &"x".repeat(20_000));
    drop(open_log(&path).unwrap());
    assert!(matches!(events(&path)[..], [AuditLogEvent::Repaired { torn_bytes: 20_000, .. }]));
    assert!(verify(&path).unwrap().ok);
}

#[test]
fn keeps_line_that_lacks_only_its_newline() {
    let temp = TempDir::new().unwrap();
    let path = write_log(&temp, 3);
    let before = fs::read(&path).unwrap();
    truncate_by(&path, 1);
    let report = verify(&path).unwrap();
    assert!(report.ok);
    assert_eq!(report.notes[0].kind, VerificationFindingKind::Torn);
    drop(open_log(&path).unwrap());
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn running_writer_repairs_torn_line_of_another_writer() {
    let temp = TempDir::new().unwrap();
    let path = write_log(&temp, 2);
    let log = open_log(&path).unwrap();
    append_raw(&path, "{\"seq\":3,");
    log.append(call_record(4));
    drop(log);
    assert!(matches!(events(&path)[..], [AuditLogEvent::Repaired { torn_bytes: 9, .. }]));
    assert!(verify(&path).unwrap().ok);
}

#[test]
fn removed_last_lines_are_still_reported_after_restart() {
    let temp = TempDir::new().unwrap();
    let path = write_log(&temp, 5);
    truncate_by(&path, last_line(&path).len() as u64 + 1);
    truncate_by(&path, last_line(&path).len() as u64 + 1);
    assert_eq!(messages(&verify(&path).unwrap()), ["the last 2 lines are missing"]);
    let log = open_log(&path).unwrap();
    log.append(call_record(6));
    drop(log);
    let report = verify(&path).unwrap();
    assert!(!report.ok);
    assert_eq!(messages(&report), ["line 5 records that 2 lines before it had been removed"]);
}

#[test]
fn changed_last_line_is_still_reported_after_restart() {
    let temp = TempDir::new().unwrap();
    let path = write_log(&temp, 3);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(r#""durationUs":3"#, r#""durationUs":9"#)).unwrap();
    assert_eq!(messages(&verify(&path).unwrap()), ["line 4 was changed after it was written"]);
    drop(open_log(&path).unwrap());
    let report = verify(&path).unwrap();
    assert_eq!(messages(&report), ["line 5 records that the line before it had been changed"]);
}

#[test]
fn reports_removed_log_file() {
    let temp = TempDir::new().unwrap();
    let path = write_log(&temp, 3);
    let log = open_log(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(messages(&verify(&path).unwrap()), ["the log is missing: it had 4 lines"]);
    log.append(call_record(4));
    drop(log);
    let report = verify(&path).unwrap();
    assert_eq!(messages(&report), ["line 2 records that 4 lines before it had been removed"]);
    assert_eq!(report.lines, 3);
}

#[test]
fn reports_missing_head() {
    let temp = TempDir::new().unwrap();
    let path = write_log(&temp, 3);
    fs::remove_file(temp.path().join("audit.head")).unwrap();
    let report = verify(&path).unwrap();
    assert!(!report.ok);
    assert_eq!(messages(&report), ["audit.head is missing"]);
    drop(open_log(&path).unwrap());
    assert_eq!(events(&path), [AuditLogEvent::HeadMissing]);
    let report = verify(&path).unwrap();
    assert_eq!((report.ok, report.problems[0].line), (false, Some(5)));
}

#[test]
fn accepts_log_that_is_ahead_of_its_head() {
    let temp = TempDir::new().unwrap();
    let path = write_log(&temp, 2);
    let head = temp.path().join("audit.head");
    let mark = temp.path().join("keys/mark");
    let behind = (fs::read(&head).unwrap(), fs::read(&mark).unwrap());
    write_log(&temp, 2);
    fs::write(&head, behind.0).unwrap();
    fs::write(&mark, behind.1).unwrap();
    let report = verify(&path).unwrap();
    assert!(report.ok && report.notes.is_empty(), "{report:?}");
    drop(open_log(&path).unwrap());
    assert_eq!(events(&path), []);
}

#[test]
fn missing_log_is_empty_and_valid() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("audit.jsonl");
    assert!(verify(&path).unwrap().ok);
    assert_eq!(audit::read_last_records(&path, 3).unwrap(), []);
    assert_eq!(audit::compute_tool_stats(&path, None).unwrap(), []);
}

#[test]
fn rejects_symlinked_log() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("audit.jsonl");
    let target = temp.path().join("precious");
    fs::write(&target, "no newline at the end").unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    assert!(open_log(&path).is_err());
    assert_eq!(fs::read_to_string(&target).unwrap(), "no newline at the end");
}

#[tokio::test]
async fn buffers_records_while_log_cannot_be_written() {
    let temp = TempDir::new().unwrap();
    let path = write_log(&temp, 1);
    let log = open_log(&path).unwrap();
    let moved = temp.path().join("moved");
    fs::rename(&path, &moved).unwrap();
    fs::create_dir(&path).unwrap();
    log.append(call_record(2));
    let error = log.append_durable(call_record(3)).await.unwrap_err();
    assert!(error.to_string().starts_with("failed to write audit log"), "{error}");
    assert!(!log.is_healthy());
    assert!(log.flush().await.is_err());
    assert_eq!(log.pending_count(), 2);

    fs::remove_dir(&path).unwrap();
    fs::rename(&moved, &path).unwrap();
    log.append_durable(call_record(4)).await.unwrap();
    assert!(log.is_healthy());
    assert_eq!(log.pending_count(), 0);
    let durations: Vec<_> = audit::read_last_records(&path, 3)
        .unwrap()
        .into_iter()
        .map(|line| serde_json::to_value(line).unwrap()["durationUs"].clone())
        .collect();
    assert_eq!(durations, [2, 3, 4]);
    assert!(verify(&path).unwrap().ok);
}

#[tokio::test]
async fn counts_records_dropped_from_full_queue() {
    let temp = TempDir::new().unwrap();
    let path = write_log(&temp, 0);
    let log = open_log(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    for n in 0..65_536 + 10 {
        log.append(call_record(n));
    }
    log.flush().await.unwrap_err();
    fs::remove_dir(&path).unwrap();
    log.flush().await.unwrap();
    let AuditLogEvent::Lost { records } = events(&path)[1] else { panic!("{:?}", events(&path)) };
    assert_eq!(records, 10);
    let report = verify(&path).unwrap();
    // The log was removed, which is found.
    assert_eq!(messages(&report)[0], "line 2 records that 1 line before it had been removed");
    assert_eq!((report.lines, report.notes[0].count), (65_539, 10));
}

#[test]
fn reads_last_complete_records() {
    let temp = TempDir::new().unwrap();
    let path = write_log(&temp, 300);
    append_raw(&path, "torn");
    for (count, first) in [(0, 302), (1, 301), (250, 52), (301, 1), (9_999, 1)] {
        let numbers: Vec<_> =
            audit::read_last_records(&path, count).unwrap().iter().map(|line| line.seq).collect();
        assert_eq!(numbers, (first..=301).collect::<Vec<_>>());
    }
}

#[test]
fn stats_count_by_tool_and_time() {
    let temp = TempDir::new().unwrap();
    let path = write_log(&temp, 200);
    let log = open_log(&path).unwrap();
    for (n, code) in [(201, "RATE_LIMITED"), (202, "NOT_FOUND"), (203, "RATE_LIMITED")] {
        let tool = Some("read_repo_file".into());
        log.append(AuditCall {
            tool,
            outcome: AuditOutcome::Error,
            code: Some(code.into()),
            ..call_record(n)
        });
    }
    log.append(AuditCall { tool: Some("read_repo_file".into()), ..call_record(204) });
    log.append(AuditCall { tool: None, outcome: AuditOutcome::InputRequired, ..call_record(205) });
    drop(log);
    insta::assert_json_snapshot!(audit::compute_tool_stats(&path, None).unwrap());
    let since = audit::compute_tool_stats(&path, Some(call_record(204).time)).unwrap();
    assert_eq!(since.iter().map(|tool| tool.calls).collect::<Vec<_>>(), [1, 1]);
}
