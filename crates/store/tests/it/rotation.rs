//! Files are closed by size and age, old ones are removed, keys change, and earlier versions' logs are continued.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use store::audit::{
    self, AuditEntry, AuditLog, AuditOptions, AuditRotation, VerificationFindingKind,
};
use tempfile::TempDir;

use crate::audit::{audit_options, call_record, messages, open_log, verify, write_log};
use crate::forger::encode;

/// Appends calls, each in a batch of its own.
fn append_calls(log: &Path, rotation: AuditRotation, numbers: std::ops::Range<u64>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let options = AuditOptions { rotation, ..audit_options(log) };
    let log = AuditLog::open(log, &options).unwrap();
    for n in numbers {
        runtime.block_on(log.append_durable(call_record(n))).unwrap();
    }
}

fn small_files() -> AuditRotation {
    AuditRotation { max_file_bytes: 2000, ..AuditRotation::default() }
}

fn list_log_files(log: &Path) -> Vec<String> {
    let entries = fs::read_dir(log.parent().unwrap()).unwrap().map(Result::unwrap);
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".jsonl")).collect();
    names.sort();
    names
}

fn count_calls(log: &Path) -> usize {
    let records = audit::read_records(log).unwrap().map(Result::unwrap);
    records.filter(|record| matches!(record.entry, AuditEntry::Call(_))).count()
}

#[test]
fn chain_continues_across_files() {
    let temp = TempDir::new().unwrap();
    let log = temp.path().join("audit.jsonl");
    append_calls(&log, small_files(), 0..40);
    let files = list_log_files(&log);
    assert!(files.len() > 3, "{files:?}");
    assert_eq!(
        (files[0].as_str(), files[1].as_str()),
        ("audit.000001.jsonl", "audit.000002.jsonl")
    );
    let report = verify(&log).unwrap();
    assert!(report.ok && report.notes.is_empty(), "{:?}", messages(&report));
    assert_eq!(report.files, files.len() as u64);
    assert_eq!(count_calls(&log), 40);
    let stats = audit::compute_tool_stats(&log, None).unwrap();
    assert_eq!(stats[0].calls, 40);
    let last: Vec<_> =
        audit::read_last_records(&log, 30).unwrap().iter().map(|it| it.seq).collect();
    let seq = report.last_seq;
    assert_eq!(last, (seq - 29..=seq).collect::<Vec<_>>());
    for file in files.iter().filter(|name| *name != "audit.jsonl") {
        assert!(fs::metadata(temp.path().join(file)).unwrap().len() < 3000, "{file}");
    }
}

#[test]
fn several_writers_follow_to_the_next_file() {
    let temp = TempDir::new().unwrap();
    let log = temp.path().join("audit.jsonl");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let options = AuditOptions { rotation: small_files(), ..audit_options(&log) };
    let writers: Vec<_> = (0..3).map(|_| AuditLog::open(&log, &options).unwrap()).collect();
    for n in 0..60 {
        runtime.block_on(writers[n as usize % 3].append_durable(call_record(n))).unwrap();
    }
    drop(writers);
    let report = verify(&log).unwrap();
    assert!(report.ok, "{:?}", messages(&report));
    assert_eq!(count_calls(&log), 60);
}

#[test]
fn file_is_closed_by_age() {
    let temp = TempDir::new().unwrap();
    let log = temp.path().join("audit.jsonl");
    let rotation = AuditRotation { max_file_age: Some(Duration::ZERO), ..AuditRotation::default() };
    append_calls(&log, rotation, 0..3);
    assert_eq!(list_log_files(&log).len(), 4);
    assert!(verify(&log).unwrap().ok);
    let rotation =
        AuditRotation { max_file_age: Some(Duration::from_secs(3600)), ..AuditRotation::default() };
    append_calls(&log, rotation, 3..6);
    assert_eq!(list_log_files(&log).len(), 4, "the file is not old enough");
}

#[test]
fn removal_by_retention_is_recorded_and_another_removal_is_found() {
    for rotation in [
        AuditRotation { keep_files: Some(2), ..small_files() },
        AuditRotation { keep_age: Some(Duration::ZERO), ..small_files() },
    ] {
        let temp = TempDir::new().unwrap();
        let log = temp.path().join("audit.jsonl");
        append_calls(&log, rotation, 0..60);
        let files = list_log_files(&log);
        assert!(files.len() <= 3 && !files.contains(&"audit.000001.jsonl".to_owned()), "{files:?}");
        let report = verify(&log).unwrap();
        assert!(report.ok, "{:?}", messages(&report));
        assert!(report.notes.iter().any(|it| it.kind == VerificationFindingKind::Removed));
        if files.len() > 1 {
            // The next older file, by someone else.
            fs::remove_file(temp.path().join(&files[0])).unwrap();
            let report = verify(&log).unwrap();
            assert!(!report.ok);
            assert_eq!(report.problems[0].kind, VerificationFindingKind::Missing);
        }
    }
}

#[test]
fn interrupted_rotation_is_finished() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 5);
    // A crash after the rename.
    fs::rename(&log, log.with_file_name("audit.000001.jsonl")).unwrap();
    let report = verify(&log).unwrap();
    assert!(report.ok, "{:?}", messages(&report));
    drop(open_log(&log).unwrap());
    let report = verify(&log).unwrap();
    assert!(report.ok && report.notes.is_empty(), "{:?}", messages(&report));
    assert_eq!((report.files, report.lines), (2, 7));
}

