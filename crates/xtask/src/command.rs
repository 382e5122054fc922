//! Starting other programs from the workspace root: announced, and with an error that can be pasted to repeat it.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::count::Count;

/// The workspace root, wherever cargo was called from.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).expect("xtask lies two levels below the workspace root").to_owned()
}

/// The folder with the binaries of this build; `cargo xtask` itself is one of them.
pub(crate) fn binaries() -> Result<PathBuf> {
    let own = std::env::current_exe().context("where this program lies")?;
    Ok(own.parent().context("a program lies in a folder")?.to_owned())
}

/// A command in the workspace root.
pub(crate) fn command(program: impl AsRef<OsStr>, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(root());
    command
}

/// Runs to the end; anything but success is an error.
pub(crate) fn run(mut command: Command) -> Result<()> {
    let line = shown(&command);
    println!("    {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    ensure!(status.success(), "`{line}` ended with {status}; run it again to see only this");
    Ok(())
}

/// Runs a test runner to the end, passes its output on, and reads the counts from it.
pub(crate) fn run_counting(mut command: Command) -> Result<Count> {
    let line = shown(&command);
    println!("    {line}");
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start `{line}`"))?;
    let mut count = Count::default();
    let stdout = child.stdout.take().expect("stdout is piped");
    for line in BufReader::new(stdout).lines() {
        let line = line.context("reading the output of a test runner")?;
        println!("{line}");
        count.read(&line);
    }
    let status = child.wait().with_context(|| format!("waiting for `{line}`"))?;
    // A runner that breaks before it counts is a failure too.
    if !status.success() && count.failed == 0 {
        count.failed = 1;
    }
    Ok(count)
}

/// A command as one would type it in the workspace root.
fn shown(command: &Command) -> String {
    let root = root();
    let word = |word: &OsStr| {
        let path = Path::new(word);
        path.strip_prefix(&root).unwrap_or(path).display().to_string()
    };
    let mut words = vec![word(command.get_program())];
    words.extend(command.get_args().map(word));
    words.join(" ")
}
