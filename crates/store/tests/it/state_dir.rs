use std::error::Error;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rusqlite::Connection;
use store::{ProjectIdentity, SqliteStore, StateDir, Store, StoreError};
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
async fn new_state_dir_is_private() {
    let fixture = StoreFixture::new();
    let store = fixture.store();
    store.get_or_create_secret("seal").await.unwrap();
    let dir = fixture.dir();
    assert_eq!(mode(dir.path()), 0o700);
    for file in ["vouch.db", "vouch.db-wal", "vouch.db-shm"] {
        assert_eq!(mode(&dir.path().join(file)), 0o600, "{file}");
    }
}

#[test]
fn existing_state_dir_is_not_changed() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join(".vouch");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o750)).unwrap();
    StateDir::open(&path).unwrap();
    assert_eq!(mode(&path), 0o750);
}

#[test]
fn explains_why_state_dir_cannot_be_created() {
    let temp = TempDir::new().unwrap();
    fs::write(temp.path().join("file"), "").unwrap();
    let error_report = |path: &Path| format_report(&StateDir::open(path).unwrap_err(), temp.path());
    let root = temp.path().canonicalize().unwrap();
    let paths = ["file", "file/.vouch"];
    insta::assert_snapshot!(paths.map(|path| error_report(&root.join(path))).join("\n\n"));
}

#[test]
fn creates_missing_parents_with_private_permissions() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("a/vouch/app");
    StateDir::open(&path).unwrap();
    for folder in [path.as_path(), &temp.path().join("a/vouch"), &temp.path().join("a")] {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
}

/// Returns the report of the error of opening `vouch/app` below a temporary folder after `prepare` changed it.
fn refusal(prepare: impl FnOnce(&Path)) -> String {
    let temp = TempDir::new().unwrap();
    let root = temp.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("vouch/app")).unwrap();
    for folder in ["vouch", "vouch/app"] {
        fs::set_permissions(root.join(folder), Permissions::from_mode(0o700)).unwrap();
    }
    StateDir::open(root.join("vouch/app")).unwrap();
    prepare(&root);
    match StateDir::open(root.join("vouch/app")) {
        Ok(_) => "opened".to_owned(),
        Err(error) => format_report(&error, temp.path()),
    }
}

#[test]
fn refuses_directories_that_others_can_write() {
    for (folder, bits) in [
        ("vouch/app", 0o720),
        ("vouch/app", 0o702),
        ("vouch/app", 0o777),
        // The sticky bit protects what others own in it, not what they add.
        ("vouch/app", 0o1777),
        ("vouch", 0o770),
        ("vouch", 0o707),
    ] {
        let report = refusal(|root| {
            fs::set_permissions(root.join(folder), Permissions::from_mode(bits)).unwrap();
        });
        let expected = format!("state directory [temp]/{folder} is writable for other users");
        assert!(report.starts_with(&expected), "{bits:o}: {report}");
    }
    for (folder, bits) in [("vouch/app", 0o755), ("vouch", 0o755), ("vouch", 0o1777)] {
        let report = refusal(|root| {
            fs::set_permissions(root.join(folder), Permissions::from_mode(bits)).unwrap();
        });
        assert_eq!(report, "opened", "{folder} {bits:o}");
    }
}

#[test]
fn refuses_directories_of_other_users() {
    if !test_rights::can_change_owners(module_path!(), "refuses_directories_of_other_users") {
        return;
    }
    for folder in ["vouch/app", "vouch"] {
        let report = refusal(|root| {
            std::os::unix::fs::chown(root.join(folder), Some(12345), None).unwrap();
        });
        let expected =
            format!("state directory [temp]/{folder} belongs to another user (uid 12345)");
        assert!(report.starts_with(&expected), "{report}");
    }
}

#[test]
fn refuses_linked_directories() {
    let link = |from: &str| {
        let from = from.to_owned();
        refusal(move |root| {
            fs::create_dir(root.join("elsewhere")).unwrap();
            fs::remove_dir(root.join("vouch/app")).unwrap();
            symlink(root.join(from), root.join("vouch/app")).unwrap();
        })
    };
    assert!(link("elsewhere").starts_with("state directory [temp]/vouch/app is a symbolic link"));
    let dangling = link("missing");
    assert!(dangling.starts_with("failed to create state directory"), "{dangling}");
    // A link above is the user's own choice, and its target is checked like any other parent.
    let moved = |bits| {
        refusal(move |root| {
            fs::rename(root.join("vouch"), root.join("moved")).unwrap();
            fs::set_permissions(root.join("moved"), Permissions::from_mode(bits)).unwrap();
            symlink(root.join("moved"), root.join("vouch")).unwrap();
        })
    };
    assert_eq!(moved(0o700), "opened");
    assert!(moved(0o777).starts_with("state directory [temp]/moved is writable"));
}

