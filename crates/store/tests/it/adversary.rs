//! Adversaries who rewrite a log and recompute what they can: operation × position × what is recomputed.
//!
//! Without the key, every rewrite is found, also after a server has continued the log. With the key, verification of the
//! chain finds nothing, and checkpoints find every rewrite before the last of them.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sha2::{Digest, Sha256};
use store::audit::{
    self, AuditCall, AuditOptions, AuditRotation, CheckpointEvidence, CheckpointSigner,
    SignedCheckpoint, VerificationFindingKind, VerificationReport, VerifiedLog,
};
use tempfile::TempDir;

use crate::audit::{
    audit_options, call_record, intent_record, messages, verify, verify_kept, verify_sealed,
};
use crate::forger::{DiskImage, ForgeKey, LogLines, encode, set_prev, to_text};
use crate::writer::wait_until;

/// A log of three files, an earlier state of it, and its checkpoints.
struct Scene {
    image: DiskImage,
    earlier: DiskImage,
    checkpoints: Vec<SignedCheckpoint>,
    key: audit::CheckpointKey,
    /// Sequence number of the last line that a checkpoint names.
    sealed: u64,
}

fn options(log: &Path) -> AuditOptions {
    let rotation = AuditRotation { max_file_bytes: 4096, ..AuditRotation::default() };
    AuditOptions { rotation, ..audit_options(log) }
}

/// Appends calls, every third one with an intent.
fn append_calls(log: &Path, numbers: std::ops::Range<u64>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let log = audit::AuditLog::open(log, &options(log)).unwrap();
    for n in numbers {
        let mut record = call_record(n);
        if n % 3 == 0 {
            let id = log.new_call_id().unwrap();
            let intent = intent_record(&id, record.time);
            runtime.block_on(log.append_intent(intent)).unwrap();
            record = AuditCall { call: Some(id), ..record };
        }
        // One batch per call, so that files are closed in between.
        runtime.block_on(log.append_durable(record)).unwrap();
    }
}

static SCENE: LazyLock<Scene> = LazyLock::new(|| {
    let temp = TempDir::new().unwrap();
    let log = temp.path().join("audit.jsonl");
    append_calls(&log, 1..10);
    let earlier = DiskImage::read(temp.path());
    let signer = CheckpointSigner::open_or_create(&options(&log).keys, None).unwrap();
    let seal = || signer.seal(std::slice::from_ref(&log), &disk::SystemDisk).unwrap();
    let mut checkpoints = vec![seal()];
    append_calls(&log, 10..34);
    checkpoints.push(seal());
    append_calls(&log, 34..40);
    let image = DiskImage::read(temp.path());
    assert_eq!(image.log_names().len(), 3, "{:?}", image.log_names());
    let report = verify(&log).unwrap();
    assert!(report.ok && report.unknown == 0, "{:?}", messages(&report));
    let sealed = checkpoints[1].checkpoint.chains[0].seq;
    assert!(report.last_seq > sealed);
    assert_eq!(checkpoints[1].checkpoint.chains[0].file, 3, "a checkpoint in the last file");
    Scene { image, earlier, checkpoints, key: signer.public_key(), sealed }
});

/// What is done to a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Edit,
    EditTime,
    Remove,
    RemoveThree,
    SwapWithNext,
    MoveToEnd,
    Duplicate,
    Insert,
    TruncateHere,
    DropOutcomes,
}

const OPERATIONS: [Operation; 10] = [
    Operation::Edit,
    Operation::EditTime,
    Operation::Remove,
    Operation::RemoveThree,
    Operation::SwapWithNext,
    Operation::MoveToEnd,
    Operation::Duplicate,
    Operation::Insert,
    Operation::TruncateHere,
    Operation::DropOutcomes,
];

