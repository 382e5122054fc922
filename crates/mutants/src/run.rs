//! Runs the tests that reach a mutant, with the mutant active.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::Result;

use crate::compile::{TestProgram, program_variables};
use crate::copy::Folders;
use crate::edit::Mutant;
use crate::reach::TestReach;
use crate::record::ResultsRecorder;
use crate::test_process::{TestEnd, TestSetting, run_tests};

/// Tests run in batches, so that most mutants need only the first one. Seconds of tests in each but the last.
const BATCH_SECONDS: [f64; 2] = [0.5, 4.0];
/// Most tests of the first batch: a process starts its tests in the order of their names.
const FIRST_BATCH: usize = 12;
/// Limit of a batch: this many times its time without a mutant, and some seconds.
const LIMIT_FACTOR: f64 = 4.0;
const LIMIT_EXTRA: f64 = 6.0;
/// Seconds of waiting for a removed time limit, which is to fail its test and not to hang it.
const PATIENCE: f64 = 90.0;
/// Most tests that are tried first because they caught other mutants of the function.
const MAX_CANDIDATES: usize = 4;

/// What happened to a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// Which test caught which mutant, a line each. Such tests are tried first, also for mutants of the same function.
pub(crate) struct KillerJournal {
    path: PathBuf,
    known: Mutex<Killers>,
}

#[derive(Default)]
struct Killers {
    of_mutant: HashMap<u64, String>,
    /// The last test that caught a mutant of a function comes last.
    of_function: HashMap<(String, String), Vec<String>>,
}

impl KillerJournal {
    pub(crate) fn read(path: PathBuf) -> Self {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let of_mutant =
            text.lines().filter_map(|line| serde_json::from_str::<(u64, String)>(line).ok());
        let known = Killers { of_mutant: of_mutant.collect(), ..Killers::default() };
        Self { path, known: Mutex::new(known) }
    }

    /// Returns tests that probably catch the mutant.
    fn candidates(&self, mutant: &Mutant) -> Vec<String> {
        let known = self.known.lock().expect("no worker panics");
        let function = (mutant.file.clone(), mutant.function.clone());
        let of_function = known.of_function.get(&function).into_iter().flatten().rev();
        let own = known.of_mutant.get(&mutant.id).into_iter();
        own.chain(of_function.take(MAX_CANDIDATES)).cloned().collect()
    }

    fn append(&self, mutant: &Mutant, test: &str) -> Result<()> {
        let mut known = self.known.lock().expect("no worker panics");
        let function = (mutant.file.clone(), mutant.function.clone());
        let killers = known.of_function.entry(function).or_default();
        killers.retain(|killer| killer != test);
        killers.push(test.to_owned());
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        writeln!(file, "{}", serde_json::to_string(&(mutant.id, test))?)?;
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
    /// Runs the tests of each mutant, and records the outcomes, until the deadline.
    pub(crate) fn try_mutants(
        &self,
        mutants: &[&Mutant],
        journal: &KillerJournal,
        recorder: &ResultsRecorder<'_>,
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| -> Result<()> {
            let workers: Vec<_> = (0..self.jobs)
                .map(|worker| {
                    let temporary = self.temporary.join(format!("run-{worker}"));
                    let next = &next;
                    scope.spawn(move || -> Result<()> {
                        while self.deadline.is_none_or(|deadline| Instant::now() < deadline)
                            && let Some(mutant) = mutants.get(next.fetch_add(1, Ordering::Relaxed))
                        {
                            let outcome =
                                self.try_mutant(mutant, &journal.candidates(mutant), &temporary)?;
                            if self.is_verbose {
                                println!("    {} {}: {outcome:?}", mutant.file, mutant.mutation);
                            }
                            if let Outcome::Caught(test) = &outcome {
                                journal.append(mutant, test)?;
                            }
                            recorder.record(mutant.id, &outcome)?;
                        }
                        Ok(())
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
        })
    }

    fn try_mutant(
        &self,
        mutant: &Mutant,
        candidates: &[String],
        temporary: &Path,
    ) -> Result<Outcome> {
        let tests = self.tests_reaching(mutant);
        if tests.is_empty() {
            return Ok(Outcome::Unreached);
        }
        for batch in split_batches(&tests, candidates) {
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
                let is_time_limit = mutant.mutation.starts_with("remove the time limit");
                let extra = if is_time_limit { PATIENCE } else { LIMIT_EXTRA };
                let limit = seconds * LIMIT_FACTOR + extra;
                let setting = TestSetting { variables, temporary, threads: 4, limit };
                match run_tests(&self.programs[program], &names, &setting)?.end {
                    TestEnd::Passed => {}
                    TestEnd::Failed(test) => return Ok(Outcome::Caught(test)),
                    TestEnd::TimedOut if is_time_limit => return Ok(Outcome::Survived),
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

/// Splits tests into batches: those that probably catch the mutant, a few quick ones, and the others.
fn split_batches<'a>(tests: &[TestOf<'a>], candidates: &[String]) -> Vec<Vec<TestOf<'a>>> {
    let (known, others): (Vec<_>, Vec<_>) =
        tests.iter().copied().partition(|test| candidates.contains(&test.test.name));
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
