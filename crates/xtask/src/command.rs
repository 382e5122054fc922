//! Starts other programs from the workspace root. Each command is printed, and errors quote it so that it can be repeated.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::count::TestCount;

/// Returns the workspace root, independent of the current folder.
pub fn root() -> PathBuf {
    // What cargo says of this run comes first: in a copy of the workspace that includes `target`, cargo runs the program that
    // was compiled in the original.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.ancestors().nth(2).expect("xtask is two levels below the workspace root").to_owned()
}

/// Returns the folder for the state of benchmarked projects, so that benchmarks do not write into the home folder.
pub fn bench_state_home() -> PathBuf {
    root().join("target/bench-state")
}

/// Returns the folder with the binaries of this build, `xtask` among them.
pub fn binaries() -> Result<PathBuf> {
    let own = std::env::current_exe().context("failed to find the path of this program")?;
    Ok(own.parent().context("this program has no parent folder")?.to_owned())
}

/// Returns a command that runs in the workspace root.
pub fn command(program: impl AsRef<OsStr>, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(root());
    command
}

/// Prints a command and waits for it. Returns an error unless it succeeds.
pub fn run(mut command: Command) -> Result<()> {
    let line = command_line(&command);
    println!("    {line}");
    let status = command.status().with_context(|| format!("failed to start `{line}`"))?;
    ensure!(status.success(), "`{line}` failed with {status}; run it again to see only its output");
    Ok(())
}

/// Runs a command and returns its stdout.
pub fn read_stdout(mut command: Command) -> Result<String> {
    let line = command_line(&command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("failed to start `{line}`"))?;
    ensure!(output.status.success(), "`{line}` failed with {}", output.status);
    String::from_utf8(output.stdout).with_context(|| format!("stdout of `{line}` is not UTF-8"))
}

/// Runs a test runner, passes its output on, and returns the test counts found in it.
pub fn run_counting(mut command: Command) -> Result<TestCount> {
    let line = command_line(&command);
    println!("    {line}");
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("failed to start `{line}`"))?;
    let mut count = TestCount::default();
    let stdout = child.stdout.take().expect("stdout is piped");
    for line in BufReader::new(stdout).lines() {
        let line = line.context("failed to read the output of a test runner")?;
        println!("{line}");
        count.parse_line(&line);
    }
    let status = child.wait().with_context(|| format!("failed to wait for `{line}`"))?;
    // A runner that stops before it prints its counts has failed too.
    if !status.success() && count.failed == 0 {
        count.failed = 1;
    }
    Ok(count)
}

/// Formats a command the way it is typed in the workspace root.
fn command_line(command: &Command) -> String {
    let root = root();
    let word = |word: &OsStr| {
        let path = Path::new(word);
        path.strip_prefix(&root).unwrap_or(path).display().to_string()
    };
    let mut words = vec![word(command.get_program())];
    words.extend(command.get_args().map(word));
    words.join(" ")
}
