//! The key file of a log: what is refused, and what several keys mean.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use disk::simulated::{
    DiskFault, DurableFeature, Operation, OperationKind, SimulatedDisk, check_durability,
};
use serde_json::{Value, json};
use store::StoreError;
use store::audit::{self, AuditKeyLocation, AuditLog, AuditOptions, VerificationFindingKind};
use tempfile::TempDir;

use crate::audit::{audit_options, call_record, messages, open_log, verify, write_log};
use crate::forger::{DiskImage, ForgeKey};

fn read_keys(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("keys/keys.json")).unwrap()).unwrap()
}

fn write_keys(folder: &Path, keys: &Value) {
    fs::write(folder.join("keys/keys.json"), keys.to_string()).unwrap();
}

/// Returns the message of an error with its causes.
fn explain(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

#[test]
fn invalid_key_files_are_refused() {
    type Change = fn(&mut Value);
    let changes: [(Change, &str); 6] = [
        (|keys| keys["version"] = json!(2), "version 2 is not supported"),
        (|keys| keys["version"] = json!("1"), "not a key file (line 1)"),
        (|keys| keys["current"] = json!("0000000000000000"), "the current key is missing"),
        (|keys| keys["keys"][0]["id"] = json!("0000000000000000"), "a key does not match its id"),
        (|keys| keys["keys"][0]["key"] = json!("00"), "a key is not 64 hexadecimal digits"),
        (|keys| keys["more"] = json!(1), "not a key file (line 1)"),
    ];
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 1);
    let valid = read_keys(temp.path());
    let secret = valid["keys"][0]["key"].as_str().unwrap();
    for (change, why) in changes {
        let mut keys = valid.clone();
        change(&mut keys);
        write_keys(temp.path(), &keys);
        let error = verify(&log).unwrap_err();
        let text = explain(&error);
        assert!(text.starts_with("invalid audit keys in ") && text.ends_with(why), "{text}");
        assert!(!text.contains(secret));
        let hint = error.hint().unwrap();
        assert!(hint.starts_with("restore the file from a backup"), "{hint}");
        assert!(open_log(&log).is_err(), "a writer does not replace it");
    }
    write_keys(temp.path(), &valid);
    assert!(verify(&log).unwrap().ok);
}

#[test]
fn exposed_and_unreadable_key_files_are_refused() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 1);
    let path = temp.path().join("keys/keys.json");
    for mode in [0o640, 0o604, 0o620, 0o610] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let error = verify(&log).unwrap_err();
        assert!(explain(&error).starts_with("failed to use the keys of the audit log"), "{error}");
        assert!(error.hint().unwrap().starts_with("run `chmod 600`"), "{mode:o}");
        assert!(open_log(&log).is_err());
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    let error = verify(&log).unwrap_err();
    assert_eq!(error.hint(), None, "{error:?}");
    assert!(open_log(&log).is_err());
}

/// Something is in the way of the new key file. Lines under a key that is stored nowhere could never be verified.
#[test]
fn keys_that_cannot_be_stored_are_not_used() {
    let temp = TempDir::new().unwrap();
    let log = temp.path().join("audit.jsonl");
    fs::create_dir(temp.path().join("keys")).unwrap();
    fs::set_permissions(temp.path().join("keys"), fs::Permissions::from_mode(0o700)).unwrap();
    symlink("nowhere", temp.path().join("keys/keys.json")).unwrap();
    let error = explain(&open_log(&log).err().unwrap());
    assert!(error.ends_with("the file disappeared while it was read"), "{error}");
    assert!(!log.exists());
}

#[test]
fn key_file_at_another_place_is_used() {
    let temp = TempDir::new().unwrap();
    let log = temp.path().join("audit.jsonl");
    let place: PathBuf = temp.path().join("elsewhere.json");
    let keys = AuditKeyLocation::new(temp.path().join("keys")).with_key_file(Some(place.clone()));
    assert_eq!((keys.key_file(), keys.folder()), (place.clone(), &*temp.path().join("keys")));
    let options = AuditOptions::new(keys);
    let writer = AuditLog::open(&log, &options).unwrap();
    writer.append(call_record(1));
    drop(writer);
    assert!(place.exists() && !temp.path().join("keys/keys.json").exists());
    assert!(temp.path().join("keys/mark").exists());
    assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(audit::verify_log(&log, &options.keys).unwrap().ok);
    audit::rotate_key(&log, &options).unwrap();
    assert!(audit::verify_log(&log, &options.keys).unwrap().ok);
}

