//! Files that the user asks for by a flag, such as a JUnit report.
//!
//! The path is the user's, but a folder on the way to it may be a link that came with a project. Such a link is followed
//! only inside of its project.

use std::io;
use std::path::{Component, Path, PathBuf};

use store::files::replace_content;

use crate::failure::{FailureExt, FailureKind, Result};

/// Writes reports where no link of a project leads elsewhere.
#[derive(Clone, Debug, Default)]
pub struct ReportFiles {
    /// Canonical folders that a link in them must not leave: the current project, and that of the target.
    pub(super) bounds: Vec<PathBuf>,
}

/// Returns true for a pipe, a terminal or `/dev/stdout`, in whose place no file may be put.
fn is_stream(path: &Path) -> bool {
    path.starts_with("/dev")
        || path.starts_with("/proc")
        || path.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir())
}

impl ReportFiles {
    /// Errors if a report cannot be written to a path because of a link. Call it before a long run.
    pub fn check_path(&self, path: &Path) -> Result {
        self.resolve(path)
            .explain(format_args!("failed to use {}", path.display()))
            .hint("choose a path without such a link")
            .map_err(|failure| failure.with_kind(FailureKind::Usage))?;
        Ok(())
    }

    /// Writes a report. Its reader sees the old content or the new one.
    pub fn write(&self, path: &Path, text: &str) -> Result {
        let write = || {
            let resolved = self.resolve(path)?;
            match !self.contains(&resolved) && is_stream(path) {
                true => std::fs::write(path, text),
                false => replace_content(&resolved, text.as_bytes()),
            }
        };
        write().explain(format_args!("failed to write {}", path.display()))
    }

    fn contains(&self, path: &Path) -> bool {
        self.bounds.iter().any(|root| path.starts_with(root))
    }

    /// Returns the path with its links resolved. Errors with the name of a link that leaves the project that it is in.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let mut real = PathBuf::new();
        for part in std::path::absolute(path)?.components() {
            if part == Component::ParentDir {
                real.pop();
                continue;
            }
            let next = real.join(part);
            real = match next.is_symlink() {
                true => self.follow_link(&next)?,
                false => next,
            };
        }
        Ok(real)
    }

    fn follow_link(&self, link: &Path) -> io::Result<PathBuf> {
        let bounds: Vec<_> = self.bounds.iter().filter(|root| link.starts_with(root)).collect();
        match link.canonicalize() {
            Ok(found) if bounds.iter().all(|root| found.starts_with(root)) => Ok(found),
            // It leads nowhere. A file takes the place of the user's own.
            Err(_) if bounds.is_empty() => Ok(link.to_owned()),
            _ => {
                let text = format!("{} is a link that leaves the project", link.display());
                Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
            }
        }
    }
}
