//! When a file is closed, and which closed files are removed, at the limits and on a disk that loses power.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use disk::simulated::{DiskFault, SimulatedDisk};
use store::audit::{self, AuditEntry, AuditLog, AuditLogEvent, AuditOptions, AuditRotation};
use tempfile::TempDir;

use crate::audit::{append_calls, audit_options, call_record, messages, verify, write_log};
use crate::forger::DiskImage;

fn list_closed(log: &Path) -> Vec<u32> {
    let entries = fs::read_dir(log.parent().unwrap()).unwrap().map(Result::unwrap);
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let mut numbers: Vec<u32> = names
        .filter_map(|name| name.strip_prefix("audit.")?.strip_suffix(".jsonl")?.parse::<u32>().ok())
        .collect();
    numbers.sort_unstable();
    numbers
}

fn list_events(log: &Path) -> Vec<AuditLogEvent> {
    let entries = audit::read_records(log).unwrap().map(|record| record.unwrap().entry);
    let events = entries.filter_map(|entry| match entry {
        AuditEntry::Event { event, .. } => Some(event),
        AuditEntry::Call(_) | AuditEntry::Intent(_) => None,
    });
    events.collect()
}

/// Sets the time at which a closed file was last changed.
fn set_age(log: &Path, number: u32, age: Duration) {
    let path = log.with_extension(format!("{number:06}.jsonl"));
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

#[test]
fn file_is_closed_at_its_size() {
    for (extra, closed) in [(0, vec![1]), (1, vec![])] {
        let temp = TempDir::new().unwrap();
        let log = write_log(&temp, 3);
        let length = fs::metadata(&log).unwrap().len();
        let rotation = AuditRotation { max_file_bytes: length + extra, ..AuditRotation::default() };
        append_calls(&log, &rotation, 1);
        assert_eq!(list_closed(&log), closed, "{extra} bytes are left");
        assert!(verify(&log).unwrap().ok);
    }
}

/// The age of a file is that of its first line.
#[test]
fn file_is_closed_at_the_age_of_its_first_line() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 3);
    let hour = Duration::from_secs(3600);
    let rotation = AuditRotation { max_file_age: Some(hour), ..AuditRotation::default() };
    append_calls(&log, &rotation, 1);
    assert!(list_closed(&log).is_empty());
    // The key is known here, so the first line can be made older.
    let mut image = DiskImage::read(temp.path());
    let mut files = image.lines();
    files[0][0]["time"] = "2026-03-01T12:00:00.000Z".into();
    let key = image.key();
    let (seq, hash) = key.link(&mut files);
    image.set_lines(&files);
    image.set("audit.head", key.head(seq, &hash));
    image.set("keys/mark", key.head(seq, &hash));
    let temp = image.restore();
    let log = temp.path().join("audit.jsonl");
    append_calls(&log, &rotation, 1);
    assert_eq!(list_closed(&log), [1]);
    assert!(verify(&log).unwrap().ok);
    // A first line from the future is not old.
    files[0][0]["time"] = "2226-03-01T12:00:00.000Z".into();
    let (seq, hash) = key.link(&mut files);
    image.set_lines(&files);
    image.set("audit.head", key.head(seq, &hash));
    image.set("keys/mark", key.head(seq, &hash));
    let temp = image.restore();
    append_calls(&temp.path().join("audit.jsonl"), &rotation, 1);
    assert!(list_closed(&temp.path().join("audit.jsonl")).is_empty());
}

/// A log with five closed files.
fn write_closed_files(temp: &TempDir) -> PathBuf {
    let log = temp.path().join("audit.jsonl");
    let rotation = AuditRotation { max_file_bytes: 1, ..AuditRotation::default() };
    append_calls(&log, &rotation, 5);
    assert_eq!(list_closed(&log), [1, 2, 3, 4, 5]);
    log
}

