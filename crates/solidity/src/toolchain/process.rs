//! Runs a program with input on stdin and bounded output.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use super::ToolchainError;
use crate::error::truncate_text;

/// Maximum bytes of stderr kept. It is shown to the user, so the beginning suffices.
const MAX_STDERR: u64 = 64 << 10;
/// Search path of programs if the user's has no usable folder. An empty one would mean the current folder.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Maximum bytes of output in an error message.
const MAX_MESSAGE: usize = 4 << 10;

/// Exit status and output of a program.
pub(crate) struct ProgramOutput {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl ProgramOutput {
    /// Returns the beginning of stderr, or of stdout if stderr is empty.
    pub(crate) fn summary(&self) -> String {
        let out = String::from_utf8_lossy(&self.stdout);
        let text = if self.stderr.trim().is_empty() { out.trim() } else { self.stderr.trim() };
        truncate_text(text, MAX_MESSAGE)
    }
}

/// Runs `command` until it exits. Errors if it writes more than `limit` bytes to stdout.
///
/// What it starts itself is searched for in the absolute folders of `path` only: it runs in the folder of a project,
/// which a relative folder would name.
pub(crate) fn run_program(
    mut command: Command,
    path: &[PathBuf],
    input: &[u8],
    limit: u64,
) -> Result<ProgramOutput, ToolchainError> {
    let program = Path::new(command.get_program()).to_owned();
    let cannot = |source| ToolchainError::StartFailed { program: program.clone(), source };
    let folders = path.iter().filter(|folder| folder.is_absolute());
    let search = std::env::join_paths(folders).ok().filter(|joined| !joined.is_empty());
    command.env("PATH", search.unwrap_or_else(|| DEFAULT_PATH.into()));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(cannot)?;
    let (stdout, stderr) = exchange_streams(&mut child, input, limit);
    let status = child.wait().map_err(cannot)?;
    match stdout.map_err(cannot)? {
        Some(stdout) => Ok(ProgramOutput { status, stdout, stderr }),
        None => Err(ToolchainError::OutputTooLarge { program, mebibytes: limit >> 20 }),
    }
}

/// Writes stdin and reads stdout and stderr concurrently, since a program may block on output before it has read its
/// input. If stdout exceeds `limit`, the program is killed and the returned stdout is `None`.
fn exchange_streams(
    child: &mut Child,
    input: &[u8],
    limit: u64,
) -> (io::Result<Option<Vec<u8>>>, String) {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        scope.spawn(move || {
            // A program that exits without reading its input reports the reason in its output.
            if let Some(mut stdin) = stdin {
                drop(stdin.write_all(input));
            }
        });
        let errors = scope.spawn(move || drain_stream(stderr));
        let output = read_bounded(stdout, limit);
        if !matches!(output, Ok(Some(_))) {
            // The other streams end when the program exits. Killing fails if it already has, which is fine.
            drop(child.kill());
        }
        let errors = errors.join().unwrap_or_default();
        (output, String::from_utf8_lossy(&errors).into_owned())
    })
}

/// Returns the bytes of a stream, or `None` if there are more than `limit`.
fn read_bounded(stream: Option<impl Read>, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(limit + 1).read_to_end(&mut bytes)?;
    }
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// Returns the beginning of a stream. Reads it to the end, so that the writer never blocks.
fn drain_stream(stream: Option<impl Read>) -> Vec<u8> {
    let mut kept = Vec::new();
    if let Some(mut stream) = stream {
        // On an error, the bytes read so far are kept.
        drop(stream.by_ref().take(MAX_STDERR).read_to_end(&mut kept));
        drop(io::copy(&mut stream, &mut io::sink()));
    }
    kept
}
