//! Runs the programs that prepare a benchmark. Their output goes to stderr, because stdout is for the report.

use std::io;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Waits for the command. Returns an error unless it succeeds.
pub(crate) fn run_quietly(mut command: Command) -> Result<()> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let line = words.join(" ");
    eprintln!("    {line}");
    command.stdin(Stdio::null()).stdout(io::stderr());
    let status = command.status().with_context(|| format!("failed to start `{line}`"))?;
    ensure!(status.success(), "`{line}` failed with {status}; run it again to see only its output");
    Ok(())
}
