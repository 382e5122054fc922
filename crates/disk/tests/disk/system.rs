//! The system's disk: each operation reaches the operating system.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::thread;

use disk::{Disk, SystemDisk};
use nix::libc;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

/// An error that no file system of a test reports by itself.
const DENIED: i32 = libc::EDQUOT;

/// Runs an operation in a thread in which a system call fails, and returns the error.
fn run_denied(call: i64, operation: impl FnOnce() -> io::Result<()> + Send) -> Option<i32> {
    let run = move || {
        let arch = std::env::consts::ARCH.try_into().unwrap();
        let error = SeccompAction::Errno(DENIED.cast_unsigned());
        let rules = [(call, vec![])].into();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, error, arch).unwrap();
        seccompiler::apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
        operation().err().and_then(|error| error.raw_os_error())
    };
    thread::scope(|scope| scope.spawn(run).join().unwrap())
}

#[test]
fn every_sync_reaches_the_system() {
    let folder = tempfile::tempdir().unwrap();
    let file = File::create(folder.path().join("file")).unwrap();
    let handle = File::open(folder.path()).unwrap();
    let denied = Some(DENIED);
    assert_eq!(run_denied(libc::SYS_fdatasync, || SystemDisk.sync_data(&file)), denied);
    assert_eq!(run_denied(libc::SYS_fsync, || SystemDisk.sync_all(&file)), denied);
    assert_eq!(run_denied(libc::SYS_fsync, || SystemDisk.sync_folder(handle.as_fd())), denied);
    let path = folder.path();
    assert_eq!(run_denied(libc::SYS_fsync, || SystemDisk.sync_folder_at(path)), denied);
    assert_eq!(run_denied(libc::SYS_fsync, || SystemDisk.sync_parent(&path.join("file"))), denied);
}

#[test]
fn folder_that_cannot_be_made_durable_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b");
    let created = run_denied(libc::SYS_fsync, || SystemDisk.create_folders(&path, 0o700));
    assert_eq!(created, Some(DENIED));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    SystemDisk.create_folders(&path, 0o700).unwrap();
    SystemDisk.create_folders(&path, 0o700).unwrap();
    assert!(path.is_dir());
}

#[test]
fn rename_noclobber_keeps_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::write(&from, "new").unwrap();
    fs::write(&to, "old").unwrap();
    let error = SystemDisk.rename_noclobber(&from, &to).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!((fs::read(&from).unwrap(), fs::read(&to).unwrap()), (b"new".into(), b"old".into()));
    fs::remove_file(&to).unwrap();
    SystemDisk.rename_noclobber(&from, &to).unwrap();
    assert!(!from.exists());
}
