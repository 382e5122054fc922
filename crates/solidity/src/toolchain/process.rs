//! Runs a program with input on stdin, bounded output and bounded time.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::ToolchainError;
use super::process_tree::kill_tree;
use crate::error::truncate_text;

/// Maximum bytes of stderr kept. It is shown to the user, so the beginning suffices.
const MAX_STDERR: u64 = 64 << 10;
/// Search path of programs if the user's has no usable folder. An empty one would mean the current folder.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Maximum bytes of output in an error message.
const MAX_MESSAGE: usize = 4 << 10;
/// Time for the rest of stderr after a program ended. What it started may keep the stream open.
const STDERR_REST: Duration = Duration::from_secs(1);
/// Longest pause between two looks at whether a program that closed its output has ended.
const MAX_PAUSE: Duration = Duration::from_millis(50);

/// Bounds of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramLimits {
    /// Bytes that it may write to stdout.
    pub(crate) output: u64,
    pub(crate) time: Duration,
}

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

/// Runs `command` until it exits. Errors if it writes too much to stdout or takes too long; then it is killed with
/// everything that it started.
///
/// What it starts itself is searched for in the absolute folders of `path` only: it runs in the folder of a project,
/// which a relative folder would name. It stays in the process group of the user's terminal, so that Ctrl-C ends it.
pub(crate) fn run_program(
    mut command: Command,
    path: &[PathBuf],
    input: &Arc<str>,
    limits: ProgramLimits,
) -> Result<ProgramOutput, ToolchainError> {
    let program = Path::new(command.get_program()).to_owned();
    let cannot = |source| ToolchainError::StartFailed { program: program.clone(), source };
    let folders = path.iter().filter(|folder| folder.is_absolute());
    let search = std::env::join_paths(folders).ok().filter(|joined| !joined.is_empty());
    command.env("PATH", search.unwrap_or_else(|| DEFAULT_PATH.into()));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let until = Instant::now() + limits.time;
    let mut child = command.spawn().map_err(cannot)?;
    let streams = ProgramStreams::start(&mut child, input, limits.output);
    let outcome = streams.read_output(until).and_then(|stdout| {
        let status = wait_until(&mut child, until)?;
        Ok(ProgramOutput { status, stdout, stderr: streams.read_errors() })
    });
    outcome.map_err(|reason| {
        kill_tree(&mut child);
        match reason {
            RunFailure::Broken(source) => cannot(source),
            RunFailure::TooLarge => ToolchainError::OutputTooLarge {
                program: program.clone(),
                mebibytes: limits.output >> 20,
            },
            RunFailure::TooLong => {
                ToolchainError::TooSlow { program: program.clone(), seconds: limits.time.as_secs() }
            }
        }
    })
}

/// Reason that a run was given up.
enum RunFailure {
    Broken(io::Error),
    TooLarge,
    TooLong,
}

/// Waits for a program that closed its output.
fn wait_until(child: &mut Child, until: Instant) -> Result<ExitStatus, RunFailure> {
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait().map_err(RunFailure::Broken)? {
            return Ok(status);
        }
        if Instant::now() >= until {
            return Err(RunFailure::TooLong);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

/// The streams of a running program. Each has a thread, because a program may block on one while another is full. A thread
/// whose stream stays open is left behind.
struct ProgramStreams {
    output: Receiver<io::Result<Option<Vec<u8>>>>,
    errors: Arc<Mutex<Vec<u8>>>,
    has_all_errors: Receiver<()>,
}

impl ProgramStreams {
    fn start(child: &mut Child, input: &Arc<str>, limit: u64) -> Self {
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let input = Arc::clone(input);
        thread::spawn(move || {
            // A program that exits without reading its input reports the reason in its output.
            if let Some(mut stdin) = stdin {
                drop(stdin.write_all(input.as_bytes()));
            }
        });
        let (sender, output) = mpsc::channel();
        thread::spawn(move || drop(sender.send(read_bounded(stdout, limit))));
        let (sender, has_all_errors) = mpsc::channel();
        let errors = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&errors);
        thread::spawn(move || {
            drain_stream(stderr, &kept);
            let _ = sender.send(());
        });
        Self { output, errors, has_all_errors }
    }

    /// Returns all of stdout.
    fn read_output(&self, until: Instant) -> Result<Vec<u8>, RunFailure> {
        let left = until.saturating_duration_since(Instant::now());
        match self.output.recv_timeout(left) {
            Ok(Ok(Some(bytes))) => Ok(bytes),
            Ok(Ok(None)) => Err(RunFailure::TooLarge),
            Ok(Err(error)) => Err(RunFailure::Broken(error)),
            Err(RecvTimeoutError::Timeout) => Err(RunFailure::TooLong),
            Err(RecvTimeoutError::Disconnected) => {
                Err(RunFailure::Broken(io::ErrorKind::BrokenPipe.into()))
            }
        }
    }

    /// Returns the beginning of stderr.
    fn read_errors(&self) -> String {
        let _ = self.has_all_errors.recv_timeout(STDERR_REST);
        let bytes = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Returns the bytes of a stream, or `None` if there are more than `limit`.
fn read_bounded(stream: Option<impl Read>, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(limit + 1).read_to_end(&mut bytes)?;
    }
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// Keeps the beginning of a stream. Reads it to the end, so that the writer never blocks.
fn drain_stream(stream: Option<impl Read>, kept: &Mutex<Vec<u8>>) {
    let Some(mut stream) = stream else { return };
    let mut part = [0; 4096];
    let mut left = MAX_STDERR as usize;
    // On an error, the bytes read so far are kept.
    while let Ok(read @ 1..) = stream.read(&mut part) {
        let end = read.min(left);
        left -= end;
        kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&part[..end]);
    }
}
