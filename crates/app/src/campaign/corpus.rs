//! The folder of the corpus as a campaign finds it.

use std::path::Path;

use ::fuzz::call::Call;
use ::fuzz::corpus::{Folder, FolderError, Unused, with_causes};
use ::fuzz::target::Target;

use crate::context::NoticeSink;
use crate::failure::FailureKind;
use crate::failure::{Failure, Result};

/// Files that are named one by one; a folder may hold thousands.
const MAX_NAMED: usize = 5;

pub(crate) struct Corpus {
    pub folder: Folder,
}

impl Corpus {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let folder = Folder::open(path).map_err(unusable)?;
        Ok(Self { folder })
    }

    /// The sequences that can be used. What cannot is named.
    pub(crate) fn load(&self, notices: &dyn NoticeSink, target: &Target) -> Result<Vec<Vec<Call>>> {
        let loaded = self.folder.load(target).map_err(unusable)?;
        tell(notices, &loaded.set_aside, "a damaged file of the corpus is set aside");
        tell(notices, &loaded.foreign, "a file of the corpus is not used");
        if !loaded.sequences.is_empty() {
            let count = loaded.sequences.len();
            notices.note(format_args!("the corpus has {count} sequences, which are run first"));
        }
        Ok(loaded.sequences.into_iter().map(|(_, calls)| calls).collect())
    }
}

fn tell(notices: &dyn NoticeSink, files: &[Unused], what: &str) {
    for Unused { path, reason } in files.iter().take(MAX_NAMED) {
        notices.warn(format_args!("{what}: {}: {}", path.display(), with_causes(reason)));
    }
    if files.len() > MAX_NAMED {
        notices.warn(format_args!("{what}: {} more", files.len() - MAX_NAMED));
    }
}

fn unusable(error: FolderError) -> Failure {
    let hint = match &error {
        FolderError::InUse(_) => "give this campaign a folder of its own: --corpus-dir DIR",
        _ => "name a folder that can be written to: --corpus-dir DIR",
    };
    Failure::from(error).with_hint(hint).with_kind(FailureKind::Operation)
}
