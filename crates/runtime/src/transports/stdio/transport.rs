//! Implements the SDK's transport over lines.
//!
//! [`LineTransport::receive`] replies to invalid lines itself, and ends only when every call has been answered:
//!
//! ```text
//!            line ──► message ──► session
//!              └────► fault ────► reply, then the next line
//!  end, stop ──► drain: wait for the calls in flight ──► None
//! ```

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use contract::json::has_reserved_key;
use futures::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::super::MAX_MESSAGE_BYTES;
use super::super::mcp::McpService;
use super::super::verbatim;
use super::direct::{DirectCalls, OpenCall};
use super::line_reader::{InputLine, StdioLineReader};
use super::message::{self, MessageFault};
use super::pending_requests::PendingRequests;

/// A transport that reads and writes one message per line.
pub(super) struct LineTransport<R, W> {
    lines: StdioLineReader<R>,
    output: Arc<Mutex<W>>,
    pending: Arc<PendingRequests>,
    direct: DirectCalls,
    /// The reply to an invalid line while it is being written. Stored here because the future of `receive` may be
    /// dropped at any time.
    pending_reply: Option<BoxFuture<'static, io::Result<()>>>,
    stop: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Set once the session has begun.
    open: Arc<AtomicBool>,
    /// Cancelled once reading has ended.
    ended: CancellationToken,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new(
        service: McpService,
        input: R,
        output: W,
        stop: CancellationToken,
        open: Arc<AtomicBool>,
    ) -> Self {
        let pending = Arc::<PendingRequests>::default();
        Self {
            lines: StdioLineReader::new(input, MAX_MESSAGE_BYTES),
            output: Arc::new(Mutex::new(output)),
            direct: DirectCalls::new(service, Arc::clone(&pending)),
            pending,
            pending_reply: None,
            stop: Box::pin(stop.cancelled_owned()),
            open,
            ended: CancellationToken::new(),
        }
    }

    /// Returns a token that is cancelled once reading has ended, to end requests that would stay open forever.
    pub(super) fn end_token(&self) -> CancellationToken {
        self.ended.clone()
    }

    /// Returns the next message or fault, or `None` once reading has ended. Starts the calls that do not need the SDK.
    async fn read_message(&mut self) -> Option<Result<RxJsonRpcMessage<RoleServer>, MessageFault>> {
        loop {
            let line = tokio::select! {
                biased;
                () = &mut self.stop => return None,
                line = self.lines.next_line() => line,
            };
            match line {
                Ok(InputLine::Whole(line)) if line.trim_ascii().is_empty() => {}
                Ok(InputLine::Whole(line)) if has_reserved_key(line) => {
                    return Some(Err(MessageFault::reserved_key()));
                }
                Ok(InputLine::Whole(line)) => {
                    let is_open = self.open.load(Ordering::Relaxed);
                    if let Some(call) = is_open.then(|| self.direct.prepare(line)).flatten() {
                        self.start_call(call);
                        // The calls of a fast client must not keep others from running.
                        tokio::task::coop::consume_budget().await;
                        continue;
                    }
                    if let Some(parsed) = message::parse_message(line).transpose() {
                        return Some(parsed);
                    }
                }
                Ok(InputLine::TooLong) => {
                    return Some(Err(MessageFault::too_long(MAX_MESSAGE_BYTES)));
                }
                Ok(InputLine::End) => return None,
                Err(error) => {
                    tracing::warn!(%error, "failed to read standard input");
                    return None;
                }
            }
        }
    }

    /// Runs a call in a task of its own, and writes its answer.
    fn start_call(&self, call: OpenCall) {
        let (output, pending) = (Arc::clone(&self.output), Arc::clone(&self.pending));
        let id = call.id().clone();
        tokio::spawn(async move {
            // A cancelled call has no answer, and is no longer pending.
            let Some(answer) = call.finish().await else { return };
            if let Err(error) = write_line(&output, answer).await {
                tracing::warn!(%error, "failed to write standard output");
            }
            pending.record_answered(&id);
        });
    }

    /// Starts writing the reply to an invalid line.
    fn start_reply(&mut self, fault: &MessageFault) {
        let output = Arc::clone(&self.output);
        let line = fault.to_reply();
        self.pending_reply = Some(Box::pin(async move { write_line(&output, line).await }));
    }

    /// Returns true for a message other than a request before the session has begun. The SDK fails on such a message,
    /// and the message needs no reply.
    fn is_before_handshake(&self, message: &RxJsonRpcMessage<RoleServer>) -> bool {
        !matches!(message, JsonRpcMessage::Request(_)) && !self.open.load(Ordering::Relaxed)
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        let pending = Arc::clone(&self.pending);
        let answers = pending.record_sending(&item);
        async move {
            let written = match serde_json::to_vec(&item) {
                Ok(line) => write_line(&output, verbatim::restore(&line).into_owned()).await,
                Err(error) => Err(error.into()),
            };
            if let Some(id) = answers {
                pending.record_answered(&id);
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(pending_reply) = &mut self.pending_reply {
                let written = pending_reply.await;
                self.pending_reply = None;
                if let Err(error) = written {
                    tracing::warn!(%error, "failed to write standard output");
                    self.ended.cancel();
                }
            }
            if self.ended.is_cancelled() {
                return self.pending.drain_pending().await;
            }
            match self.read_message().await {
                None => self.ended.cancel(),
                Some(Err(fault)) => {
                    tracing::debug!(?fault, "invalid line");
                    self.start_reply(&fault);
                }
                Some(Ok(message)) if self.is_before_handshake(&message) => {
                    tracing::debug!(?message, "ignored: the session has not begun");
                }
                Some(Ok(message)) => {
                    self.pending.record_received(&message);
                    self.direct.observe(&message);
                    return Some(message);
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.shutdown().await
    }
}

/// Writes one line and flushes it.
async fn write_line<W: AsyncWrite + Unpin>(output: &Mutex<W>, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}
