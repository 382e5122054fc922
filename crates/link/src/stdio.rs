//! A server as a child process, started through a supervisor that ends it when this process ends: see
//! [`crate::supervisor`].

mod sandbox_hint;
mod stderr_tail;

use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Weak};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::watch;

use crate::duplex::{self, DuplexOutlet, DuplexTransport, StdinPipe};
use crate::in_flight::InFlightCalls;
use crate::line_splitter::{LineSplitter, StdioFrame};
use crate::supervisor::{StartFailure, SupervisorSpec};
use crate::{ConnectionError, StdioProgram};

pub(crate) use sandbox_hint::describe_timeout;
pub(crate) use stderr_tail::StderrTail;

const READ_CHUNK: usize = 64 * 1024;
/// Maximum wait for the child's exit status and standard error after its output has ended.
const EXIT_STATUS_LIMIT: Duration = Duration::from_millis(300);
/// Maximum wait for the supervisor to exit after standard input was closed, and again after SIGTERM. Longer than the time it
/// grants a child to exit and to react to signals.
const SUPERVISOR_EXIT_LIMIT: Duration = Duration::from_secs(4);
const MAX_SHOWN_STDERR: usize = 400;
const MAX_SHOWN_GRANTS: usize = 300;

/// The running supervisor process.
pub(crate) struct StdioChild {
    over: watch::Receiver<Option<String>>,
}

impl StdioChild {
    /// Waits until supervisor and child have exited. Standard input must already be closed.
    pub(crate) async fn wait_until_exited(&self) {
        let mut over = self.over.clone();
        let limit = SUPERVISOR_EXIT_LIMIT * 2 + EXIT_STATUS_LIMIT;
        let _ = tokio::time::timeout(limit, over.wait_for(Option::is_some)).await;
    }
}

/// Starts a server under its supervisor. Returns the transport and a handle of the process.
///
/// # Errors
/// If the supervisor cannot be started. An error in starting the server itself closes the transport.
pub(crate) async fn start_server(
    program: &StdioProgram,
    flight: Arc<InFlightCalls>,
    tail: Arc<StderrTail>,
) -> Result<(DuplexTransport, StdioChild), ConnectionError> {
    let [supervisor, arguments @ ..] = program.supervisor.as_slice() else {
        return Err(ConnectionError::StartFailed {
            reason: "no supervisor command is configured".to_owned(),
        });
    };
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).map_err(|error| ConnectionError::StartFailed {
        reason: format!("failed to generate a nonce ({error})"),
    })?;
    let nonce = u128::from_ne_bytes(nonce).to_string();
    let mut command = Command::new(supervisor);
    // The supervisor runs with an empty environment; the child's environment is part of the spec.
    command.args(arguments).env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| ConnectionError::StartFailed {
        reason: format!("failed to start its supervisor ({error})"),
    })?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
        return Err(ConnectionError::StartFailed {
            reason: "its supervisor has no pipes".to_owned(),
        });
    };
    let (over, is_over) = watch::channel(None);
    let pipe = StdinPipe::new(stdin);
    let closing = pipe.closing_token();
    tokio::spawn(async move {
        let is_late = async {
            closing.cancelled().await;
            tokio::time::sleep(SUPERVISOR_EXIT_LIMIT).await;
        };
        let status = tokio::select! {
            status = child.wait() => status,
            () = is_late => end_supervisor(child).await,
        };
        over.send_replace(Some(
            status.map_or_else(|_| "its exit status is unknown".to_owned(), describe_exit),
        ));
    });
    tail.clear();
    tokio::spawn(drain_stderr(stderr, tail.clone()));
    let spec = SupervisorSpec::from_program(program, nonce.clone()).to_bytes();
    let outlet = Arc::new(DuplexOutlet::Pipe(pipe));
    let reader = StdoutReader {
        flight: flight.clone(),
        outlet: Arc::downgrade(&outlet),
        tail,
        nonce,
        program: program.clone(),
    };
    tokio::spawn(reader.read_to_end(stdout, is_over.clone()));
    let duplex = DuplexTransport { flight, outlet };
    let DuplexOutlet::Pipe(pipe) = &*duplex.outlet else { unreachable!("made above") };
    let sent = pipe.send_bytes(spec).await;
    sent.map_err(|_| ConnectionError::StartFailed {
        reason: "its supervisor exited at once".to_owned(),
    })?;
    Ok((duplex, StdioChild { over: is_over }))
}

