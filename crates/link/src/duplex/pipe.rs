//! A child's standard input. Each sender writes in its own task; a message is never torn, even when its sender is dropped
//! half way: what is left of it stays queued, and the next sender writes it first.
//!
//! A pipe also knows how much of what was written was read ([`Pipe::is_unread`]). The supervisor holds the child's end of the
//! pipe, so a write succeeds even after the child has exited. Its bytes then stay in the pipe, where the kernel counts them.

use std::time::Duration;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio_util::sync::CancellationToken;

use crate::LinkError;
use crate::error::Fail;

/// Longer than the supervisor takes to end all processes of a server that has exited.
const READERS_END: Duration = Duration::from_secs(3);
const READERS_POLL: Duration = Duration::from_millis(5);

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
    /// Bytes that were read before the last reader was gone. Set when `stdin` is dropped, if no reader was left then.
    read: Option<u64>,
}

impl End {
    /// Closes standard input, and keeps the final count of bytes read if there is one.
    fn close(&mut self) {
        if let Some(stdin) = self.stdin.take() {
            self.read = count_read(&stdin, self.total).final_count();
        }
    }
}

/// Bytes of a pipe that were read so far.
struct ReadCount {
    bytes: u64,
    /// The pipe has no reader any more, so `bytes` stays as it is.
    is_final: bool,
}

impl ReadCount {
    fn final_count(&self) -> Option<u64> {
        self.is_final.then_some(self.bytes)
    }
}

/// Returns how many of the `written` bytes were read. If the kernel does not say, all of them count as read.
fn count_read(stdin: &ChildStdin, written: u64) -> ReadCount {
    let mut fds = [PollFd::new(stdin, PollFlags::empty())];
    let polled = poll(&mut fds, Some(&Timespec::default()));
    // POLLERR on the writing end of a pipe: no reader is left. Asked before the count, which is final from then on.
    let is_final = polled.is_ok() && fds[0].revents().contains(PollFlags::ERR);
    let unread = rustix::io::ioctl_fionread(stdin).unwrap_or(0);
    ReadCount { bytes: written.saturating_sub(unread), is_final }
}

impl Pipe {
    pub(crate) fn new(stdin: ChildStdin) -> Self {
        let end = End { stdin: Some(stdin), current: Vec::new(), at: 0, total: 0, read: None };
        let end = tokio::sync::Mutex::new(end);
        Self { queue: Mutex::default(), end, closing: CancellationToken::new() }
    }

    /// Whether nobody reads at the other end, or nobody shall. False while somebody writes.
    pub(crate) fn is_closed(&self) -> bool {
        self.end.try_lock().is_ok_and(|end| end.stdin.is_none())
    }

    /// Writes one line. Returns its offset in all that was ever sent, for [`Pipe::is_unread`].
    pub(crate) async fn send(&self, mut message: Vec<u8>) -> Result<u64, Fail> {
        message.push(b'\n');
        self.send_bytes(message).await
    }

    pub(crate) async fn send_bytes(&self, message: Vec<u8>) -> Result<u64, Fail> {
        let start = {
            let mut queue = self.queue.lock();
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
                end.current = std::mem::take(&mut self.queue.lock().bytes);
                if end.current.is_empty() {
                    return Ok(start);
                }
            }
            // `write` is safe to drop: until it returns nothing was written.
            let End { stdin, current, at, total, .. } = &mut *end;
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
                    let error = LinkError::Unavailable {
                        reason: "its standard input is closed".to_owned(),
                        may_have_run: !untouched,
                    };
                    return Err(if untouched { Fail::Unsent(error) } else { Fail::Final(error) });
                }
            }
        }
    }

    /// Returns whether no byte of the message at `start` was read, and none can be read any more. Waits for the readers to
    /// end, within a limit; while there is one, it may still read the message.
    pub(crate) async fn is_unread(&self, start: u64) -> bool {
        let wait = async {
            loop {
                {
                    let _closing = Closing(self);
                    let end = self.end.lock().await;
                    let Some(stdin) = &end.stdin else {
                        return end.read.is_some_and(|read| read <= start);
                    };
                    let read = count_read(stdin, end.total);
                    if read.is_final || read.bytes > start {
                        return read.bytes <= start;
                    }
                }
                tokio::time::sleep(READERS_POLL).await;
            }
        };
        tokio::time::timeout(READERS_END, wait).await.unwrap_or(false)
    }

    /// The child reads to the end of what was written, then the end of input. A sender that still waits gives up.
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

/// Outlives the lock on `end`: if `close` came while that was held, its holder closes, even one that is dropped. Everything that
/// waits for the lock needs one, because the lock is handed from holder to waiter.
struct Closing<'a>(&'a Pipe);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        if self.0.closing.is_cancelled() {
            self.0.close_unless_busy();
        }
    }
}
