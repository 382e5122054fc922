//! A child's standard input. Each sender writes in its own task. A message is always written whole, even if its sender is
//! dropped halfway: the rest stays queued, and the next sender writes it first.
//!
//! A pipe also knows how many of the written bytes were read ([`StdinPipe::is_unread`]). The supervisor holds the child's end of the
//! pipe, so a write succeeds even after the child has exited. Its bytes then stay in the pipe, where the kernel counts them.

use std::time::Duration;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio_util::sync::CancellationToken;

use crate::ConnectionError;
use crate::error::RequestFailure;

/// Longer than the supervisor takes to end all processes of a server that has exited.
const READERS_EXIT_LIMIT: Duration = Duration::from_secs(3);
const READERS_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Maximum queued bytes that a child has not read. Calls beyond it fail, so that the queue cannot exhaust memory.
const MAX_QUEUED: usize = 64 * 1024 * 1024;

/// The writing end of a child's standard input.
pub(crate) struct StdinPipe {
    queue: Mutex<WriteQueue>,
    end: tokio::sync::Mutex<PipeWriter>,
    closing: CancellationToken,
}

/// Messages that wait to be written.
#[derive(Default)]
struct WriteQueue {
    bytes: Vec<u8>,
    /// Bytes queued since the start.
    total: u64,
}

/// The standard input and the bytes being written to it.
struct PipeWriter {
    stdin: Option<ChildStdin>,
    current: Vec<u8>,
    at: usize,
    /// Bytes written since the start.
    total: u64,
    /// Bytes that were read before the last reader was gone. Set when `stdin` is dropped, if no reader was left then.
    read: Option<u64>,
}

impl PipeWriter {
    /// Closes standard input, and keeps the final count of bytes read if there is one.
    fn close(&mut self) {
        if let Some(stdin) = self.stdin.take() {
            self.read = count_read(&stdin, self.total).final_count();
        }
    }
}

/// Bytes of a pipe that were read so far.
struct PipeReadCount {
    bytes: u64,
    /// The pipe has no reader any more, so `bytes` stays as it is.
    is_final: bool,
}

impl PipeReadCount {
    fn final_count(&self) -> Option<u64> {
        self.is_final.then_some(self.bytes)
    }
}

/// Returns how many of the `written` bytes were read. If the kernel does not say, all of them count as read.
fn count_read(stdin: &ChildStdin, written: u64) -> PipeReadCount {
    let mut fds = [PollFd::new(stdin, PollFlags::empty())];
    let polled = poll(&mut fds, Some(&Timespec::default()));
    // POLLERR on the writing end means that no reader is left. Checked first, because the count is final from then on.
    let is_final = polled.is_ok() && fds[0].revents().contains(PollFlags::ERR);
    let unread = rustix::io::ioctl_fionread(stdin).unwrap_or(0);
    PipeReadCount { bytes: written.saturating_sub(unread), is_final }
}

impl StdinPipe {
    pub(crate) fn new(stdin: ChildStdin) -> Self {
        let end =
            PipeWriter { stdin: Some(stdin), current: Vec::new(), at: 0, total: 0, read: None };
        let end = tokio::sync::Mutex::new(end);
        Self { queue: Mutex::default(), end, closing: CancellationToken::new() }
    }

    /// Returns true if the pipe is closed. Returns false while a sender writes.
    pub(crate) fn is_closed(&self) -> bool {
        self.end.try_lock().is_ok_and(|end| end.stdin.is_none())
    }

    /// Writes one line. Returns its offset in the stream, for [`StdinPipe::is_unread`].
    pub(crate) async fn send(&self, mut message: Vec<u8>) -> Result<u64, RequestFailure> {
        message.push(b'\n');
        self.send_bytes(message).await
    }

    /// Writes a message without a line end. Returns its offset in the stream.
    pub(crate) async fn send_bytes(&self, message: Vec<u8>) -> Result<u64, RequestFailure> {
        let start = {
            let mut queue = self.queue.lock();
            if queue.bytes.len() + message.len() > MAX_QUEUED {
                return Err(RequestFailure::NotSent(ConnectionError::server_unreachable(
                    "it does not read its standard input",
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
        let _closing = PipeCloseGuard(self);
        let mut end = self.end.lock().await;
        loop {
            if end.at == end.current.len() {
                end.at = 0;
                end.current.clear();
                end.current = std::mem::take(&mut self.queue.lock().bytes);
                if end.current.is_empty() {
                    return Ok(start);
                }
            }
            // `write` is cancel safe: if it is dropped, no bytes were written.
            let PipeWriter { stdin, current, at, total, .. } = &mut *end;
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
                    end.close();
                    let untouched =
                        end.total <= start || end.read.is_some_and(|read| read <= start);
                    let error = ConnectionError::Unavailable {
                        reason: "its standard input is closed".to_owned(),
                        may_have_run: !untouched,
                    };
                    return Err(if untouched {
                        RequestFailure::NotSent(error)
                    } else {
                        RequestFailure::Final(error)
                    });
                }
            }
        }
    }

    /// Returns true if no byte of the message at `start` was read, and no process is left that could read it. Waits for
    /// the readers to exit, within a limit.
    pub(crate) async fn is_unread(&self, start: u64) -> bool {
        let wait = async {
            loop {
                {
                    let _closing = PipeCloseGuard(self);
                    let end = self.end.lock().await;
                    let Some(stdin) = &end.stdin else {
                        return end.read.is_some_and(|read| read <= start);
                    };
                    let read = count_read(stdin, end.total);
                    if read.is_final || read.bytes > start {
                        return read.bytes <= start;
                    }
                }
                tokio::time::sleep(READERS_POLL_INTERVAL).await;
            }
        };
        tokio::time::timeout(READERS_EXIT_LIMIT, wait).await.unwrap_or(false)
    }

    /// Returns a token that is cancelled when the pipe is to close: by [`StdinPipe::close`], or when it is dropped.
    pub(crate) fn closing_token(&self) -> CancellationToken {
        self.closing.clone()
    }

    /// Closes the pipe: the child reads the bytes written so far, then the end of input. Senders that still wait fail.
    pub(crate) fn close(&self) {
        self.closing.cancel();
        self.close_unless_busy();
    }

    fn close_unless_busy(&self) {
        if let Ok(mut end) = self.end.try_lock() {
            end.close();
        }
    }
}

impl Drop for StdinPipe {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

/// Closes the pipe on drop if `close` was called while the lock on `end` was held. It must outlive that lock. Every waiter
/// for the lock needs one, because the lock is handed directly from holder to waiter.
struct PipeCloseGuard<'a>(&'a StdinPipe);

impl Drop for PipeCloseGuard<'_> {
    fn drop(&mut self) {
        if self.0.closing.is_cancelled() {
            self.0.close_unless_busy();
        }
    }
}
