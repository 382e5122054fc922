//! The committed record of what happened to each mutant, so that a later run tries only mutants of changed files and
//! mutants that were never tried.
//!
//! ```text
//! crates/mutants/results/guard.txt
//!   # explanation
//!   crates/guard/src/walk.rs 1f0c55a8e9d24b67 6f87994 ccccstcc-x      path, digest, commit, a letter per mutant
//!     walk_path: > becomes >= in `links > MAX_LINKS`                  a line per survivor, in the order of the letters
//! ```

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use crate::crate_source::SourceFile;
use crate::run::Outcome;

const HEADER: &str = "\
# Outcomes of mutants, written by `cargo xtask mutants`; docs/mutants.md explains them.
# A line per file: path, digest of the file and its mutants, commit of the newest outcome, a letter per mutant. Survivors follow.
# c caught, t caught by a time limit, s survived, u reached by no test, x does not compile, - not tried
";

/// Stands for the commit of a file whose mutants were not tried.
const NO_COMMIT: &str = "-";

/// What is known of one mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordedOutcome {
    Caught,
    TimedOut,
    Survived,
    Unreached,
    NotCompiled,
    NotTried,
}

impl RecordedOutcome {
    const LETTERS: [(Self, char); 6] = [
        (Self::Caught, 'c'),
        (Self::TimedOut, 't'),
        (Self::Survived, 's'),
        (Self::Unreached, 'u'),
        (Self::NotCompiled, 'x'),
        (Self::NotTried, '-'),
    ];

    fn letter(self) -> char {
        let known = Self::LETTERS.iter().find(|(outcome, _)| *outcome == self);
        known.expect("each outcome has a letter").1
    }

    fn from_letter(letter: char) -> Option<Self> {
        Self::LETTERS.iter().find(|(_, known)| *known == letter).map(|(outcome, _)| *outcome)
    }

    pub(crate) fn is_caught(self) -> bool {
        matches!(self, Self::Caught | Self::TimedOut)
    }

    pub(crate) fn is_survivor(self) -> bool {
        matches!(self, Self::Survived | Self::Unreached)
    }
}

impl From<&Outcome> for RecordedOutcome {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Caught(_) => Self::Caught,
            Outcome::TimedOut(_) => Self::TimedOut,
            Outcome::Survived => Self::Survived,
            Outcome::Unreached => Self::Unreached,
        }
    }
}

/// Outcomes of the mutants of one file, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileResults {
    digest: String,
    pub(crate) commit: String,
    pub(crate) outcomes: Vec<RecordedOutcome>,
    /// Function and mutation of each survivor, in the order of `outcomes`.
    pub(crate) survivors: Vec<(String, String)>,
}

/// Outcomes of the mutants of one crate by file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CrateResults {
    pub(crate) files: BTreeMap<String, FileResults>,
}

impl CrateResults {
    pub(crate) fn read(folder: &Path, crate_name: &str) -> Result<Self> {
        let path = results_path(folder, crate_name);
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                Self::parse(&text).with_context(|| format!("invalid results {}", path.display()))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).context(format!("failed to read {}", path.display())),
        }
    }

    pub(crate) fn write(&self, folder: &Path, crate_name: &str) -> Result<()> {
        let path = results_path(folder, crate_name);
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&path, self.render()))
            .with_context(|| format!("failed to write {}", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let mut files: BTreeMap<String, FileResults> = BTreeMap::new();
        let mut last: Option<String> = None;
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(survivor) = line.strip_prefix("  ") {
                let (function, mutation) =
                    survivor.split_once(": ").with_context(|| format!("no mutation in {line}"))?;
                let file = last.as_ref().and_then(|path| files.get_mut(path));
                let file = file.context("a survivor comes before the first file")?;
                file.survivors.push((function.to_owned(), mutation.to_owned()));
                continue;
            }
            let [path, digest, commit, letters] = line.split(' ').collect::<Vec<_>>()[..] else {
                bail!("expected four words in {line}");
            };
            let outcomes: Option<Vec<_>> =
                letters.chars().map(RecordedOutcome::from_letter).collect();
            let outcomes = outcomes.with_context(|| format!("unknown letter in {letters}"))?;
            let (digest, commit) = (digest.to_owned(), commit.to_owned());
            let file = FileResults { digest, commit, outcomes, survivors: Vec::new() };
            ensure!(files.insert(path.to_owned(), file).is_none(), "{path} is listed twice");
            last = Some(path.to_owned());
        }
        for (path, file) in &files {
            let count = file.outcomes.iter().filter(|outcome| outcome.is_survivor()).count();
            ensure!(
                count == file.survivors.len(),
                "{path} names {} of {count}",
                file.survivors.len()
            );
        }
        Ok(Self { files })
    }

    fn render(&self) -> String {
        let mut text = HEADER.to_owned();
        for (path, file) in &self.files {
            let letters: String = file.outcomes.iter().map(|outcome| outcome.letter()).collect();
            let _ = writeln!(text, "{path} {} {} {letters}", file.digest, file.commit);
            for (function, mutation) in &file.survivors {
                let _ = writeln!(text, "  {function}: {mutation}");
            }
        }
        text
    }

    /// Returns the outcomes of files whose text and mutants are still those of the record, by mutant.
    pub(crate) fn outcomes_of(&self, files: &[&SourceFile]) -> HashMap<u64, RecordedOutcome> {
        let mut found = HashMap::new();
        for file in files {
            let Some(known) = self.files.get(&file.path) else { continue };
            if known.digest == compute_digest(file) {
                let ids = file.edits.mutants.iter().map(|mutant| mutant.id);
                found.extend(ids.zip(known.outcomes.iter().copied()));
            }
        }
        found
    }

    /// Adds the files without a record, as not tried.
    pub(crate) fn add_missing(&mut self, files: &[&SourceFile]) {
        let mut missing = Self::default();
        missing.update(files, |_| RecordedOutcome::NotTried, &HashSet::new(), NO_COMMIT);
        for (path, file) in missing.files {
            self.files.entry(path).or_insert(file);
        }
    }

    /// Replaces the record by outcomes of the present files. Files with a mutant that was tried now get the commit of
    /// this run.
    pub(crate) fn update(
        &mut self,
        files: &[&SourceFile],
        outcome_of: impl Fn(u64) -> RecordedOutcome,
        tried: &HashSet<u64>,
        commit: &str,
    ) {
        let mut old = std::mem::take(&mut self.files);
        for file in files.iter().filter(|file| !file.edits.mutants.is_empty()) {
            let mutants = &file.edits.mutants;
            let outcomes: Vec<_> = mutants.iter().map(|mutant| outcome_of(mutant.id)).collect();
            let survivors = mutants.iter().zip(&outcomes);
            let survivors = survivors
                .filter(|(_, outcome)| outcome.is_survivor())
                .map(|(mutant, _)| (mutant.function.clone(), mutant.mutation.clone()))
                .collect();
            let digest = compute_digest(file);
            let is_tried = mutants.iter().any(|mutant| tried.contains(&mutant.id));
            let known = old.remove(&file.path).filter(|known| known.digest == digest && !is_tried);
            let commit = match known {
                Some(known) => known.commit,
                None if is_tried => commit.to_owned(),
                None => NO_COMMIT.to_owned(),
            };
            self.files
                .insert(file.path.clone(), FileResults { digest, commit, outcomes, survivors });
        }
    }

    /// Returns the number of outcomes by commit.
    pub(crate) fn commits(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for file in self.files.values() {
            let known =
                file.outcomes.iter().filter(|outcome| outcome.is_caught() || outcome.is_survivor());
            *counts.entry(&*file.commit).or_default() += known.count();
        }
        counts
    }
}

