//! Power failures at every operation on the disk: no acknowledged line is lost, every effect has its intent, and
//! verification accepts what is left.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use disk::simulated::{DiskFault, Operation, OperationKind, SimulatedDisk};
use store::audit::{
    self, AuditCall, AuditEntry, AuditKeyLocation, AuditLog, AuditOptions, AuditRotation,
};
use tempfile::TempDir;

use crate::audit::{call_record, intent_record, messages};

/// A log on a simulated disk.
struct DiskScene {
    disk: Arc<SimulatedDisk>,
    log: PathBuf,
    options: AuditOptions,
    _temp: TempDir,
}

/// What a caller knows when the power fails.
#[derive(Default)]
struct Known {
    /// Ids of intents that were acknowledged, so that the change was made.
    effects: Vec<String>,
    /// Ids whose outcome was acknowledged.
    answered: Vec<String>,
}

impl DiskScene {
    fn new() -> Self {
        let temp = TempDir::new().unwrap();
        let root = temp.path().canonicalize().unwrap();
        for folder in ["state", "keys"] {
            store::StateDir::open(root.join(folder)).unwrap();
        }
        let disk = SimulatedDisk::new(&root).unwrap();
        let keys = AuditKeyLocation::new(root.join("keys"));
        let rotation = AuditRotation { max_file_bytes: 1500, ..AuditRotation::default() };
        let options = AuditOptions { disk: disk.clone(), rotation, ..AuditOptions::new(keys) };
        Self { disk, log: root.join("state/audit.jsonl"), options, _temp: temp }
    }

    /// Makes changes until the power fails or enough are made.
    fn make_changes(&self, first: u64, known: &mut Known) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let Ok(log) = AuditLog::open(&self.log, &self.options) else { return };
        for n in first..first + 5 {
            let id = format!("call-{n}");
            let record = call_record(n);
            log.append(call_record(n));
            let intent = intent_record(&id, record.time);
            if runtime.block_on(log.append_intent(intent)).is_err() {
                break;
            }
            if self.disk.is_off() {
                break;
            }
            known.effects.push(id.clone());
            let outcome = AuditCall { call: Some(id.clone()), ..record };
            let written = runtime.block_on(log.append_durable(outcome)).is_ok();
            if !written || self.disk.is_off() {
                break;
            }
            known.answered.push(id);
        }
    }

    /// Returns why the log does not contain what it must contain.
    fn find_loss(&self, known: &Known) -> Result<(), String> {
        let report = audit::verify_log(&self.log, &self.options.keys).unwrap();
        if !report.ok {
            return Err(format!("{:?}", messages(&report)));
        }
        let (mut intents, mut outcomes) = (HashSet::new(), vec![]);
        for record in audit::read_records(&self.log).unwrap() {
            match record.unwrap().entry {
                AuditEntry::Intent(intent) => drop(intents.insert(intent.intent)),
                AuditEntry::Call(call) => outcomes.extend(call.call),
                AuditEntry::Event { .. } => {}
            }
        }
        for id in &known.effects {
            if !intents.contains(id) {
                return Err(format!("{id} has an effect and no intent"));
            }
        }
        for id in &known.answered {
            match outcomes.iter().filter(|outcome| *outcome == id).count() {
                1 => {}
                count => return Err(format!("{id} was acknowledged and is there {count} times")),
            }
        }
        let unknown = intents.iter().filter(|id| !outcomes.contains(id)).count();
        match report.unknown == unknown as u64 {
            true => Ok(()),
            false => Err(format!("{unknown} intents are open, {} reported", report.unknown)),
        }
    }
}

/// Returns the operations of a run without faults.
fn list_operations() -> Vec<Operation> {
    let (scene, mut known) = (DiskScene::new(), Known::default());
    scene.make_changes(1, &mut known);
    assert_eq!(known.answered.len(), 5);
    let closed = scene.log.with_file_name("audit.000001.jsonl");
    assert!(closed.exists(), "a file is closed on the way");
    scene.disk.operations()
}

/// Fails the power at an operation, restarts, continues, fails again at the end, and returns what was lost.
fn fail_at(
    index: usize,
    fault: DiskFault,
    seed: u64,
    dropped: Option<&Operation>,
) -> Result<(), String> {
    let (scene, mut known) = (DiskScene::new(), Known::default());
    let drop_syncs = || {
        if let Some(dropped) = dropped.cloned() {
            scene.disk.drop_syncs(move |it| *it == dropped);
        }
    };
    drop_syncs();
    scene.disk.plan_fault(index, fault);
    scene.make_changes(1, &mut known);
    scene.disk.crash(seed).unwrap();
    // What the next start repairs is not damage.
    drop_syncs();
    drop(AuditLog::open(&scene.log, &scene.options).map_err(|error| format!("{error:?}"))?);
    scene.find_loss(&known)?;
    scene.make_changes(100, &mut known);
    scene.disk.crash(seed).unwrap();
    drop(AuditLog::open(&scene.log, &scene.options).map_err(|error| format!("{error:?}"))?);
    scene.find_loss(&known)
}

