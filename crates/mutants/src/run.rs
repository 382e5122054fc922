//! Runs the tests that reach a mutant, with the mutant active.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::compile::{TestProgram, program_variables};
use crate::copy::Folders;
use crate::edit::Mutant;
use crate::reach::TestReach;
use crate::test_process::{TestEnd, TestSetting, run_tests};

/// Tests run in batches, so that most mutants need only the first one. Seconds of tests in each but the last.
const BATCH_SECONDS: [f64; 2] = [0.5, 4.0];
/// Most tests of the first batch: a process starts its tests in the order of their names.
const FIRST_BATCH: usize = 12;
/// Time limit of a batch: this many times its time without a mutant, and some seconds for a busy machine.
const LIMIT_FACTOR: f64 = 4.0;
const LIMIT_EXTRA: f64 = 10.0;

/// What happened to a mutant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// A test failed.
    Caught(String),
    /// A test did not end in its time limit.
    TimedOut(String),
    /// All tests that reach it passed.
    Survived,
    /// No test reaches it.
    Unreached,
}

impl Outcome {
    pub(crate) fn is_caught(&self) -> bool {
        matches!(self, Self::Caught(_) | Self::TimedOut(_))
    }
}

/// The outcomes of earlier runs, a line each. A run that is stopped keeps what it found.
pub(crate) struct OutcomeJournal {
    path: PathBuf,
    pub(crate) last: HashMap<u64, Outcome>,
}

impl OutcomeJournal {
    pub(crate) fn read(path: PathBuf) -> Self {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let last =
            text.lines().filter_map(|line| serde_json::from_str::<(u64, Outcome)>(line).ok());
        Self { last: last.collect(), path }
    }

    /// Returns the test that caught the mutant the last time; it is tried first.
    fn killer(&self, id: u64) -> Option<&str> {
        match self.last.get(&id) {
            Some(Outcome::Caught(test)) => Some(test),
            _ => None,
        }
    }

    fn append(&self, id: u64, outcome: &Outcome) -> Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        writeln!(file, "{}", serde_json::to_string(&(id, outcome))?)?;
        Ok(())
    }
}

/// The tests of all programs, and how to run them.
pub(crate) struct TestSuite<'a> {
    pub(crate) folders: &'a Folders,
    pub(crate) programs: &'a [TestProgram],
    pub(crate) reach: &'a [Vec<TestReach>],
    pub(crate) temporary: &'a Path,
    pub(crate) jobs: usize,
    /// Most seconds of tests per mutant, as measured without a mutant.
    pub(crate) test_seconds: f64,
    /// When to stop, if mutants are left.
    pub(crate) deadline: Option<Instant>,
    pub(crate) is_verbose: bool,
}

/// One test of a program.
#[derive(Clone, Copy)]
struct TestOf<'a> {
    program: usize,
    test: &'a TestReach,
}

