use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use disk::Disk;
use disk::simulated::{DiskFault, OperationKind, SimulatedDisk};
use tempfile::TempDir;

const SEEDS: u64 = 100;

/// A folder on a simulated disk, with a durable file `old` that contains `old`.
struct Fixture {
    folder: TempDir,
    disk: Arc<SimulatedDisk>,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("old"), "old").unwrap();
        let disk = SimulatedDisk::new(folder.path()).unwrap();
        Self { folder, disk }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn append(&self, name: &str) -> File {
        OpenOptions::new().append(true).create(true).open(self.path(name)).unwrap()
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.path(name)).ok()
    }
}

/// Returns the contents of `name` that remain after the action and a crash, over all seeds.
fn find_remains(name: &str, action: impl Fn(&Fixture)) -> BTreeSet<Option<String>> {
    let remains = (0..SEEDS).map(|seed| {
        let fixture = Fixture::new();
        action(&fixture);
        fixture.disk.crash(seed).unwrap();
        fixture.read(name).map(|bytes| String::from_utf8(bytes).unwrap())
    });
    remains.collect()
}

fn set<const N: usize>(contents: [Option<&str>; N]) -> BTreeSet<Option<String>> {
    contents.into_iter().map(|it| it.map(str::to_owned)).collect()
}

#[test]
fn loses_any_part_of_an_unsynced_append() {
    let remains = find_remains("old", |fixture| {
        fixture.disk.write_all(&fixture.append("old"), b"+new").unwrap();
    });
    let expected = ["old", "old+", "old+n", "old+ne", "old+new", "old\0\0\0\0"].map(Some);
    assert_eq!(remains, set(expected));
}

#[test]
fn keeps_what_was_synced() {
    let remains = find_remains("old", |fixture| {
        let file = fixture.append("old");
        fixture.disk.write_all(&file, b"+new").unwrap();
        fixture.disk.sync_data(&file).unwrap();
    });
    assert_eq!(remains, set([Some("old+new")]));
}

#[test]
fn loses_the_name_of_a_synced_file_without_its_folder() {
    let create = |fixture: &Fixture| {
        let file = fixture.append("new");
        fixture.disk.write_all(&file, b"new").unwrap();
        fixture.disk.sync_all(&file).unwrap();
    };
    assert_eq!(find_remains("new", create), set([None, Some("new")]));
    let remains = find_remains("new", |fixture| {
        create(fixture);
        fixture.disk.sync_folder_at(fixture.folder.path()).unwrap();
    });
    assert_eq!(remains, set([Some("new")]));
}

#[test]
fn loses_the_content_of_an_unsynced_file_with_its_name() {
    let remains = find_remains("new", |fixture| {
        fixture.disk.write_all(&fixture.append("new"), b"ab").unwrap();
        fixture.disk.sync_folder_at(fixture.folder.path()).unwrap();
    });
    assert_eq!(remains, set([Some(""), Some("a"), Some("ab"), Some("\0\0")]));
}

#[test]
fn replaces_atomically_but_not_durably() {
    let replace = |fixture: &Fixture| {
        let staged = fixture.append("staged");
        fixture.disk.write_all(&staged, b"new").unwrap();
        fixture.disk.sync_all(&staged).unwrap();
        fixture.disk.rename(&fixture.path("staged"), &fixture.path("old")).unwrap();
    };
    assert_eq!(find_remains("old", replace), set([Some("old"), Some("new")]));
    let remains = find_remains("old", |fixture| {
        replace(fixture);
        fixture.disk.sync_parent(&fixture.path("old")).unwrap();
    });
    assert_eq!(remains, set([Some("new")]));
}

#[test]
fn unsynced_rename_or_removal_never_loses_the_file() {
    for seed in 0..SEEDS {
        let fixture = Fixture::new();
        fixture.disk.rename(&fixture.path("old"), &fixture.path("aside")).unwrap();
        fixture.disk.crash(seed).unwrap();
        let found = [fixture.read("old"), fixture.read("aside")];
        assert_eq!(found.iter().flatten().count(), 1, "seed {seed}: {found:?}");
    }
    let remains = find_remains("old", |fixture| {
        fixture.disk.remove_file(&fixture.path("old")).unwrap();
    });
    assert_eq!(remains, set([None, Some("old")]));
}

