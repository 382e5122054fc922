//! Sealing by several processes, while the log rotates, and delivery to targets that fail.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use disk::SystemDisk;
use disk::simulated::{DurableFeature, Operation, OperationKind, SimulatedDisk, check_durability};
use store::audit::{
    AuditKeyLocation, AuditRotation, CheckpointQueue, CheckpointSigner, SignedCheckpoint,
    VerificationReport, read_log_growth,
};
use tempfile::TempDir;

use crate::audit::{append_calls, audit_options, messages, verify_sealed, write_log};

/// Maximum number of stored checkpoints.
const MAX_STORED: usize = 10_000;

fn keys_of(log: &Path) -> AuditKeyLocation {
    audit_options(log).keys
}

fn queue_of(log: &Path) -> CheckpointQueue<'static> {
    CheckpointQueue::new(&keys_of(log), &SystemDisk)
}

fn seal(log: &Path) -> SignedCheckpoint {
    let signer = CheckpointSigner::open_or_create(&keys_of(log), None).unwrap();
    signer.seal(&[log.to_owned()], &SystemDisk).unwrap()
}

fn verify_against(log: &Path, checkpoints: &[SignedCheckpoint]) -> VerificationReport {
    let signer = CheckpointSigner::open(&keys_of(log), None).unwrap().unwrap();
    verify_sealed(log, checkpoints, &signer.public_key())
}

fn one_per_file() -> AuditRotation {
    AuditRotation { max_file_bytes: 1, ..AuditRotation::default() }
}

fn numbers(checkpoints: &[SignedCheckpoint]) -> Vec<u64> {
    checkpoints.iter().map(|signed| signed.checkpoint.number).collect()
}

fn waiting(log: &Path, target: &str) -> Vec<u64> {
    numbers(&queue_of(log).list_undelivered(target).unwrap())
}

fn texts(targets: &[&str]) -> Vec<String> {
    targets.iter().map(|target| (*target).to_owned()).collect()
}

#[test]
fn undelivered_checkpoints_wait_for_each_target() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 1);
    let queue = queue_of(&log);
    assert!(queue.read_last().unwrap().is_none());
    queue.add_targets(&texts(&["a", "b"])).unwrap();
    let all: Vec<_> = (0..3).map(|_| seal(&log)).collect();
    assert_eq!(queue.list_undelivered("a").unwrap(), all);
    queue.record_delivery("a", &all[1]).unwrap();
    assert_eq!((waiting(&log, "a"), waiting(&log, "b")), (vec![3], vec![1, 2, 3]));
    // A target that is added later gets what is signed from then on. The others are not affected.
    queue.add_targets(&texts(&["c", "b"])).unwrap();
    assert_eq!(waiting(&log, "c"), [0; 0]);
    let fourth = seal(&log);
    assert_eq!((waiting(&log, "a"), waiting(&log, "c")), (vec![3, 4], vec![4]));
    assert_eq!(waiting(&log, "b"), [1, 2, 3, 4]);
    assert_eq!(queue.read_last().unwrap(), Some(fourth.clone()));
    for target in ["a", "b", "c"] {
        queue.record_delivery(target, &fourth).unwrap();
        assert_eq!(waiting(&log, target), [0; 0]);
    }
    // Only what is needed is kept.
    seal(&log);
    let stored = fs::read_to_string(temp.path().join("keys/last-checkpoint.json")).unwrap();
    assert_eq!(stored.lines().count(), 1);
    assert_eq!(waiting(&log, "b"), [5]);
}

/// What targets have got is unknown, so they get everything that is left. Their readers drop copies.
#[test]
fn targets_get_everything_again_if_the_record_of_deliveries_is_lost() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 1);
    let queue = queue_of(&log);
    queue.add_targets(&texts(&["a", "b"])).unwrap();
    let all: Vec<_> = (0..3).map(|_| seal(&log)).collect();
    queue.record_delivery("a", &all[2]).unwrap();
    for content in ["", "nonsense", "{\"version\":2,\"targets\":{}}"] {
        fs::write(temp.path().join("keys/deliveries.json"), content).unwrap();
        queue.add_targets(&texts(&["a", "b"])).unwrap();
        assert_eq!((waiting(&log, "a"), waiting(&log, "b")), (vec![1, 2, 3], vec![1, 2, 3]));
    }
}

/// The numbers begin again, so a number says nothing about what a target has got.
#[test]
fn checkpoints_are_delivered_after_the_last_one_was_changed() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 1);
    let queue = queue_of(&log);
    queue.add_targets(&texts(&["a"])).unwrap();
    (0..3).for_each(|_| drop(seal(&log)));
    queue.record_delivery("a", &queue.read_last().unwrap().unwrap()).unwrap();
    fs::write(temp.path().join("keys/last-checkpoint.json"), b"\xff").unwrap();
    assert_eq!(seal(&log).checkpoint.number, 1);
    assert_eq!(waiting(&log, "a"), [1]);
}