#[test]
fn state_dir_belongs_to_one_project() {
    let temp = TempDir::new().unwrap();
    let root = temp.path().canonicalize().unwrap();
    let [one, two] = ["one", "two"].map(|name| {
        fs::create_dir(root.join(name)).unwrap();
        ProjectIdentity::read(&root.join(name)).unwrap()
    });
    let open = |project| StateDir::open_for_project(root.join("state"), project);
    open(&one).unwrap();
    let record = root.join("state/project.json");
    let text = fs::read_to_string(&record).unwrap();
    assert!(text.contains(&format!("{:?}", root.join("one"))), "{text}");
    assert_eq!(mode(&record), 0o600);
    open(&one).unwrap();
    assert_eq!(fs::read_to_string(&record).unwrap(), text, "it is written once");
    insta::assert_snapshot!(format_report(&open(&two).unwrap_err(), temp.path()));
    fs::write(&record, "{").unwrap();
    assert!(matches!(open(&one), Err(StoreError::InvalidProjectRecord { .. })));
    fs::remove_file(&record).unwrap();
    symlink("/etc/hostname", &record).unwrap();
    assert!(matches!(open(&one), Err(StoreError::Io(_))), "links are not followed");
}

/// Another clone at the path of the first does not inherit its approvals and tokens.
#[test]
fn state_dir_of_a_replaced_folder_is_refused() {
    let temp = TempDir::new().unwrap();
    let root = temp.path().canonicalize().unwrap();
    let app = root.join("app");
    let open = || {
        let project = ProjectIdentity::read(&app).unwrap();
        StateDir::open_for_project(root.join("state"), &project)
    };
    fs::create_dir(&app).unwrap();
    open().unwrap();
    // The first folder stays, so that its inode cannot be used again.
    fs::rename(&app, root.join("first")).unwrap();
    fs::create_dir(&app).unwrap();
    insta::assert_snapshot!(format_report(&open().unwrap_err(), temp.path()));
    // The user's explicit decision, such as that of a CI job with a state volume.
    fs::remove_file(root.join("state/project.json")).unwrap();
    open().unwrap();
    fs::rename(&app, root.join("second")).unwrap();
    fs::rename(root.join("first"), &app).unwrap();
    assert!(matches!(open(), Err(StoreError::ReplacedProject { .. })), "it is claimed again");
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

/// A project record is read up to its limit, so a larger one is invalid, also if the rest is empty.
#[test]
fn project_record_is_limited() {
    let temp = TempDir::new().unwrap();
    let project = ProjectIdentity::read(&temp.path().canonicalize().unwrap()).unwrap();
    let dir = temp.path().join("state");
    StateDir::open_for_project(&dir, &project).unwrap();
    let record = dir.join("project.json");
    let text = fs::read_to_string(&record).unwrap();
    for (length, is_valid) in [(64 * 1024, true), (64 * 1024 + 1, false)] {
        // The last character completes the record.
        let padding = " ".repeat(length - text.trim_end().len());
        let body = text.trim_end().strip_suffix('}').unwrap();
        fs::write(&record, format!("{body}{padding}}}")).unwrap();
        let opened = StateDir::open_for_project(&dir, &project);
        assert_eq!(opened.is_ok(), is_valid, "{length} bytes");
    }
    fs::remove_file(&record).unwrap();
    fs::create_dir(&record).unwrap();
    let error = StateDir::open_for_project(&dir, &project).unwrap_err();
    assert!(error.to_string().starts_with("failed to read"), "{error}");
}

/// A private file of exactly the limit is read, and one byte more is refused.
#[test]
fn private_file_is_limited_and_has_hints() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("file");
    for (length, is_valid) in [(1024 * 1024, true), (1024 * 1024 + 1, false)] {
        fs::write(&path, "x".repeat(length)).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let read = store::read_private_file(&path);
        assert_eq!(read.as_ref().is_ok_and(|text| text.len() == length), is_valid, "{length}");
        if let Err(error) = read {
            assert_eq!(error.hint(), None);
        }
    }
    for bit in [0o040, 0o020, 0o010, 0o004, 0o002, 0o001] {
        fs::set_permissions(&path, Permissions::from_mode(0o600 | bit)).unwrap();
        let error = store::read_private_file(&path).unwrap_err();
        assert_eq!(error.hint(), Some(format!("run `chmod 600 {}`", path.display())));
    }
    let owned = store::PrivateFileError::ForeignOwner { path: path.clone(), owner: 1 };
    assert!(owned.hint().is_some_and(|hint| hint.starts_with("copy it to a file of your own")));
    fs::remove_file(&path).unwrap();
    assert_eq!(store::read_private_file(&path).unwrap_err().hint(), None);
}
