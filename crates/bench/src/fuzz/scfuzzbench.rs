//! Public targets of scfuzzbench, with their own harness and settings: which tests fail after how much processor time,
//! beside the published figures.
//!
//! A folder of targets is given by a flag; nothing of it is part of the repository.
//!
//! ```text
//! target/bench/scfuzzbench/<digest of vouch>/
//!   <target>-<commit>-<seed>/corpus/     found by vouch; a later run begins with it
//!   <target>-<commit>-<seed>/run.json    processor time, and when which test failed
//!   <target>-<commit>-forge/             copy of the target in which forge runs
//! target/bench/scfuzzbench/cache/        compilers and their output
//! ```

mod campaign;
mod forge;
mod record;
mod targets;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result};

use self::campaign::PublicRun;
use self::forge::ForgeProject;
use self::record::{FailureCount, RunRecord, is_canary};
use self::targets::{FoundTarget, PublicTarget, find_targets, identify_file, identify_sources};
use super::peers::FuzzPeers;
use super::read_load_average;
use super::report::{BenchReport, ReportPart, TableCell, median};
use super::tools::{FuzzTool, vouch_binary};
use xtask::command::root;

pub(crate) use self::targets::target_names;

/// Processor time after which failing tests are counted, in seconds, and the columns for it.
const CHECKPOINTS: [(f64, &str); 7] = [
    (10.0, "10 s"),
    (30.0, "30 s"),
    (60.0, "1 min"),
    (300.0, "5 min"),
    (900.0, "15 min"),
    (1800.0, "30 min"),
    (3600.0, "60 min"),
];
/// Longest campaign of forge for a rate, in seconds.
const FORGE_SECONDS: u64 = 60;

/// What is run, and for how long.
pub(super) struct PublicBench<'a> {
    pub(super) folder: &'a Path,
    /// Names of targets; all if empty.
    pub(super) wanted: &'a [String],
    pub(super) seeds: u64,
    /// Seconds of processor time for each seed.
    pub(super) budget: f64,
}

/// Runs of a target, and what forge says.
struct TargetResults {
    target: &'static PublicTarget,
    identity: String,
    runs: Vec<(u64, RunRecord)>,
}

/// Tables of the report.
struct PublicTables {
    counts: ReportPart,
    failures: ReportPart,
    unexercised: ReportPart,
    exceptions: ReportPart,
}

/// Runs all wanted targets and returns the tables.
pub(super) fn run_public_targets(bench: &PublicBench<'_>) -> Result<BenchReport> {
    let found = find_targets(bench.folder, bench.wanted)?;
    let peers = FuzzPeers::install()?;
    let work = root().join("target/bench/scfuzzbench");
    let runs = work.join(identify_file(&vouch_binary())?);
    fs::create_dir_all(&runs).with_context(|| format!("failed to create {}", runs.display()))?;
    let cache = work.join("cache");
    let mut tables = PublicTables::new(bench.budget, read_load_average()?);
    for found in &found.targets {
        if let Err(reason) = run_target(bench, &peers, found, (&runs, &cache), &mut tables)? {
            tables.counts.add_row(not_run_row(found.target.name, &reason));
        }
    }
    for name in &found.unknown {
        let known = target_names().join(", ");
        let reason = format!("not a public target; known are {known}");
        tables.counts.add_row(not_run_row(name, &reason));
    }
    let cores = thread::available_parallelism()?.get();
    let missing = peers.forge.as_ref().err().map(|error| format!("forge: {error}"));
    Ok(BenchReport { cores, missing: missing.into_iter().collect(), parts: tables.into_parts() })
}

/// Runs one target with all seeds, then forge. The inner error is the reason why it was not run.
fn run_target(
    bench: &PublicBench<'_>,
    peers: &FuzzPeers,
    found: &FoundTarget,
    (runs, cache): (&Path, &Path),
    tables: &mut PublicTables,
) -> Result<Result<(), String>> {
    let target = found.target;
    let sources = match &found.folder {
        Ok(folder) => folder,
        Err(reason) => return Ok(Err(reason.clone())),
    };
    let sources = &sources.canonicalize().context("failed to find the folder of the target")?;
    let identity = identify_sources(sources)?;
    let mut results = TargetResults { target, identity, runs: Vec::new() };
    let mut corpora: Vec<PathBuf> = Vec::new();
    for seed in 1..=bench.seeds {
        let folder = runs.join(format!("{}-{}-{seed}", target.name, results.identity));
        eprintln!(
            "{}: seed {seed}, {:.0} CPU-seconds, {}",
            target.name,
            bench.budget,
            folder.display()
        );
        let run = PublicRun { target, sources, seed, folder, cache };
        match run.run_until(bench.budget)? {
            Ok(record) => results.runs.push((seed, record)),
            Err(reason) => return Ok(Err(format!("seed {seed}: {reason}"))),
        }
        corpora.push(run.corpus());
    }
    tables.add_runs(bench.budget, &results);
    let copy = runs.join(format!("{}-{}-forge", target.name, results.identity));
    match ForgeProject::prepare(peers, target, sources, copy, cache)? {
        Err(reason) => tables.exceptions.add_failure(target.name, "all", &reason),
        Ok(project) => {
            eprintln!("{}: reproducers under forge", target.name);
            let check = project.check_reproducers(&corpora)?;
            tables.add_reproducers(target.name, &check);
            eprintln!("{}: rate of forge", target.name);
            let rate = project.measure_rate(FORGE_SECONDS.min(bench.budget as u64))?;
            tables.add_forge(target, rate);
        }
    }
    Ok(Ok(()))
}

