//! The SDK's transport over lines.
//!
//! [`LineTransport::receive`] answers by itself what is no message, and ends only when every call has its answer:
//!
//! ```text
//!            line ──► message ──► session
//!              └────► fault ────► reply, and on with the next line
//!  end, stop ──► wind up: wait for the calls in flight ──► None
//! ```

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::super::MAX_MESSAGE_BYTES;
use super::super::verbatim;
use super::ledger::Ledger;
use super::lines::{Line, Lines};
use super::message::{self, Fault};

pub(super) struct LineTransport<R, W> {
    lines: Lines<R>,
    output: Arc<Mutex<W>>,
    ledger: Arc<Ledger>,
    /// A reply of our own on its way out. Here and not in `receive`, which is dropped whenever the session has something
    /// else to do.
    replying: Option<BoxFuture<'static, io::Result<()>>>,
    stop: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Set once the session has begun.
    open: Arc<AtomicBool>,
    /// Cancelled once nothing more is read.
    ended: CancellationToken,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new(input: R, output: W, stop: CancellationToken, open: Arc<AtomicBool>) -> Self {
        Self {
            lines: Lines::new(input, MAX_MESSAGE_BYTES),
            output: Arc::new(Mutex::new(output)),
            ledger: Arc::default(),
            replying: None,
            stop: Box::pin(stop.cancelled_owned()),
            open,
            ended: CancellationToken::new(),
        }
    }

    /// Cancelled when nothing more is read: requests that would stay open for ever are answered then.
    pub(super) fn closing(&self) -> CancellationToken {
        self.ended.clone()
    }

    /// The next line that says something; None when nothing more is to be read.
    async fn hear(&mut self) -> Option<Result<RxJsonRpcMessage<RoleServer>, Fault>> {
        loop {
            let line = tokio::select! {
                biased;
                () = &mut self.stop => return None,
                line = self.lines.next() => line,
            };
            match line {
                Ok(Line::Whole(line)) if line.trim_ascii().is_empty() => {}
                Ok(Line::Whole(line)) => {
                    if let Some(heard) = message::parse(line).transpose() {
                        return Some(heard);
                    }
                }
                Ok(Line::TooLong) => return Some(Err(Fault::too_long(MAX_MESSAGE_BYTES))),
                Ok(Line::End) => return None,
                Err(error) => {
                    tracing::warn!(%error, "standard input cannot be read any more");
                    return None;
                }
            }
        }
    }

    fn reply(&mut self, fault: &Fault) {
        let output = Arc::clone(&self.output);
        let line = fault.reply();
        self.replying = Some(Box::pin(async move { write(&output, line).await }));
    }

    /// The SDK gives up where a session begins with anything but a request; the rest can wait for nobody's answer.
    fn is_early(&self, message: &RxJsonRpcMessage<RoleServer>) -> bool {
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
        let ledger = Arc::clone(&self.ledger);
        let answers = ledger.sending(&item);
        async move {
            let written = match serde_json::to_vec(&item) {
                Ok(line) => write(&output, verbatim::restore(&line).into_owned()).await,
                Err(error) => Err(error.into()),
            };
            if let Some(id) = answers {
                ledger.answered(&id);
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(replying) = &mut self.replying {
                let written = replying.await;
                self.replying = None;
                if let Err(error) = written {
                    tracing::warn!(%error, "standard output cannot be written any more");
                    self.ended.cancel();
                }
            }
            if self.ended.is_cancelled() {
                return self.ledger.wind_up().await;
            }
            match self.hear().await {
                None => self.ended.cancel(),
                Some(Err(fault)) => {
                    tracing::debug!(?fault, "a line that is no message");
                    self.reply(&fault);
                }
                Some(Ok(message)) if self.is_early(&message) => {
                    tracing::debug!(?message, "ignored: the session has not begun");
                }
                Some(Ok(message)) => {
                    self.ledger.received(&message);
                    return Some(message);
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.shutdown().await
    }
}

/// Writes one line, whole and at once.
async fn write<W: AsyncWrite + Unpin>(output: &Mutex<W>, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}
