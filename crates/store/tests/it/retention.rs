//! When a file is closed, and which closed files are removed, at the limits and on a disk that loses power.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use disk::simulated::{DiskFault, SimulatedDisk};
use jiff::{SignedDuration, Timestamp};
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

/// Makes closed files two days older: the first line after each of them says when it was closed.
fn make_old(log: &Path, numbers: &[usize]) {
    let mut image = DiskImage::read(log.parent().unwrap());
    let mut files = image.lines();
    for number in numbers {
        files[*number][0]["time"] =
            (Timestamp::now() - SignedDuration::from_hours(48)).to_string().into();
    }
    let key = image.key();
    let (seq, hash) = key.link(&mut files);
    image.set_lines(&files);
    image.set("audit.head", key.head(seq, &hash));
    image.set("keys/mark", key.head(seq, &hash));
    image.write(log.parent().unwrap());
}

/// Returns a limit of files or days, with every record in a file of its own.
fn kept(keep_files: Option<u32>, keep_age: Option<Duration>) -> AuditRotation {
    AuditRotation { max_file_bytes: 1, keep_files, keep_age, ..AuditRotation::default() }
}

const DAY: Duration = Duration::from_secs(24 * 3600);

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
    let day = DAY;
    // The next record closes file 6.
    for (keep_files, keep_age, old, left) in [
        (None, None, 4, vec![1, 2, 3, 4, 5, 6]),
        (Some(9), None, 4, vec![1, 2, 3, 4, 5, 6]),
        (Some(6), None, 4, vec![1, 2, 3, 4, 5, 6]),
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
        make_old(&log, &(1..=old).collect::<Vec<_>>());
        append_calls(&log, &kept(keep_files, keep_age), 1);
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
    let temp = TempDir::new().unwrap();
    let log = write_closed_files(&temp);
    make_old(&log, &[1, 3, 4]);
    append_calls(&log, &kept(None, Some(DAY)), 1);
    assert_eq!(list_closed(&log), [2, 3, 4, 5, 6]);
    assert!(verify(&log).unwrap().ok);
}

/// Files are numbered on after all earlier ones were removed.
#[test]
fn numbers_continue_after_all_closed_files_were_removed() {
    let temp = TempDir::new().unwrap();
    let log = write_closed_files(&temp);
    append_calls(&log, &kept(Some(0), None), 1);
    assert!(list_closed(&log).is_empty());
    append_calls(&log, &kept(None, None), 2);
    assert_eq!(list_closed(&log), [7, 8]);
    let report = verify(&log).unwrap();
    assert!(report.ok, "{:?}", messages(&report));
}

/// Any process of the user can change the time of a file.
#[test]
fn changed_times_of_files_remove_nothing() {
    let temp = TempDir::new().unwrap();
    let log = write_closed_files(&temp);
    for number in 1..=5 {
        let path = log.with_extension(format!("{number:06}.jsonl"));
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - 9 * DAY).unwrap();
    }
    append_calls(&log, &kept(None, Some(DAY)), 1);
    assert_eq!(list_closed(&log), [1, 2, 3, 4, 5, 6]);
}

/// Without the key, a first line with another time is not believed, although the line could be restored afterwards.
#[test]
fn changed_time_of_a_first_line_removes_nothing() {
    let temp = TempDir::new().unwrap();
    let log = write_closed_files(&temp);
    let path = log.with_extension("000002.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let year = text.find(r#""time":"2"#).unwrap() + r#""time":""#.len();
    let mut changed = text.clone();
    changed.replace_range(year..year + 4, "2001");
    fs::write(&path, changed).unwrap();
    append_calls(&log, &kept(None, Some(DAY)), 1);
    assert_eq!(list_closed(&log), [1, 2, 3, 4, 5, 6]);
    fs::write(&path, text).unwrap();
    assert!(verify(&log).unwrap().ok);
}

/// Without the key, files that are put beside the log do not push real ones out.
#[test]
fn planted_files_do_not_count_as_kept() {
    let temp = TempDir::new().unwrap();
    let log = write_closed_files(&temp);
    let image = DiskImage::read(temp.path());
    let real = String::from_utf8(image.get("audit.000005.jsonl").to_vec()).unwrap();
    for planted in ["", "nonsense\n", &real, &real.replacen(r#""file":5"#, r#""file":6"#, 1)] {
        let temp = image.restore();
        let log = temp.path().join("audit.jsonl");
        for number in 6..9 {
            fs::write(log.with_extension(format!("{number:06}.jsonl")), planted).unwrap();
        }
        append_calls(&log, &kept(Some(5), None), 1);
        assert_eq!(list_closed(&log), [1, 2, 3, 4, 5, 6, 7, 8, 9], "{planted}");
    }
    // The highest number cannot be followed.
    fs::write(log.with_extension("4294967295.jsonl"), "").unwrap();
    let options = AuditOptions { rotation: kept(None, None), ..audit_options(&log) };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let writer = AuditLog::open(&log, &options).unwrap();
    let error = runtime.block_on(writer.append_durable(call_record(1))).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(cause, "no number is left after 4294967295 for another file");
    assert!(!verify(&log).unwrap().ok);
}

/// Without the key, the number of lines that a removal covers cannot be raised by lines in a file that is removed.
#[test]
fn removal_covers_no_more_than_the_removed_files() {
    let temp = TempDir::new().unwrap();
    let log = write_closed_files(&temp);
    let prev = format!("sha256:{}", "0".repeat(64));
    let forged = format!("{{\"seq\":9007199254740992,\"prev\":\"{prev}\"}}\n");
    let path = log.with_extension("000001.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text + &forged).unwrap();
    append_calls(&log, &kept(Some(5), None), 1);
    let removed = AuditLogEvent::Removed { first: 1, last: 1, through_seq: 1 };
    assert!(list_events(&log).contains(&removed), "{:?}", list_events(&log));
    (2..=6).for_each(|number| {
        fs::remove_file(log.with_extension(format!("{number:06}.jsonl"))).unwrap();
    });
    assert!(!verify(&log).unwrap().ok);
}

/// A file whose number is not the one in its first line was renamed.
#[test]
fn renamed_files_are_found() {
    let temp = TempDir::new().unwrap();
    let log = write_closed_files(&temp);
    fs::rename(log.with_extension("000005.jsonl"), log.with_extension("000007.jsonl")).unwrap();
    let report = verify(&log).unwrap();
    let expected = [
        "line 1 of audit.000007.jsonl begins file 5, but it is in the place of file 7",
        "line 1 begins file 6, but it is in the place of file 8",
    ];
    assert!(!report.ok);
    assert_eq!(messages(&report), expected);
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
