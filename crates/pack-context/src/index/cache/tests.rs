use std::fs;
use std::time::SystemTime;

use store::StateDir;
use tree::Stamp;

use super::*;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn open(&self) -> Cache {
        Cache::open(&Place::of(self.0.path(), &StateDir::at(self.0.path().join(".vouch")), None))
    }

    fn database(&self) -> PathBuf {
        self.0.path().join(".vouch/index.db")
    }
}

const KEY: Key = [7; 16];

#[test]
fn what_was_kept_is_found_by_another_process() {
    let folder = Folder::new();
    let (one, other) = (folder.open(), folder.open());
    let before = other.version();
    one.add_analyses(&[(KEY, b"analysis".to_vec(), None)]);
    one.add_vectors(&[1; 16], &[(KEY, vec![1, 2, 3])]);
    assert_eq!(other.analysis(&KEY).as_deref(), Some(&b"analysis"[..]));
    assert_eq!(other.vectors(&[1; 16], &[KEY, [8; 16]]), [Some(vec![1, 2, 3]), None]);
    assert_eq!(other.vectors(&[2; 16], &[KEY]), [None], "another model");
    assert_ne!(other.version(), before, "a change by others is noticed");
}

#[test]
fn a_file_that_is_no_database_is_set_aside() {
    let folder = Folder::new();
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
        assert_eq!(cache.analysis(&KEY).as_deref(), Some(&b"again"[..]));
        drop(cache);
        assert_eq!(folder.open().analysis(&KEY).as_deref(), Some(&b"again"[..]));
    }
    assert!(folder.database().with_extension("db.corrupt").exists());
}

#[test]
fn a_damaged_row_counts_as_missing() {
    let folder = Folder::new();
    let cache = folder.open();
    cache.add_analyses(&[(KEY, b"analysis".to_vec(), None)]);
    cache.run("damage", |connection| {
        connection.execute("UPDATE analyses SET blob = X'616e616c79736973ffff'", [])
    });
    assert_eq!(cache.analysis(&KEY), None);
}

#[test]
fn stamps_are_kept_only_once_they_are_sure() {
    let folder = Folder::new();
    let cache = folder.open();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
    let now = i64::try_from(now).unwrap();
    let stamp = |time: i64| Stamp { size: 1, modified: time, changed: time };
    let found = |path: &str, stamp| Found { path: path.into(), stamp, key: KEY };
    let old = stamp(now - 10_000_000_000);
    cache.keep_stamps(Path::new("/a"), &[found("old", old), found("new", stamp(now))], &[]);
    let known = cache.stamps(Path::new("/a"));
    assert_eq!(known.keys().map(|path| &**path).collect::<Vec<_>>(), ["old"]);
    assert!(cache.stamps(Path::new("/b")).is_empty(), "another worktree");
    cache.keep_stamps(Path::new("/a"), &[], &["old".into()]);
    assert!(cache.stamps(Path::new("/a")).is_empty());
}

#[test]
fn what_nobody_used_for_longest_goes_first() {
    let folder = Folder::new();
    let cache = folder.open();
    let row = |key: u8| ([key; 16], vec![key; 100_000], None);
    cache.add_analyses(&[row(1), row(2), row(3)]);
    cache.run("age", |connection| {
        connection.execute("UPDATE analyses SET used = used - 5 WHERE key = ?1", [[2; 16]])
    });
    cache.trim_to(250_000);
    let left = [1, 2, 3].map(|key| cache.analysis(&[key; 16]).is_some());
    assert_eq!(left, [true, false, true]);
    cache.trim_to(0);
    assert!(cache.analysis(&[1; 16]).is_some(), "what is in use today stays");
}

#[test]
fn linked_worktrees_share_the_main_one() {
    let folder = Folder::new();
    let root = folder.0.path().canonicalize().unwrap();
    let (main, linked) = (root.join("main"), root.join("linked"));
    let inside = main.join(".git/worktrees/linked");
    fs::create_dir_all(&inside).unwrap();
    fs::create_dir_all(&linked).unwrap();
    fs::write(linked.join(".git"), format!("gitdir: {}\n", inside.display())).unwrap();
    fs::write(inside.join("commondir"), "../..\n").unwrap();
    let place = || Place::of(&linked, &StateDir::at(linked.join(".vouch")), None).make();

    fs::write(inside.join("gitdir"), format!("{}\n", linked.join(".git").display())).unwrap();
    assert_eq!(place(), Some(main.join(".vouch")));
    // Somebody else's repository does not name this folder.
    fs::write(inside.join("gitdir"), "/elsewhere/.git\n").unwrap();
    assert_eq!(place(), Some(linked.join(".vouch")));
    // Where the main one cannot be used, the own one is.
    fs::write(inside.join("gitdir"), format!("{}\n", linked.join(".git").display())).unwrap();
    fs::remove_dir_all(main.join(".vouch")).unwrap();
    fs::write(main.join(".vouch"), "in the way").unwrap();
    assert_eq!(place(), Some(linked.join(".vouch")));
}
