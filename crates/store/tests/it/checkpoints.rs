//! Checkpoints: how they are created, stored and read, and what a comparison says.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use disk::SystemDisk;
use disk::simulated::{
    DiskFault, DurableFeature, Operation, OperationKind, SimulatedDisk, check_durability,
};
use jiff::Timestamp;
use serde_json::Value;
use store::audit::{
    AuditRotation, CheckpointEvidence, CheckpointKey, CheckpointSigner, SignedCheckpoint,
    VerificationFinding, VerificationFindingKind, VerificationReport, append_checkpoint,
    read_checkpoints,
};
use tempfile::TempDir;

use crate::audit::{
    append_calls, audit_options, messages, verify, verify_kept, verify_sealed, write_log,
};
use crate::forger::DiskImage;

/// Maximum size of a file of checkpoints.
const MAX_FILE_BYTES: u64 = 128 << 20;

fn open_signer(log: &Path) -> CheckpointSigner {
    CheckpointSigner::open_or_create(&audit_options(log).keys, None).unwrap()
}

fn seal(log: &Path) -> SignedCheckpoint {
    open_signer(log).seal(&[log.to_owned()], &SystemDisk).unwrap()
}

fn verify_against(log: &Path, checkpoints: &[SignedCheckpoint]) -> VerificationReport {
    verify_sealed(log, checkpoints, &open_signer(log).public_key())
}

/// Every record in a file of its own.
fn one_per_file() -> AuditRotation {
    AuditRotation { max_file_bytes: 1, ..AuditRotation::default() }
}

fn find_limit(report: &VerificationReport) -> Option<&VerificationFinding> {
    report.notes.iter().find(|note| note.kind == VerificationFindingKind::Unproven)
}

#[test]
fn checkpoint_names_the_end_of_the_log() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 3);
    let first = seal(&log);
    let tip = &first.checkpoint.chains[0];
    let content = fs::read(&log).unwrap();
    assert_eq!((tip.seq, tip.file, tip.bytes), (4, 1, content.len() as u64));
    use sha2::Digest;
    let digest = crate::forger::encode(&sha2::Sha256::digest(&content));
    assert_eq!(tip.sha256, format!("sha256:{digest}"));
    assert_eq!(Some(&tip.chain), verify(&log).unwrap().chain.as_ref());
    assert_eq!(first.checkpoint.number, 1);
    assert_eq!(first.signer, open_signer(&log).public_key().to_string());
    // A torn line is not part of it.
    fs::write(&log, [&content[..], b"{\"seq\":"].concat()).unwrap();
    let second = seal(&log);
    assert_eq!(
        (second.checkpoint.number, &second.checkpoint.chains),
        (2, &first.checkpoint.chains)
    );
    let previous: Value = serde_json::from_str(&second.to_line()).unwrap();
    let hash = crate::forger::encode(&sha2::Sha256::digest(first.to_line()));
    assert_eq!(previous["checkpoint"]["previous"], format!("sha256:{hash}"));
    fs::remove_file(&log).unwrap();
    fs::create_dir(&log).unwrap();
    assert!(open_signer(&log).seal(&[log], &SystemDisk).is_err());
}

/// A line that a power failure can still remove must not be in a checkpoint.
#[test]
fn log_is_synced_before_it_is_sealed() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 3);
    let disk = SimulatedDisk::new(temp.path()).unwrap();
    open_signer(&log).seal(&[log], &*disk).unwrap();
    let first = disk.operations()[0].to_string();
    assert_eq!(first, "SyncData audit.jsonl");
    let log = temp.path().join("audit.jsonl");
    disk.plan_fault(disk.operations().len(), DiskFault::Error(5));
    assert!(open_signer(&log).seal(&[log], &*disk).is_err());
}

