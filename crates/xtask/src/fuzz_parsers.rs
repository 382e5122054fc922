//! `cargo xtask fuzz-parsers`: runs the targets of the crate `parser-fuzz` with libFuzzer.
//!
//! The crates of the workspace are compiled with coverage counters by a wrapper around the stable compiler; libFuzzer comes
//! with `libfuzzer-sys` and needs a C++ compiler. Inputs that increase coverage are kept in `target/parser-fuzz`.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, ensure};
use xtask::command::{binaries, command, root, run};
use xtask::count::TestCount;

/// Longest input: long enough for every construct, short enough for thousands of runs per second.
const MAX_BYTES: u32 = 4096;
/// Longest time for one input, in seconds. Far more than any parser needs, even on a busy machine.
const INPUT_TIMEOUT: u32 = 20;
/// Memory limit of one target.
const MEMORY_MEGABYTES: u32 = 2048;

#[derive(clap::Args)]
pub(crate) struct FuzzParsersArgs {
    /// Time for all targets together, in seconds
    #[arg(long, default_value_t = 120)]
    seconds: u32,
    /// Run only these targets
    #[arg(long, value_delimiter = ',', value_name = "TARGET,…")]
    only: Vec<String>,
    /// Number of targets that run at once
    #[arg(long, default_value_t = 2)]
    jobs: u32,
}

/// The outcome of one target.
struct TargetRun {
    target: String,
    executions: u64,
    /// The last lines of the output, if the target failed.
    failure: Option<String>,
}

/// Runs the targets and prints the number of executions of each.
pub(crate) fn run_fuzz_parsers(args: &FuzzParsersArgs) -> Result<()> {
    fuzz_targets(args).map(drop)
}

/// Runs the part of `cargo xtask test`: each target is one test.
pub(crate) fn run_fuzz_part(seconds: u32) -> Result<TestCount> {
    let args = FuzzParsersArgs { seconds, only: Vec::new(), jobs: 2 };
    let passed = fuzz_targets(&args)?;
    Ok(TestCount { passed, ..TestCount::default() })
}

fn fuzz_targets(args: &FuzzParsersArgs) -> Result<u64> {
    let program = build_program()?;
    let targets = list_targets(&args.only)?;
    let count = targets.len() as u64;
    let rounds = targets.len().div_ceil(args.jobs.max(1) as usize) as u32;
    let seconds = (args.seconds / rounds.max(1)).max(1);
    let queue = Mutex::new(VecDeque::from(targets));
    let worker = || {
        let mut runs = Vec::new();
        while let Some(target) = queue.lock().expect("no worker panics").pop_front() {
            let run = run_target(&program, &target, seconds)?;
            println!("{:13} {:>10} executions in {seconds} s", run.target, run.executions);
            runs.push(run);
        }
        Ok(runs)
    };
    let runs: Vec<Result<Vec<TargetRun>>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..args.jobs.max(1)).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().map(|worker| worker.join().expect("no worker panics")).collect()
    });
    let mut failed = Vec::new();
    for run in runs.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten() {
        if let Some(failure) = run.failure {
            println!("{}:\n{failure}", run.target);
            failed.push(run.target);
        }
    }
    ensure!(
        failed.is_empty(),
        "{} failed; the inputs are in crates/parser-fuzz/regressions, run `cargo test -p parser-fuzz`",
        failed.join(", ")
    );
    Ok(count)
}

/// Compiles all targets into one program and returns its path.
fn build_program() -> Result<PathBuf> {
    let build =
        ["build", "--workspace", "--bin", "parser_fuzz", "--features", "parser-fuzz/libfuzzer"];
    let mut cargo = command("cargo", &build);
    cargo.env("RUSTC_WORKSPACE_WRAPPER", root().join("crates/xtask/coverage-rustc"));
    run(cargo)?;
    Ok(binaries()?.join("parser_fuzz"))
}

/// Returns the names of the targets, which are those of the folders of seeds.
fn list_targets(only: &[String]) -> Result<Vec<String>> {
    let folder = root().join("crates/parser-fuzz/seeds");
    let mut names = Vec::new();
    for entry in
        fs::read_dir(&folder).with_context(|| format!("failed to read {}", folder.display()))?
    {
        let entry = entry.context("failed to list the seeds")?;
        if entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    for name in only {
        ensure!(names.contains(name), "unknown target `{name}`; one of {}", names.join(", "));
    }
    names.retain(|name| only.is_empty() || only.contains(name));
    Ok(names)
}

fn run_target(program: &Path, target: &str, seconds: u32) -> Result<TargetRun> {
    let found = root().join("target/parser-fuzz").join(target);
    let regressions = root().join("crates/parser-fuzz/regressions").join(target);
    fs::create_dir_all(&found).with_context(|| format!("failed to create {}", found.display()))?;
    let current = found.with_extension("current");
    let mut fuzzer = Command::new(program);
    fuzzer
        .env("PARSER_FUZZ_TARGET", target)
        .env("PARSER_FUZZ_CURRENT", &current)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={MAX_BYTES}"))
        .arg(format!("-timeout={INPUT_TIMEOUT}"))
        .arg(format!("-rss_limit_mb={MEMORY_MEGABYTES}"))
        .arg(format!("-artifact_prefix={}/", regressions.display()))
        .arg("-print_final_stats=1")
        .arg(&found)
        .arg(root().join("crates/parser-fuzz/seeds").join(target));
    // libFuzzer writes a finding only into a folder that exists; an empty one is removed below.
    let is_new = fs::create_dir(&regressions).is_ok();
    let mut child = fuzzer
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("failed to start the target {target}"))?;
    let (mut executions, mut tail) = (0, VecDeque::new());
    let stderr = child.stderr.take().expect("stderr is piped");
    for line in BufReader::new(stderr).split(b'\n') {
        let line = line.context("failed to read the output of libFuzzer")?;
        let line = String::from_utf8_lossy(&line).into_owned();
        if let Some(number) = line.strip_prefix("stat::number_of_executed_units:") {
            executions = number.trim().parse().unwrap_or_default();
        }
        tail.push_back(line);
        if tail.len() > 60 {
            tail.pop_front();
        }
    }
    let status = child.wait().with_context(|| format!("failed to wait for {target}"))?;
    if status.code().is_none() {
        // Killed by a signal, such as at a stack overflow, before libFuzzer could save the input.
        let _ = fs::copy(&current, regressions.join("killed"));
    }
    if is_new {
        // Fails if a finding is in it.
        let _ = fs::remove_dir(&regressions);
    }
    let failure = (!status.success()).then(|| Vec::from(tail).join("\n"));
    Ok(TargetRun { target: target.to_owned(), executions, failure })
}
