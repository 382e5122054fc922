//! The project token: created once by any number of processes, private, and refused if it is not.

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::{Arc, Barrier};

use store::{PrivateFileError, ProjectToken, ProjectTokenError, StateDir, read_private_file};
use tempfile::TempDir;

fn state() -> (TempDir, StateDir) {
    let temp = TempDir::new().unwrap();
    let dir = StateDir::open(temp.path().join(".vouch")).unwrap();
    (temp, dir)
}

fn mode_of(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn token_is_random_private_and_stable() {
    let (_temp, dir) = state();
    assert_eq!(ProjectToken::find(dir.path()).unwrap(), None);
    let (token, created) = ProjectToken::open_or_create(&dir).unwrap();
    assert!(created);
    let path = ProjectToken::path_in(dir.path());
    assert_eq!(mode_of(&path), 0o600);
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{}\n", token.expose_secret()));
    assert_eq!(token.expose_secret().len(), "vouch_".len() + 64, "256 bits");
    assert_eq!(format!("{token:?}"), "ProjectToken");
    assert_eq!(ProjectToken::open_or_create(&dir).unwrap(), (token.clone(), false));
    assert_eq!(ProjectToken::find(dir.path()).unwrap(), Some(token.clone()));

    let (_temp, other) = state();
    assert_ne!(ProjectToken::open_or_create(&other).unwrap().0, token);
    let rotated = ProjectToken::rotate(&dir).unwrap();
    assert_ne!(rotated, token);
    assert_eq!(mode_of(&path), 0o600);
    assert_eq!(ProjectToken::open_or_create(&dir).unwrap(), (rotated, false));
}

#[test]
fn starting_processes_agree_on_the_token() {
    for _ in 0..20 {
        let (_temp, dir) = state();
        let barrier = Arc::new(Barrier::new(8));
        let racers: Vec<_> = (0..8)
            .map(|_| {
                let (dir, barrier) = (dir.clone(), Arc::clone(&barrier));
                std::thread::spawn(move || {
                    barrier.wait();
                    ProjectToken::open_or_create(&dir).unwrap()
                })
            })
            .collect();
        let found: Vec<_> = racers.into_iter().map(|racer| racer.join().unwrap()).collect();
        let secrets: HashSet<_> = found.iter().map(|(token, _)| token.expose_secret()).collect();
        assert_eq!(secrets.len(), 1, "all have the same token");
        assert_eq!(found.iter().filter(|(_, created)| *created).count(), 1, "one created it");
        let names: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert!(
            !names.iter().any(|name| name.to_string_lossy().starts_with(".vouch-")),
            "{names:?}"
        );
    }
}

#[test]
fn refuses_token_file_that_others_can_access() {
    let (_temp, dir) = state();
    ProjectToken::open_or_create(&dir).unwrap();
    let path = ProjectToken::path_in(dir.path());
    for mode in [0o644, 0o640, 0o604, 0o660, 0o620, 0o602, 0o666, 0o611, 0o777] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        for error in [
            ProjectToken::find(dir.path()).unwrap_err(),
            ProjectToken::open_or_create(&dir).unwrap_err(),
        ] {
            let ProjectTokenError::File(PrivateFileError::Exposed { mode: found, .. }) = &error
            else {
                panic!("{mode:o}: {error:?}")
            };
            assert_eq!(*found, mode);
            assert_eq!(error.hint().unwrap(), format!("run `chmod 600 {}`", path.display()));
        }
    }
    for mode in [0o600, 0o400] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        assert!(ProjectToken::find(dir.path()).unwrap().is_some(), "{mode:o}");
    }
}

#[test]
fn damaged_token_is_never_accepted() {
    let (_temp, dir) = state();
    let path = ProjectToken::path_in(dir.path());
    let whole = format!("vouch_{}", "0".repeat(64));
    for text in ["", "\n", "vouch_", &whole[..40], &whole[6..], &format!("{whole}0"), "secret"] {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let error = ProjectToken::open_or_create(&dir).unwrap_err();
        assert!(matches!(error, ProjectTokenError::Invalid { .. }), "{text:?}: {error:?}");
        assert!(error.hint().unwrap().contains("vouch token rotate"));
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "it is not replaced unasked");
    }
    ProjectToken::rotate(&dir).unwrap();
    assert!(ProjectToken::find(dir.path()).unwrap().is_some());
}

/// The opened file counts: a private link to an exposed file is refused, an exposed-looking link to a private one is not.
#[test]
fn checks_the_target_of_a_link() {
    let temp = TempDir::new().unwrap();
    let (private, exposed) = (temp.path().join("private"), temp.path().join("exposed"));
    for (path, mode) in [(&private, 0o600), (&exposed, 0o644)] {
        fs::write(path, "text").unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        symlink(path, temp.path().join(format!("to-{mode:o}"))).unwrap();
    }
    assert_eq!(read_private_file(&temp.path().join("to-600")).unwrap(), "text");
    let error = read_private_file(&temp.path().join("to-644")).unwrap_err();
    assert!(matches!(error, PrivateFileError::Exposed { .. }), "{error:?}");
    let error = read_private_file(&temp.path().join("missing")).unwrap_err();
    assert!(matches!(error, PrivateFileError::Read { .. }), "{error:?}");
}

/// Files of other users exist on every system; `/proc/1` belongs to root.
#[test]
fn refuses_file_of_another_user() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("token");
    fs::write(&path, "text").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let foreign = if rustix::process::geteuid().is_root() {
        rustix::fs::chown(&path, Some(rustix::fs::Uid::from_raw(12345)), None).unwrap();
        path
    } else {
        "/proc/1/cmdline".into()
    };
    let error = read_private_file(&foreign).unwrap_err();
    assert!(matches!(error, PrivateFileError::ForeignOwner { .. }), "{error:?}");
}

#[test]
fn refuses_huge_file() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("token");
    let file = fs::File::create(&path).unwrap();
    file.set_len(2 * 1024 * 1024).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let error = read_private_file(&path).unwrap_err();
    assert!(matches!(error, PrivateFileError::TooLarge { .. }), "{error:?}");
}