/// Ends a supervisor that has not noticed the end of standard input, because its server holds the pipe open.
async fn end_supervisor(mut child: Child) -> std::io::Result<ExitStatus> {
    let pid = child.id().and_then(|pid| pid.try_into().ok()).and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let _ = kill_process(pid, Signal::TERM);
    }
    match tokio::time::timeout(SUPERVISOR_EXIT_LIMIT, child.wait()).await {
        Ok(status) => status,
        Err(_) => {
            let _ = child.start_kill();
            child.wait().await
        }
    }
}

fn describe_exit(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(0), _) => "it exited".to_owned(),
        // The supervisor reports signals like a shell: 128 plus the signal number.
        (Some(code @ 129..), _) => format!("it was killed by signal {}", code - 128),
        (Some(code), _) => format!("it exited with status {code}"),
        (None, Some(signal)) => format!("it was killed by signal {signal}"),
        (None, None) => "its exit status is unknown".to_owned(),
    }
}

/// Reads standard error to its end, so that the child never blocks on it, and keeps the tail.
async fn drain_stderr(mut stderr: impl AsyncRead + Unpin, tail: Arc<StderrTail>) {
    let mut chunk = vec![0; READ_CHUNK / 8];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        tail.push(&chunk[..count]);
    }
}

/// Reads a child's standard output.
struct StdoutReader {
    flight: Arc<InFlightCalls>,
    outlet: Weak<DuplexOutlet>,
    tail: Arc<StderrTail>,
    /// The supervisor's nonce.
    nonce: String,
    program: StdioProgram,
}

impl StdoutReader {
    async fn read_to_end(self, mut stdout: ChildStdout, mut over: watch::Receiver<Option<String>>) {
        let mut lines = LineSplitter::new(self.flight.context.bounds.max_message_bytes);
        let mut chunk = vec![0; READ_CHUNK];
        let mut complaint = None;
        let mut first = true;
        while let Ok(count @ 1..) = stdout.read(&mut chunk).await {
            lines.push(&chunk[..count], |line| match line {
                StdioFrame::Whole(text) => {
                    if std::mem::take(&mut first)
                        && let Some(said) = StartFailure::parse_line(text, &self.nonce)
                    {
                        complaint = Some(said);
                    } else {
                        duplex::dispatch_message(&self.flight, &self.outlet, text);
                    }
                }
                StdioFrame::Oversized { size, id } => self.flight.fail_oversized(size, id),
            });
        }
        drop(stdout);
        let reason = match complaint {
            Some(complaint) => complaint.into_error(&self.flight.context),
            None => {
                let wait = tokio::time::timeout(EXIT_STATUS_LIMIT, over.wait_for(Option::is_some));
                let status = wait.await.ok().and_then(Result::ok).and_then(|status| status.clone());
                let status = status.unwrap_or_else(|| "it closed its output".to_owned());
                let mut reason = status;
                let words = self.tail.last_line();
                let words = self.flight.context.sanitize_text(&words, MAX_SHOWN_STDERR);
                if !words.is_empty() {
                    reason = format!("{reason}; last line of stderr: {words}");
                }
                if first {
                    let sanitize =
                        |paths: &str| self.flight.context.sanitize_text(paths, MAX_SHOWN_GRANTS);
                    reason.push_str(&sandbox_hint::describe_missing_grant(
                        &self.program,
                        &self.tail.text(),
                        sanitize,
                    ));
                }
                ConnectionError::connection_lost(reason)
            }
        };
        tracing::debug!(server = self.flight.context.name, %reason, "child output ended");
        self.flight.close(&reason);
    }
}
