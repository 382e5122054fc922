//! Every error of the store has the hint that fits it, or none.

use std::path::PathBuf;

use disk::simulated::{DiskFault, SimulatedDisk};
use rusqlite::ErrorCode;
use rusqlite::ffi;
use store::audit::{CheckpointSigner, append_checkpoint};
use store::{ApprovalState, StoreError};
use tempfile::TempDir;

use crate::audit::{audit_options, write_log};

#[test]
fn hint_of_a_file_error_depends_on_its_cause() {
    let temp = TempDir::new().unwrap();
    let log = write_log(&temp, 1);
    let signer = CheckpointSigner::open_or_create(&audit_options(&log).keys, None).unwrap();
    let signed = signer.seal(&[log], &disk::SystemDisk).unwrap();
    let folder = TempDir::new().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let writable = Some("make the directory and its files writable");
    let in_the_way = Some("a file is in the way");
    // Numbers of Linux: EACCES, EPERM, EROFS, ENOSPC, EDQUOT, ENOTDIR, EEXIST, ENOENT, ELOOP, EIO.
    for (code, expected) in [
        (13, writable),
        (1, writable),
        (30, writable),
        (28, Some("free some disk space")),
        (122, Some("free some disk space")),
        (20, in_the_way),
        (17, in_the_way),
        (2, Some("create the parent directory")),
        (40, Some("symbolic links are not followed here")),
        (5, None),
    ] {
        let disk = SimulatedDisk::new(&root).unwrap();
        disk.plan_fault(0, DiskFault::Error(code));
        let error = append_checkpoint(&root.join("file"), &signed, &*disk).unwrap_err();
        assert!(error.to_string().starts_with("failed to write checkpoint to"), "{error}");
        let hint = error.hint();
        let fits = match expected {
            Some(start) => hint.is_some_and(|hint| hint.starts_with(start)),
            None => hint.is_none(),
        };
        assert!(fits, "{code}: {hint:?}");
    }
}

#[test]
fn hint_of_a_database_error_depends_on_its_cause() {
    let writable = Some("make the directory and its files writable");
    let busy = Some("another process holds the database lock");
    for (code, extended, expected) in [
        (ErrorCode::ReadOnly, ffi::SQLITE_READONLY, writable),
        (ErrorCode::CannotOpen, ffi::SQLITE_CANTOPEN, writable),
        (ErrorCode::PermissionDenied, ffi::SQLITE_PERM, writable),
        (ErrorCode::DiskFull, ffi::SQLITE_FULL, Some("free some disk space")),
        (ErrorCode::DatabaseBusy, ffi::SQLITE_BUSY, busy),
        (ErrorCode::DatabaseLocked, ffi::SQLITE_LOCKED, busy),
        (ErrorCode::SystemIoFailure, ffi::SQLITE_IOERR, None),
    ] {
        let source = rusqlite::Error::SqliteFailure(ffi::Error::new(extended), None);
        assert_eq!(source.sqlite_error_code(), Some(code));
        let error = StoreError::Database { path: "vouch.db".into(), source };
        let hint = error.hint();
        let fits = match expected {
            Some(start) => hint.is_some_and(|hint| hint.starts_with(start)),
            None => hint.is_none(),
        };
        assert!(fits, "{code:?}: {hint:?}");
    }
    let source = rusqlite::Error::QueryReturnedNoRows;
    assert_eq!(StoreError::Database { path: "vouch.db".into(), source }.hint(), None);
}

#[test]
fn every_other_error_has_its_hint() {
    let path = || PathBuf::from("state");
    let id = || "3f9a".to_owned();
    let at = "2026-03-01T12:00:00Z".parse().unwrap();
    let invalid = serde_json::from_str::<u8>("x").unwrap_err();
    let corrupt = rusqlite::Error::QueryReturnedNoRows;
    let more = "type more characters of the id";
    let errors: Vec<(StoreError, &str)> = vec![
        (StoreError::LinkedStateDir { path: path() }, "name the target of the link"),
        (StoreError::ForeignStateDir { path: path(), owner: 1 }, "run `vouch` as the owner"),
        (StoreError::SharedStateDir { path: path() }, "run `chmod go-w`"),
        (
            StoreError::OtherProject { dir: path(), project: path() },
            "choose another `folder` in [state]; if the project was moved",
        ),
        (
            StoreError::ReplacedProject { dir: path(), project: path() },
            "choose another `folder` in [state]; to keep approvals",
        ),
        (StoreError::InvalidProjectRecord { path: path(), source: invalid }, "remove the file"),
        (StoreError::Corrupt { path: path(), source: corrupt }, "move vouch.db"),
        (StoreError::NewerSchema { path: path(), found: 2, known: 1 }, "upgrade vouch"),
        (StoreError::UnknownApproval { id: id() }, "run `vouch approvals list`"),
        (StoreError::AmbiguousApproval { prefix: id() }, more),
        (StoreError::AmbiguousDiscovery { prefix: id() }, more),
        (StoreError::AmbiguousWithheldAnswer { prefix: id() }, more),
        (StoreError::UnknownWithheldAnswer { id: id() }, "run `vouch calls list`"),
        (StoreError::UnknownDiscovery { id: id() }, "run `vouch discover list`"),
        (StoreError::TooManyDiscoveries { limit: 1 }, "remove outdated discoveries"),
        (StoreError::ApprovalExpired { id: id(), at }, "repeat the call"),
        (StoreError::ApprovalAlreadyUsed { id: id() }, "repeat the call"),
        (StoreError::SelfApproval { id: id(), principal: id() }, "approve it as another user"),
    ];
    for (error, start) in errors {
        assert!(error.hint().is_some_and(|hint| hint.starts_with(start)), "{error}");
    }
    for error in [
        StoreError::ApprovalAlreadyDecided { id: id(), state: ApprovalState::Denied },
        StoreError::Closed,
        StoreError::AuditRecordDropped,
    ] {
        assert_eq!(error.hint(), None, "{error}");
    }
}
