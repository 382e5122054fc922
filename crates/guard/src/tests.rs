//! Tests of limits, unusual files and errors of the operating system.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::io::Errno;

use super::*;

/// Limit that only ends a call that blocks.
const LIMIT: Duration = Duration::from_secs(8);

fn open_guard(root: &Path) -> Arc<Guard> {
    Arc::new(Guard::new(root, DenyList::default()).unwrap())
}

fn make_fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

/// Runs a call in a thread of its own, so that a call that blocks fails its test.
fn run_bounded<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, result) = mpsc::channel();
    std::thread::spawn(move || _ = sender.send(call()));
    result.recv_timeout(LIMIT).expect("the call does not block")
}

#[test]
fn pipes_are_refused_without_waiting_for_a_writer() {
    let folder = tempfile::tempdir().unwrap();
    make_fifo(&folder.path().join("pipe"));
    symlink("pipe", folder.path().join("link")).unwrap();
    let guard = open_guard(folder.path());
    let calls: [fn(&Guard, &str) -> Option<String>; 3] = [
        |guard, path| guard.open_file(path).err().map(|refusal| refusal.to_string()),
        |guard, path| guard.open_checked(path).err().map(|refusal| refusal.to_string()),
        |guard, path| guard.resolve_path(path).ok().map(|found| format!("{:?}", found.kind)),
    ];
    let pipe = "is a pipe; only regular files can be used";
    let link = "is a link, which is not followed here";
    for (call, expected) in calls.into_iter().zip([[pipe, pipe], [pipe, link], ["Other", "Other"]])
    {
        for (path, expected) in ["pipe", "link"].into_iter().zip(expected) {
            let guard = Arc::clone(&guard);
            assert_eq!(
                run_bounded(move || call(&guard, path)).as_deref(),
                Some(expected),
                "{path}"
            );
        }
    }
    #[cfg(all(target_os = "linux", not(vouch_portable)))]
    for path in ["pipe", "link"] {
        let guard = Arc::clone(&guard);
        assert!(run_bounded(move || guard.read_cached(path, 100)).is_none(), "{path}");
    }
}

#[test]
fn opened_files_are_not_inherited() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "text").unwrap();
    let guard = open_guard(folder.path());
    let flags = |file: &File| rustix::io::fcntl_getfd(file).unwrap();
    let close_on_exec = rustix::io::FdFlags::CLOEXEC;
    assert_eq!(flags(&guard.open_file("file").unwrap().file), close_on_exec);
    assert_eq!(flags(&guard.open_checked("file").unwrap().0), close_on_exec);
}

#[test]
fn walk_follows_as_many_links_as_linux() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("0"), "text").unwrap();
    for number in 1..=41 {
        symlink((number - 1).to_string(), folder.path().join(number.to_string())).unwrap();
    }
    let guard = open_guard(folder.path());
    assert!(guard.open_file("40").is_ok());
    assert!(matches!(guard.open_file("41"), Err(PathRefusal::LinkLoop)));
}

#[test]
fn link_to_a_parent_continues_in_the_folder_above() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join("deep/a/b")).unwrap();
    fs::create_dir_all(root.join("deep/a/c")).unwrap();
    fs::create_dir_all(root.join("c")).unwrap();
    fs::write(root.join("deep/a/c/file"), "right").unwrap();
    fs::write(root.join("c/file"), "wrong").unwrap();
    symlink("../c/file", root.join("deep/a/b/link")).unwrap();
    let opened = open_guard(root).open_file("deep/a/b/link").unwrap();
    assert_eq!(io::read_to_string(opened.file).unwrap(), "right");
}

#[test]
fn folder_that_cannot_be_created_is_an_error() {
    let guard = open_guard(Path::new("/proc/self"));
    let refusal = guard.open_or_create_folder("vouch-none").unwrap_err();
    assert!(!matches!(refusal, PathRefusal::LinkLoop), "{refusal}");
    let folder = tempfile::tempdir().unwrap();
    let guard = open_guard(folder.path());
    guard.open_or_create_folder("a/b").unwrap();
    // Another process may create it first.
    walk::create_folder(&guard.root, "a".as_ref()).unwrap();
}

