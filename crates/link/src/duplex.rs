//! A connection on which messages go both ways over one stream: standard input and output, or legacy SSE.

mod pipe;

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::LinkError;
use crate::context::count;
use crate::envelope::{self, Message};
use crate::error::Fail;
use crate::flight::{Flight, Ticket};
use crate::session::{Request, aside};
use crate::sse::Post;

pub(crate) use pipe::Pipe;

/// A reader that has not noticed by then is not about to.
const READER_LIMIT: Duration = Duration::from_secs(1);

/// The way out. Only the session owns it: when the session goes, a child's standard input closes.
pub(crate) enum Outlet {
    Pipe(Pipe),
    Post(Post),
}

impl Outlet {
    /// Sends one message. Returns its offset if it went into a pipe.
    pub(crate) async fn send(&self, message: Vec<u8>) -> Result<Option<u64>, Fail> {
        match self {
            Self::Pipe(pipe) => pipe.send(message).await.map(Some),
            Self::Post(post) => post.send(message).await.map(|()| None),
        }
    }

    pub(crate) fn close(&self) {
        match self {
            Self::Pipe(pipe) => pipe.close(),
            Self::Post(post) => post.close(),
        }
    }
}

pub(crate) struct Duplex {
    pub(crate) flight: Arc<Flight>,
    pub(crate) outlet: Arc<Outlet>,
}

impl Duplex {
    pub(crate) async fn request(&self, request: Request<'_>) -> Result<Box<RawValue>, Fail> {
        let (reply, answer) = oneshot::channel();
        let ticket =
            self.flight.enter(request.id, request.listener, Some(reply)).map_err(Fail::Unsent)?;
        let mut waiting = Waiting { ticket, outlet: &self.outlet, cancel: request.cancel };
        let sent = self.outlet.send(request.body).await;
        let start = match sent {
            Ok(start) => start,
            Err(fail) => {
                waiting.cancel = false;
                return Err(match (fail, self.reason().await) {
                    (Fail::Unsent(_), Some(reason)) => Fail::Unsent(reason),
                    (Fail::Final(_), Some(reason)) => Fail::Final(reason.after_sending()),
                    (fail, _) => fail,
                });
            }
        };
        let answer = answer.await;
        waiting.cancel = false;
        let error = match answer {
            Ok(Ok(reply)) => return Ok(reply),
            Ok(Err(error)) => error,
            Err(_) => LinkError::Closed.after_sending(),
        };
        Err(if self.is_unread(&error, start).await {
            Fail::Unsent(error)
        } else {
            Fail::Final(error)
        })
    }

    /// Returns whether the connection ended and the request at `start` stayed unread in the child's pipe. That is the case if
    /// the child had exited before the request was written, whenever we noticed.
    async fn is_unread(&self, error: &LinkError, start: Option<u64>) -> bool {
        match (&*self.outlet, start, error) {
            (Outlet::Pipe(pipe), Some(start), LinkError::Unavailable { .. }) => {
                pipe.is_unread(start).await
            }
            _ => false,
        }
    }
}

impl Duplex {
    /// Why the connection ended, which the reader knows better than the writer: a child that is gone has left last words.
    async fn reason(&self) -> Option<LinkError> {
        if matches!(&*self.outlet, Outlet::Pipe(pipe) if pipe.is_closed()) {
            let mut closed = self.flight.watch_closed();
            let _ = tokio::time::timeout(READER_LIMIT, closed.wait_for(Option::is_some)).await;
        }
        self.flight.closed_by()
    }
}

impl Drop for Duplex {
    /// A reply that a server does not read holds the way out; it must not outlive an attempt that was given up.
    fn drop(&mut self) {
        self.flight.close(&LinkError::Closed);
        self.outlet.close();
    }
}

/// Dropped while it waits, it tells the server that nobody does any more.
struct Waiting<'a> {
    ticket: Ticket,
    outlet: &'a Arc<Outlet>,
    cancel: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.cancel {
            let (outlet, id) = (self.outlet.clone(), self.ticket.id);
            aside(async move { outlet.send(envelope::cancelled(id)).await });
        }
    }
}

/// One message that came in. The way out is weak, so that a reader keeps no session alive.
pub(crate) fn receive(flight: &Arc<Flight>, outlet: &Weak<Outlet>, text: &[u8]) {
    match envelope::read(text) {
        Some(Message::Answer { id, outcome }) => flight.answer(id, &outcome),
        Some(Message::Note { method, params }) => flight.note(&method, params, None),
        Some(Message::Request(question)) => {
            let outlet = outlet.clone();
            flight.ask(question, None, async move |reply| {
                if let Some(outlet) = outlet.upgrade() {
                    let _ = outlet.send(reply).await;
                }
            });
        }
        None if text.trim_ascii().is_empty() => {}
        None => {
            count(&flight.context.garbage);
            tracing::debug!(
                server = flight.context.name,
                bytes = text.len(),
                "skipped output that is not JSON-RPC"
            );
        }
    }
}
