//! A server as a child process. Between us and it stands a keeper, which ends it when we end: see [`crate::keeper`].

mod tail;

use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStdout, Command};
use tokio::sync::{Notify, watch};

use crate::duplex::{self, Duplex, Outlet, Pipe};
use crate::flight::Flight;
use crate::keeper::{Complaint, Spec};
use crate::lines::{Line, Lines};
use crate::{LinkError, Program};

pub(crate) use tail::Tail;

const CHUNK: usize = 64 * 1024;
/// For the child's last words and its exit status, once its output has ended.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// Longer than the keeper gives a child to end by itself and to obey a signal.
const KEEPER_ENDS: Duration = Duration::from_secs(4);
const SHOWN_WORDS: usize = 400;

/// The running keeper.
pub(crate) struct Child {
    over: watch::Receiver<Option<String>>,
    kill: Arc<Notify>,
}

impl Child {
    /// Waits until keeper and child are gone. Standard input is closed already.
    pub(crate) async fn ended(&self) {
        let mut over = self.over.clone();
        if tokio::time::timeout(KEEPER_ENDS, over.wait_for(Option::is_some)).await.is_err() {
            self.kill.notify_one();
            let _ = tokio::time::timeout(LAST_WORDS, over.wait_for(Option::is_some)).await;
        }
    }
}

pub(crate) async fn start(
    program: &Program,
    flight: Arc<Flight>,
    tail: Arc<Tail>,
) -> Result<(Duplex, Child), LinkError> {
    let [keeper, arguments @ ..] = program.keeper.as_slice() else {
        return Err(LinkError::Program { reason: "there is no keeper for it".to_owned() });
    };
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).map_err(|error| LinkError::Program {
        reason: format!("there are no random numbers ({error})"),
    })?;
    let nonce = u128::from_ne_bytes(nonce).to_string();
    let mut command = Command::new(keeper);
    // The keeper's environment becomes nobody's: the child's own travels in the spec.
    command.args(arguments).env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| LinkError::Program {
        reason: format!("its keeper does not start ({error})"),
    })?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
        return Err(LinkError::Program { reason: "its keeper has no pipes".to_owned() });
    };
    let (over, is_over) = watch::channel(None);
    let kill = Arc::new(Notify::new());
    tokio::spawn({
        let kill = kill.clone();
        async move {
            let status = tokio::select! {
                status = child.wait() => status,
                () = kill.notified() => { let _ = child.start_kill(); child.wait().await }
            };
            over.send_replace(Some(status.map_or_else(|_| "it is gone".to_owned(), describe)));
        }
    });
    tail.clear();
    tokio::spawn(drain(stderr, tail.clone()));
    let spec = Spec::of(program, nonce.clone()).to_bytes();
    let outlet = Arc::new(Outlet::Pipe(Pipe::new(stdin)));
    let reader = Reader { flight: flight.clone(), outlet: Arc::downgrade(&outlet), tail, nonce };
    tokio::spawn(reader.run(stdout, is_over.clone()));
    let duplex = Duplex { flight, outlet };
    let Outlet::Pipe(pipe) = &*duplex.outlet else { unreachable!("made above") };
    let sent = pipe.send_bytes(spec).await;
    sent.map_err(|_| LinkError::Program { reason: "its keeper ended at once".to_owned() })?;
    Ok((duplex, Child { over: is_over, kill }))
}

fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(0), _) => "it ended".to_owned(),
        // The keeper ends as a shell would: 128 and the signal.
        (Some(code @ 129..), _) => format!("signal {} ended it", code - 128),
        (Some(code), _) => format!("it ended with status {code}"),
        (None, Some(signal)) => format!("signal {signal} ended it"),
        (None, None) => "it is gone".to_owned(),
    }
}

/// A child that writes more than anybody reads must not block: everything is read, the end is kept.
async fn drain(mut stderr: impl AsyncRead + Unpin, tail: Arc<Tail>) {
    let mut chunk = vec![0; CHUNK / 8];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        tail.push(&chunk[..count]);
    }
}

struct Reader {
    flight: Arc<Flight>,
    outlet: Weak<Outlet>,
    tail: Arc<Tail>,
    /// Of the keeper.
    nonce: String,
}

impl Reader {
    async fn run(self, mut stdout: ChildStdout, mut over: watch::Receiver<Option<String>>) {
        let mut lines = Lines::new(self.flight.context.bounds.max_message_bytes);
        let mut chunk = vec![0; CHUNK];
        let mut complaint = None;
        let mut first = true;
        while let Ok(count @ 1..) = stdout.read(&mut chunk).await {
            lines.push(&chunk[..count], |line| match line {
                Line::Whole(text) => {
                    if std::mem::take(&mut first)
                        && let Some(said) = Complaint::read(text, &self.nonce)
                    {
                        complaint = Some(said);
                    } else {
                        duplex::receive(&self.flight, &self.outlet, text);
                    }
                }
                Line::Oversized { size, id } => self.flight.oversized(size, id),
            });
        }
        drop(stdout);
        let reason = match complaint {
            Some(complaint) => complaint.into_error(&self.flight.context),
            None => {
                let wait = tokio::time::timeout(LAST_WORDS, over.wait_for(Option::is_some));
                let status = wait.await.ok().and_then(Result::ok).and_then(|status| status.clone());
                let status = status.unwrap_or_else(|| "it closed its output".to_owned());
                let words = self.tail.last_line();
                let words = self.flight.context.shown(&words, SHOWN_WORDS);
                if words.is_empty() {
                    LinkError::lost(status)
                } else {
                    LinkError::lost(format!("{status}; it last said: {words}"))
                }
            }
        };
        tracing::debug!(server = self.flight.context.name, %reason, "the child's output ended");
        self.flight.close(&reason);
    }
}
