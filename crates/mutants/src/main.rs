//! `cargo xtask mutants`: changes the code in many small ways and finds the changes that no test notices.
//!
//! All mutants are compiled at once into a copy of the workspace. A switch at each of them reads an environment variable,
//! so one build serves thousands of mutants. `crate_source` finds mutants, `compile` builds the copy, `reach` records
//! which tests come past which switch, and `run` runs those tests with one mutant at a time. `results` keeps the outcomes
//! for later runs.

#![expect(clippy::print_stdout, reason = "a developer tool that prints to the terminal")]

mod cfg;
mod compile;
mod constants;
mod copy;
mod crate_source;
mod defaults;
mod edit;
mod find;
mod process_usage;
mod reach;
mod record;
mod report;
mod results;
mod run;
mod select;
mod survivors;
mod table;
mod test_process;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use xtask::command::root;

use crate::compile::TestProgram;
use crate::copy::Folders;
use crate::crate_source::{SourceFile, read_crate};
use crate::edit::Mutant;
use crate::record::ResultsRecorder;
use crate::report::Report;
use crate::results::{RecordedOutcome, not_compiled};
use crate::run::{KillerJournal, TestSuite};
use crate::select::{Selection, shuffle};
use crate::survivors::Survivors;

/// Path of the list of survivors with reasons.
const LIST: &str = "crates/mutants/survivors.toml";
/// Path of the folder with the outcomes of earlier runs.
const RESULTS: &str = "crates/mutants/results";

/// Seconds for the mutants of changed files, without compiling.
const CHANGED_SECONDS: u64 = 120;

/// Find changes to the code that no test notices
#[derive(Parser)]
#[command(name = "cargo xtask mutants")]
struct MutantsArgs {
    /// Try the mutants of these crates only
    #[arg(long = "crate", value_name = "CRATE,…", value_delimiter = ',')]
    crates: Vec<String>,
    /// Try the mutants of files whose path contains this text only
    #[arg(long, value_name = "TEXT")]
    file: Vec<String>,
    /// Try mutants whose description contains this text only, such as `sync` or `time limit`
    #[arg(long, value_name = "TEXT")]
    mutation: Option<String>,
    /// Try the mutants of files that changed since a commit, or of one crate if there is no such commit; for 2 minutes
    #[arg(long, value_name = "COMMIT", num_args = 0..=1, default_missing_value = "HEAD~1")]
    changed: Option<String>,
    /// Stop after this many seconds of trying, and report what was tried
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Order of the mutants of a run that may stop early
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Run tests of these crates too
    #[arg(long, value_name = "CRATE,…", value_delimiter = ',')]
    with: Vec<String>,
    /// Run the tests of a mutant's own crate only, which compile sooner
    #[arg(long, conflicts_with = "with")]
    own: bool,
    /// Try recorded survivors again too, after you wrote a test
    #[arg(long)]
    again: bool,
    /// Try all mutants, also those whose outcome is recorded
    #[arg(long, conflicts_with = "again")]
    all: bool,
    /// Report what is recorded, update the table in the documentation, and try nothing
    #[arg(long)]
    recorded: bool,
    /// Succeed although mutants survive
    #[arg(long)]
    report: bool,
    /// Use the last build, without changes since then
    #[arg(long)]
    as_built: bool,
    /// Number of mutants that are tried at the same time
    #[arg(long, default_value_t = 3)]
    jobs: usize,
    /// Most seconds of tests per mutant, in their normal time
    #[arg(long, default_value_t = 30.0)]
    test_seconds: f64,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// Print each outcome
    #[arg(long)]
    verbose: bool,
}

fn main() -> ExitCode {
    xtask::exit_code(run_mutants(&MutantsArgs::parse()))
}