#[test]
fn signing_key_is_created_once_and_checked() {
    let temp = TempDir::new().unwrap();
    let keys = audit_options(&temp.path().join("audit.jsonl")).keys;
    assert!(CheckpointSigner::open(&keys, None).unwrap().is_none());
    let first = CheckpointSigner::open_or_create(&keys, None).unwrap().public_key();
    assert_eq!(CheckpointSigner::open_or_create(&keys, None).unwrap().public_key(), first);
    assert_eq!(CheckpointSigner::open(&keys, None).unwrap().unwrap().public_key(), first);
    let other = temp.path().join("medium.json");
    let second = CheckpointSigner::open_or_create(&keys, Some(&other)).unwrap().public_key();
    assert!(other.exists() && second != first);
    assert_eq!(first.to_string().parse::<CheckpointKey>(), Ok(first));
    for text in ["", "ed25519:", &first.to_string()[1..], &format!("{first}0"), "ed25519:zz"] {
        assert!(text.parse::<CheckpointKey>().is_err(), "{text}");
    }
    let path = temp.path().join("keys/seal-key.json");
    let valid: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for (field, value) in [("version", 2.into()), ("key", "00".into()), ("more", 1.into())] {
        let mut file = valid.clone();
        file[field] = value;
        fs::write(&path, file.to_string()).unwrap();
        let error = CheckpointSigner::open(&keys, None).err().unwrap().to_string();
        assert!(error.starts_with("invalid audit keys in"), "{field}: {error}");
        assert!(CheckpointSigner::open_or_create(&keys, None).is_err(), "it is not replaced");
    }
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("nowhere", &path).unwrap();
    assert!(CheckpointSigner::open_or_create(&keys, None).is_err());
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(CheckpointSigner::open(&keys, None).is_err());
}

#[test]
fn last_checkpoint_that_cannot_be_read_is_an_error_and_a_changed_one_a_gap() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 1);
    let first = seal(&log);
    let last = temp.path().join("keys/last-checkpoint.json");
    fs::write(&last, "nonsense").unwrap();
    let second = seal(&log);
    assert_eq!(second.checkpoint.number, 1);
    let report = verify_against(&log, &[first, second]);
    assert!(messages(&report)[0].contains("does not follow"), "{:?}", messages(&report));
    fs::remove_file(&last).unwrap();
    fs::create_dir(&last).unwrap();
    assert!(open_signer(&log).seal(&[log], &SystemDisk).is_err());
}

#[test]
fn checkpoints_are_read_from_files_and_folders() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 1);
    let all: Vec<_> = (0..3).map(|_| seal(&log)).collect();
    let folder = temp.path().join("folder");
    fs::create_dir(&folder).unwrap();
    let mut names = vec![];
    for signed in all.iter().rev() {
        names.push(append_checkpoint(&folder, signed, &SystemDisk).unwrap());
    }
    let signer = &all[0].signer["ed25519:".len()..][..16];
    assert_eq!(names[2], folder.join(format!("checkpoint-{signer}-00000001.json")));
    // A copy of one in another file, and files that are something else.
    append_checkpoint(&folder.join("copy.jsonl"), &all[1], &SystemDisk).unwrap();
    fs::write(folder.join("notes.txt"), "nonsense").unwrap();
    fs::write(folder.join("json"), "nonsense").unwrap();
    assert_eq!(read_checkpoints(&folder).unwrap(), all);

    let file = temp.path().join("file.jsonl");
    for signed in &all {
        assert_eq!(append_checkpoint(&file, signed, &SystemDisk).unwrap(), file);
    }
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, all.iter().map(|it| it.to_line() + "\n").collect::<String>());
    assert_eq!(read_checkpoints(&file).unwrap(), all);
    // Empty lines do not count, and a crash leaves a torn one at the end.
    fs::write(&file, format!("\n{text}  \n{}", &all[0].to_line()[..40])).unwrap();
    assert_eq!(read_checkpoints(&file).unwrap(), all);
    append_checkpoint(&file, &all[0], &SystemDisk).unwrap();
    assert!(fs::read_to_string(&file).unwrap().ends_with(&format!("\n{}\n", all[0].to_line())));
    for (content, line) in [
        (format!("{text}nonsense\n"), 4),
        (format!("{text}nonsense"), 4),
        (format!("{}\n{text}", &all[0].to_line()[..40]), 1),
        (format!("{text}{}\n", &all[0].to_line()[..40]), 4),
        (text.replacen(r#""version":1"#, r#""version":2"#, 1), 1),
    ] {
        fs::write(&file, content).unwrap();
        let error = read_checkpoints(&file).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(cause, format!("line {line} is not a checkpoint"));
    }
    assert!(read_checkpoints(&temp.path().join("missing")).is_err());
}

#[test]
fn file_of_checkpoints_is_limited() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("large.jsonl");
    let file = fs::File::create(&path).unwrap();
    for (length, expected) in
        [(MAX_FILE_BYTES, "line 1 is not a checkpoint"), (MAX_FILE_BYTES + 1, "over 128 MiB")]
    {
        file.set_len(length).unwrap();
        let error = read_checkpoints(&path).unwrap_err();
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), expected);
    }
}