impl PublicTables {
    fn new(budget: f64, load: f64) -> Self {
        let mut columns = vec!["target", "tool", "sources", "seeds"];
        columns.extend(CHECKPOINTS.iter().map(|(_, name)| *name));
        columns.extend(["canaries", "with canaries", "calls per CPU-second"]);
        columns.push("published 4 h, with canaries: Echidna / Foundry / Medusa / Recon");
        let minutes = (budget / 6.0).round() / 10.0;
        let title = format!(
            "Failing tests on public targets after CPU-time, median of the seeds, {minutes} CPU-minutes for each, one worker"
        );
        let failures = ["target", "test", "seeds", "CPU-seconds until it failed, for each seed"];
        let unexercised = ["target", "test", "result"];
        let exceptions = ["target", "reproducer", "result under forge"];
        Self {
            counts: ReportPart::new(&title, load, &columns),
            failures: ReportPart::new("When tests failed", load, &failures),
            unexercised: ReportPart::new(
                "Tests not exercised by the first seed",
                load,
                &unexercised,
            ),
            exceptions: ReportPart::new("Reproducers under forge", load, &exceptions),
        }
    }

    fn into_parts(self) -> Vec<ReportPart> {
        vec![self.counts, self.failures, self.unexercised, self.exceptions]
    }

    fn add_runs(&mut self, budget: f64, results: &TargetResults) {
        self.counts.add_row(count_row(budget, results));
        for (test, cells) in failure_rows(results) {
            let (count, times) = cells;
            let test = match is_canary(&test) {
                true => format!("{test} (canary)"),
                false => test,
            };
            self.failures.add_row([
                TableCell::from_text(results.target.name),
                TableCell::from_text(test),
                TableCell::from_text(format!("{count} of {}", results.runs.len())),
                TableCell::from_text(times),
            ]);
        }
        let first = results.runs.first();
        for (test, why) in first.into_iter().flat_map(|(_, record)| &record.unexercised) {
            self.unexercised.add_row([results.target.name, test, why].map(TableCell::from_text));
        }
        for (seed, record) in &results.runs {
            if let Some(end) = &record.end {
                let cpu = record.cpu();
                let text = format!("ended by itself after {cpu:.0} CPU-seconds: {end}");
                self.failures.add_row(
                    [results.target.name.to_owned(), String::new(), format!("seed {seed}"), text]
                        .map(TableCell::from_text),
                );
            }
        }
    }

    fn add_reproducers(&mut self, target: &str, check: &forge::ReproducerCheck) {
        let confirmed = check.count - check.exceptions.len();
        let sum = format!("{confirmed} of {} compile and fail", check.count);
        self.exceptions.add_row([target, "all", &sum].map(TableCell::from_text));
        for exception in &check.exceptions {
            let cells = [target, &exception.file, &exception.reason];
            self.exceptions.add_row(cells.map(TableCell::from_text));
        }
    }

    fn add_forge(&mut self, target: &PublicTarget, rate: Result<f64, String>) {
        let mut row =
            vec![TableCell::from_text(target.name), TableCell::from_text(FuzzTool::Forge.name())];
        row.resize(self.counts.columns.len(), TableCell::Empty);
        let at = self.counts.columns.len() - 2;
        match rate {
            Ok(rate) => row[at] = TableCell::from_count(rate),
            Err(reason) => row[at] = TableCell::from_text(format!("not run: {reason}")),
        }
        self.counts.add_row(row);
    }
}

/// Returns the row of a target: medians over its seeds.
fn count_row(budget: f64, results: &TargetResults) -> Vec<TableCell> {
    let TargetResults { target, identity, runs } = results;
    let medians = |value: fn(FailureCount) -> u32, seconds: f64| {
        let counts: Vec<f64> =
            runs.iter().map(|(_, run)| f64::from(value(run.count_failures(seconds)))).collect();
        TableCell::from_optional(median(&counts), median_digits(&counts))
    };
    let mut row = vec![
        TableCell::from_text(target.name),
        TableCell::from_text(FuzzTool::Vouch.name()),
        TableCell::from_text(identity),
        TableCell::from_count(runs.len() as f64),
    ];
    for (seconds, _) in CHECKPOINTS {
        row.push(match seconds <= budget {
            true => medians(|count| count.findings, seconds),
            false => TableCell::Empty,
        });
    }
    row.push(medians(|count| count.canaries, budget));
    row.push(medians(|count| count.findings + count.canaries, budget));
    let rates: Vec<f64> = runs.iter().filter_map(|(_, run)| run.rate()).collect();
    row.push(TableCell::from_optional(median(&rates), 0));
    row.push(TableCell::from_text(target.published.map(|it| it.to_string()).join(" / ")));
    row
}