impl Operation {
    /// Applies the operation to a line. Returns false if nothing changed.
    fn apply(self, files: &mut LogLines, file: usize, at: usize) -> bool {
        let before = files.clone();
        let lines = &mut files[file];
        match self {
            Self::Edit => {
                let field = if lines[at].get("caller").is_some() { "caller" } else { "event" };
                lines[at][field] = json!("mallory");
            }
            Self::EditTime => lines[at]["time"] = json!("2026-03-01T11:00:00.000Z"),
            Self::Remove => drop(lines.remove(at)),
            Self::RemoveThree => drop(lines.drain(at..(at + 3).min(lines.len()))),
            Self::SwapWithNext if at + 1 < lines.len() => lines.swap(at, at + 1),
            Self::SwapWithNext => {}
            Self::MoveToEnd => {
                let line = lines.remove(at);
                lines.push(line);
            }
            Self::Duplicate => lines.insert(at, lines[at].clone()),
            Self::Insert => {
                let mut forged = lines[at].clone();
                forged["caller"] = json!("mallory");
                lines.insert(at, forged);
            }
            Self::TruncateHere => {
                lines.truncate(at);
                files[file + 1..].iter_mut().for_each(Vec::clear);
            }
            Self::DropOutcomes => lines.retain(|line| line.get("call").is_none()),
        }
        *files != before
    }
}

/// What an adversary without the key recomputes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recomputed {
    Nothing,
    /// Sequence numbers.
    Numbers,
    /// Sequence numbers and digests are those that stood at the same place before.
    ByPosition,
    /// The chain of an earlier version, without a key, and its head.
    Plain,
    /// The chain and all heads in the state directory, under a key of the adversary.
    OwnKey,
    /// As `OwnKey`, but lines claim the id of the real key.
    OwnKeyWithRealId,
    /// The head is an earlier one.
    OldHead,
    /// The head is built from the digest in the line after the last one that is left.
    HeadFromDigest,
}

const RECOMPUTED: [Recomputed; 8] = [
    Recomputed::Nothing,
    Recomputed::Numbers,
    Recomputed::ByPosition,
    Recomputed::Plain,
    Recomputed::OwnKey,
    Recomputed::OwnKeyWithRealId,
    Recomputed::OldHead,
    Recomputed::HeadFromDigest,
];

fn recompute(image: &mut DiskImage, files: &mut LogLines, how: Recomputed) {
    let chain = image.key();
    let original = image.lines().concat();
    match how {
        Recomputed::Nothing => {}
        Recomputed::Numbers => {
            let lines = files.iter_mut().flatten();
            lines.zip(1_u64..).for_each(|(line, seq)| line["seq"] = seq.into());
        }
        Recomputed::ByPosition => {
            for (line, original) in files.iter_mut().flatten().zip(&original) {
                line["seq"] = original["seq"].clone();
                set_prev(line, original["prev"].as_str().unwrap().to_owned());
            }
        }
        Recomputed::Plain => {
            let mut hash = vec![0; 32];
            let mut seq = 0_u64;
            for line in files.iter_mut().flatten() {
                seq += 1;
                line["seq"] = seq.into();
                set_prev(line, format!("sha256:{}", encode(&hash)));
                hash = Sha256::digest(line.to_string().as_bytes()).to_vec();
            }
            let head = format!("{seq:020} sha256:{}\n", encode(&hash));
            image.set("audit.head", head.into_bytes());
        }
        Recomputed::OwnKey | Recomputed::OwnKeyWithRealId => {
            let own = ForgeKey::new(&[7; 32], chain.chain());
            let own = if how == Recomputed::OwnKey { own } else { own.with_id_of(&chain) };
            let (seq, hash) = own.link(files);
            image.set("audit.head", own.head(seq, &hash));
        }
        Recomputed::OldHead => {
            image.set("audit.head", SCENE.earlier.get("audit.head").to_vec());
        }
        Recomputed::HeadFromDigest => {
            let left = files.iter().map(Vec::len).sum::<usize>();
            let last = files.iter().flatten().last().map_or(0, |it| it["seq"].as_u64().unwrap());
            let digest = original.get(left).or(original.last()).unwrap()["prev"].clone();
            let digest = digest.as_str().unwrap().rsplit(':').next().unwrap().to_owned();
            let hash = files.iter().flatten().last();
            let hash = hash.map_or(vec![0; 32], |it| Sha256::digest(it.to_string()).to_vec());
            let head = format!("{last:020} {} {} {digest}\n", chain.id(), encode(&hash));
            image.set("audit.head", head.into_bytes());
        }
    }
    image.set_lines(files);
}