/// A checkpoint in a file or folder survives any fault of the disk.
struct StoredCheckpoint {
    is_folder: bool,
    before: Option<&'static str>,
    signed: SignedCheckpoint,
}

impl StoredCheckpoint {
    fn target(&self, root: &Path) -> PathBuf {
        if self.is_folder { root.to_owned() } else { root.join("checkpoints.jsonl") }
    }
}

impl DurableFeature for StoredCheckpoint {
    fn prepare(&self, root: &Path) {
        if let Some(before) = self.before {
            fs::write(root.join("checkpoints.jsonl"), before).unwrap();
        }
    }

    fn write(&self, root: &Path, disk: Arc<SimulatedDisk>) -> Result<(), String> {
        append_checkpoint(&self.target(root), &self.signed, &*disk)
            .map(drop)
            .map_err(|error| error.to_string())
    }

    fn check(&self, root: &Path, is_acknowledged: bool) -> Result<(), String> {
        // A torn copy of an attempt that failed may stand before one that succeeded.
        let texts = fs::read_dir(root).unwrap().map(|it| fs::read_to_string(it.unwrap().path()));
        let text: String = texts.map(|text| text.unwrap_or_default() + "\n").collect();
        match text.lines().any(|line| line == self.signed.to_line()) || !is_acknowledged {
            true => Ok(()),
            false => Err(format!("the checkpoint is not in {text:?}")),
        }
    }

    fn can_drop_sync(&self, sync: &Operation) -> bool {
        // The name of a file that exists is durable, unless an attempt that failed created it.
        sync.kind == OperationKind::SyncFolder && self.before.is_some()
    }
}

#[test]
fn stored_checkpoint_survives_any_fault() {
    let temp = TempDir::new().unwrap();
    let signed = seal(&write_log(&temp, 1));
    let list = |is_folder, before| {
        let root = tempfile::tempdir().unwrap();
        let feature = StoredCheckpoint { is_folder, before, signed: signed.clone() };
        let operations = check_durability(root.path(), &feature).unwrap();
        operations.iter().map(|it| format!("{:?}", it.kind)).collect::<Vec<_>>()
    };
    assert_eq!(list(false, None), ["Write", "SyncData", "SyncFolder"]);
    assert_eq!(list(true, None), ["Write", "SyncData", "SyncFolder"]);
    assert_eq!(list(false, Some("{}\n")), ["Write", "SyncData", "SyncFolder"]);
    assert_eq!(list(false, Some("torn")), ["Write", "Write", "SyncData", "SyncFolder"]);
}