/// Returns the decimals of a median of whole numbers.
fn median_digits(values: &[f64]) -> usize {
    median(values).map_or(0, |median| usize::from(median.fract() != 0.0))
}

/// Returns for each test that failed: the number of seeds that broke it, and their times.
fn failure_rows(results: &TargetResults) -> BTreeMap<String, (usize, String)> {
    let mut rows: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    for (index, (_, record)) in results.runs.iter().enumerate() {
        for (test, cpu) in &record.failures {
            let times = rows.entry(test.clone()).or_default();
            times.resize(results.runs.len(), None);
            times[index] = Some(*cpu);
        }
    }
    let describe = |time: &Option<f64>| time.map_or("–".to_owned(), |time| format!("{time:.1}"));
    let row = |(test, times): (String, Vec<Option<f64>>)| {
        let count = times.iter().flatten().count();
        (test, (count, times.iter().map(describe).collect::<Vec<_>>().join(", ")))
    };
    rows.into_iter().map(row).collect()
}

fn not_run_row(target: &str, reason: &str) -> [TableCell; 3] {
    [target, FuzzTool::Vouch.name(), &format!("not run: {reason}")].map(TableCell::from_text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::RunSegment;

    fn record(failures: &[(&str, f64)], calls: u64) -> RunRecord {
        RunRecord {
            segments: vec![RunSegment { cpu: 60.0, calls: Some(calls) }],
            failures: failures.iter().map(|(test, cpu)| ((*test).to_owned(), *cpu)).collect(),
            unexercised: BTreeMap::from([("borrow".to_owned(), "never called".to_owned())]),
            end: None,
        }
    }

    #[test]
    fn tables_count_canaries_apart_and_name_what_was_not_run() {
        let mut tables = PublicTables::new(60.0, 0.5);
        let runs = vec![
            (1, record(&[("invariant_canary", 0.1), ("testA", 5.0), ("testB", 40.0)], 6_000)),
            (2, record(&[("invariant_canary", 0.2), ("testA", 9.0)], 12_000)),
        ];
        let results =
            TargetResults { target: &targets::TARGETS[1], identity: "c50d160".to_owned(), runs };
        tables.add_runs(60.0, &results);
        tables.add_forge(&targets::TARGETS[1], Ok(1234.0));
        tables.counts.add_row(not_run_row("aave-v4", "incomplete: no echidna.yaml"));
        let check = forge::ReproducerCheck {
            count: 3,
            exceptions: vec![forge::ReproducerException {
                file: "B.t.sol".to_owned(),
                reason: "passes under forge".to_owned(),
            }],
        };
        tables.add_reproducers("drips", &check);
        let report =
            BenchReport { cores: 2, missing: Vec::new(), parts: tables.into_parts() }.to_markdown();
        insta::assert_snapshot!(report, @r"
        2 cores

        Failing tests on public targets after CPU-time, median of the seeds, 1 CPU-minutes for each, one worker (load average 0.50)

        | target | tool | sources | seeds | 10 s | 30 s | 1 min | 5 min | 15 min | 30 min | 60 min | canaries | with canaries | calls per CPU-second | published 4 h, with canaries: Echidna / Foundry / Medusa / Recon |
        |---|---|---|---:|---:|---:|---:|---|---|---|---|---:|---:|---:|---|
        | drips | vouch | c50d160 | 2 | 1 | 1 | 1.5 |  |  |  |  | 1 | 2.5 | 150 | 13 / 14 / 14 / 15 |
        | drips | forge 1.7.1 |  |  |  |  |  |  |  |  |  |  |  | 1,234 |  |
        | aave-v4 | vouch | not run: incomplete: no echidna.yaml |

        When tests failed (load average 0.50)

        | target | test | seeds | CPU-seconds until it failed, for each seed |
        |---|---|---|---|
        | drips | invariant_canary (canary) | 2 of 2 | 0.1, 0.2 |
        | drips | testA | 2 of 2 | 5.0, 9.0 |
        | drips | testB | 1 of 2 | 40.0, – |

        Tests not exercised by the first seed (load average 0.50)

        | target | test | result |
        |---|---|---|
        | drips | borrow | never called |

        Reproducers under forge (load average 0.50)

        | target | reproducer | result under forge |
        |---|---|---|
        | drips | all | 2 of 3 compile and fail |
        | drips | B.t.sol | passes under forge |
        ");
    }
}
