use std::error::Error;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rusqlite::Connection;
use store::{SqliteStore, StateDir, Store, StoreError};
use tempfile::TempDir;

use crate::support::Bench;

/// What the operator reads, without the parts that differ from run to run.
fn report(error: &StoreError, temp: &Path) -> String {
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

fn check_refused(prepare: impl FnOnce(&StateDir)) -> String {
    let temp = TempDir::new().unwrap();
    let dir = StateDir::open(temp.path().join(".vouch")).unwrap();
    prepare(&dir);
    let error = SqliteStore::open(&dir).err().expect("it must not open");
    report(&error, temp.path())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn the_folder_is_private_and_invisible_to_git() {
    let bench = Bench::new();
    let store = bench.store();
    store.secret("seal").await.unwrap();
    let dir = bench.dir();
    assert_eq!(mode(dir.path()), 0o700);
    assert_eq!(fs::read_to_string(dir.path().join(".gitignore")).unwrap(), "*\n");
    for file in ["vouch.db", "vouch.db-wal", "vouch.db-shm", ".gitignore"] {
        assert_eq!(mode(&dir.path().join(file)), 0o600, "{file}");
    }
}

#[test]
fn an_existing_folder_is_left_as_it_is() {
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
fn a_folder_that_cannot_be_made_is_refused() {
    let temp = TempDir::new().unwrap();
    fs::write(temp.path().join("file"), "").unwrap();
    let refused = |path: &Path| report(&StateDir::open(path).unwrap_err(), temp.path());
    let root = temp.path().canonicalize().unwrap();
    let paths = ["file", "file/.vouch", "missing/.vouch"];
    insta::assert_snapshot!(paths.map(|path| refused(&root.join(path))).join("\n\n"));
}

/// Not even root can make a folder there, so this holds whoever runs the tests.
#[cfg(target_os = "linux")]
#[test]
fn a_read_only_place_is_refused() {
    let error = StateDir::open("/sys/.vouch").unwrap_err();
    let hint = error.hint().unwrap();
    assert!(hint.starts_with("make the folder and its files writable"), "{error}: {hint}");
}

#[test]
fn a_newer_database_is_left_alone() {
    let refused = check_refused(|dir| {
        drop(SqliteStore::open(dir).unwrap());
        let db = Connection::open(dir.database()).unwrap();
        db.execute("INSERT INTO schema_version VALUES (7, 0)", []).unwrap();
    });
    insta::assert_snapshot!(refused);
}

#[test]
fn a_corrupt_database_is_named() {
    let refused = check_refused(|dir| fs::write(dir.database(), [b'x'; 4096]).unwrap());
    insta::assert_snapshot!(refused);
}

#[test]
fn a_link_in_place_of_the_database_is_not_followed() {
    let refused = check_refused(|dir| symlink("/etc/hostname", dir.database()).unwrap());
    insta::assert_snapshot!(refused);
}

#[tokio::test]
async fn what_was_kept_is_there_after_reopening() {
    let bench = Bench::new();
    let secret = bench.store().secret("seal").await.unwrap();
    assert_eq!(bench.store().secret("seal").await.unwrap(), secret);
}

#[test]
fn many_processes_open_a_new_database_at_once() {
    let bench = Bench::new();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| bench.store());
        }
    });
}

#[test]
fn the_bundled_sqlite_searches_full_text() {
    let db = Connection::open_in_memory().unwrap();
    db.execute_batch("CREATE VIRTUAL TABLE t USING fts5(body)").unwrap();
}