fn run_mutants(args: &MutantsArgs) -> Result<()> {
    let start = Instant::now();
    let list = Survivors::read(&root().join(LIST))?;
    let selection = Selection::new(&args.crates, &args.file, args.changed.as_deref(), args.seed)?;
    if selection.crates.is_empty() {
        println!("no changed file has mutants");
        return Ok(());
    }
    let mut files: Vec<SourceFile> = Vec::new();
    for name in &selection.crates {
        files.extend(read_crate(&root(), name)?);
    }
    let recorder = ResultsRecorder::read(&root().join(RESULTS), &files, args.changed.is_none())?;
    let known = recorder.outcomes();
    let selected: Vec<&Mutant> = files
        .iter()
        .filter(|file| selection.has_file(&file.path))
        .flat_map(|file| &file.edits.mutants)
        .collect();
    let waiting: Vec<&Mutant> =
        selected.iter().copied().filter(|mutant| args.is_waiting(&known, mutant)).collect();
    if args.recorded {
        recorder.write_missing()?;
    } else {
        if !waiting.is_empty() {
            try_waiting(args, &files, waiting, &recorder)?;
        }
        recorder.write()?;
    }

    let paths: Vec<String> = files
        .iter()
        .filter(|file| selection.has_file(&file.path))
        .map(|file| file.path.clone())
        .collect();
    let stale = list.unknown(&selected, &paths);
    let report = Report::new(&selected, &recorder.outcomes(), &list, stale);
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        report.print();
        recorder.print_commits();
        println!("{:.0} s", start.elapsed().as_secs_f64());
    }
    ensure!(
        args.report || (report.open() == 0 && report.stale.is_empty()),
        "{} mutants survived that {LIST} does not have, and {} entries are stale",
        report.open(),
        report.stale.len()
    );
    Ok(())
}

impl MutantsArgs {
    /// Returns whether a mutant is to be tried, given the recorded outcomes.
    fn is_waiting(&self, known: &HashMap<u64, RecordedOutcome>, mutant: &Mutant) -> bool {
        if self.mutation.as_ref().is_some_and(|text| !mutant.mutation.contains(text)) {
            return false;
        }
        match known.get(&mutant.id) {
            None | Some(RecordedOutcome::NotTried) => true,
            Some(RecordedOutcome::NotCompiled) => false,
            Some(outcome) => self.all || (self.again && outcome.is_survivor()),
        }
    }
}

/// Compiles the crates of the waiting mutants, and tries these.
fn try_waiting(
    args: &MutantsArgs,
    files: &[SourceFile],
    mut waiting: Vec<&Mutant>,
    recorder: &ResultsRecorder<'_>,
) -> Result<()> {
    let folders = Folders::new();
    std::fs::create_dir_all(&folders.source)
        .with_context(|| format!("failed to create {}", folders.source.display()))?;
    let crates: BTreeSet<String> = waiting.iter().map(|mutant| mutant.crate_name.clone()).collect();
    let compiled: Vec<&SourceFile> =
        files.iter().filter(|file| crates.contains(&file.crate_name)).collect();
    let rejected = not_compiled(&recorder.outcomes());
    let (rejected, programs) = compile_all(args, &folders, &crates, &compiled, rejected)?;
    recorder.record_not_compiled(&rejected);
    waiting.retain(|mutant| !rejected.contains(&mutant.id));

    let temporary = std::env::temp_dir().join(format!("mutants-{}", std::process::id()));
    let reach = reach::record_reach(&folders, &programs, &temporary, args.jobs)?;
    let seconds = args.seconds.or(args.changed.is_some().then_some(CHANGED_SECONDS));
    let suite = TestSuite {
        folders: &folders,
        programs: &programs,
        reach: &reach,
        temporary: &temporary,
        jobs: args.jobs,
        test_seconds: args.test_seconds,
        deadline: seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds)),
        is_verbose: args.verbose,
    };
    if suite.deadline.is_some() {
        shuffle(&mut waiting, args.seed);
    }
    println!("==> try {} mutants", waiting.len());
    let journal = KillerJournal::read(folders.state.join("killers.jsonl"));
    suite.try_mutants(&waiting, &journal, recorder)?;
    let _ = std::fs::remove_dir_all(&temporary);
    Ok(())
}

/// Compiles the switches and the tests. Returns the mutants without a switch, and the test programs.
fn compile_all(
    args: &MutantsArgs,
    folders: &Folders,
    crates: &BTreeSet<String>,
    files: &[&SourceFile],
    mut rejected: HashSet<u64>,
) -> Result<(HashSet<u64>, Vec<TestProgram>)> {
    rejected.extend(compile::read_rejected(folders));
    if args.as_built {
        return Ok((rejected, compile::read_programs(folders)?));
    }
    println!("==> compile {}", join(crates));
    let rejected = compile::settle(folders, files, crates, rejected)?;
    compile::write_rejected(folders, &rejected)?;
    let mut tested = if args.own { crates.clone() } else { select::tested_crates(crates) };
    tested.extend(args.with.iter().cloned());
    println!("==> compile the tests of {}", join(&tested));
    Ok((rejected, compile::build_tests(folders, &tested)?))
}

fn join(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
