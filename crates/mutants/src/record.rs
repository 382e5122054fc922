//! Records outcomes while mutants are tried, so that a run that is stopped loses at most a minute.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Result;
use xtask::command::{read_stdout, root};

use crate::crate_source::SourceFile;
use crate::results::{CrateResults, RecordedOutcome};
use crate::run::Outcome;
use crate::table::update_docs;

/// How often the record is written during a run.
const WRITE_INTERVAL: Duration = Duration::from_secs(60);

/// The outcomes of the mutants of some files, recorded and new ones.
pub(crate) struct ResultsRecorder<'a> {
    folder: PathBuf,
    /// All files of each crate.
    files: BTreeMap<String, Vec<&'a SourceFile>>,
    commit: String,
    /// Whether outcomes are written to the record.
    is_kept: bool,
    state: Mutex<RecorderState>,
}

struct RecorderState {
    outcomes: HashMap<u64, RecordedOutcome>,
    changed: HashSet<u64>,
    crates: BTreeMap<String, CrateResults>,
    last_written: Instant,
}

impl<'a> ResultsRecorder<'a> {
    pub(crate) fn read(folder: &Path, sources: &'a [SourceFile], is_kept: bool) -> Result<Self> {
        let mut files: BTreeMap<String, Vec<&SourceFile>> = BTreeMap::new();
        for file in sources {
            files.entry(file.crate_name.clone()).or_default().push(file);
        }
        let mut outcomes = HashMap::new();
        let mut crates = BTreeMap::new();
        for (name, files) in &files {
            let results = CrateResults::read(folder, name)?;
            outcomes.extend(results.outcomes_of(files));
            crates.insert(name.clone(), results);
        }
        let mut git = Command::new("git");
        git.args(["rev-parse", "--short", "HEAD"]).current_dir(root());
        let commit = read_stdout(git)?.trim().to_owned();
        let state = RecorderState {
            outcomes,
            changed: HashSet::new(),
            crates,
            last_written: Instant::now(),
        };
        let (folder, state) = (folder.to_owned(), Mutex::new(state));
        Ok(Self { folder, files, commit, is_kept, state })
    }

    pub(crate) fn outcomes(&self) -> HashMap<u64, RecordedOutcome> {
        self.lock().outcomes.clone()
    }

    /// Records an outcome, and writes the record once a minute.
    pub(crate) fn record(&self, id: u64, outcome: &Outcome) -> Result<()> {
        let mut state = self.lock();
        state.outcomes.insert(id, outcome.into());
        state.changed.insert(id);
        if state.last_written.elapsed() < WRITE_INTERVAL {
            return Ok(());
        }
        drop(state);
        self.write()
    }

    pub(crate) fn record_not_compiled(&self, rejected: &HashSet<u64>) {
        let mut state = self.lock();
        for id in rejected {
            state.outcomes.insert(*id, RecordedOutcome::NotCompiled);
        }
    }

    /// Writes the record, and the table in the documentation.
    pub(crate) fn write(&self) -> Result<()> {
        if !self.is_kept {
            return Ok(());
        }
        let mut guard = self.lock();
        let state = &mut *guard;
        for (name, results) in &mut state.crates {
            let of = |id| state.outcomes.get(&id).copied().unwrap_or(RecordedOutcome::NotTried);
            results.update(&self.files[name], of, &state.changed, &self.commit);
            results.write(&self.folder, name)?;
        }
        state.last_written = Instant::now();
        update_docs(&root())
    }

    /// Adds files without outcomes to the record, and updates the table in the documentation. Outcomes of files that are
    /// being edited stay in the record.
    pub(crate) fn write_missing(&self) -> Result<()> {
        for (name, results) in &mut self.lock().crates {
            results.add_missing(&self.files[name]);
            results.write(&self.folder, name)?;
        }
        update_docs(&root())
    }

    /// Prints how many outcomes are from which commit.
    pub(crate) fn print_commits(&self) {
        let state = self.lock();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for results in state.crates.values() {
            for (commit, count) in results.commits() {
                *counts.entry(commit).or_default() += count;
            }
        }
        for (commit, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            println!("{count} outcomes of files last tried at commit {commit}");
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, RecorderState> {
        self.state.lock().expect("no worker panics")
    }
}