/// The key before a rotation signs heads up to the line that announces the new key, and none after it.
#[test]
fn retired_key_signs_no_later_head() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 2);
    let before = DiskImage::read(temp.path()).key();
    let rotation = audit::rotate_key(&log, &audit_options(&log)).unwrap();
    assert_eq!(rotation.before, before.id());
    let keys = read_keys(temp.path());
    assert_eq!(keys["keys"][0]["retired"], 4, "the line that announces the key");
    assert_eq!(keys["keys"][1].get("retired"), None);
    assert_eq!(keys["current"], rotation.after);
    let hash_of = |line: usize| {
        use sha2::Digest;
        let text = fs::read_to_string(&log).unwrap();
        sha2::Sha256::digest(text.lines().nth(line - 1).unwrap()).to_vec()
    };
    let check = |key: &ForgeKey, seq: u64, hash: &[u8]| {
        for name in ["audit.head", "keys/mark"] {
            fs::write(temp.path().join(name), key.head(seq, hash)).unwrap();
        }
        messages(&verify(&log).unwrap())
    };
    // A crash during the rotation leaves heads under the earlier key.
    assert_eq!(check(&before, 4, &hash_of(4)), Vec::<String>::new());
    write_log(&temp, 1);
    assert_eq!(hash_of(5).len(), 32);
    let after = DiskImage::read(temp.path()).key();
    assert_eq!(check(&after, 5, &hash_of(5)), Vec::<String>::new());
    let changed = ["audit.head was changed", "the mark in the key folder was changed"];
    assert_eq!(check(&before, 5, &hash_of(5)), changed);
    // A head that hides the last line, by a holder of the earlier key.
    let text = fs::read_to_string(&log).unwrap();
    let forged: Vec<_> = text.lines().take(4).collect();
    fs::write(&log, forged.join("\n") + "\n").unwrap();
    assert_eq!(check(&before, 5, &[7; 32]), changed);
}

/// Each of the two steps of a rotation is stored before the next one.
#[test]
fn new_key_is_stored_before_the_log_names_it() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 2);
    let root = temp.path().canonicalize().unwrap();
    let disk = SimulatedDisk::new(&root).unwrap();
    let log = root.join(log.file_name().unwrap());
    let options = AuditOptions { disk: disk.clone(), ..audit_options(&log) };
    drop(AuditLog::open(&log, &options).unwrap());
    let opened = disk.operations().len();
    let image = DiskImage::read(&root);
    audit::rotate_key(&log, &options).unwrap();
    let operations = disk.operations();
    for (index, operation) in operations.iter().enumerate().skip(opened) {
        for seed in [0, 1 + index as u64, 100 + index as u64] {
            let temp = image.restore();
            let root = temp.path().canonicalize().unwrap();
            let disk = SimulatedDisk::new(&root).unwrap();
            let log = root.join("audit.jsonl");
            let options = AuditOptions { disk: disk.clone(), ..audit_options(&log) };
            disk.plan_fault(index - opened, DiskFault::PowerOffBefore);
            let _ = audit::rotate_key(&log, &options);
            disk.crash(seed).unwrap();
            write_log(&temp, 1);
            let report = verify(&log).unwrap();
            assert!(report.ok, "{index}, {operation}, {seed}: {:?}", messages(&report));
            let current = read_keys(&root)["current"].clone();
            let text = fs::read_to_string(&log).unwrap();
            let announced = text.contains(r#""event":"key""#);
            let is_new =
                current == read_keys(&root)["keys"].as_array().unwrap().last().unwrap()["id"];
            assert!(!announced || is_new, "{index}, {operation}, {seed}");
        }
    }
}

/// Without the line that announces it, the new key stays the current one: the removal of that line is not undone by going
/// back to the old key.
#[test]
fn removed_announcement_does_not_bring_back_the_old_key() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 2);
    let rotation = audit::rotate_key(&log, &audit_options(&log)).unwrap();
    let text = fs::read_to_string(&log).unwrap();
    let kept: Vec<_> = text.lines().take(3).collect();
    fs::write(&log, kept.join("\n") + "\n").unwrap();
    write_log(&temp, 1);
    let keys = read_keys(temp.path());
    assert_eq!(keys["current"], rotation.after);
    assert_eq!(keys["keys"][1].get("retired"), None);
    assert!(!verify(&log).unwrap().ok);
}