#[test]
fn target_that_misses_too_many_checkpoints_gets_the_newest() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 1);
    let queue = queue_of(&log);
    queue.add_targets(&texts(&["dead", "dropped"])).unwrap();
    let first = seal(&log).to_line();
    let line =
        |number: usize| first.replacen("\"number\":1,", &format!("\"number\":{number},"), 1) + "\n";
    let stored = temp.path().join("keys/last-checkpoint.json");
    fs::write(&stored, (1..MAX_STORED).map(line).collect::<String>()).unwrap();
    // One more fits.
    seal(&log);
    let found = waiting(&log, "dead");
    assert_eq!((found.len(), found[0]), (MAX_STORED, 1));
    // A target that is no longer used keeps nothing, and the newest ones stay for the others.
    queue.add_targets(&texts(&["dead", "new"])).unwrap();
    seal(&log);
    let found = waiting(&log, "dead");
    assert_eq!((found.len(), found[0]), (MAX_STORED, 2));
    assert_eq!(waiting(&log, "new").len(), 1);
    let deliveries = fs::read_to_string(temp.path().join("keys/deliveries.json")).unwrap();
    assert!(deliveries.contains("\"dead\"") && !deliveries.contains("\"dropped\""), "{deliveries}");
}

#[test]
fn checkpoints_of_several_processes_follow_each_other() {
    const THREADS: usize = 4;
    const EACH: usize = 15;
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 1);
    queue_of(&log).add_targets(&texts(&["a"])).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..EACH).for_each(|_| drop(seal(&log))));
        }
    });
    let all = queue_of(&log).list_undelivered("a").unwrap();
    assert_eq!(numbers(&all), (1..=(THREADS * EACH) as u64).collect::<Vec<_>>());
    let report = verify_against(&log, &all);
    assert!(report.ok, "{:?}", messages(&report));
}

#[test]
fn one_process_delivers_at_a_time() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 1);
    let first = queue_of(&log).try_lock_delivery().unwrap();
    assert!(first.is_some());
    assert!(queue_of(&log).try_lock_delivery().unwrap().is_none());
    // Sealing goes on meanwhile.
    seal(&log);
    drop(first);
    assert!(queue_of(&log).try_lock_delivery().unwrap().is_some());
}

/// A writer closes a file for each record while checkpoints are made.
#[test]
fn checkpoints_made_during_rotation_are_valid() {
    let temp = TempDir::new().unwrap();
    let log = temp.path().join("audit.jsonl");
    append_calls(&log, &one_per_file(), 1);
    let is_done = AtomicBool::new(false);
    let mut all = vec![];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            append_calls(&log, &one_per_file(), 60);
            is_done.store(true, Ordering::Relaxed);
        });
        while !is_done.load(Ordering::Relaxed) {
            all.push(seal(&log));
        }
    });
    all.push(seal(&log));
    let report = verify_against(&log, &all);
    assert!(report.ok, "{:?}", messages(&report));
    assert_eq!(report.checkpoints.unwrap().proven_through, report.last_seq);
}

/// A crash between the steps of a rotation leaves no current file, an empty one, or a part of its first line.
#[test]
fn log_is_sealed_after_a_crash_during_rotation() {
    let leave: [fn(&Path); 3] = [
        |log| fs::remove_file(log).unwrap(),
        |log| fs::write(log, "").unwrap(),
        |log| fs::write(log, "{\"seq\":").unwrap(),
    ];
    for crash in leave {
        let temp = TempDir::new().unwrap();
        let log = temp.path().join("audit.jsonl");
        append_calls(&log, &one_per_file(), 2);
        let whole = seal(&log);
        assert_eq!(whole.checkpoint.chains[0].file, 3);
        // The state after the file was renamed: the last line that exists is that of the closed file.
        fs::rename(&log, temp.path().join("audit.000003.jsonl")).unwrap();
        fs::File::create(&log).unwrap();
        crash(&log);
        let sealed = seal(&log);
        assert_eq!(sealed.checkpoint.chains, whole.checkpoint.chains);
        append_calls(&log, &one_per_file(), 1);
        let report = verify_against(&log, &[whole, sealed]);
        assert!(report.ok, "{:?}", messages(&report));
    }
}

