//! The audit log of the storm: opens it, and compares it with the entries on the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use store::audit::{self, AuditArguments, AuditEntry, AuditLog, AuditOutcome};

/// The log is not on the simulated disk yet.
pub(crate) fn is_excluded(path: &Path) -> bool {
    path.starts_with("state")
}

/// Opens the log, as a starting server does. Returns `None` if the disk does not allow it.
pub(crate) fn open(folder: &Path) -> Option<AuditLog> {
    std::fs::create_dir_all(folder.join("state")).unwrap();
    AuditLog::open(folder.join("state/audit.jsonl")).ok()
}

/// Checks that the log is intact and has a record of every acknowledged entry.
pub(crate) fn check(
    folder: &Path,
    found: &BTreeMap<String, usize>,
    acknowledged: &BTreeSet<String>,
) {
    let path = folder.join("state/audit.jsonl");
    let report = audit::verify_log(&path).unwrap();
    assert!(report.ok, "{:?}", report.problems);
    let mut succeeded = BTreeSet::new();
    for line in audit::read_records(&path).unwrap() {
        if let AuditEntry::Call(call) = line.unwrap().entry
            && call.outcome == AuditOutcome::Ok
        {
            succeeded.extend(call.arguments.as_ref().and_then(find_id));
        }
    }
    for id in acknowledged {
        assert!(succeeded.contains(id), "{id} has no record of its success");
        assert!(found.contains_key(id), "{id} is recorded and not stored");
    }
}

fn find_id(arguments: &AuditArguments) -> Option<String> {
    let entry = arguments.values.as_ref()?["entry"].as_str()?;
    let entry: Value = serde_json::from_str(entry).ok()?;
    Some(entry["id"].as_str()?.to_owned())
}
