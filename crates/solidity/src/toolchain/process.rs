//! Running a program with a text for its input, and keeping no more of what it writes than a limit.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use super::ToolError;
use crate::error::shortened;

/// What a program says on its error output is for people, who read the beginning.
const MAX_STDERR: u64 = 64 << 10;
const MAX_SAID: usize = 4 << 10;

/// What a program that ended has left.
pub(crate) struct Finished {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Finished {
    /// The beginning of what it said, from the error output if there is any.
    pub(crate) fn said(&self) -> String {
        let out = String::from_utf8_lossy(&self.stdout);
        let text = if self.stderr.trim().is_empty() { out.trim() } else { self.stderr.trim() };
        shortened(text, MAX_SAID)
    }
}

/// Runs `command` to its end. More than `limit` bytes of output are an error.
pub(crate) fn run(mut command: Command, input: &[u8], limit: u64) -> Result<Finished, ToolError> {
    let program = Path::new(command.get_program()).to_owned();
    let cannot = |source| ToolError::CannotStart { program: program.clone(), source };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(cannot)?;
    let (stdout, stderr) = talk(&mut child, input, limit);
    let status = child.wait().map_err(cannot)?;
    match stdout.map_err(cannot)? {
        Some(stdout) => Ok(Finished { status, stdout, stderr }),
        None => Err(ToolError::TooMuch { program, mebibytes: limit >> 20 }),
    }
}

/// Writes and reads at the same time: a program may write before it has read everything, and wait for its reader.
/// The output is None if there is too much of it; the program is killed then.
fn talk(child: &mut Child, input: &[u8], limit: u64) -> (io::Result<Option<Vec<u8>>>, String) {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        scope.spawn(move || {
            // A program that ends without reading its input tells the reason in its output.
            if let Some(mut stdin) = stdin {
                drop(stdin.write_all(input));
            }
        });
        let errors = scope.spawn(move || drained(stderr));
        let output = bounded(stdout, limit);
        if !matches!(output, Ok(Some(_))) {
            // The other streams end only when the program does. It may have ended meanwhile, which is as good.
            drop(child.kill());
        }
        let errors = errors.join().unwrap_or_default();
        (output, String::from_utf8_lossy(&errors).into_owned())
    })
}

/// All of a stream; None if it has more than `limit` bytes.
fn bounded(stream: Option<impl Read>, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(limit + 1).read_to_end(&mut bytes)?;
    }
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// The beginning of a stream, which is read to its end so that the writer never waits.
fn drained(stream: Option<impl Read>) -> Vec<u8> {
    let mut kept = Vec::new();
    if let Some(mut stream) = stream {
        // What could be read before an error is what there is to show.
        drop(stream.by_ref().take(MAX_STDERR).read_to_end(&mut kept));
        drop(io::copy(&mut stream, &mut io::sink()));
    }
    kept
}
