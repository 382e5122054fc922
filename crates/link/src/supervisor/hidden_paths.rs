//! Paths that grants must not expose. Landlock grants whole trees and cannot exclude parts of them. A folder with a hidden
//! path in it is therefore granted entry by entry: the folder can be listed, and each visible entry is its own grant.

use std::path::{Path, PathBuf};

use landlock::{AccessFs, BitFlags};

use super::spec::StartFailure;

/// Maximum entries of such a folder. Each entry becomes a rule in the kernel.
const MAX_ENTRIES: usize = 2_000;

/// Hidden paths with links resolved. Paths that do not exist are dropped.
pub(super) struct HiddenPaths(Vec<PathBuf>);

impl HiddenPaths {
    pub(super) fn new(folder: &Path, paths: &[PathBuf]) -> Self {
        Self(paths.iter().filter_map(|path| folder.join(path).canonicalize().ok()).collect())
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(PathBuf::as_path)
    }

    /// Returns the hidden path that contains this path or is inside it.
    pub(super) fn find_overlap(&self, path: &Path) -> Option<&Path> {
        let path = path.canonicalize().ok()?;
        let touches = |hidden: &&PathBuf| path.starts_with(hidden) || hidden.starts_with(&path);
        self.0.iter().find(touches).map(PathBuf::as_path)
    }

    /// Returns the grant as a list of grants that exclude the hidden paths.
    ///
    /// # Errors
    /// If a folder cannot be listed or has too many entries.
    pub(super) fn split_grant(
        &self,
        path: PathBuf,
        access: BitFlags<AccessFs>,
    ) -> Result<Vec<(PathBuf, BitFlags<AccessFs>)>, StartFailure> {
        let Ok(real) = path.canonicalize() else { return Ok(vec![(path, access)]) };
        if self.0.iter().any(|hidden| real.starts_with(hidden)) {
            return Ok(Vec::new());
        }
        if !self.0.iter().any(|hidden| hidden.starts_with(&real)) {
            return Ok(vec![(path, access)]);
        }
        let mut grants = Vec::new();
        for (count, entry) in
            real.read_dir().map_err(|error| listing_error(&real, &error))?.enumerate()
        {
            if count == MAX_ENTRIES {
                return Err(StartFailure::Sandbox(format!(
                    "{} has more than {MAX_ENTRIES} entries, and one of them is hidden from servers: list the folders \
                     that are needed in the sandbox's `read`",
                    real.display()
                )));
            }
            let entry = entry.map_err(|error| listing_error(&real, &error))?;
            // Links are skipped: a grant would apply to the target, which may be anywhere.
            if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                grants.extend(self.split_grant(entry.path(), access)?);
            }
        }
        grants.push((real, access & AccessFs::ReadDir));
        Ok(grants)
    }
}

fn listing_error(path: &Path, error: &std::io::Error) -> StartFailure {
    StartFailure::Sandbox(format!("failed to list {} ({error})", path.display()))
}
