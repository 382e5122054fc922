//! A child's standard input. Each sender writes in its own task; a message is never torn, even when its sender is dropped
//! half way: what is left of it stays queued, and the next sender writes it first.

use std::sync::Mutex;

use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio_util::sync::CancellationToken;

use crate::LinkError;
use crate::error::Fail;
use crate::flight::lock;

/// Of messages that a child does not read; beyond it calls fail instead of filling our memory.
const MAX_QUEUED: usize = 64 * 1024 * 1024;

pub(crate) struct Pipe {
    queue: Mutex<Queue>,
    end: tokio::sync::Mutex<End>,
    closing: CancellationToken,
}

#[derive(Default)]
struct Queue {
    bytes: Vec<u8>,
    /// Of all that was ever queued.
    total: u64,
}

struct End {
    stdin: Option<ChildStdin>,
    current: Vec<u8>,
    at: usize,
    /// Of all that was ever written.
    total: u64,
}

impl Pipe {
    pub(crate) fn new(stdin: ChildStdin) -> Self {
        let end = End { stdin: Some(stdin), current: Vec::new(), at: 0, total: 0 };
        let end = tokio::sync::Mutex::new(end);
        Self { queue: Mutex::default(), end, closing: CancellationToken::new() }
    }

    /// Whether nobody reads at the other end, or nobody shall. False while somebody writes.
    pub(crate) fn is_closed(&self) -> bool {
        self.end.try_lock().is_ok_and(|end| end.stdin.is_none())
    }

    /// Writes one line.
    pub(crate) async fn send(&self, mut message: Vec<u8>) -> Result<(), Fail> {
        message.push(b'\n');
        self.send_bytes(message).await
    }

    pub(crate) async fn send_bytes(&self, message: Vec<u8>) -> Result<(), Fail> {
        let start = {
            let mut queue = lock(&self.queue);
            if queue.bytes.len() + message.len() > MAX_QUEUED {
                return Err(Fail::Unsent(LinkError::unreachable(
                    "it does not read what it is sent",
                )));
            }
            let start = queue.total;
            queue.total += message.len() as u64;
            if queue.bytes.is_empty() {
                queue.bytes = message;
            } else {
                queue.bytes.extend_from_slice(&message);
            }
            start
        };
        let _closing = Closing(self);
        let mut end = self.end.lock().await;
        loop {
            if end.at == end.current.len() {
                end.at = 0;
                end.current.clear();
                end.current = std::mem::take(&mut lock(&self.queue).bytes);
                if end.current.is_empty() {
                    return Ok(());
                }
            }
            // `write` is safe to drop: until it returns nothing was written.
            let End { stdin, current, at, total } = &mut *end;
            let written = match stdin {
                Some(stdin) => tokio::select! {
                    biased;
                    written = stdin.write(&current[*at..]) => written.ok(),
                    () = self.closing.cancelled() => None,
                },
                None => None,
            };
            match written {
                Some(count) if count > 0 => {
                    *at += count;
                    *total += count as u64;
                }
                _ => {
                    *stdin = None;
                    let untouched = *total <= start;
                    let error = LinkError::Unavailable {
                        reason: "its standard input is closed".to_owned(),
                        may_have_run: !untouched,
                    };
                    return Err(if untouched { Fail::Unsent(error) } else { Fail::Final(error) });
                }
            }
        }
    }

    /// The child reads to the end of what was written, then the end of input. A sender that still waits gives up.
    pub(crate) fn close(&self) {
        self.closing.cancel();
        self.close_unless_busy();
    }

    fn close_unless_busy(&self) {
        if let Ok(mut end) = self.end.try_lock() {
            end.stdin = None;
        }
    }
}

/// Outlives a sender's hold on the end: if `close` came while that lasted, the sender closes, even one that is dropped.
struct Closing<'a>(&'a Pipe);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        if self.0.closing.is_cancelled() {
            self.0.close_unless_busy();
        }
    }
}
