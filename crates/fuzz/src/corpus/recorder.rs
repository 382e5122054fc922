//! Writes the discoveries of a campaign to its corpus folder as they are made.

use crate::call::SequenceCall;
use crate::campaign::{BestValue, CampaignRecorder, TestFailure};
use crate::corpus::{CorpusFolder, SequenceKind};
use crate::reproducer::foundry::{self, ReproducedFinding, ReproducerScene};
use crate::target::FuzzTarget;

/// Writes entries, reproducers and Foundry tests to a folder.
pub struct CorpusRecorder {
    folder: CorpusFolder,
    scene: ReproducerScene,
}

impl CorpusRecorder {
    /// Creates a recorder. `scene` is the chain state that Foundry tests recreate.
    pub fn new(folder: CorpusFolder, scene: ReproducerScene) -> Self {
        Self { folder, scene }
    }

    fn save(
        &self,
        kind: SequenceKind,
        target: &FuzzTarget,
        calls: &[SequenceCall],
    ) -> Result<(), String> {
        let saved = self.folder.save_sequence(kind, calls, target, self.scene.call_gas);
        saved.map(drop).map_err(|error| with_causes(&error))
    }

    /// Saves a finding as a Foundry test. Returns an error message on failure.
    fn save_test(
        &self,
        target: &FuzzTarget,
        finding: &ReproducedFinding<'_>,
    ) -> Result<(), String> {
        let name = &finding.test.name;
        let file = foundry::write_foundry_test(&self.scene, target, finding)
            .map_err(|error| format!("cannot write a Foundry test for {name}: {error}"))?;
        let saved = self.folder.save_foundry_test(&file.file_name, &file.text);
        saved.map(drop).map_err(|error| with_causes(&error))
    }
}

impl CampaignRecorder for CorpusRecorder {
    fn record_entry(&self, target: &FuzzTarget, calls: &[SequenceCall]) -> Result<(), String> {
        self.save(SequenceKind::Coverage, target, calls)
    }

    fn record_failure(&self, target: &FuzzTarget, failure: &TestFailure) -> Result<(), String> {
        if !failure.is_shrunk {
            return self.save(SequenceKind::Unshrunk, target, &failure.found);
        }
        self.save(SequenceKind::Reproducer, target, &failure.calls)?;
        let test = &target.tests[failure.test];
        self.save_test(target, &ReproducedFinding { test, calls: &failure.calls, best: None })
    }

    fn record_best(&self, target: &FuzzTarget, best: &BestValue) -> Result<(), String> {
        self.save(SequenceKind::Optimization, target, &best.calls)?;
        if !best.is_shrunk {
            return Ok(());
        }
        let test = &target.tests[best.test];
        self.save_test(
            target,
            &ReproducedFinding { test, calls: &best.calls, best: Some(best.value) },
        )
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