#[test]
fn errors_of_the_system_become_refusals() {
    for (error, expected) in [
        (Errno::NOENT.into(), PathRefusal::NotFound),
        (Errno::NOTDIR.into(), PathRefusal::NotFound),
        (Errno::ACCESS.into(), PathRefusal::NotPermitted),
        (Errno::PERM.into(), PathRefusal::NotPermitted),
        (Errno::ISDIR.into(), PathRefusal::NotAFile { kind: "folder" }),
        (Errno::NXIO.into(), PathRefusal::NotAFile { kind: "socket or device" }),
        (io::Error::new(io::ErrorKind::PermissionDenied, "out"), PathRefusal::LeadsOut),
        (io::Error::other("broken"), PathRefusal::IoFailed(io::Error::other("broken"))),
        (Errno::IO.into(), PathRefusal::IoFailed(Errno::IO.into())),
    ] {
        let refusal = PathRefusal::from_io_error(error);
        assert_eq!(refusal.to_string(), expected.to_string());
    }
}

#[test]
fn source_code_may_have_a_limited_size() {
    let folder = tempfile::tempdir().unwrap();
    let limit = 1_048_576;
    fs::write(folder.path().join("secret_a.rs"), "x".repeat(limit)).unwrap();
    fs::write(folder.path().join("secret_b.rs"), "x".repeat(limit + 1)).unwrap();
    fs::create_dir(folder.path().join("secrets")).unwrap();
    fs::write(folder.path().join("secret.json"), "").unwrap();
    let deny = DenyList::default().with_source_exception();
    let guard = Guard::new(folder.path(), deny).unwrap().with_source_check(|_| true);
    assert!(guard.open_file("secret_a.rs").is_ok());
    assert!(matches!(guard.open_file("secret_b.rs"), Err(PathRefusal::Denied { .. })));
    let mut names = guard.list_folder("").unwrap();
    names.sort();
    assert_eq!(names, ["secret_a.rs", "secret_b.rs", "secrets"]);
}

#[cfg(all(target_os = "linux", not(vouch_portable)))]
#[test]
fn cached_reads_end_where_they_are_unsupported() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "text").unwrap();
    let guard = open_guard(folder.path());
    let is_set = || guard.cached_reads_unsupported.is_set();
    guard.cached_reads_unsupported.record_error(Errno::AGAIN);
    assert!(!is_set());
    guard.cached_reads_unsupported.record_error(Errno::OPNOTSUPP);
    assert!(is_set());
    assert!(guard.read_cached("file", 100).is_none());
}

#[test]
fn text_of_a_path_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let guard = open_guard(folder.path());
    let name = "n".repeat(MAX_NAME_BYTES);
    let path = |length: usize| {
        let folders = format!("{}/", "a".repeat(99)).repeat(length / 100);
        format!("{folders}{}", "b".repeat(length - folders.len()))
    };
    assert!(guard.check_file(&name).is_ok());
    assert!(guard.check_file(&path(MAX_PATH_BYTES)).is_ok());
    for (path, expected) in [
        (format!("{name}n"), PathRefusal::LongName),
        (format!("a/{name}n/b"), PathRefusal::LongName),
        (path(MAX_PATH_BYTES + 1), PathRefusal::LongPath),
        ("/etc/passwd".to_owned(), PathRefusal::Absolute),
        ("a/../b".to_owned(), PathRefusal::ParentComponent),
        ("a\tb".to_owned(), PathRefusal::ControlCharacter),
        (String::new(), PathRefusal::IsRoot),
        ("./".to_owned(), PathRefusal::IsRoot),
        ("a/".to_owned(), PathRefusal::TrailingSlash),
        ("a/.".to_owned(), PathRefusal::TrailingSlash),
        (".git/config".to_owned(), PathRefusal::Denied { pattern: ".git".into() }),
    ] {
        let refusal = guard.check_file(&path).unwrap_err();
        assert_eq!(refusal.to_string(), expected.to_string(), "{path}");
    }
    assert!(guard.check_path("").is_ok());
}

/// A link gives its target no way around the deny list.
#[test]
fn links_do_not_lead_to_denied_names() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".git")).unwrap();
    fs::write(folder.path().join(".git/config"), "").unwrap();
    fs::write(folder.path().join("id_rsa"), "").unwrap();
    for (target, link) in [(".git/config", "a"), (".git", "b"), ("id_rsa", "c")] {
        symlink(target, folder.path().join(link)).unwrap();
    }
    let guard = open_guard(folder.path());
    for path in ["a", "b/config", "c"] {
        let refusal = guard.open_file(path).unwrap_err();
        assert!(matches!(refusal, PathRefusal::LeadsToDenied { .. }), "{path} {refusal}");
        assert!(guard.resolve_path(path).is_err(), "{path}");
    }
    assert!(guard.list_folder("b").is_err());
}