impl TestSuite<'_> {
    /// Runs the tests of each mutant and returns the outcomes of those that were tried before the deadline.
    pub(crate) fn try_mutants(
        &self,
        mutants: &[&Mutant],
        journal: &OutcomeJournal,
    ) -> Result<HashMap<u64, Outcome>> {
        let outcomes: Mutex<HashMap<u64, Outcome>> = Mutex::default();
        let next = AtomicUsize::new(0);
        let is_stopped = AtomicBool::new(false);
        std::thread::scope(|scope| -> Result<()> {
            let workers: Vec<_> = (0..self.jobs)
                .map(|worker| {
                    let temporary = self.temporary.join(format!("run-{worker}"));
                    let (next, outcomes, is_stopped) = (&next, &outcomes, &is_stopped);
                    scope.spawn(move || -> Result<()> {
                        while !is_stopped.load(Ordering::Relaxed)
                            && let Some(mutant) = mutants.get(next.fetch_add(1, Ordering::Relaxed))
                        {
                            if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
                                is_stopped.store(true, Ordering::Relaxed);
                                break;
                            }
                            let killer = journal.killer(mutant.id);
                            let outcome = self.try_mutant(mutant, killer, &temporary)?;
                            if self.is_verbose {
                                println!("    {} {}: {outcome:?}", mutant.file, mutant.mutation);
                            }
                            let mut outcomes = outcomes.lock().expect("no worker panics");
                            journal.append(mutant.id, &outcome)?;
                            outcomes.insert(mutant.id, outcome);
                        }
                        Ok(())
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
        })?;
        Ok(outcomes.into_inner().expect("no worker panics"))
    }

    fn try_mutant(
        &self,
        mutant: &Mutant,
        killer: Option<&str>,
        temporary: &Path,
    ) -> Result<Outcome> {
        let tests = self.tests_reaching(mutant);
        if tests.is_empty() {
            return Ok(Outcome::Unreached);
        }
        for batch in split_batches(&tests, killer) {
            for program in 0..self.programs.len() {
                let tests: Vec<_> = batch.iter().filter(|test| test.program == program).collect();
                if tests.is_empty() {
                    continue;
                }
                let names: Vec<&str> = tests.iter().map(|test| &*test.test.name).collect();
                let seconds: f64 = tests.iter().map(|test| test.test.seconds).sum();
                let mut variables: Vec<(&str, String)> = program_variables(self.folders)
                    .into_iter()
                    .map(|(name, path)| (name, path.display().to_string()))
                    .collect();
                variables.push(("MUTANT_ID", mutant.id.to_string()));
                let limit = Duration::from_secs_f64(seconds * LIMIT_FACTOR + LIMIT_EXTRA);
                let setting = TestSetting { variables, temporary, threads: 4, limit };
                match run_tests(&self.programs[program], &names, &setting)? {
                    TestEnd::Passed => {}
                    TestEnd::Failed(test) => return Ok(Outcome::Caught(test)),
                    TestEnd::TimedOut => return Ok(Outcome::TimedOut(names.join(" "))),
                }
            }
        }
        Ok(Outcome::Survived)
    }

    /// Returns the tests that reach a mutant, the quickest first and those of its own crate before others, as far as
    /// the time per mutant goes.
    fn tests_reaching(&self, mutant: &Mutant) -> Vec<TestOf<'_>> {
        let mut tests: Vec<TestOf<'_>> = self
            .reach
            .iter()
            .enumerate()
            .flat_map(|(program, tests)| tests.iter().map(move |test| TestOf { program, test }))
            .filter(|test| test.test.passed && test.test.mutants.contains(&mutant.id))
            .collect();
        let is_foreign =
            |test: &TestOf<'_>| self.programs[test.program].crate_name != mutant.crate_name;
        tests.sort_by(|left, right| {
            let foreign = is_foreign(left).cmp(&is_foreign(right));
            foreign.then(left.test.seconds.total_cmp(&right.test.seconds))
        });
        let mut seconds = 0.0;
        tests.retain(|test| {
            let is_first = seconds == 0.0;
            seconds += test.test.seconds;
            is_first || seconds <= self.test_seconds
        });
        tests
    }
}

/// Splits tests into batches: the test that caught the mutant last time, a few quick ones, and the others.
fn split_batches<'a>(tests: &[TestOf<'a>], killer: Option<&str>) -> Vec<Vec<TestOf<'a>>> {
    let (known, others): (Vec<_>, Vec<_>) =
        tests.iter().copied().partition(|test| killer == Some(&*test.test.name));
    let mut batches = vec![known];
    let mut batch = Vec::new();
    let mut seconds = 0.0;
    for test in others {
        let limit = BATCH_SECONDS.get(batches.len() - 1).copied().unwrap_or(f64::MAX);
        let is_full = batches.len() == 1 && batch.len() >= FIRST_BATCH;
        if !batch.is_empty() && (seconds + test.test.seconds > limit || is_full) {
            batches.push(std::mem::take(&mut batch));
            seconds = 0.0;
        }
        seconds += test.test.seconds;
        batch.push(test);
    }
    batches.push(batch);
    batches
}
