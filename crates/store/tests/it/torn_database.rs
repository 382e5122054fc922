//! Approvals after a power failure that tears the last commit.
//!
//! SQLite writes its files itself, so they are not on the simulated disk. A commit is acknowledged once the write-ahead log
//! (WAL) is synced; `sqlite/connect.rs` tests that every connection does so. These tests build the states of a WAL whose
//! last commit was not synced: cut off at any byte, filled with zeros from there, or with one changed byte. They do not
//! simulate checkpoints, which copy the synced WAL into the database.

use std::fs;
use std::path::Path;

use store::{ApprovalChannel, ApprovalDecision, Approver, Consent, SqliteStore, StateDir, Store};
use tempfile::TempDir;

use crate::support::{StoreFixture, new_approval};

/// Distance of the positions at which the log is torn. It is no divisor of a frame, so all fields are hit.
const STEP: usize = 397;

/// Copies the database with this log to a new state directory, and returns the consent that a caller finds there.
async fn claim_in_copy(database: &[u8], log: &[u8]) -> (Consent, Consent) {
    let temp = TempDir::new().unwrap();
    let dir = StateDir::open(temp.path().join("state")).unwrap();
    fs::write(dir.database_path(), database).unwrap();
    fs::write(dir.path().join("vouch.db-wal"), log).unwrap();
    let store = SqliteStore::open(&dir).unwrap();
    (claim(&store, "first").await, claim(&store, "second").await)
}

async fn claim(store: &SqliteStore, arguments: &str) -> Consent {
    let arguments = format!("sha256:{arguments}");
    store.claim_consent("alice", "write_memory_entry", "sha256:c", &arguments).await.unwrap()
}

async fn approve(store: &SqliteStore, arguments: &str) {
    let request = new_approval(arguments);
    let request = store::NewApproval { ttl: std::time::Duration::from_secs(1 << 30), ..request };
    let id = store.request_approval(request).await.unwrap().id;
    let approver = Approver::new("bob", ApprovalChannel::Queue);
    store.decide_approval(&id, ApprovalDecision::Approve, &approver).await.unwrap();
}

fn read_log(dir: &Path) -> Vec<u8> {
    fs::read(dir.join("vouch.db-wal")).unwrap()
}

#[tokio::test]
async fn torn_commit_changes_no_acknowledged_approval() {
    let fixture = StoreFixture::new();
    let dir = fixture.dir();
    let store = SqliteStore::open(&dir).unwrap();
    approve(&store, "first").await;
    approve(&store, "second").await;
    assert!(matches!(claim(&store, "first").await, Consent::Approved { .. }));
    let acknowledged = read_log(dir.path()).len();
    assert!(matches!(claim(&store, "second").await, Consent::Approved { .. }));
    let (database, log) = (fs::read(dir.database_path()).unwrap(), read_log(dir.path()));
    assert!(log.len() > acknowledged, "the log grows with every commit");

    let mut cuts: Vec<usize> = (acknowledged..log.len()).step_by(STEP).collect();
    cuts.extend([log.len() - 1, log.len()]);
    for cut in cuts {
        let mut zeros = log[..cut].to_vec();
        zeros.resize(log.len(), 0);
        let mut flipped = log.clone();
        if let Some(byte) = flipped.get_mut(cut) {
            *byte ^= 0xff;
        }
        for (state, log) in [("cut", &log[..cut].to_vec()), ("zeros", &zeros), ("flip", &flipped)] {
            let (first, second) = claim_in_copy(&database, log).await;
            assert_eq!(first, Consent::None, "{state} at {cut}: a used approval was used again");
            if cut == flipped.len() {
                assert_eq!(second, Consent::None, "{state}: a used approval was used again");
            } else {
                let is_known = matches!(second, Consent::Approved { .. } | Consent::None);
                assert!(is_known, "{state} at {cut}: {second:?}");
            }
        }
    }
}