fn results_path(folder: &Path, crate_name: &str) -> PathBuf {
    folder.join(format!("{crate_name}.txt"))
}

/// Returns a digest of the code of a file and of its mutants, which also depend on constants of other files and on how
/// mutants are found.
fn compute_digest(file: &SourceFile) -> String {
    let mut hash = Sha256::new();
    hash.update(file.code.as_bytes());
    for mutant in &file.edits.mutants {
        hash.update(mutant.id.to_le_bytes());
    }
    hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the mutants that did not compile.
pub(crate) fn not_compiled(outcomes: &HashMap<u64, RecordedOutcome>) -> HashSet<u64> {
    let rejected = outcomes.iter().filter(|(_, outcome)| **outcome == RecordedOutcome::NotCompiled);
    rejected.map(|(id, _)| *id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crate_source::read_crate;

    /// Returns the files of a crate with this code.
    fn read(code: &str) -> Vec<SourceFile> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("crates/x/src/lib.rs");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, code).unwrap();
        read_crate(folder.path(), "x").unwrap()
    }

    fn record(files: &[SourceFile], outcomes: &[RecordedOutcome]) -> CrateResults {
        let ids: Vec<u64> = files[0].edits.mutants.iter().map(|mutant| mutant.id).collect();
        assert_eq!(ids.len(), outcomes.len());
        let known: HashMap<u64, RecordedOutcome> =
            ids.iter().copied().zip(outcomes.iter().copied()).collect();
        let mut results = CrateResults::default();
        let tried = ids.into_iter().collect();
        results.update(&files.iter().collect::<Vec<_>>(), |id| known[&id], &tried, "abc");
        results
    }

    const CODE: &str = "fn f(a: u8) -> bool { a < 3 }";

    #[test]
    fn keeps_outcomes_of_unchanged_files_only() {
        use RecordedOutcome::{Caught, NotTried, Survived, Unreached};
        let files = read(CODE);
        let count = files[0].edits.mutants.len();
        let mut outcomes = vec![Caught, Survived, Unreached];
        outcomes.resize(count, NotTried);
        let written = record(&files, &outcomes).render();
        let read_again = CrateResults::parse(&written).unwrap();
        assert_eq!(read_again, record(&files, &outcomes));
        let found = read_again.outcomes_of(&files.iter().collect::<Vec<_>>());
        let found: Vec<_> = files[0].edits.mutants.iter().map(|m| found[&m.id]).collect();
        assert_eq!(found, outcomes);
        let tested = read(&format!("{CODE}#[cfg(test)] mod tests {{}}"));
        assert_eq!(read_again.outcomes_of(&tested.iter().collect::<Vec<_>>()).len(), count);
        let changed = read("fn f(a: u8) -> bool { a < 4 }");
        assert!(read_again.outcomes_of(&changed.iter().collect::<Vec<_>>()).is_empty());
    }

    #[test]
    fn refuses_a_record_that_does_not_name_its_survivors() {
        assert!(CrateResults::parse("a.rs 12 abc cs\n  f: return true\n").is_ok());
        for wrong in ["a.rs 12 abc cs\n", "a.rs 12 abc q\n", "  f: x\n", "a.rs 12 cs\n"] {
            assert!(CrateResults::parse(wrong).is_err(), "{wrong}");
        }
    }
}