#[test]
fn changed_closed_file_is_named() {
    let temp = TempDir::new().unwrap();
    let log = temp.path().join("audit.jsonl");
    append_calls(&log, small_files(), 0..20);
    let closed = temp.path().join("audit.000001.jsonl");
    let text = fs::read_to_string(&closed).unwrap();
    fs::write(&closed, text.replace(r#""durationUs":2,"#, r#""durationUs":9,"#)).unwrap();
    let report = verify(&log).unwrap();
    let place = (report.problems[0].file.as_deref(), report.problems[0].line);
    assert_eq!(place, (Some("audit.000001.jsonl"), Some(4)), "{:?}", messages(&report));
}

#[test]
fn rotated_key_is_used_by_running_writer() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 2);
    let writer = open_log(&log).unwrap();
    let digest = writer.blind_digest("sha256:a");
    let rotation = audit::rotate_key(&log, &audit_options(&log)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(writer.append_durable(call_record(3))).unwrap();
    assert_ne!(writer.blind_digest("sha256:a"), digest, "digests use the new key");
    drop(writer);
    let text = fs::read_to_string(&log).unwrap();
    let keys: Vec<_> =
        text.lines().map(|line| line.rsplit("hmac:").next().unwrap()[..16].to_owned()).collect();
    let (before, after) = (rotation.before, rotation.after);
    assert_eq!(keys, [&before, &before, &before, &before, &after].map(String::clone));
    let report = verify(&log).unwrap();
    assert!(report.ok && report.notes.is_empty(), "{:?}", messages(&report));
}

#[test]
fn interrupted_key_rotation_is_finished() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 2);
    let file = audit_options(&log).keys.key_file();
    let rotation = audit::rotate_key(&log, &audit_options(&log)).unwrap();
    // A crash before the new key became the current one.
    let mut keys: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(keys["current"], rotation.after);
    keys["current"] = json!(rotation.before);
    keys["keys"][0].as_object_mut().unwrap().remove("retired");
    fs::write(&file, keys.to_string()).unwrap();
    assert!(verify(&log).unwrap().ok);
    write_log(&temp, 1);
    let report = verify(&log).unwrap();
    assert!(report.ok, "{:?}", messages(&report));
    let keys: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(keys["current"], rotation.after);
}

/// Writes a log as the version before keys did.
fn write_plain_log(folder: &Path, lines: u64) -> PathBuf {
    let (mut text, mut hash) = (String::new(), vec![0; 32]);
    for seq in 1..=lines {
        let prev = format!("sha256:{}", encode(&hash));
        let line = json!({
            "seq": seq, "time": "2026-03-01T12:00:00.001Z", "caller": "alice", "tool": "hello",
            "outcome": "ok", "durationUs": 1, "resultBytes": 2, "prev": prev,
        });
        hash = Sha256::digest(line.to_string()).to_vec();
        text += &format!("{line}\n");
    }
    fs::write(folder.join("audit.head"), format!("{lines:020} sha256:{}\n", encode(&hash)))
        .unwrap();
    fs::write(folder.join("audit.jsonl"), text).unwrap();
    folder.join("audit.jsonl")
}

#[test]
fn log_of_an_earlier_version_is_closed_and_continued_with_a_key() {
    let temp = TempDir::new().unwrap();
    let log = write_plain_log(temp.path(), 3);
    let report = verify(&log).unwrap();
    assert!(report.ok, "{:?}", messages(&report));
    assert_eq!(report.notes[0].kind, VerificationFindingKind::Unkeyed);
    write_log(&temp, 2);
    let report = verify(&log).unwrap();
    assert!(report.ok, "{:?}", messages(&report));
    assert_eq!((report.files, report.lines, report.last_seq), (2, 6, 6));
    assert_eq!(
        messages(&report),
        [
            "seq 1 to 3 are of an earlier version without a key: they could have been rewritten before the keyed lines followed"
        ]
    );
    // A later change of the old file is found, also if its chain is recomputed.
    write_plain_log(temp.path(), 2);
    fs::rename(&log, temp.path().join("audit.000001.jsonl")).unwrap();
    assert!(!verify(&log).unwrap().ok);
}

#[test]
fn truncated_log_of_an_earlier_version_is_reported() {
    let temp = TempDir::new().unwrap();
    let log = write_plain_log(temp.path(), 3);
    let text = fs::read_to_string(&log).unwrap();
    let kept: Vec<_> = text.lines().take(2).collect();
    fs::write(&log, kept.join("\n") + "\n").unwrap();
    assert_eq!(messages(&verify(&log).unwrap())[0], "the last line is missing");
    drop(open_log(&log).unwrap());
    let report = verify(&log).unwrap();
    assert!(!report.ok);
    assert!(messages(&report)[0].contains("records that 1 line before it had been removed"));
}

#[test]
fn lost_key_begins_a_new_chain_that_says_so() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 3);
    fs::remove_dir_all(temp.path().join("keys")).unwrap();
    let report = verify(&log).unwrap();
    assert!(!report.ok);
    assert_eq!(report.problems[0].kind, VerificationFindingKind::KeyMissing);
    write_log(&temp, 2);
    let report = verify(&log).unwrap();
    let kinds: Vec<_> = report.problems.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [VerificationFindingKind::KeyMissing], "{:?}", messages(&report));
    assert_eq!(report.problems[0].count, 4, "only the lines of the lost key");
    assert!(report.notes.iter().any(|it| it.kind == VerificationFindingKind::ChainStarted));
    // New lines are protected as before.
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replace(r#""durationUs":1,"#, r#""durationUs":9,"#)).unwrap();
    assert!(verify(&log).unwrap().problems.len() > 1);
}

#[test]
fn exposed_key_file_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 1);
    let file = audit_options(&log).keys.key_file();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let error = open_log(&log).err().unwrap();
    assert!(error.hint().is_some_and(|hint| hint.contains("chmod 600")), "{error:?}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&file, "{}").unwrap();
    let error = verify(&log).unwrap_err().to_string();
    assert!(error.starts_with("invalid audit keys in"), "{error}");
}