#[test]
fn proof_says_how_far_it_reaches() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 3);
    let report = verify_against(&log, &[]);
    assert!(report.ok);
    let limit = find_limit(&report).unwrap();
    assert_eq!(
        (limit.seq, limit.count, &*limit.message),
        (Some(1), 4, "nothing is proven by checkpoints")
    );
    let summary = report.checkpoints.unwrap();
    assert_eq!((summary.checkpoints, summary.proven_through, summary.proven_at), (0, 0, None));

    let first = seal(&log);
    let report = verify_against(&log, std::slice::from_ref(&first));
    assert!(report.ok && find_limit(&report).is_none(), "{:?}", messages(&report));
    append_calls(&log, &AuditRotation::default(), 2);
    let second = seal(&log);
    append_calls(&log, &AuditRotation::default(), 3);
    // The proof is that of the newest one, at its time.
    for checkpoints in [vec![first.clone(), second.clone()], vec![second.clone()]] {
        let report = verify_against(&log, &checkpoints);
        let summary = report.checkpoints.clone().unwrap();
        assert_eq!((summary.proven_through, summary.checkpoints), (6, checkpoints.len() as u64));
        assert_eq!(summary.proven_at, Some(second.checkpoint.time));
        let limit = find_limit(&report).unwrap();
        assert_eq!((limit.seq, limit.count), (Some(7), 3));
        let message = format!(
            "nothing is proven from seq 7 on: a holder of the log's key could have rewritten it after the checkpoint of {:.0}",
            second.checkpoint.time
        );
        assert_eq!(limit.message, message);
    }
    // The order in which they are given makes no difference for what is proven.
    let report = verify_against(&log, &[second.clone(), first]);
    assert_eq!(report.checkpoints.unwrap().proven_through, 6);
    // Two checkpoints of the same line: the later one counts.
    let third = seal(&log);
    let fourth = seal(&log);
    let report = verify_against(&log, &[third, fourth.clone()]);
    assert_eq!(report.checkpoints.unwrap().proven_at, Some(fourth.checkpoint.time));
}

#[test]
fn rewritten_lines_are_named() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 3);
    let first = seal(&log);
    append_calls(&log, &AuditRotation::default(), 2);
    let second = seal(&log);
    let both = [first.clone(), second.clone()];
    let image = DiskImage::read(temp.path());
    let check = |edit: &dyn Fn(&mut Vec<Value>), expected: &[String], proven: u64| {
        let mut image = image.clone();
        let mut files = image.lines();
        edit(&mut files[0]);
        let key = image.key();
        let (seq, hash) = key.link(&mut files);
        image.set_lines(&files);
        image.set("audit.head", key.head(seq, &hash));
        image.set("keys/mark", key.head(seq, &hash));
        let temp = image.restore();
        let report = verify_against(&temp.path().join("audit.jsonl"), &both);
        let problems: Vec<_> = report.problems.iter().map(|it| it.message.clone()).collect();
        assert_eq!(problems, expected);
        assert_eq!(report.checkpoints.unwrap().proven_through, proven);
    };
    let at = |signed: &SignedCheckpoint, first: u64, why: &str| {
        let (last, time) = (signed.checkpoint.chains[0].seq, signed.checkpoint.time);
        format!(
            "seq {first} to {last} were rewritten or removed after the checkpoint of {time:.0}: {why}"
        )
    };
    let differs = "the content of file 1 differs";
    check(&|_| {}, &[], 6);
    check(&|lines| lines[4]["caller"] = "mallo".into(), &[at(&second, 5, differs)], 4);
    let expected = [at(&first, 1, differs), at(&second, 1, differs)];
    check(&|lines| lines[1]["caller"] = "mallo".into(), &expected, 0);
    let bytes = second.checkpoint.chains[0].bytes;
    let kept = first.checkpoint.chains[0].bytes;
    let why = format!("file 1 had {bytes} bytes and has {kept}");
    check(&|lines| lines.truncate(4), &[at(&second, 5, &why)], 4);
}

#[test]
fn earlier_files_are_proven_by_the_file_after_them() {
    let temp = TempDir::new().unwrap();
    let log = temp.path().join("audit.jsonl");
    append_calls(&log, &one_per_file(), 4);
    let signed = [seal(&log)];
    assert_eq!(signed[0].checkpoint.chains[0].file, 5);
    let report = verify_against(&log, &signed);
    assert!(report.ok, "{:?}", messages(&report));
    let image = DiskImage::read(temp.path());
    for number in 1..=4 {
        for grows in [false, true] {
            let mut image = image.clone();
            let name = format!("audit.{number:06}.jsonl");
            let text = String::from_utf8(image.get(&name).to_vec()).unwrap();
            let changed = match grows {
                false => text.replacen("T", "U", 1),
                true => text + "\n",
            };
            image.set(&name, changed.into_bytes());
            let temp = image.restore();
            let log = temp.path().join("audit.jsonl");
            let report = verify_against(&log, &signed);
            let is_proof =
                |it: &&VerificationFinding| it.kind == VerificationFindingKind::Checkpoint;
            let problems: Vec<_> = report.problems.iter().filter(is_proof).collect();
            let expected = format!("file {number} was rewritten after it was closed");
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert_eq!((&problems[0].message, problems[0].seq), (&expected, Some(2 * number - 1)));
        }
    }
}

