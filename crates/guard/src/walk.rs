//! From the root down, one name at a time, through folders that are held open.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Component;

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;
use rustix::io::Errno;

use crate::{Guard, Refusal};

/// As many links as Linux follows in one path.
const MAX_LINKS: usize = 40;
/// Twice the names that the longest path can hold: ends walks that links send up and down for ever.
const MAX_STEPS: usize = crate::MAX_PATH_BYTES;

/// What to do about a folder that does not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Refuse,
    MakeFolder,
}

/// Walks `names` down from the root and calls `last` on the folder, the name at the end, and the folder's own names
/// from the root, links resolved. `last` must not follow a link; where it fails on one, the walk goes on to the link's
/// target.
pub(super) fn walk<T>(
    guard: &Guard,
    names: &[&str],
    missing: Missing,
    mut last: impl FnMut(&Dir, &OsStr, &[OsString]) -> io::Result<T>,
) -> Result<T, Refusal> {
    let mut ahead: VecDeque<OsString> = names.iter().map(OsString::from).collect();
    let mut behind: Vec<OsString> = Vec::new();
    // The folder that `behind` names; None is the root.
    let mut held: Option<Dir> = None;
    let mut links = 0;
    for _ in 0..MAX_STEPS {
        let folder = held.as_ref().unwrap_or(&guard.root);
        let Some(name) = ahead.pop_front() else {
            // A link to a folder above: the walk ends in a folder, not at a name.
            return last(folder, OsStr::new("."), &behind).map_err(Refusal::of);
        };
        if name == ".." {
            // Only a link's target brings this. Down again from the root instead of up by the folder's own `..`,
            // which leads elsewhere once somebody has moved the folder.
            behind.pop().ok_or(Refusal::LeadsOut)?;
            behind.drain(..).rev().for_each(|name| ahead.push_front(name));
            held = None;
            continue;
        }
        guard
            .deny
            .check(&name.to_string_lossy())
            .map_err(|pattern| Refusal::LeadsToDenied { pattern })?;
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
            if missing == Missing::Refuse {
                return Err(Refusal::NotFound);
            }
            make_folder(folder, &name).map_err(Refusal::of)?;
            ahead.push_front(name);
        } else if let Ok(target) = folder.read_link_contents(&name) {
            links += 1;
            if links > MAX_LINKS {
                return Err(Refusal::LinkLoop);
            }
            for part in target.components().rev() {
                match part {
                    Component::Normal(part) => ahead.push_front(part.to_owned()),
                    Component::ParentDir => ahead.push_front("..".into()),
                    Component::CurDir => {}
                    Component::RootDir | Component::Prefix(_) => return Err(Refusal::LeadsOut),
                }
            }
        } else if Errno::from_io_error(&error) == Some(Errno::LOOP) {
            // A link a moment ago, and none now: look again.
            ahead.push_front(name);
        } else {
            return Err(Refusal::of(error));
        }
    }
    Err(Refusal::LinkLoop)
}

/// Makes the folder, and its name durable before anything is kept in it.
fn make_folder(parent: &Dir, name: &OsStr) -> io::Result<()> {
    match parent.create_dir(name) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => sync_folder(parent),
    }
}

pub fn sync_folder(folder: &Dir) -> io::Result<()> {
    folder.open(".")?.sync_all()
}