/// A key that another process made current is not retired by those that follow it.
#[test]
fn following_a_rotation_does_not_change_the_key_file() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 2);
    let writer = open_log(&log).unwrap();
    audit::rotate_key(&log, &audit_options(&log)).unwrap();
    let before = read_keys(temp.path());
    writer.append(call_record(3));
    drop(writer);
    write_log(&temp, 1);
    assert_eq!(read_keys(temp.path()), before);
    assert!(verify(&log).unwrap().ok);
}

/// The key file of a log that is created, or whose key is rotated.
struct StoredKeys {
    rotates: bool,
}

impl StoredKeys {
    fn options(root: &Path) -> AuditOptions {
        AuditOptions::new(AuditKeyLocation::new(root.join("keys")))
    }
}

impl DurableFeature for StoredKeys {
    fn prepare(&self, root: &Path) {
        for folder in ["state", "keys"] {
            store::StateDir::open(root.join(folder)).unwrap();
        }
        if self.rotates {
            let log = AuditLog::open(root.join("state/audit.jsonl"), &Self::options(root)).unwrap();
            log.append(call_record(1));
        }
    }

    fn write(&self, root: &Path, disk: Arc<SimulatedDisk>) -> Result<(), String> {
        let log = root.join("state/audit.jsonl");
        let options = AuditOptions { disk, ..Self::options(root) };
        let written = match self.rotates {
            true => audit::rotate_key(log, &options).map(drop),
            false => AuditLog::open(log, &options).map(drop),
        };
        written.map_err(|error| explain(&error))
    }

    /// A key is never lost with which a line was written, and the key file is never torn.
    fn check(&self, root: &Path, is_acknowledged: bool) -> Result<(), String> {
        let keys = Self::options(root).keys;
        let report = audit::verify_log(root.join("state/audit.jsonl"), &keys);
        let report = report.map_err(|error| explain(&error))?;
        let is_lost =
            report.problems.iter().any(|it| it.kind == VerificationFindingKind::KeyMissing);
        let stored = fs::read(keys.key_file()).ok();
        let stored = stored.map(|text| serde_json::from_slice::<Value>(&text).unwrap());
        let count = stored.map_or(0, |file| file["keys"].as_array().unwrap().len());
        let expected = 1 + usize::from(self.rotates);
        match is_lost || is_acknowledged && (!report.ok || count < expected) {
            true => Err(format!("{count} keys, {:?}", messages(&report))),
            false => Ok(()),
        }
    }

    fn can_drop_sync(&self, sync: &Operation) -> bool {
        // Others are tested with the log.
        sync.kind != OperationKind::SyncAll
    }
}

/// Checks the key file, and returns the operations of one write without the random names of temporary files.
fn check_stored_keys(rotates: bool) -> Vec<String> {
    let root = TempDir::new().unwrap();
    let operations = check_durability(root.path(), &StoredKeys { rotates }).unwrap();
    let texts = operations.iter().map(ToString::to_string);
    texts.map(|text| text.split(".vouch-").next().unwrap().to_owned()).collect()
}

#[test]
fn created_key_file_survives_any_fault() {
    let operations = check_stored_keys(false);
    let expected =
        ["Write keys/", "SyncAll keys/", "RenameNoclobber keys/keys.json", "SyncFolder keys"];
    assert_eq!(operations[..4], expected, "it is stored before the first line");
}

#[test]
fn rotated_key_file_survives_any_fault() {
    let operations = check_stored_keys(true);
    let save = ["Write keys/", "SyncAll keys/", "Rename keys/keys.json", "SyncFolder keys"];
    let save = save.map(str::to_owned);
    let is_saved = |at: &usize| operations[*at..].starts_with(&save);
    let saved: Vec<_> = (0..operations.len()).filter(is_saved).collect();
    let line = operations.iter().position(|it| it == "Write state/audit.jsonl").unwrap();
    assert_eq!(saved.len(), 2, "{operations:?}");
    assert!(saved[0] < line && line < saved[1], "{operations:?}");
}
