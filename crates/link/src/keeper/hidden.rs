//! What no grant reaches. Landlock grants whole trees and takes nothing back, so a folder that holds something hidden is
//! granted piece by piece: its names can be listed, and each thing in it is a grant of its own.

use std::path::{Path, PathBuf};

use landlock::{AccessFs, BitFlags};

use super::spec::Complaint;

/// Each thing is a rule in the kernel.
const MAX_ENTRIES: usize = 2_000;

/// Paths without links. What does not exist is not there to be read.
pub(super) struct Hidden(Vec<PathBuf>);

impl Hidden {
    pub(super) fn new(folder: &Path, paths: &[PathBuf]) -> Self {
        Self(paths.iter().filter_map(|path| folder.join(path).canonicalize().ok()).collect())
    }

    /// The hidden path that this one is in, or that is in this one.
    pub(super) fn touched(&self, path: &Path) -> Option<&Path> {
        let path = path.canonicalize().ok()?;
        let touches = |hidden: &&PathBuf| path.starts_with(hidden) || hidden.starts_with(&path);
        self.0.iter().find(touches).map(PathBuf::as_path)
    }

    /// The same grant without what is hidden.
    pub(super) fn around(
        &self,
        path: PathBuf,
        access: BitFlags<AccessFs>,
    ) -> Result<Vec<(PathBuf, BitFlags<AccessFs>)>, Complaint> {
        let Ok(real) = path.canonicalize() else { return Ok(vec![(path, access)]) };
        if self.0.iter().any(|hidden| real.starts_with(hidden)) {
            return Ok(Vec::new());
        }
        if !self.0.iter().any(|hidden| hidden.starts_with(&real)) {
            return Ok(vec![(path, access)]);
        }
        let mut grants = Vec::new();
        for (count, entry) in real.read_dir().map_err(|error| unlisted(&real, &error))?.enumerate()
        {
            if count == MAX_ENTRIES {
                return Err(Complaint::Sandbox(format!(
                    "{} holds more than {MAX_ENTRIES} things, and one of them is hidden from servers: name the folders \
                     in it that are needed in the sandbox's `read`",
                    real.display()
                )));
            }
            let entry = entry.map_err(|error| unlisted(&real, &error))?;
            // A grant would be of the link's target, which may be anywhere.
            if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                grants.extend(self.around(entry.path(), access)?);
            }
        }
        grants.push((real, access & AccessFs::ReadDir));
        Ok(grants)
    }
}

fn unlisted(path: &Path, error: &std::io::Error) -> Complaint {
    Complaint::Sandbox(format!("{} cannot be listed ({error})", path.display()))
}
