use std::error::Error;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rusqlite::Connection;
use store::{SqliteStore, StateDir, Store, StoreError};
use tempfile::TempDir;

use crate::support::StoreFixture;

/// Returns the error with its causes and hint, with the temporary path replaced.
fn format_report(error: &StoreError, temp: &Path) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}\ncause: {error}");
        cause = error.source();
    }
    if let Some(hint) = error.hint() {
        text = format!("{text}\nhint: {hint}");
    }
    text.replace(temp.canonicalize().unwrap().to_str().unwrap(), "[temp]")
}

/// Returns the report of the error of opening a prepared state directory.
fn open_error_report(prepare: impl FnOnce(&StateDir)) -> String {
    let temp = TempDir::new().unwrap();
    let dir = StateDir::open(temp.path().join(".vouch")).unwrap();
    prepare(&dir);
    let error = SqliteStore::open(&dir).err().expect("opening must fail");
    format_report(&error, temp.path())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn new_state_dir_is_private_and_ignored_by_git() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    store.get_or_create_secret("seal").await.unwrap();
    let dir = fixture.dir();
    assert_eq!(mode(dir.path()), 0o700);
    assert_eq!(fs::read_to_string(dir.path().join(".gitignore")).unwrap(), "*\n");
    for file in ["vouch.db", "vouch.db-wal", "vouch.db-shm", ".gitignore"] {
        assert_eq!(mode(&dir.path().join(file)), 0o600, "{file}");
    }
}

#[test]
fn existing_state_dir_is_not_changed() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join(".vouch");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o750)).unwrap();
    fs::write(path.join(".gitignore"), "mine\n").unwrap();
    StateDir::open(&path).unwrap();
    assert_eq!(mode(&path), 0o750);
    assert_eq!(fs::read_to_string(path.join(".gitignore")).unwrap(), "mine\n");
}

#[test]
fn explains_why_state_dir_cannot_be_created() {
    let temp = TempDir::new().unwrap();
    fs::write(temp.path().join("file"), "").unwrap();
    let error_report = |path: &Path| format_report(&StateDir::open(path).unwrap_err(), temp.path());
    let root = temp.path().canonicalize().unwrap();
    let paths = ["file", "file/.vouch", "missing/.vouch"];
    insta::assert_snapshot!(paths.map(|path| error_report(&root.join(path))).join("\n\n"));
}

/// Even root cannot create a directory in `/sys`, so the test does not depend on the user.
#[cfg(target_os = "linux")]
#[test]
fn suggests_permissions_on_read_only_file_system() {
    let error = StateDir::open("/sys/.vouch").unwrap_err();
    let hint = error.hint().unwrap();
    assert!(hint.starts_with("make the directory and its files writable"), "{error}: {hint}");
}

#[test]
fn rejects_database_with_newer_schema() {
    let report = open_error_report(|dir| {
        drop(SqliteStore::open(dir).unwrap());
        let db = Connection::open(dir.database_path()).unwrap();
        db.execute("INSERT INTO schema_version VALUES (7, 0)", []).unwrap();
    });
    insta::assert_snapshot!(report);
}

#[test]
fn rejects_corrupt_database() {
    let report = open_error_report(|dir| fs::write(dir.database_path(), [b'x'; 4096]).unwrap());
    insta::assert_snapshot!(report);
}

#[test]
fn rejects_symlinked_database() {
    let report = open_error_report(|dir| symlink("/etc/hostname", dir.database_path()).unwrap());
    insta::assert_snapshot!(report);
}

#[tokio::test]
async fn secret_survives_reopening() {
    let fixture = StoreFixture::new();
    let secret = fixture.store().get_or_create_secret("seal").await.unwrap();
    assert_eq!(fixture.store().get_or_create_secret("seal").await.unwrap(), secret);
}

#[test]
fn new_database_can_be_opened_concurrently() {
    let fixture = StoreFixture::new();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| fixture.store());
        }
    });
}

#[test]
fn bundled_sqlite_supports_fts5() {
    let db = Connection::open_in_memory().unwrap();
    db.execute_batch("CREATE VIRTUAL TABLE t USING fts5(body)").unwrap();
}
