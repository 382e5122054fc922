//! `cargo xtask mutants`: changes the code in many small ways and finds the changes that no test notices.
//!
//! All mutants are compiled at once into a copy of the workspace. A switch at each of them reads an environment variable,
//! so one build serves thousands of mutants. `crate_source` finds mutants, `compile` builds the copy, `reach` records
//! which tests come past which switch, and `run` runs those tests with one mutant at a time.

#![expect(clippy::print_stdout, reason = "a developer tool that prints to the terminal")]

mod cfg;
mod compile;
mod constants;
mod copy;
mod crate_source;
mod defaults;
mod edit;
mod find;
mod reach;
mod report;
mod run;
mod select;
mod survivors;
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
use crate::report::Report;
use crate::run::{Outcome, OutcomeJournal, TestSuite};
use crate::select::{Selection, shuffle};
use crate::survivors::{OpenSurvivors, Survivors};

/// Path of the list of survivors with reasons.
const LIST: &str = "crates/mutants/survivors.toml";
/// Path of the list of survivors whose tests are still to be written.
const OPEN_LIST: &str = "crates/mutants/open.txt";

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
    /// Try only mutants that no test caught the last time
    #[arg(long)]
    again: bool,
    /// Write survivors of this run to the list of missing tests
    #[arg(long)]
    write_open: bool,
    /// Succeed although mutants survive
    #[arg(long)]
    report: bool,
    /// Use the last build, without changes since then
    #[arg(long)]
    as_built: bool,
    /// Number of mutants that are tried at the same time
    #[arg(long, default_value_t = 2)]
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
    let folders = Folders::new();
    std::fs::create_dir_all(&folders.source)
        .with_context(|| format!("failed to create {}", folders.source.display()))?;
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
    let (rejected, programs) = compile_all(args, &folders, &selection, &files)?;
    let temporary = std::env::temp_dir().join(format!("mutants-{}", std::process::id()));
    let reach = reach::record_reach(&folders, &programs, &temporary, args.jobs)?;
    let prepared = start.elapsed();

    let selected_files = || files.iter().filter(|file| selection.has_file(&file.path));
    let selected: Vec<&Mutant> = selected_files().flat_map(|file| &file.edits.mutants).collect();
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
    let outcomes = try_selected(args, &suite, &selected, &rejected)?;
    let _ = std::fs::remove_dir_all(&temporary);

    let paths: Vec<String> = selected_files().map(|file| file.path.clone()).collect();
    let stale = list.unknown(&selected, &paths);
    let open = OpenSurvivors::read(&root().join(OPEN_LIST))?;
    let report = Report::new(&selected, &rejected, &outcomes, (&list, &open), stale);
    let json = serde_json::to_string_pretty(&report)?;
    std::fs::write(folders.state.join("report.json"), &json)?;
    if args.json {
        println!("{json}");
    } else {
        report.print();
        let tried = start.elapsed() - prepared;
        println!("{:.0} s to prepare, {:.0} s to try", prepared.as_secs_f64(), tried.as_secs_f64());
    }
    if args.write_open {
        let survived = |mutant: &Mutant| {
            let outcome = outcomes.get(&mutant.id);
            outcome.is_some_and(|outcome| !outcome.is_caught()) && list.reason(mutant).is_none()
        };
        let tried: Vec<&Mutant> =
            selected.iter().copied().filter(|m| outcomes.contains_key(&m.id)).collect();
        return open.update(&root().join(OPEN_LIST), &tried, survived);
    }
    ensure!(
        args.report || (report.unlisted() == 0 && report.stale.is_empty()),
        "{} mutants survived that neither {LIST} nor {OPEN_LIST} has, and {} entries are stale",
        report.unlisted(),
        report.stale.len()
    );
    Ok(())
}

/// Compiles the switches and the tests. Returns the mutants without a switch, and the test programs.
fn compile_all(
    args: &MutantsArgs,
    folders: &Folders,
    selection: &Selection,
    files: &[SourceFile],
) -> Result<(HashSet<u64>, Vec<TestProgram>)> {
    let known = compile::read_rejected(folders);
    if args.as_built {
        return Ok((known, compile::read_programs(folders)?));
    }
    println!("==> compile {}", join(&selection.crates));
    let rejected = compile::settle(folders, files, &selection.crates, known)?;
    compile::write_rejected(folders, &rejected)?;
    let mut tested = selection.tested_crates();
    tested.extend(args.with.iter().cloned());
    println!("==> compile the tests of {}", join(&tested));
    Ok((rejected, compile::build_tests(folders, &tested)?))
}

/// Tries mutants and returns the outcomes; those of an earlier run too, if only its survivors are tried.
fn try_selected(
    args: &MutantsArgs,
    suite: &TestSuite<'_>,
    selected: &[&Mutant],
    rejected: &HashSet<u64>,
) -> Result<HashMap<u64, Outcome>> {
    let mut journal = OutcomeJournal::read(suite.folders.state.join("outcomes.jsonl"));
    // Without a new build, an earlier outcome still holds, whatever it was.
    let is_settled = |outcome: &Outcome| args.as_built || outcome.is_caught();
    let is_known = |mutant: &Mutant| journal.last.get(&mutant.id).is_some_and(is_settled);
    let mut waiting: Vec<&Mutant> = selected
        .iter()
        .copied()
        .filter(|mutant| !rejected.contains(&mutant.id))
        .filter(|mutant| !(args.again && is_known(mutant)))
        .collect();
    if suite.deadline.is_some() {
        shuffle(&mut waiting, args.seed);
    }
    println!("==> try {} mutants", waiting.len());
    let outcomes = suite.try_mutants(&waiting, &journal)?;
    if !args.again {
        return Ok(outcomes);
    }
    journal.last.extend(outcomes);
    Ok(journal.last)
}

fn join(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}