/// Returns lines at the begin, in the middle and at the end of each file.
fn positions(files: &LogLines) -> Vec<(usize, usize)> {
    let of_file = |(file, lines): (usize, &Vec<_>)| {
        let last = lines.len() - 1;
        [0, 1, last / 2, last - 1, last].map(|at| (file, at))
    };
    files.iter().enumerate().flat_map(of_file).collect()
}

/// Verifies an image, and again after a server continued it.
fn verify_twice(image: &DiskImage) -> [VerificationReport; 2] {
    let temp = image.restore();
    let log = temp.path().join("audit.jsonl");
    let before = verify(&log).unwrap();
    append_calls(&log, 100..101);
    [before, verify(&log).unwrap()]
}

fn assert_found(image: &DiskImage, case: &str) {
    for (report, when) in verify_twice(image).iter().zip(["before", "after"]) {
        assert!(!report.ok, "{case} is not found {when} a restart: {:?}", messages(report));
        assert!(!report.problems.is_empty(), "{case}");
    }
}

#[test]
fn unchanged_log_is_accepted() {
    for report in verify_twice(&SCENE.image) {
        assert!(report.ok, "{:?}", messages(&report));
    }
    // The forger is right about the format: forging nothing changes nothing that verification sees.
    let mut image = SCENE.image.clone();
    let mut files = image.lines();
    let (seq, hash) = image.key().link(&mut files);
    assert_eq!(files, SCENE.image.lines());
    let head = image.key().head(seq, &hash);
    image.set("audit.head", head.clone());
    image.set("keys/mark", head);
    for report in verify_twice(&image) {
        assert!(report.ok, "{:?}", messages(&report));
    }
}

fn check_without_key(operation: Operation) {
    let files = SCENE.image.lines();
    let mut cases = 0;
    for (file, at) in positions(&files) {
        for how in RECOMPUTED {
            let (mut image, mut files) = (SCENE.image.clone(), files.clone());
            if !operation.apply(&mut files, file, at) {
                continue;
            }
            recompute(&mut image, &mut files, how);
            assert_found(&image, &format!("{operation:?} of line {at} of file {file}, {how:?}"));
            cases += 1;
        }
    }
    assert!(cases >= 4 * RECOMPUTED.len(), "{cases} cases");
}

/// One test per operation, so that they run in parallel.
macro_rules! operations_without_key {
    ($($name:ident: $operation:ident,)+) => {
        $(
            #[test]
            fn $name() {
                check_without_key(Operation::$operation);
            }
        )+

        #[test]
        fn every_operation_has_a_test() {
            assert_eq!([$(Operation::$operation),+], OPERATIONS);
        }
    };
}

operations_without_key! {
    without_key_edit_is_found: Edit,
    without_key_edited_time_is_found: EditTime,
    without_key_removal_is_found: Remove,
    without_key_removal_of_three_is_found: RemoveThree,
    without_key_swap_is_found: SwapWithNext,
    without_key_move_is_found: MoveToEnd,
    without_key_copy_is_found: Duplicate,
    without_key_insertion_is_found: Insert,
    without_key_truncation_is_found: TruncateHere,
    without_key_dropped_outcomes_are_found: DropOutcomes,
}

