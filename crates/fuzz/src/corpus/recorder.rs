//! Records the finds of a campaign in the folder of its corpus, at the moment they are made.

use crate::call::Call;
use crate::campaign::{Best, Failure, Recorder};
use crate::corpus::{Folder, FolderError, Kind};
use crate::reproducer::foundry::{self, Finding, Scene};
use crate::target::Target;

/// Writes entries, reproducers and Foundry tests to a folder.
pub struct CorpusRecorder {
    folder: Folder,
    scene: Scene,
}

impl CorpusRecorder {
    /// Creates a recorder; `scene` is what Foundry tests have to make again.
    pub fn new(folder: Folder, scene: Scene) -> Self {
        Self { folder, scene }
    }

    fn save(&self, kind: Kind, target: &Target, calls: &[Call]) -> Result<(), String> {
        let saved = self.folder.save(kind, calls, target, self.scene.call_gas);
        saved.map(drop).map_err(|error| not_written(&error))
    }

    /// The same for `forge test`.
    fn save_test(&self, target: &Target, finding: &Finding<'_>) -> Result<(), String> {
        let name = &finding.test.name;
        let file = foundry::write(&self.scene, target, finding)
            .map_err(|error| format!("there is no Foundry test for {name}: {error}"))?;
        let saved = self.folder.save_test(&file.file_name, &file.text);
        saved.map(drop).map_err(|error| not_written(&error))
    }
}

fn not_written(error: &FolderError) -> String {
    with_causes(error)
}

impl Recorder for CorpusRecorder {
    fn keep_entry(&self, target: &Target, calls: &[Call]) -> Result<(), String> {
        self.save(Kind::Coverage, target, calls)
    }

    fn keep_failure(&self, target: &Target, failure: &Failure) -> Result<(), String> {
        if !failure.is_shrunk {
            return self.save(Kind::Unshrunk, target, &failure.found);
        }
        self.save(Kind::Reproducer, target, &failure.calls)?;
        let test = &target.tests[failure.test];
        self.save_test(target, &Finding { test, calls: &failure.calls, best: None })
    }

    fn keep_best(&self, target: &Target, best: &Best) -> Result<(), String> {
        self.save(Kind::Optimization, target, &best.calls)?;
        if !best.is_shrunk {
            return Ok(());
        }
        let test = &target.tests[best.test];
        self.save_test(target, &Finding { test, calls: &best.calls, best: Some(best.value) })
    }
}

/// Returns an error with all its causes, on one line.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
