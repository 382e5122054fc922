//! Walks a path down from the root, one name at a time, through folders that are held open.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::path::Component;

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;
use rustix::io::Errno;

use crate::deny::NameVerdict;
use crate::{Guard, PathRefusal};

/// Maximum links in one path, as on Linux.
const MAX_LINKS: usize = 40;
/// Maximum steps of a walk: twice the names of the longest path. Stops walks that links send up and down endlessly.
const MAX_STEPS: usize = crate::MAX_PATH_BYTES;

/// The handling of a folder that does not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingFolderPolicy {
    Refuse,
    Create,
    /// Refuses it, and syncs the folders on the way, so that the names of the path are durable.
    RefuseAndSync,
}

/// The object that a walk looks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WalkTarget {
    File,
    /// A file or a folder; the caller checks the name of a file itself.
    Any,
}

/// Walks `names` down from the root. At the end it calls `last` with the open folder, the final name, and the folder's
/// path from the root without links. `last` must not follow links; if it fails on a link, the walk continues at the
/// link's target.
pub(super) fn walk_path<T>(
    guard: &Guard,
    names: &[&str],
    target: WalkTarget,
    missing: MissingFolderPolicy,
    mut last: impl FnMut(&Dir, &OsStr, &[OsString]) -> io::Result<T>,
) -> Result<T, PathRefusal> {
    let mut ahead: VecDeque<OsString> = names.iter().map(OsString::from).collect();
    let mut behind: Vec<OsString> = Vec::new();
    // The open folder at `behind`; `None` is the root.
    let mut held: Option<Dir> = None;
    let mut links = 0;
    for _ in 0..MAX_STEPS {
        let folder = held.as_ref().unwrap_or(&guard.root);
        let Some(name) = ahead.pop_front() else {
            // A link to a parent folder: the walk ends in a folder, not at a name.
            return last(folder, OsStr::new("."), &behind).map_err(PathRefusal::from_io_error);
        };
        if name == ".." {
            // Only a link's target can contain `..`. Restart from the root instead of opening the folder's own `..`, which
            // leads elsewhere if the folder was moved in the meantime.
            behind.pop().ok_or(PathRefusal::LeadsOut)?;
            behind.drain(..).rev().for_each(|name| ahead.push_front(name));
            held = None;
            continue;
        }
        check_step(guard, &behind, &name, target == WalkTarget::File && ahead.is_empty())?;
        if missing == MissingFolderPolicy::RefuseAndSync {
            guard.disk.sync_folder(folder.as_fd()).map_err(PathRefusal::from_io_error)?;
        }
        let error = if ahead.is_empty() {
            match last(folder, &name, &behind) {
                Ok(found) => return Ok(found),
                Err(error) => error,
            }
        } else {
            match folder.open_dir_nofollow(&name) {
                Ok(next) => {
                    held = Some(next);
                    behind.push(name);
                    continue;
                }
                Err(error) => error,
            }
        };
        if error.kind() == io::ErrorKind::NotFound {
            if missing != MissingFolderPolicy::Create {
                return Err(PathRefusal::NotFound);
            }
            create_folder(folder, &name).map_err(PathRefusal::from_io_error)?;
            ahead.push_front(name);
        } else if let Ok(link) = folder.read_link_contents(&name) {
            links += 1;
            if links > MAX_LINKS {
                return Err(PathRefusal::LinkLoop);
            }
            for part in link.components().rev() {
                match part {
                    Component::Normal(part) => ahead.push_front(part.to_owned()),
                    Component::ParentDir => ahead.push_front("..".into()),
                    Component::CurDir => {}
                    Component::RootDir | Component::Prefix(_) => return Err(PathRefusal::LeadsOut),
                }
            }
        } else if Errno::from_io_error(&error) == Some(Errno::LOOP) {
            // It was a link and was replaced in the meantime: try again.
            ahead.push_front(name);
        } else {
            return Err(PathRefusal::from_io_error(error));
        }
    }
    Err(PathRefusal::LinkLoop)
}

/// Checks the next name of a walk against the deny list.
fn check_step(
    guard: &Guard,
    behind: &[OsString],
    name: &OsStr,
    is_file: bool,
) -> Result<(), PathRefusal> {
    // A name that is not UTF-8 cannot be part of a path pattern.
    let parents = behind.iter().map(|name| name.to_str().unwrap_or_default());
    let denied = match guard.deny.judge_name(parents, &name.to_string_lossy()) {
        NameVerdict::Denied(pattern) => Some(pattern.to_owned()),
        _ if is_file => guard.deny.check_entry(&join_names(behind, name), true).err(),
        _ => None,
    };
    denied.map_or(Ok(()), |pattern| Err(PathRefusal::LeadsToDenied { pattern }))
}

/// Returns the path of `name` in the folder `above`.
pub(super) fn join_names(above: &[OsString], name: &OsStr) -> String {
    let names = above.iter().map(OsString::as_os_str).chain([name]);
    names.map(OsStr::to_string_lossy).collect::<Vec<_>>().join("/")
}

/// Creates the folder; another process may do so at the same time.
pub(super) fn create_folder(parent: &Dir, name: &OsStr) -> io::Result<()> {
    match parent.create_dir(name) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
