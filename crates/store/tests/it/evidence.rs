//! Power failures while a start repairs a log: evidence of tampering is never lost, and the traces of a crash never become
//! evidence.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use disk::simulated::{DiskFault, SimulatedDisk};
use serde_json::Value;
use store::audit::{AuditLog, AuditOptions, VerificationFindingKind};
use tempfile::TempDir;

use crate::audit::{audit_options, call_record, messages, verify, write_log};
use crate::forger::{DiskImage, to_text};

/// A log of one closed file and a current one, with five lines each.
static IMAGE: LazyLock<DiskImage> = LazyLock::new(|| {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 4);
    fs::rename(&log, log.with_file_name("audit.000001.jsonl")).unwrap();
    write_log(&temp, 4);
    let image = DiskImage::read(temp.path());
    assert_eq!(image.lines().iter().map(Vec::len).collect::<Vec<_>>(), [5, 5]);
    image
});

/// A folder on a simulated disk on which everything is durable.
struct Scene {
    disk: Arc<SimulatedDisk>,
    log: PathBuf,
    options: AuditOptions,
    _temp: TempDir,
}

impl Scene {
    fn new(image: &DiskImage) -> Self {
        let temp = image.restore();
        let root = temp.path().canonicalize().unwrap();
        let disk = SimulatedDisk::new(&root).unwrap();
        let log = root.join("audit.jsonl");
        let options = AuditOptions { disk: disk.clone(), ..audit_options(&log) };
        Self { disk, log, options, _temp: temp }
    }

    fn start(&self) -> Result<AuditLog, store::StoreError> {
        AuditLog::open(&self.log, &self.options)
    }
}

/// Fails the power at every operation of a start, and checks what the next start leaves.
fn check_interrupted_start(case: &str, image: &DiskImage, check: fn(&Path) -> Result<(), String>) {
    let scene = Scene::new(image);
    drop(scene.start().unwrap());
    let operations = scene.disk.operations();
    check(&scene.log).unwrap_or_else(|error| panic!("{case}, no fault: {error}"));
    scene.disk.crash(0).unwrap();
    drop(scene.start().unwrap());
    check(&scene.log).unwrap_or_else(|error| panic!("{case}, failure at the end: {error}"));
    for (index, operation) in operations.iter().enumerate() {
        for fault in [DiskFault::PowerOffBefore, DiskFault::PowerOffAfter, DiskFault::Error(5)] {
            for seed in [0, 1 + index as u64, 1000 + index as u64] {
                let scene = Scene::new(image);
                scene.disk.plan_fault(index, fault);
                drop(scene.start());
                scene.disk.crash(seed).unwrap();
                drop(scene.start().unwrap());
                check(&scene.log).unwrap_or_else(|error| {
                    panic!("{case}, {fault:?} at {index}, {operation}, seed {seed}: {error}")
                });
            }
        }
    }
}

/// Replaces the lines of the current file.
fn edit_current(image: &mut DiskImage, edit: impl FnOnce(&mut Vec<Value>)) {
    let mut lines = image.lines().pop().unwrap();
    edit(&mut lines);
    image.set("audit.jsonl", to_text(&lines).into_bytes());
}

#[test]
fn evidence_survives_power_failure_during_repair() {
    type Change = fn(&mut DiskImage);
    let changes: [(&str, Change); 11] = [
        ("current file removed", |image| image.remove("audit.jsonl")),
        ("current file emptied", |image| image.set("audit.jsonl", vec![])),
        ("all files removed", |image| {
            image.log_names().iter().for_each(|name| image.remove(name));
        }),
        ("all files and the head removed", |image| {
            image.log_names().iter().for_each(|name| image.remove(name));
            image.remove("audit.head");
        }),
        ("last line removed", |image| edit_current(image, |lines| drop(lines.pop()))),
        ("three lines removed", |image| edit_current(image, |lines| lines.truncate(2))),
        ("last line changed", |image| {
            edit_current(image, |lines| lines[4]["caller"] = "mallory".into());
        }),
        ("head removed", |image| image.remove("audit.head")),
        ("mark removed", |image| image.remove("keys/mark")),
        ("head and mark removed", |image| {
            image.remove("audit.head");
            image.remove("keys/mark");
        }),
        ("last line removed and torn", |image| {
            edit_current(image, |lines| drop(lines.pop()));
            let torn = [image.get("audit.jsonl"), b"{\"seq\":"].concat();
            image.set("audit.jsonl", torn);
        }),
    ];
    for (case, change) in changes {
        let mut image = IMAGE.clone();
        change(&mut image);
        check_interrupted_start(case, &image, |log| match verify(log).unwrap() {
            report if report.ok => Err(format!("it is not found: {:?}", messages(&report))),
            _ => Ok(()),
        });
    }
}

