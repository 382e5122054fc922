//! Counts the instructions of a call with callgrind. Unlike processor time they hardly depend on what else the machine
//! does, so they show differences of a few percent on a busy machine.
//!
//! Two runs differ only in the number of calls, so their difference has neither the start nor the end of the server.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{CallBench, FILE_BYTES, MAX_COST_RATIO};
use crate::load::StdioSession;
use crate::process::ServerProcess;

/// Calls of the shorter run.
const WARM_UP: usize = 20;

/// The file of source code that is read, from the workspace.
const SOURCE_FILE: &str = "crates/guard/src/lib.rs";

/// Measures `vouch` in each folder: the current build first, then the one it is compared with.
pub(super) fn run_instruction_bench(
    bench: &CallBench,
    binaries: &[PathBuf],
    calls: usize,
) -> Result<()> {
    let valgrind = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    ensure!(
        valgrind.is_ok_and(|status| status.success()),
        "failed to start valgrind, which counts the instructions; install the package `valgrind`"
    );
    let source = fs::read(bench.root.join(SOURCE_FILE))?;
    let source = source.get(..FILE_BYTES).context("the file of source code is too short")?;
    fs::write(bench.folder().join("source.rs"), source)?;
    // The index of the context tools works in the background, at times that differ from run to run.
    let config = bench.folder().join("vouch.toml");
    fs::write(&config, format!("packs = [\"repo\"]\n{}", fs::read_to_string(&config)?))?;
    let cases = [
        ("`hello`", "hello", json!({"name": "bench"})),
        ("`read_repo_file`, 4 KB of prose", "read_repo_file", json!({"path": "file.txt"})),
        ("`read_repo_file`, 4 KB of code", "read_repo_file", json!({"path": "source.rs"})),
    ];
    let mut table =
        String::from("| tool | instructions per call | before | |\n|---|---:|---:|---|\n");
    for (name, tool, arguments) in cases {
        let mut counts = Vec::new();
        for folder in binaries {
            eprintln!("{name}: {}", folder.display());
            counts.push(count_instructions(bench, folder, tool, &arguments, calls)?);
        }
        write!(table, "| {name} | {:.0} |", counts[0])?;
        match counts.get(1) {
            Some(before) => {
                let ratio = counts[0] / before;
                let verdict = if ratio <= MAX_COST_RATIO { "met" } else { "**missed**" };
                writeln!(
                    table,
                    " {before:.0} | {ratio:.3} × (goal {MAX_COST_RATIO}, {verdict}) |"
                )?;
            }
            None => writeln!(table, " – | – |")?,
        }
    }
    println!("\n{table}");
    Ok(())
}

/// Returns the instructions of one call over stdio, in all threads of the server.
fn count_instructions(
    bench: &CallBench,
    binaries: &Path,
    tool: &str,
    arguments: &Value,
    calls: usize,
) -> Result<f64> {
    let short = run_under_callgrind(bench, binaries, tool, arguments, WARM_UP)?;
    let long = run_under_callgrind(bench, binaries, tool, arguments, WARM_UP + calls)?;
    Ok((long - short) / calls as f64)
}

fn run_under_callgrind(
    bench: &CallBench,
    binaries: &Path,
    tool: &str,
    arguments: &Value,
    calls: usize,
) -> Result<f64> {
    let profile = tempfile::NamedTempFile::new()?;
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet"]);
    command.arg(format!("--callgrind-out-file={}", profile.path().display()));
    // Other packs work in the background after the start.
    command.arg(binaries.join("vouch")).args(["serve", "--stdio", "--packs", "repo"]);
    command.current_dir(bench.folder()).env("VOUCH_TRUST", "1");
    let state = tempfile::tempdir()?;
    command.env("XDG_STATE_HOME", state.path()).env("XDG_DATA_HOME", state.path());
    let (mut server, input, output) = ServerProcess::start_stdio(&mut command)?;
    let mut session = StdioSession::open(input, output)?;
    session.run_calls(tool, arguments, 1, calls)?;
    // The server ends with its input, and the profile is written then.
    drop(session);
    server.wait()?;
    let text = fs::read_to_string(profile.path())?;
    let total = text.lines().rev().find_map(|line| line.strip_prefix("totals: "));
    let total = total.context("the profile of callgrind has no total")?;
    total.trim().parse().context("the total of callgrind is no number")
}