#[test]
fn files_are_removed_by_number_or_age_whichever_removes_more() {
    let day = Duration::from_secs(24 * 3600);
    // The next record closes file 6.
    for (keep_files, keep_age, old, left) in [
        (None, None, 5, vec![1, 2, 3, 4, 5, 6]),
        (Some(9), None, 5, vec![1, 2, 3, 4, 5, 6]),
        (Some(6), None, 5, vec![1, 2, 3, 4, 5, 6]),
        (Some(5), None, 0, vec![2, 3, 4, 5, 6]),
        (Some(2), None, 0, vec![5, 6]),
        (Some(0), None, 0, vec![]),
        (None, Some(day), 0, vec![1, 2, 3, 4, 5, 6]),
        (None, Some(day), 1, vec![2, 3, 4, 5, 6]),
        (None, Some(day), 3, vec![4, 5, 6]),
        (Some(2), Some(day), 3, vec![5, 6]),
        (Some(5), Some(day), 3, vec![4, 5, 6]),
    ] {
        let temp = TempDir::new().unwrap();
        let log = write_closed_files(&temp);
        (1..=old).for_each(|number| set_age(&log, number, 2 * day));
        let rotation =
            AuditRotation { max_file_bytes: 1, keep_files, keep_age, ..AuditRotation::default() };
        append_calls(&log, &rotation, 1);
        let case = format!("{keep_files:?}, {keep_age:?}, {old} are old");
        assert_eq!(list_closed(&log), left, "{case}");
        let report = verify(&log).unwrap();
        assert!(report.ok, "{case}: {:?}", messages(&report));
        let removed: Vec<_> = list_events(&log)
            .into_iter()
            .filter(|event| matches!(event, AuditLogEvent::Removed { .. }))
            .collect();
        let count = u32::try_from(6 - left.len()).unwrap();
        if count == 0 {
            assert_eq!(removed, [], "{case}");
            continue;
        }
        // Each file has two lines, the event and a call; the first one only its event.
        let through_seq = u64::from(2 * count - 1);
        assert_eq!(removed, [AuditLogEvent::Removed { first: 1, last: count, through_seq }]);
        let message = format!(
            "line 2 records that files 1 to {count} (up to seq {through_seq}) were removed as configured"
        );
        assert_eq!(messages(&report), [message], "{case}");
        assert_eq!(report.notes[0].count, u64::from(count));
    }
}

/// Only the oldest files are removed, so a young one keeps those after it.
#[test]
fn old_file_after_a_young_one_is_kept() {
    let day = Duration::from_secs(24 * 3600);
    let temp = TempDir::new().unwrap();
    let log = write_closed_files(&temp);
    [1, 3, 4].into_iter().for_each(|number| set_age(&log, number, 2 * day));
    let rotation =
        AuditRotation { max_file_bytes: 1, keep_age: Some(day), ..AuditRotation::default() };
    append_calls(&log, &rotation, 1);
    assert_eq!(list_closed(&log), [2, 3, 4, 5, 6]);
    assert!(verify(&log).unwrap().ok);
}

/// The removal is on disk before a file is gone, and the missing file after it.
#[test]
fn removal_is_recorded_before_files_are_gone() {
    let temp = TempDir::new().unwrap();
    write_closed_files(&temp);
    let image = DiskImage::read(temp.path());
    let open = |image: &DiskImage| {
        let temp = image.restore();
        let log = temp.path().canonicalize().unwrap().join("audit.jsonl");
        let disk = SimulatedDisk::new(log.parent().unwrap()).unwrap();
        let rotation =
            AuditRotation { max_file_bytes: 1, keep_files: Some(3), ..AuditRotation::default() };
        let options =
            AuditOptions { disk: Arc::clone(&disk) as _, rotation, ..audit_options(&log) };
        (temp, disk, log, options)
    };
    let run = |log: &Path, options: &AuditOptions| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        if let Ok(log) = AuditLog::open(log, options) {
            let _ = runtime.block_on(log.append_durable(call_record(9)));
        }
    };
    let (_temp, disk, log, options) = open(&image);
    run(&log, &options);
    let operations = disk.operations();
    let texts: Vec<_> = operations.iter().map(ToString::to_string).collect();
    let removed: Vec<_> = (0..texts.len()).filter(|at| texts[*at].starts_with("Remove ")).collect();
    assert_eq!(removed.len(), 3, "{texts:?}");
    // The event, its live head, and then the sync of the line and both heads.
    let first = removed[0];
    let event = texts[..first].iter().rposition(|it| it == "Write audit.jsonl").unwrap();
    for sync in ["SyncData audit.jsonl", "SyncData audit.head", "SyncData keys/mark"] {
        assert!(texts[event..first].iter().any(|it| it == sync), "{sync}: {texts:?}");
    }
    assert_eq!(texts[removed[2] + 1], "SyncFolder ", "{texts:?}");
    for index in 0..operations.len() {
        for fault in [DiskFault::PowerOffBefore, DiskFault::PowerOffAfter] {
            for seed in 0..4 {
                let (_temp, disk, log, options) = open(&image);
                disk.plan_fault(index, fault);
                run(&log, &options);
                disk.crash(seed * 100 * index as u64).unwrap();
                run(&log, &options);
                let report = verify(&log).unwrap();
                assert!(report.ok, "{fault:?} at {index}, {seed}: {:?}", messages(&report));
            }
        }
    }
}