#[test]
fn new_folder_is_lost_with_its_files() {
    let create = |fixture: &Fixture| {
        fs::create_dir(fixture.path("folder")).unwrap();
        let file = fixture.append("folder/file");
        fixture.disk.write_all(&file, b"new").unwrap();
        fixture.disk.sync_all(&file).unwrap();
        fixture.disk.sync_folder_at(&fixture.path("folder")).unwrap();
    };
    assert_eq!(find_remains("folder/file", create), set([None, Some("new")]));
    let remains = find_remains("folder/file", |fixture| {
        create(fixture);
        fixture.disk.sync_folder_at(fixture.folder.path()).unwrap();
    });
    assert_eq!(remains, set([Some("new")]));
}

#[test]
fn sync_after_a_failed_sync_does_not_bring_the_data_back() {
    let remains = find_remains("old", |fixture| {
        let file = fixture.append("old");
        fixture.disk.plan_fault(1, DiskFault::Error(5));
        fixture.disk.write_all(&file, b"+").unwrap();
        assert_eq!(fixture.disk.sync_data(&file).unwrap_err().raw_os_error(), Some(5));
        fixture.disk.sync_data(&file).unwrap();
    });
    assert_eq!(remains, set([Some("old"), Some("old\0"), Some("old+")]));
}

#[test]
fn data_that_is_written_again_after_a_failed_sync_is_durable() {
    let remains = find_remains("old", |fixture| {
        let file = fixture.append("old");
        fixture.disk.plan_fault(1, DiskFault::Error(5));
        fixture.disk.write_all(&file, b"+lost").unwrap();
        fixture.disk.sync_data(&file).unwrap_err();
        fixture.disk.set_len(&file, 3).unwrap();
        for text in ["+a", "+b"] {
            fixture.disk.write_all(&file, text.as_bytes()).unwrap();
            fixture.disk.sync_data(&file).unwrap();
        }
    });
    assert_eq!(remains, set([Some("old+a+b")]));
}

#[test]
fn full_disk_writes_what_fits() {
    let fixture = Fixture::new();
    let file = fixture.append("old");
    fixture.disk.plan_fault(0, DiskFault::Full(2));
    assert_eq!(fixture.disk.write(&file, b"12345").unwrap(), 2);
    assert_eq!(fixture.disk.write(&file, b"345").unwrap_err().kind(), ErrorKind::StorageFull);
    fixture.disk.clear_faults();
    assert_eq!(fixture.disk.write(&file, b"345").unwrap(), 3);
    assert_eq!(fixture.read("old").unwrap(), b"old12345");
}

#[test]
fn dropped_sync_makes_nothing_durable() {
    let remains = find_remains("old", |fixture| {
        let file = fixture.append("old");
        fixture.disk.drop_syncs(|it| it.path == Path::new("old"));
        fixture.disk.write_all(&file, b"+").unwrap();
        fixture.disk.sync_data(&file).unwrap();
    });
    assert_eq!(remains, set([Some("old"), Some("old\0"), Some("old+")]));
}

#[test]
fn nothing_works_without_power() {
    for fault in [DiskFault::PowerOffBefore, DiskFault::PowerOffAfter] {
        let fixture = Fixture::new();
        let file = fixture.append("old");
        fixture.disk.write_all(&file, b"+").unwrap();
        fixture.disk.plan_fault(1, fault);
        fixture.disk.sync_data(&file).unwrap_err();
        assert!(fixture.disk.is_off());
        fixture.disk.write_all(&file, b"+").unwrap_err();
        fixture.disk.remove_file(&fixture.path("old")).unwrap_err();
        drop(file);
        fixture.disk.crash(0).unwrap();
        let expected = if fault == DiskFault::PowerOffBefore { "old" } else { "old+" };
        assert_eq!(fixture.read("old").unwrap(), expected.as_bytes());
        fixture.disk.sync_data(&fixture.append("old")).unwrap();
    }
}

#[test]
fn counts_syncs_by_kind_and_path() {
    let fixture = Fixture::new();
    let file = fixture.append("old");
    fixture.disk.sync_data(&file).unwrap();
    fixture.disk.sync_data(&file).unwrap();
    fixture.disk.sync_parent(&fixture.path("old")).unwrap();
    assert_eq!(fixture.disk.count_syncs(OperationKind::SyncData, "old"), 2);
    assert_eq!(fixture.disk.count_syncs(OperationKind::SyncAll, "old"), 0);
    assert_eq!(fixture.disk.count_syncs(OperationKind::SyncFolder, ""), 1);
}

#[test]
fn excluded_files_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let disk =
        SimulatedDisk::with_exclusion(folder.path(), |path| path == Path::new("db")).unwrap();
    fs::write(folder.path().join("db"), "not synced").unwrap();
    fs::write(folder.path().join("file"), "not synced").unwrap();
    disk.crash(0).unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("db")).unwrap(), "not synced");
    assert!(!folder.path().join("file").exists());
}
