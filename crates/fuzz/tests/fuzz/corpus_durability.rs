//! The corpus folder on a disk that fails, fills up and loses power at every point.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use disk::simulated::{DurableFeature, Operation, SimulatedDisk, check_durability};
use fuzz::corpus::CorpusFolder;

const NEW: &str = "contract NewTest {}";

/// A file that is saved in a corpus folder, which is new or has a file with other content in its place.
struct SavedTest {
    before: Option<&'static str>,
}

impl DurableFeature for SavedTest {
    fn prepare(&self, root: &Path) {
        if let Some(before) = self.before {
            drop(CorpusFolder::open(&root.join("corpus")).unwrap());
            fs::write(root.join("corpus/foundry/Saved.t.sol"), before).unwrap();
        }
    }

    fn write(&self, root: &Path, disk: Arc<SimulatedDisk>) -> Result<(), String> {
        let folder = CorpusFolder::open_on_disk(&root.join("corpus"), disk);
        let folder = folder.map_err(|error| error.to_string())?;
        let saved = folder.save_foundry_test("Saved.t.sol", NEW);
        saved.map(drop).map_err(|error| error.to_string())
    }

    fn check(&self, root: &Path, is_acknowledged: bool) -> Result<(), String> {
        let found = fs::read_to_string(root.join("corpus/foundry/Saved.t.sol")).ok();
        let found = found.as_deref();
        match found == Some(NEW) || !is_acknowledged && found == self.before {
            true => Ok(()),
            false => Err(format!("the file contains {found:?}")),
        }
    }

    fn can_drop_sync(&self, sync: &Operation) -> bool {
        // The folders exist, but a killed campaign may have created them without syncing.
        self.before.is_some() && sync.path == Path::new("corpus")
    }
}

#[test]
fn saved_file_survives_any_fault() {
    for before in [None, Some("contract OldTest {}")] {
        let root = tempfile::tempdir().unwrap();
        check_durability(root.path(), &SavedTest { before }).unwrap();
    }
}