#[test]
fn power_failure_at_any_operation_loses_nothing_acknowledged() {
    let count = list_operations().len();
    for index in 0..=count {
        for fault in [DiskFault::PowerOffBefore, DiskFault::PowerOffAfter] {
            for seed in [0, 1 + index as u64, 1000 + index as u64] {
                if let Err(loss) = fail_at(index, fault, seed, None) {
                    panic!("{fault:?} at operation {index}, seed {seed}: {loss}");
                }
            }
        }
    }
}

#[test]
fn full_and_failing_disk_loses_nothing_acknowledged() {
    let count = list_operations().len();
    for index in 0..=count {
        for fault in [DiskFault::Error(5), DiskFault::Full(100), DiskFault::ShortWrite] {
            let (scene, mut known) = (DiskScene::new(), Known::default());
            scene.disk.plan_fault(index, fault);
            scene.make_changes(1, &mut known);
            scene.disk.clear_faults();
            drop(AuditLog::open(&scene.log, &scene.options).unwrap());
            if let Err(loss) = scene.find_loss(&known) {
                panic!("{fault:?} at operation {index}: {loss}");
            }
        }
    }
}

/// The system may forget lines after a failed sync, so they are written again, and the log is not healthy until then.
#[test]
fn lines_of_a_failed_sync_are_written_again() {
    let (scene, mut known) = (DiskScene::new(), Known::default());
    scene.make_changes(1, &mut known);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let log = AuditLog::open(&scene.log, &scene.options).unwrap();
    runtime.block_on(log.append_durable(call_record(6))).unwrap();
    let path = Path::new("state/audit.jsonl");
    // The write, the two live heads, and then the sync.
    let sync = scene.disk.operations().len() + 3;
    scene.disk.plan_fault(sync, DiskFault::Error(5));
    let outcome = AuditCall { call: Some("late".into()), ..call_record(7) };
    assert!(runtime.block_on(log.append_durable(outcome)).is_err());
    let failed = &scene.disk.operations()[sync];
    assert!(failed.kind == OperationKind::SyncData && failed.path == path, "{failed}");
    assert!(!log.is_healthy());
    runtime.block_on(log.flush()).unwrap();
    assert!(log.is_healthy());
    scene.disk.crash(0).unwrap();
    drop(log);
    drop(AuditLog::open(&scene.log, &scene.options).unwrap());
    known.answered.push("late".into());
    scene.find_loss(&known).unwrap();
}

/// A batch that was not synced lost a sector and kept its last newline.
#[test]
fn damaged_lines_that_were_not_synced_are_set_aside() {
    let (scene, mut known) = (DiskScene::new(), Known::default());
    scene.make_changes(1, &mut known);
    let mut bytes = std::fs::read(&scene.log).unwrap();
    let debris = [&[0; 512][..], b"\n{\"torn\":true}\n"].concat();
    bytes.extend(&debris);
    std::fs::write(&scene.log, &bytes).unwrap();
    drop(AuditLog::open(&scene.log, &scene.options).unwrap());
    scene.find_loss(&known).unwrap();
    let report = audit::verify_log(&scene.log, &scene.options.keys).unwrap();
    let text = format!("{} bytes after seq", debris.len());
    assert!(report.notes.iter().any(|note| note.message.contains(&text)), "{:?}", report.notes);
    let folder = std::fs::read_dir(scene.log.parent().unwrap()).unwrap();
    let mut paths = folder.map(|entry| entry.unwrap().path());
    let kept = paths.find(|path| path.extension().is_some_and(|it| it == "debris")).unwrap();
    assert_eq!(std::fs::read(kept).unwrap(), debris);
}

/// The tests above notice each sync that protects acknowledged lines and the files that contain them.
#[test]
fn dropped_syncs_are_noticed() {
    let operations = list_operations();
    let is_needed = |operation: &Operation| {
        (0..=operations.len())
            .any(|index| fail_at(index, DiskFault::PowerOffBefore, 0, Some(operation)).is_err())
    };
    for (kind, path) in [
        (OperationKind::SyncData, "state/audit.jsonl"),
        (OperationKind::SyncFolder, "state"),
        (OperationKind::SyncData, "state/audit.head"),
        (OperationKind::SyncData, "keys/mark.new"),
        (OperationKind::SyncFolder, "keys"),
    ] {
        let operation = Operation { kind, path: path.into() };
        assert!(operations.contains(&operation), "{operation} does not happen");
        assert!(is_needed(&operation), "a dropped {operation} goes unnoticed");
    }
}

/// Heads are synced after the lines that they name, and both copies are written.
#[test]
fn heads_are_synced_after_their_lines() {
    let operations = list_operations();
    let last = |kind, path: &str| {
        let is_same = |it: &Operation| it.kind == kind && it.path == Path::new(path);
        operations.iter().rposition(is_same).unwrap()
    };
    let [write, sync] =
        [OperationKind::Write, OperationKind::SyncData].map(|kind| last(kind, "state/audit.jsonl"));
    let heads = ["state/audit.head", "keys/mark"].map(|path| last(OperationKind::SyncData, path));
    assert!(write < sync && heads.iter().all(|head| sync < *head), "{operations:?}");
}