#[test]
fn growth_counts_the_lines_of_all_files() {
    let size = |path: PathBuf| path.metadata().unwrap().len();
    let temp = TempDir::new().unwrap();
    let log = temp.path().join("audit.jsonl");
    assert_eq!(read_log_growth(&log, None).unwrap(), Some(0));
    append_calls(&log, &AuditRotation::default(), 3);
    assert_eq!(read_log_growth(&log, None).unwrap(), Some(size(log.clone())));
    let first = seal(&log);
    let at_first = size(log.clone());
    assert_eq!(read_log_growth(&log, Some(&first)).unwrap(), Some(0));
    append_calls(&log, &AuditRotation::default(), 1);
    let grown = size(log.clone()) - at_first;
    assert_eq!(read_log_growth(&log, Some(&first)).unwrap(), Some(grown));
    // Two files are closed, and the current one is smaller than the first one was.
    append_calls(&log, &one_per_file(), 2);
    let file = |number: u32| temp.path().join(format!("audit.{number:06}.jsonl"));
    let total = size(file(1)) + size(file(2)) + size(log.clone());
    assert!(size(log.clone()) < at_first);
    assert_eq!(read_log_growth(&log, None).unwrap(), Some(total));
    assert_eq!(read_log_growth(&log, Some(&first)).unwrap(), Some(total - at_first));
    let second = seal(&log);
    assert_eq!(read_log_growth(&log, Some(&second)).unwrap(), Some(0));
    // The current file has no line yet.
    append_calls(&log, &one_per_file(), 1);
    let third = size(file(3));
    fs::write(&log, "").unwrap();
    let expected = third - second.checkpoint.chains[0].bytes;
    assert_eq!(read_log_growth(&log, Some(&second)).unwrap(), Some(expected));
    // A removed file was not sealed completely, or nothing is known about it.
    fs::remove_file(file(2)).unwrap();
    assert_eq!(read_log_growth(&log, Some(&first)).unwrap(), None);
    assert_eq!(read_log_growth(&log, Some(&second)).unwrap(), Some(expected));
    // The checkpoint names another log.
    let other = TempDir::new().unwrap();
    let other = write_log(&other, 1);
    let foreign = seal(&other);
    fs::remove_file(file(1)).unwrap();
    assert_eq!(read_log_growth(&log, Some(&foreign)).unwrap(), Some(third));
}

#[test]
fn log_without_lines_is_not_sealed() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 1);
    let first = seal(&log);
    let signer = CheckpointSigner::open(&keys_of(&log), None).unwrap().unwrap();
    let missing = temp.path().join("missing.jsonl");
    for content in [None, Some(""), Some("torn"), Some("nonsense\n")] {
        if let Some(content) = content {
            fs::write(&missing, content).unwrap();
        }
        let error = signer.seal(&[log.clone(), missing.clone()], &SystemDisk).unwrap_err();
        let expected = format!("failed to seal {}: no audit lines there", missing.display());
        assert_eq!(error.to_string(), expected);
        assert!(error.hint().is_some());
    }
    // On a schedule, another log that cannot be read does not keep this one from being sealed.
    let others = [missing.clone(), temp.path().to_owned(), log.clone()];
    let (sealed, left_out) = signer.seal_readable(&log, &others, &SystemDisk).unwrap();
    assert_eq!((sealed.checkpoint.chains.len(), left_out.len()), (2, 2));
    assert!(signer.seal_readable(&missing, &[], &SystemDisk).is_err());
    // No number is lost, or a reader would miss a checkpoint.
    assert_eq!(seal(&log).checkpoint.number, first.checkpoint.number + 2);
}

