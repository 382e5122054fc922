//! Writes the discoveries of a campaign to its corpus folder as they are made.

mod superseded;

use parking_lot::Mutex;

use self::superseded::{FindingFiles, FindingKey};
use crate::call::SequenceCall;
use crate::campaign::{BestValue, CampaignRecorder, TestFailure};
use crate::corpus::{CorpusFolder, SavedFile, SequenceKind};
use crate::reproducer::foundry::{self, ReproducedFinding, ReproducerScene};
use crate::target::FuzzTarget;

/// Writes entries, reproducers and Foundry tests to a folder.
///
/// A finding has one reproducer: when a smaller sequence or a larger maximum is found, the files that this campaign wrote
/// for the earlier one are removed, after those of the new one are durable. Files of the user and of earlier campaigns
/// are kept.
pub struct CorpusRecorder {
    folder: CorpusFolder,
    scene: ReproducerScene,
    written: Mutex<FindingFiles>,
}

impl CorpusRecorder {
    /// Creates a recorder. `scene` is the chain state that Foundry tests recreate.
    pub fn new(folder: CorpusFolder, scene: ReproducerScene) -> Self {
        Self { folder, scene, written: Mutex::default() }
    }

    fn save(
        &self,
        kind: SequenceKind,
        target: &FuzzTarget,
        calls: &[SequenceCall],
    ) -> Result<SavedFile, String> {
        let saved = self.folder.save_sequence(kind, calls, target, self.scene.call_gas);
        saved.map_err(|error| with_causes(&error))
    }

    /// Saves a finding as a Foundry test. Returns an error message on failure.
    fn save_test(
        &self,
        target: &FuzzTarget,
        finding: &ReproducedFinding<'_>,
    ) -> Result<SavedFile, String> {
        let name = &finding.test.name;
        let file = foundry::write_foundry_test(&self.scene, target, finding)
            .map_err(|error| format!("cannot write a Foundry test for {name}: {error}"))?;
        let saved = self.folder.save_foundry_test(&file.file_name, &file.text);
        saved.map_err(|error| with_causes(&error))
    }
}

impl CampaignRecorder for CorpusRecorder {
    fn record_entry(&self, target: &FuzzTarget, calls: &[SequenceCall]) -> Result<(), String> {
        self.save(SequenceKind::Coverage, target, calls).map(drop)
    }

    fn record_failure(&self, target: &FuzzTarget, failure: &TestFailure) -> Result<(), String> {
        if !failure.is_shrunk {
            return self.save(SequenceKind::Unshrunk, target, &failure.found).map(drop);
        }
        let mut written = self.written.lock();
        let key = FindingKey::Failure(failure.test, failure.site);
        if written.is_superseded(key, None, &failure.calls) {
            return Ok(());
        }
        let mut files = vec![self.save(SequenceKind::Reproducer, target, &failure.calls)?];
        let test = &target.tests[failure.test];
        let finding = ReproducedFinding { test, calls: &failure.calls, best: None };
        let saved = self.save_test(target, &finding).map(|file| files.push(file));
        written.replace_files(key, None, &failure.calls, files);
        saved
    }

    fn record_best(&self, target: &FuzzTarget, best: &BestValue) -> Result<(), String> {
        let mut written = self.written.lock();
        let key = FindingKey::Maximum(best.test);
        if written.is_superseded(key, Some(best.value), &best.calls) {
            return Ok(());
        }
        let mut files = vec![self.save(SequenceKind::Optimization, target, &best.calls)?];
        let mut saved = Ok(());
        if best.is_shrunk {
            let test = &target.tests[best.test];
            let finding = ReproducedFinding { test, calls: &best.calls, best: Some(best.value) };
            saved = self.save_test(target, &finding).map(|file| files.push(file));
        }
        written.replace_files(key, Some(best.value), &best.calls, files);
        saved
    }
}

/// Returns an error with all its causes, on one line.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
