//! The audit log of the storm, on the same simulated disk: opens it, and compares it with the entries in the memory file.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use disk::simulated::SimulatedDisk;
use serde_json::Value;
use store::audit::{
    self, AuditArguments, AuditEntry, AuditKeyLocation, AuditLog, AuditOptions, AuditOutcome,
};

/// The key file has tests of its own (`key_file` in `store`).
pub(crate) fn is_excluded(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.starts_with("keys") && (name == "keys.json" || name.starts_with(".vouch-"))
}

/// Creates the folders of the log and of its keys.
pub(crate) fn create_folders(folder: &Path) {
    for name in ["state", "keys"] {
        store::StateDir::open(folder.join(name)).unwrap();
    }
}

fn key_location(folder: &Path) -> AuditKeyLocation {
    AuditKeyLocation::new(folder.join("keys"))
}

/// Opens the log, as a starting server does. Returns `None` if the disk does not allow it.
pub(crate) fn open(folder: &Path, disk: &Arc<SimulatedDisk>) -> Option<AuditLog> {
    let disk = Arc::clone(disk);
    let options = AuditOptions { disk, ..AuditOptions::new(key_location(folder)) };
    AuditLog::open(folder.join("state/audit.jsonl"), &options).ok()
}

/// Checks that the log is intact, that every entry has its intent and every recorded one its success, that an
/// acknowledged one has its success or an open intent, and that every
/// intent without an outcome is reported. Returns the number of the latter.
pub(crate) fn check(
    folder: &Path,
    disk: &Arc<SimulatedDisk>,
    found: &BTreeMap<String, usize>,
    acknowledged: &BTreeSet<String>,
    recorded: &BTreeSet<String>,
) -> u64 {
    let path = folder.join("state/audit.jsonl");
    // The next server repairs what the power failure left.
    drop(open(folder, disk).expect("the disk works"));
    let report = audit::verify_log(&path, &key_location(folder)).unwrap();
    assert!(report.ok, "{:?}", report.problems);
    let mut intents: HashMap<String, String> = HashMap::new();
    let (mut ended, mut succeeded) = (HashSet::new(), HashSet::new());
    for line in audit::read_records(&path).unwrap() {
        // The last line may be torn until a writer repairs it.
        let Ok(line) = line else { continue };
        match line.entry {
            AuditEntry::Intent(intent) => {
                let entry = intent.arguments.as_ref().and_then(find_id).unwrap();
                intents.insert(entry, intent.intent);
            }
            AuditEntry::Call(call) => {
                if call.outcome == AuditOutcome::Ok {
                    succeeded.extend(call.call.clone());
                }
                ended.extend(call.call);
            }
            AuditEntry::Event { .. } => {}
        }
    }
    for entry in found.keys() {
        assert!(intents.contains_key(entry), "{entry} is stored without an intent");
    }
    for entry in recorded {
        assert!(succeeded.contains(&intents[entry]), "{entry} has no record of its success");
    }
    for entry in acknowledged {
        let intent = &intents[entry];
        let is_open = !ended.contains(intent);
        assert!(succeeded.contains(intent) || is_open, "{entry} is recorded as failed");
    }
    let unknown = intents.values().filter(|intent| !ended.contains(*intent)).count() as u64;
    assert_eq!(report.unknown, unknown, "intents without an outcome");
    unknown
}

fn find_id(arguments: &AuditArguments) -> Option<String> {
    let entry = arguments.values.as_ref()?["entry"].as_str()?;
    let entry: Value = serde_json::from_str(entry).ok()?;
    Some(entry["id"].as_str()?.to_owned())
}