#[test]
fn files_that_were_removed_as_configured_are_no_rewrite() {
    let temp = TempDir::new().unwrap();
    let log = temp.path().join("audit.jsonl");
    append_calls(&log, &one_per_file(), 2);
    let early = seal(&log);
    append_calls(&log, &one_per_file(), 2);
    let image = DiskImage::read(temp.path());
    // The file of the first checkpoint is closed as number 3.
    assert_eq!(early.checkpoint.chains[0].file, 3);
    let rotation = AuditRotation { keep_files: Some(1), ..one_per_file() };
    append_calls(&log, &rotation, 1);
    let checkpoints = [early.clone(), seal(&log)];
    let key = open_signer(&log).public_key();
    let evidence = CheckpointEvidence {
        checkpoints: &checkpoints,
        key: &key,
        rotation: &rotation,
        now: Timestamp::now(),
    };
    let report = verify_kept(&log, &evidence);
    assert!(report.ok, "{:?}", messages(&report));
    assert!(find_limit(&report).is_none(), "{:?}", messages(&report));
    // The same file, removed by an adversary.
    let mut image = image;
    image.remove("audit.000003.jsonl");
    let temp = image.restore();
    let report = verify_against(&temp.path().join("audit.jsonl"), std::slice::from_ref(&early));
    let last = early.checkpoint.chains[0].seq;
    let expected = format!(
        "seq 1 to {last} were rewritten or removed after the checkpoint of {:.0}: file 3 is missing",
        early.checkpoint.time
    );
    assert!(messages(&report).contains(&expected), "{:?}", messages(&report));
}

#[test]
fn checkpoints_of_other_logs_prove_nothing() {
    let temps = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let logs = temps.each_ref().map(|temp| write_log(temp, 1));
    let signer = open_signer(&logs[0]);
    let signed = [signer.seal(&logs[1..], &SystemDisk).unwrap()];
    let report = verify_against(&logs[0], &signed);
    let [own, other] = logs.each_ref().map(|log| verify(log).unwrap().chain.unwrap());
    let missing = format!(
        "chain {other} is in none of the logs: checkpoints name it up to seq 2; it was removed, or its log was not verified too"
    );
    assert_eq!(
        messages(&report),
        [
            &missing,
            &format!("no valid checkpoint names chain {own}"),
            "nothing is proven by checkpoints"
        ]
    );
    fs::remove_file(&logs[0]).unwrap();
    let report = verify_against(&logs[0], &signed);
    assert!(
        messages(&report).contains(&"the log has no lines that a checkpoint could name".to_owned())
    );
    // Both chains of a log whose key was lost can be named.
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 1);
    let before = verify(&log).unwrap().chain.unwrap();
    fs::remove_file(temp.path().join("keys/keys.json")).unwrap();
    write_log(&temp, 1);
    let after = verify(&log).unwrap().chain.unwrap();
    let report = verify_against(&log, &[open_signer(&log).seal(&logs[1..], &SystemDisk).unwrap()]);
    let expected = format!("no valid checkpoint names chain {before} or {after}");
    assert!(messages(&report).contains(&expected), "{:?}", messages(&report));
}

#[test]
fn checkpoint_is_appended_in_a_folder_that_cannot_be_read() {
    const EACCES: i32 = 13;
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 1);
    let folder = TempDir::new().unwrap();
    let target = folder.path().join("checkpoints.jsonl");
    let disk = SimulatedDisk::new(folder.path()).unwrap();
    // The folder is synced after the line and its content.
    disk.plan_fault(2, DiskFault::Error(EACCES));
    append_checkpoint(&target, &seal(&log), &*disk).unwrap_err();
    append_checkpoint(&target, &seal(&log), &*disk).unwrap();
    disk.plan_fault(2, DiskFault::Error(EACCES));
    append_checkpoint(&target, &seal(&log), &*disk).unwrap();
    assert_eq!(read_checkpoints(&target).unwrap().len(), 2);
}
