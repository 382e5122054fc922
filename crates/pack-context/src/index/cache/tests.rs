use std::fs;
use std::time::SystemTime;

use store::{ProjectIdentity, StateDir};
use tree::FileStamp;

use super::*;

struct CacheFolder(tempfile::TempDir);

impl CacheFolder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn open(&self) -> ContentCache {
        ContentCache::open(&CacheLocation::from_state_dir(
            self.0.path(),
            &StateDir::from_path(self.0.path().join(".vouch")),
            None,
        ))
    }

    fn database(&self) -> PathBuf {
        self.0.path().join(".vouch/index.db")
    }
}

const KEY: ContentKey = [7; 16];

#[test]
fn rows_are_visible_to_another_process() {
    let folder = CacheFolder::new();
    let (one, other) = (folder.open(), folder.open());
    let before = other.data_version();
    one.add_analyses(&[(KEY, b"analysis".to_vec(), None)]);
    one.add_vectors(&[1; 16], &[(KEY, vec![1, 2, 3])]);
    assert_eq!(other.read_analysis(&KEY).as_deref(), Some(&b"analysis"[..]));
    assert_eq!(other.read_vectors(&[1; 16], &[KEY, [8; 16]]), [Some(vec![1, 2, 3]), None]);
    assert_eq!(other.read_vectors(&[2; 16], &[KEY]), [None], "another model");
    assert_ne!(other.data_version(), before, "a write by another process changes the version");
}

#[test]
fn replaces_unusable_database_files() {
    let folder = CacheFolder::new();
    folder.open().add_analyses(&[(KEY, b"analysis".to_vec(), None)]);
    let whole = fs::read(folder.database()).unwrap();
    let foreign = {
        let path = folder.0.path().join("foreign.db");
        let foreign = Connection::open(&path).unwrap();
        foreign.execute_batch("CREATE TABLE notes (text)").unwrap();
        drop(foreign);
        fs::read(path).unwrap()
    };
    for bad in [&b"not a database, and long enough to be looked at as one ......................................................."[..], &whole[..whole.len() / 2], &foreign] {
        fs::write(folder.database(), bad).unwrap();
        let cache = folder.open();
        cache.add_analyses(&[(KEY, b"again".to_vec(), None)]);
        assert_eq!(cache.read_analysis(&KEY).as_deref(), Some(&b"again"[..]));
        drop(cache);
        assert_eq!(folder.open().read_analysis(&KEY).as_deref(), Some(&b"again"[..]));
    }
    assert!(folder.database().with_extension("db.corrupt").exists());
}

#[test]
fn treats_a_damaged_row_as_missing() {
    let folder = CacheFolder::new();
    let cache = folder.open();
    cache.add_analyses(&[(KEY, b"analysis".to_vec(), None)]);
    cache.with_connection("damage", |connection| {
        connection.execute("UPDATE analyses SET blob = X'616e616c79736973ffff'", [])
    });
    assert_eq!(cache.read_analysis(&KEY), None);
}

#[test]
fn stores_only_settled_stamps() {
    let folder = CacheFolder::new();
    let cache = folder.open();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
    let now = i64::try_from(now).unwrap();
    let stamp = |time: i64| FileStamp { size: 1, modified: time, changed: time };
    let found = |path: &str, stamp| StampedFile { path: path.into(), stamp, key: KEY };
    let old = stamp(now - 10_000_000_000);
    cache.write_stamps(Path::new("/a"), &[found("old", old), found("new", stamp(now))], &[]);
    let known = cache.read_stamps(Path::new("/a"));
    assert_eq!(known.keys().map(|path| &**path).collect::<Vec<_>>(), ["old"]);
    assert!(cache.read_stamps(Path::new("/b")).is_empty(), "another worktree");
    cache.write_stamps(Path::new("/a"), &[], &["old".into()]);
    assert!(cache.read_stamps(Path::new("/a")).is_empty());
}

#[test]
fn trims_least_recently_used_rows_first() {
    let folder = CacheFolder::new();
    let cache = folder.open();
    let row = |key: u8| ([key; 16], vec![key; 100_000], None);
    cache.add_analyses(&[row(1), row(2), row(3)]);
    cache.with_connection("age", |connection| {
        connection.execute("UPDATE analyses SET used = used - 5 WHERE key = ?1", [[2; 16]])
    });
    cache.trim_to(250_000);
    let left = [1, 2, 3].map(|key| cache.read_analysis(&[key; 16]).is_some());
    assert_eq!(left, [true, false, true]);
    cache.trim_to(0);
    assert!(cache.read_analysis(&[1; 16]).is_some(), "rows used today are kept");
}

#[test]
fn linked_worktrees_share_the_cache_of_the_main_worktree() {
    let folder = CacheFolder::new();
    let root = folder.0.path().canonicalize().unwrap();
    let (main, linked) = (root.join("main"), root.join("linked"));
    let inside = main.join(".git/worktrees/linked");
    fs::create_dir_all(&inside).unwrap();
    fs::create_dir_all(&linked).unwrap();
    fs::write(linked.join(".git"), format!("gitdir: {}\n", inside.display())).unwrap();
    fs::write(inside.join("commondir"), "../..\n").unwrap();
    let state = root.join("state");
    let state_of =
        |project: &Path| state.join(ProjectIdentity::read(project).unwrap().directory_name());
    let cache_folder = || {
        CacheLocation::from_state_dir(&linked, &StateDir::from_path(state_of(&linked)), None)
            .create_folder()
    };

    fs::write(inside.join("gitdir"), format!("{}\n", linked.join(".git").display())).unwrap();
    assert_eq!(cache_folder(), Some(state_of(&main)));
    // An unrelated repository does not point back to this worktree.
    fs::write(inside.join("gitdir"), "/elsewhere/.git\n").unwrap();
    assert_eq!(cache_folder(), Some(state_of(&linked)));
    // If the main worktree's folder is unusable, the own state folder is used.
    fs::write(inside.join("gitdir"), format!("{}\n", linked.join(".git").display())).unwrap();
    fs::remove_dir_all(state_of(&main)).unwrap();
    fs::write(state_of(&main), "in the way").unwrap();
    assert_eq!(cache_folder(), Some(state_of(&linked)));
    // A state folder that was chosen explicitly is used as it is.
    let chosen = root.join("chosen");
    let location = CacheLocation::from_state_dir(&linked, &StateDir::from_path(&chosen), None);
    assert_eq!(location.create_folder(), Some(chosen));
}
