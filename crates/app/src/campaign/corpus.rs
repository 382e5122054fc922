//! Loads the corpus folder for a campaign and reports files that cannot be used.

use std::path::Path;

use ::fuzz::call::SequenceCall;
use ::fuzz::corpus::{CorpusFolder, CorpusFolderError, SkippedFile};
use ::fuzz::target::FuzzTarget;
use contract::text::error_chain;

use crate::context::NoticeSink;
use crate::failure::FailureKind;
use crate::failure::{Failure, Result};

/// Maximum unused files named one by one; a folder may hold thousands.
const MAX_NAMED: usize = 5;

/// The corpus folder of a campaign, locked for this process.
pub(crate) struct CampaignCorpus {
    pub folder: CorpusFolder,
}

impl CampaignCorpus {
    /// Opens and locks the folder; creates it if missing.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let folder = CorpusFolder::open(path).map_err(corpus_failure)?;
        Ok(Self { folder })
    }

    /// Returns the usable sequences and warns about files that cannot be used.
    pub(crate) fn load_sequences(
        &self,
        notices: &dyn NoticeSink,
        target: &FuzzTarget,
    ) -> Result<Vec<Vec<SequenceCall>>> {
        let loaded = self.folder.load(target).map_err(corpus_failure)?;
        warn_unused_files(notices, &loaded.set_aside, "damaged corpus file set aside");
        warn_unused_files(notices, &loaded.foreign, "unused corpus file");
        if !loaded.sequences.is_empty() {
            let count = loaded.sequences.len();
            notices.note(format_args!("replaying {count} corpus sequences first"));
        }
        Ok(loaded.sequences.into_iter().map(|(_, calls)| calls).collect())
    }
}

fn warn_unused_files(notices: &dyn NoticeSink, files: &[SkippedFile], what: &str) {
    for SkippedFile { path, reason } in files.iter().take(MAX_NAMED) {
        notices.warn(format_args!("{what}: {}: {}", path.display(), error_chain(reason)));
    }
    if files.len() > MAX_NAMED {
        notices.warn(format_args!("{what}: {} more", files.len() - MAX_NAMED));
    }
}

fn corpus_failure(error: CorpusFolderError) -> Failure {
    let hint = match &error {
        CorpusFolderError::InUse(_) => "choose another corpus folder: --corpus-dir DIR",
        _ => "choose a writable corpus folder: --corpus-dir DIR",
    };
    Failure::from(error).with_hint(hint).with_kind(FailureKind::Operation)
}