#[test]
fn signing_key_and_checkpoints_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 1);
    queue_of(&log).add_targets(&texts(&["a"])).unwrap();
    seal(&log);
    drop(queue_of(&log).try_lock_delivery().unwrap());
    for name in
        ["seal-key.json", "last-checkpoint.json", "deliveries.json", "seal.lock", "delivery.lock"]
    {
        let mode = temp.path().join("keys").join(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

/// A step of sealing, on a disk that fails, fills up and loses power at every point.
struct SealStep {
    step: Step,
    /// The files before the step.
    files: Vec<(&'static str, Vec<u8>)>,
    /// What the last caller got.
    returned: Mutex<Option<SignedCheckpoint>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Step {
    CreateKey,
    AddTarget,
    Seal,
    Record,
}

impl SealStep {
    fn new(step: Step) -> Self {
        let temp = TempDir::new().unwrap();
        let log = write_log(&temp, 1);
        if step != Step::CreateKey {
            queue_of(&log).add_targets(&texts(&["b"])).unwrap();
            let first = seal(&log);
            queue_of(&log).record_delivery("b", &first).unwrap();
        }
        if matches!(step, Step::Seal | Step::Record) {
            queue_of(&log).add_targets(&texts(&["a"])).unwrap();
            seal(&log);
        }
        let names = [
            "audit.jsonl",
            "keys/seal-key.json",
            "keys/last-checkpoint.json",
            "keys/deliveries.json",
        ];
        let files = names
            .into_iter()
            .filter_map(|name| Some((name, fs::read(temp.path().join(name)).ok()?)));
        Self { step, files: files.collect(), returned: Mutex::default() }
    }

    fn location(root: &Path) -> AuditKeyLocation {
        AuditKeyLocation::new(root.join("keys"))
    }

    fn run(
        &self,
        root: &Path,
        disk: &SimulatedDisk,
    ) -> Result<Option<SignedCheckpoint>, store::StoreError> {
        let keys = Self::location(root);
        let queue = CheckpointQueue::new(&keys, disk);
        match self.step {
            Step::CreateKey => {
                CheckpointSigner::open_or_create_on_disk(&keys, None, disk)?;
                Ok(None)
            }
            Step::AddTarget => queue.add_targets(&texts(&["a"])).map(|()| None),
            Step::Seal => {
                let signer = CheckpointSigner::open_or_create_on_disk(&keys, None, disk)?;
                signer.seal(&[root.join("audit.jsonl")], disk).map(Some)
            }
            Step::Record => {
                let last = queue.read_last()?.unwrap();
                queue.record_delivery("a", &last).map(|()| Some(last))
            }
        }
    }
}

impl DurableFeature for SealStep {
    fn prepare(&self, root: &Path) {
        use std::os::unix::fs::PermissionsExt;
        if self.step != Step::CreateKey {
            store::StateDir::open(root.join("keys")).unwrap();
        }
        for (name, content) in &self.files {
            if self.step == Step::CreateKey && name.starts_with("keys") {
                continue;
            }
            fs::write(root.join(name), content).unwrap();
            fs::set_permissions(root.join(name), fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    fn write(&self, root: &Path, disk: Arc<SimulatedDisk>) -> Result<(), String> {
        *self.returned.lock().unwrap() =
            self.run(root, &disk).map_err(|error| error.to_string())?;
        Ok(())
    }

    fn check(&self, root: &Path, is_acknowledged: bool) -> Result<(), String> {
        let keys = Self::location(root);
        let text = |error: store::StoreError| error.to_string();
        let signer = CheckpointSigner::open(&keys, None).map_err(text)?;
        if signer.is_none() && (self.step != Step::CreateKey || is_acknowledged) {
            return Err("the signing key is lost".to_owned());
        }
        if self.step == Step::CreateKey {
            return Ok(());
        }
        let queue = CheckpointQueue::new(&keys, &SystemDisk);
        let Some(last) = queue.read_last().map_err(text)? else {
            return Err("the last checkpoint is lost".to_owned());
        };
        let waiting = queue.list_undelivered("a").map_err(text)?;
        let returned = self.returned.lock().unwrap();
        let is_valid = match self.step {
            // The target has the checkpoint before it was added, and gets the next one.
            Step::AddTarget => !is_acknowledged || waiting.is_empty(),
            // The second checkpoint waits until its delivery is recorded.
            Step::Record => waiting.is_empty() || waiting == [last] && !is_acknowledged,
            _ => {
                let first = waiting.first().map(|signed| signed.checkpoint.number);
                let is_stored = returned.as_ref().is_none_or(|sealed| waiting.contains(sealed));
                first == Some(2) && (is_stored || !is_acknowledged)
            }
        };
        match is_valid {
            true => Ok(()),
            false => Err(format!("{:?} wait for delivery", numbers(&waiting))),
        }
    }

    fn can_drop_sync(&self, sync: &Operation) -> bool {
        // The log is on the disk already here; `log_is_synced_before_it_is_sealed` checks this sync.
        sync.kind == OperationKind::SyncData
    }
}

#[test]
fn steps_of_sealing_survive_any_fault() {
    let list = |step| {
        let root = tempfile::tempdir().unwrap();
        let operations = check_durability(root.path(), &SealStep::new(step)).unwrap();
        operations
            .iter()
            .map(|it| it.to_string().split(".vouch-").next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let replaced = |name: &str| {
        ["Write keys/", "SyncAll keys/", &format!("Rename keys/{name}"), "SyncFolder keys"]
            .map(str::to_owned)
    };
    assert_eq!(
        list(Step::CreateKey),
        [
            "SyncFolder ",
            "Write keys/",
            "SyncAll keys/",
            "RenameNoclobber keys/seal-key.json",
            "SyncFolder keys"
        ]
    );
    assert_eq!(list(Step::AddTarget), replaced("deliveries.json"));
    assert_eq!(list(Step::Record), replaced("deliveries.json"));
    let sealed =
        [&["SyncData audit.jsonl".to_owned()][..], &replaced("last-checkpoint.json")].concat();
    assert_eq!(list(Step::Seal), sealed);
}