/// Operations on whole files, by an adversary without the key.
#[test]
fn without_key_changes_of_files_are_found() {
    type Change = fn(&mut DiskImage);
    let changes: &[(&str, Change)] = &[
        ("first file removed", |image| image.remove("audit.000001.jsonl")),
        ("second file removed", |image| image.remove("audit.000002.jsonl")),
        ("current file removed", |image| image.remove("audit.jsonl")),
        ("current file emptied", |image| image.set("audit.jsonl", vec![])),
        ("closed file emptied", |image| image.set("audit.000002.jsonl", vec![])),
        ("all files removed", |image| image.log_names().iter().for_each(|name| image.remove(name))),
        ("log and head removed", |image| {
            image.log_names().iter().for_each(|name| image.remove(name));
            image.remove("audit.head");
        }),
        ("closed files swapped", |image| {
            let (one, two) = ("audit.000001.jsonl", "audit.000002.jsonl");
            let content = (image.get(one).to_vec(), image.get(two).to_vec());
            image.set(one, content.1);
            image.set(two, content.0);
        }),
        ("current file replaced by a closed one", |image| {
            image.set("audit.jsonl", image.get("audit.000002.jsonl").to_vec());
        }),
        ("head removed", |image| image.remove("audit.head")),
        ("head emptied", |image| image.set("audit.head", vec![])),
        ("head changed", |image| {
            let mut head = image.get("audit.head").to_vec();
            head.iter_mut().for_each(|byte| *byte ^= 1);
            image.set("audit.head", head);
        }),
        ("earlier log and head", |image| {
            image.log_names().iter().for_each(|name| image.remove(name));
            for name in SCENE.earlier.log_names().iter().map(String::as_str).chain(["audit.head"]) {
                image.set(name, SCENE.earlier.get(name).to_vec());
            }
        }),
        ("mark removed", |image| image.remove("keys/mark")),
        ("mark emptied", |image| image.set("keys/mark", vec![])),
        ("head and mark removed", |image| {
            image.remove("audit.head");
            image.remove("keys/mark");
        }),
        ("keys removed", |image| image.remove("keys/keys.json")),
    ];
    for (case, change) in changes {
        let mut image = SCENE.image.clone();
        change(&mut image);
        assert_found(&image, case);
    }
}

/// Returns the report of a log and its checkpoints.
fn verify_against(image: &DiskImage, checkpoints: &[SignedCheckpoint]) -> VerificationReport {
    let temp = image.restore();
    verify_sealed(&temp.path().join("audit.jsonl"), checkpoints, &SCENE.key)
}

#[test]
fn with_key_rewrites_are_found_by_checkpoints_and_the_limit_is_stated() {
    let files = SCENE.image.lines();
    let (mut found, mut beyond) = (0, 0);
    for operation in OPERATIONS {
        for (file, at) in positions(&files) {
            let (mut image, mut files) = (SCENE.image.clone(), files.clone());
            let seq = files[file][at]["seq"].as_u64().unwrap();
            if !operation.apply(&mut files, file, at) {
                continue;
            }
            let case = format!("{operation:?} of line {at} of file {file} (seq {seq})");
            files.retain(|lines| !lines.is_empty());
            if files.is_empty() {
                continue;
            }
            rewrite_with_key(&mut image, &mut files);
            let temp = image.restore();
            let chain = verify(&temp.path().join("audit.jsonl")).unwrap();
            // The adversary did everything right, unless the first line of a file is not an event any more.
            let is_consistent = at > 0 || matches!(operation, Operation::EditTime);
            assert!(chain.ok || !is_consistent, "{case}: {:?}", messages(&chain));
            let report = verify_against(&image, &SCENE.checkpoints);
            let proof = report.checkpoints.unwrap();
            if changes_sealed_lines(&files, &SCENE.image.lines()) {
                assert!(!report.ok, "{case} is not found");
                found += 1;
            } else if is_consistent {
                assert!(report.ok, "{case}: {:?}", report.problems);
                assert_eq!(proof.proven_through, SCENE.sealed, "{case}");
                let limit = |note: &audit::VerificationFinding| {
                    note.kind == VerificationFindingKind::Unproven
                        && note.seq == Some(SCENE.sealed + 1)
                };
                let is_stated = report.notes.iter().any(limit);
                let is_complete = report.last_seq == SCENE.sealed;
                assert!(is_stated || is_complete, "{case}: {:?}", messages_of(&report.notes));
                beyond += 1;
            }
        }
    }
    assert!(found > 80 && beyond > 10, "{found} found, {beyond} beyond the last checkpoint");
}

/// Returns true if a line that the last checkpoint covers differs.
fn changes_sealed_lines(files: &LogLines, original: &LogLines) -> bool {
    let sealed = usize::try_from(SCENE.sealed).unwrap();
    let (now, before) = (files.concat(), original.concat());
    now.get(..sealed) != Some(&before[..sealed])
}

/// Recomputes chain, files, head and mark with the real key.
fn rewrite_with_key(image: &mut DiskImage, files: &mut LogLines) {
    let key = image.key();
    let (seq, hash) = key.link(files);
    let names = image.log_names();
    assert!(names.len() >= files.len());
    // The last file is always the current one.
    for (at, lines) in files.iter().enumerate() {
        let is_last = at + 1 == files.len();
        let name = if is_last { "audit.jsonl" } else { names[at].as_str() };
        image.set(name, to_text(lines).into_bytes());
    }
    names[files.len() - 1..names.len() - 1].iter().for_each(|name| image.remove(name));
    image.set("audit.head", key.head(seq, &hash));
    image.set("keys/mark", key.head(seq, &hash));
}