#[test]
fn traces_of_a_crash_do_not_become_evidence() {
    type Change = fn(&mut DiskImage);
    let changes: [(&str, Change); 6] = [
        ("nothing", |_| {}),
        ("torn line", |image| {
            image.set("audit.jsonl", [image.get("audit.jsonl"), b"{\"seq\":"].concat());
        }),
        ("line without its newline", |image| {
            let text = image.get("audit.jsonl");
            image.set("audit.jsonl", text[..text.len() - 1].to_vec());
        }),
        ("debris", |image| {
            let debris = [image.get("audit.jsonl"), &[0; 700], b"\n{}\n"].concat();
            image.set("audit.jsonl", debris);
        }),
        ("lines before the live head are gone", |image| {
            let (key, hash) = (image.key(), [7; 32]);
            let mut head = image.get("audit.head").to_vec();
            head.truncate(1024);
            head.extend(key.head(12, &hash));
            image.set("audit.head", head);
        }),
        ("closed file without a next one", |image| {
            let content = image.get("audit.jsonl").to_vec();
            image.remove("audit.jsonl");
            image.set("audit.000002.jsonl", content);
        }),
    ];
    for (case, change) in changes {
        let mut image = IMAGE.clone();
        change(&mut image);
        check_interrupted_start(case, &image, |log| {
            let report = verify(log).unwrap();
            match report.ok && report.lines >= 10 {
                true => Ok(()),
                false => Err(format!("{:?}", messages(&report))),
            }
        });
    }
}

/// A new log is found complete, or the next start creates it.
#[test]
fn interrupted_first_start_is_repeated() {
    let mut image = IMAGE.clone();
    for name in ["audit.000001.jsonl", "audit.jsonl", "audit.head", "keys/mark"] {
        image.remove(name);
    }
    check_interrupted_start("new log", &image, |log| {
        let report = verify(log).unwrap();
        match report.ok && report.lines > 0 {
            true => Ok(()),
            false => Err(format!("{:?}", messages(&report))),
        }
    });
}

/// What replaces a head has nothing of an older one in it.
#[test]
fn leftover_of_an_interrupted_replacement_is_not_used() {
    let mut image = IMAGE.clone();
    let key = image.key();
    let mut old = key.head(11, &[7; 32]);
    old.resize(512, 0);
    old.extend(key.head(13, &[7; 32]));
    old.resize(1024, 0);
    old.extend(key.head(14, &[7; 32]));
    image.set("audit.new", old.clone());
    image.set("keys/mark.new", old);
    image.remove("audit.head");
    let scene = Scene::new(&image);
    let log = scene.start().unwrap();
    let report = verify(&scene.log).unwrap();
    assert_eq!(
        messages(&report),
        [
            "line 6 records that audit.head was missing or changed: lines before it may have been removed"
        ]
    );
    drop(log);
}

/// A failed repair is repeated by the same writer, and nothing of it counts.
#[tokio::test]
async fn failed_repair_is_repeated() {
    let mut image = IMAGE.clone();
    image.set("audit.jsonl", [image.get("audit.jsonl"), b"{\"seq\":"].concat());
    let scene = Scene::new(&image);
    drop(scene.start().unwrap());
    let count = scene.disk.operations().len();
    for index in 0..count {
        // The torn line of another writer is repaired by a running one.
        let scene = Scene::new(&IMAGE);
        let log = scene.start().unwrap();
        let torn = image.get("audit.jsonl");
        fs::write(&scene.log, torn).unwrap();
        let disk = &scene.disk;
        disk.plan_fault(disk.operations().len() + index, DiskFault::Error(28));
        let first = log.append_durable(call_record(1)).await;
        log.append_durable(call_record(2)).await.unwrap();
        drop(log);
        let report = verify(&scene.log).unwrap();
        assert!(report.ok, "{index}, {first:?}: {:?}", messages(&report));
        let repaired =
            report.notes.iter().filter(|it| it.kind == VerificationFindingKind::Repaired);
        assert_eq!(repaired.count(), 1, "{index}: {:?}", messages(&report));
    }
}
