//! Programs that make a run ready. What they say goes to stderr: stdout is for the report, which a program may read.

use std::io;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Runs to the end; anything but success is an error.
pub(crate) fn run(mut command: Command) -> Result<()> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let line = words.join(" ");
    eprintln!("    {line}");
    command.stdin(Stdio::null()).stdout(io::stderr());
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    ensure!(status.success(), "`{line}` ended with {status}; run it again to see only this");
    Ok(())
}