fn messages_of(findings: &[audit::VerificationFinding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.message.as_str()).collect()
}

#[test]
fn with_key_a_new_log_is_found_by_checkpoints() {
    let temp = TempDir::new().unwrap();
    let log = temp.path().join("audit.jsonl");
    append_calls(&log, 1..20);
    assert!(verify(&log).unwrap().ok);
    let report = verify_sealed(&log, &SCENE.checkpoints, &SCENE.key);
    assert!(!report.ok);
    let chain = report.chain.clone().unwrap();
    assert!(messages(&report).contains(&format!("no valid checkpoint names chain {chain}")));
}

#[test]
fn forged_checkpoints_are_found() {
    let report = verify_against(&SCENE.image, &SCENE.checkpoints);
    assert!(report.ok, "{:?}", messages(&report));
    let change = |edit: fn(&str) -> String| -> Vec<SignedCheckpoint> {
        let line = edit(&SCENE.checkpoints[1].to_line());
        vec![SCENE.checkpoints[0].clone(), serde_json::from_str(&line).unwrap()]
    };
    let edits: [fn(&str) -> String; 4] = [
        |line| line.replace(r#""seq":"#, r#""seq":1"#),
        |line| line.replace(r#""bytes":"#, r#""bytes":1"#),
        |line| line.replace(r#""number":2"#, r#""number":3"#),
        |line| line.replace(r#""time":"2"#, r#""time":"1"#),
    ];
    for edit in edits {
        let report = verify_against(&SCENE.image, &change(edit));
        assert!(!report.ok, "{:?}", messages(&report));
        assert_eq!(report.checkpoints.unwrap().checkpoints, 1);
    }
    // A checkpoint signed with another key, and one that is missing between two others.
    let other = TempDir::new().unwrap();
    let log = other.path().join("audit.jsonl");
    append_calls(&log, 1..3);
    let signer = CheckpointSigner::open_or_create(&options(&log).keys, None).unwrap();
    let foreign = signer.seal(&[log], &disk::SystemDisk).unwrap();
    assert!(!verify_against(&SCENE.image, &[SCENE.checkpoints.clone(), vec![foreign]].concat()).ok);
}

#[test]
fn missing_checkpoint_is_found() {
    let temp = TempDir::new().unwrap();
    let log = temp.path().join("audit.jsonl");
    append_calls(&log, 1..3);
    let signer = CheckpointSigner::open_or_create(&options(&log).keys, None).unwrap();
    let all: Vec<_> = (0..3)
        .map(|_| signer.seal(std::slice::from_ref(&log), &disk::SystemDisk).unwrap())
        .collect();
    let verify_with =
        |checkpoints: &[SignedCheckpoint]| verify_sealed(&log, checkpoints, &signer.public_key());
    assert!(verify_with(&all).ok);
    assert!(verify_with(&all[1..]).ok, "older checkpoints may be deleted");
    let report = verify_with(&[all[0].clone(), all[2].clone()]);
    assert!(messages(&report)[0].contains("checkpoint 3 does not follow checkpoint 1"));
}

#[test]
fn one_checkpoint_joins_several_logs() {
    let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let logs = folders.each_ref().map(|folder| folder.path().join("audit.jsonl"));
    logs.iter().for_each(|log| append_calls(log, 1..5));
    let signer = CheckpointSigner::open_or_create(&options(&logs[0]).keys, None).unwrap();
    let signed = signer.seal(&logs, &disk::SystemDisk).unwrap();
    assert_eq!(signed.checkpoint.chains.len(), 2);
    let (checkpoints, key) = ([signed], signer.public_key());
    let rotation = AuditRotation::default();
    let evidence = CheckpointEvidence {
        checkpoints: &checkpoints,
        key: &key,
        rotation: &rotation,
        now: Timestamp::now(),
    };
    let verify_both = || {
        let mut verified =
            logs.each_ref().map(|log| VerifiedLog::verify(log, &options(log).keys).unwrap());
        audit::verify_checkpoints(&mut verified, &evidence).unwrap();
        verified.map(|log| log.report)
    };
    for report in verify_both() {
        assert!(report.ok, "{:?}", messages(&report));
        assert_eq!(report.checkpoints.unwrap().proven_through, report.last_seq);
    }
    // The log of a chain must not be left out.
    let chain = |at: usize| &checkpoints[0].checkpoint.chains[at].chain;
    for (at, log) in logs.iter().enumerate() {
        let report = verify_sealed(log, &checkpoints, &key);
        let expected = format!(
            "chain {} is in none of the logs: checkpoints name it up to seq {}; it was removed, or its log was not verified too",
            chain(1 - at),
            checkpoints[0].checkpoint.chains[1 - at].seq
        );
        assert_eq!(messages(&report), [expected]);
    }
    let text = fs::read_to_string(&logs[1]).unwrap();
    fs::write(&logs[1], text.replace("alice", "mallo")).unwrap();
    let [first, second] = verify_both();
    assert!(first.ok && !second.ok);
    assert_eq!(second.checkpoints.unwrap().proven_through, 0);
}

/// Settings of the log of the scene.
fn kept(keep_files: Option<u32>, keep_days: Option<u64>) -> AuditRotation {
    let keep_age = keep_days.map(|days| Duration::from_secs(days * 24 * 3600));
    AuditRotation { keep_files, keep_age, ..options(Path::new("audit.jsonl")).rotation }
}

/// Removes files and records it with the key.
fn forge_removal(image: &mut DiskImage, last: u32, through_seq: u64) {
    let key = image.key();
    let mut lines = image.lines().pop().unwrap();
    let event = json!({
        "time": Timestamp::now(), "event": "removed", "first": 1, "last": last, "throughSeq": through_seq,
    });
    let (seq, hash) = key.append(&mut lines, event);
    image.set("audit.jsonl", to_text(&lines).into_bytes());
    image.set("audit.head", key.head(seq, &hash));
    image.set("keys/mark", key.head(seq, &hash));
    (1..=last).for_each(|number| image.remove(&format!("audit.{number:06}.jsonl")));
}

/// Adds closed files that contain nothing but their first lines, with the key.
fn forge_closed_files(image: &mut DiskImage, first: u32, times: &[Timestamp]) {
    let key = image.key();
    for (number, time) in (first..).zip(times) {
        let mut lines = image.lines().pop().unwrap();
        let text = to_text(&lines);
        image.set(&format!("audit.{number:06}.jsonl"), text.clone().into_bytes());
        let previous = json!({
            "file": number, "seq": lines.last().unwrap()["seq"], "bytes": text.len(),
            "sha256": format!("sha256:{}", encode(&Sha256::digest(&text))),
        });
        let event = json!({
            "time": time, "event": "file", "chain": key.chain(), "file": number + 1,
            "previous": previous,
        });
        let last = lines.len();
        let (seq, hash) = key.append(&mut lines, event);
        image.set("audit.jsonl", to_text(&lines[last..]).into_bytes());
        image.set("audit.head", key.head(seq, &hash));
        image.set("keys/mark", key.head(seq, &hash));
    }
}

/// A holder of the key removes sealed files and records that this was configured. The chain is right.
#[test]
fn with_key_a_forged_removal_of_sealed_files_is_found() {
    let files = SCENE.image.lines();
    let last_seq = |file: u32| files[file as usize - 1].last().unwrap()["seq"].as_u64().unwrap();
    let sealed_at = SCENE.checkpoints[1].checkpoint.time;
    let soon = sealed_at + SignedDuration::from_mins(1);
    let later = sealed_at + SignedDuration::from_hours(25);
    let check = |image: &DiskImage, rotation: &AuditRotation, now, is_late: bool| {
        let temp = image.restore();
        let log = temp.path().join("audit.jsonl");
        assert!(verify(&log).unwrap().ok, "without checkpoints, it cannot be found");
        // Also if the remaining checkpoints name no file that was removed.
        let checkpoints = if is_late { &SCENE.checkpoints[1..] } else { &SCENE.checkpoints };
        verify_kept(&log, &CheckpointEvidence { checkpoints, key: &SCENE.key, rotation, now })
    };
    for last in [1, 2] {
        let mut image = SCENE.image.clone();
        forge_removal(&mut image, last, last_seq(last));
        for is_late in [false, true] {
            for (rotation, now, why) in [
                (kept(None, None), later, "the settings keep all files"),
                (kept(Some(2), None), later, "keep_files = 2 does not allow it"),
                (kept(None, Some(1)), soon, "keep_days = 1 does not allow it"),
                (
                    kept(Some(2), Some(2)),
                    later,
                    "neither keep_files = 2 nor keep_days = 2 allows it",
                ),
            ] {
                let report = check(&image, &rotation, now, is_late);
                let expected = format!(
                    "sealed lines 1–{} are gone: the log records their removal, but {why}",
                    last_seq(last)
                );
                assert!(!report.ok, "{last}, {is_late}, {rotation:?}");
                assert_eq!(report.problems[0].message, expected, "{:?}", messages(&report));
                assert_eq!(report.problems[0].count, last_seq(last));
                assert_eq!(report.checkpoints.unwrap().proven_through, SCENE.sealed);
            }
            // The settings would have removed them.
            for (rotation, now) in
                [(kept(Some(2 - last), None), soon), (kept(Some(9), Some(1)), later)]
            {
                let report = check(&image, &rotation, now, is_late);
                assert!(report.ok, "{last}, {is_late}, {rotation:?}: {:?}", messages(&report));
            }
        }
    }
    // Small files do not take the place of those that must be kept, large ones would have.
    let mut image = SCENE.image.clone();
    forge_closed_files(&mut image, 3, &[Timestamp::now(); 4]);
    forge_removal(&mut image, 2, last_seq(2));
    for (bytes, is_ok) in [(4096, false), (1, true)] {
        let rotation = AuditRotation { max_file_bytes: bytes, ..kept(Some(3), None) };
        let report = check(&image, &rotation, later, false);
        assert_eq!(report.ok, is_ok, "{:?}", messages(&report));
    }
    // Nor do files whose times are forged: they are before the last checkpoint, or in the future.
    let days =
        |first: i64| [0, 2, 4, 6].map(|day| soon + SignedDuration::from_hours(24 * (first + day)));
    for (max_days, times, is_ok) in [
        (0, [Timestamp::now(); 4], true),
        (1, [Timestamp::now(); 4], false),
        (1, days(-20), false),
        (1, days(20), false),
    ] {
        let mut image = SCENE.image.clone();
        forge_closed_files(&mut image, 3, &times);
        forge_removal(&mut image, 2, last_seq(2));
        let max_file_age = Some(Duration::from_secs(max_days * 24 * 3600));
        let rotation = AuditRotation { max_file_age, ..kept(Some(3), None) };
        let report = check(&image, &rotation, later, false);
        assert_eq!(report.ok, is_ok, "{max_days}, {times:?}: {:?}", messages(&report));
    }
}

/// The range of a removal is checked before it is used: a holder of the key writes any numbers.
#[test]
fn with_key_an_impossible_removal_is_found() {
    let last = SCENE.image.lines()[0].last().unwrap()["seq"].as_u64().unwrap();
    for (first, through_seq) in [(2, last), (1, u64::MAX), (1, 1 << 53)] {
        let mut image = SCENE.image.clone();
        forge_removal(&mut image, 1, through_seq);
        let text = String::from_utf8(image.get("audit.jsonl").to_vec()).unwrap();
        if first > 1 {
            let mut lines: Vec<_> =
                text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let mut event: serde_json::Value = lines.pop().unwrap();
            event["first"] = first.into();
            let (seq, hash) = image.key().append(&mut lines, event);
            image.set("audit.jsonl", to_text(&lines).into_bytes());
            image.set("audit.head", image.key().head(seq, &hash));
            image.set("keys/mark", image.key().head(seq, &hash));
        }
        assert_found(&image, &format!("removal of {first} to 1, through {through_seq}"));
    }
}

/// A holder of the key removes everything and begins a chain under keys of its own, which the server then seals.
#[test]
fn with_key_a_sealed_new_chain_does_not_hide_the_old_one() {
    let temp = SCENE.image.restore();
    let log = temp.path().join("audit.jsonl");
    let names = SCENE.image.log_names();
    names
        .iter()
        .map(String::as_str)
        .chain(["audit.head", "keys/mark", "keys/keys.json"])
        .for_each(|name| fs::remove_file(temp.path().join(name)).unwrap());
    append_calls(&log, 1..50);
    let signer = CheckpointSigner::open_or_create(&options(&log).keys, None).unwrap();
    let sealed = signer.seal(std::slice::from_ref(&log), &disk::SystemDisk).unwrap();
    let checkpoints = [SCENE.checkpoints.clone(), vec![sealed]].concat();
    let report = verify_sealed(&log, &checkpoints, &SCENE.key);
    let chain = &SCENE.checkpoints[0].checkpoint.chains[0].chain;
    let expected = format!(
        "chain {chain} is in none of the logs: checkpoints name it up to seq {}; it was removed, or its log was not verified too",
        SCENE.sealed
    );
    assert_eq!(messages(&report), [expected]);
    assert!(!report.ok);
}

/// Sets log and head back to an earlier moment. The copy of the head in the key folder is out of reach without the key.
fn set_back(image: &mut DiskImage, earlier: &DiskImage) {
    for name in ["audit.jsonl", "audit.head"] {
        image.set(name, earlier.get(name).to_vec());
    }
}

/// A server is killed right after it acknowledged a line. No power failure removes the line, so its removal is found.
#[test]
fn without_key_removal_of_an_acknowledged_line_is_found_after_a_kill() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for is_intent in [false, true] {
        let temp = TempDir::new().unwrap();
        let log = temp.path().join("audit.jsonl");
        append_calls(&log, 1..3);
        let writer = audit::AuditLog::open(&log, &options(&log)).unwrap();
        let earlier = DiskImage::read(temp.path());
        match is_intent {
            true => runtime.block_on(writer.append_intent(intent_record("id", Timestamp::now()))),
            false => runtime.block_on(writer.append_durable(call_record(4))),
        }
        .unwrap();
        let mut image = DiskImage::read(temp.path());
        set_back(&mut image, &earlier);
        assert_found(&image, &format!("removal of an acknowledged line, {is_intent}"));
    }
}

/// The line of a reading call is not synced at once. After a kill, its removal looks like a power failure, and is a note.
#[test]
fn without_key_removal_of_a_written_line_leaves_a_note_after_a_kill() {
    let temp = TempDir::new().unwrap();
    let log = temp.path().join("audit.jsonl");
    append_calls(&log, 1..3);
    let writer = audit::AuditLog::open(&log, &options(&log)).unwrap();
    let earlier = DiskImage::read(temp.path());
    writer.append(call_record(4));
    wait_until("the write", || writer.pending_count() == 0);
    let mut image = DiskImage::read(temp.path());
    set_back(&mut image, &earlier);
    for report in verify_twice(&image) {
        let is_noted =
            report.notes.iter().any(|note| note.kind == VerificationFindingKind::Unsynced);
        // The heads may have been synced meanwhile.
        assert!(is_noted || !report.ok, "{:?}", messages(&report));
    }
}

/// A running server knows what it wrote, so it finds the removal of a line that was not synced yet.
#[test]
fn without_key_removal_of_a_line_of_a_running_server_is_found() {
    let temp = TempDir::new().unwrap();
    let log = temp.path().join("audit.jsonl");
    append_calls(&log, 1..3);
    let writer = audit::AuditLog::open(&log, &options(&log)).unwrap();
    let earlier = DiskImage::read(temp.path());
    writer.append(call_record(4));
    wait_until("the write", || writer.pending_count() == 0);
    // In place, as an attacker does while the file is open.
    for name in ["audit.jsonl", "audit.head"] {
        fs::write(temp.path().join(name), earlier.get(name)).unwrap();
    }
    writer.append(call_record(5));
    drop(writer);
    let report = verify(&log).unwrap();
    assert!(!report.ok, "{:?}", messages(&report));
    let is_tampered = report.problems.iter().any(|it| it.kind == VerificationFindingKind::Tampered);
    assert!(is_tampered, "{:?}", messages(&report));
}
