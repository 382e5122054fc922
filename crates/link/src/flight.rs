//! The calls that wait for an answer, and the way from a message to the call it concerns.
//!
//! An answer is handed to the call with its id and to no other; what fits no call is counted and dropped.

mod asks;

use std::collections::HashMap;
use std::sync::Arc;

use contract::Progress;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{oneshot, watch};

use crate::context::{Context, count};
use crate::envelope::{Fault, Outcome};
use crate::{Abilities, Asker, LinkError, ProgressSink, scan};

use asks::Ask;

const SHOWN_MESSAGE: usize = 1000;

pub(crate) type Reply = Result<Box<RawValue>, LinkError>;

/// What of a call a server can reach while it runs.
#[derive(Clone, Default)]
pub(crate) struct Listener {
    pub(crate) progress: Option<ProgressSink>,
    pub(crate) asker: Option<Arc<dyn Asker>>,
    pub(crate) abilities: Abilities,
}

struct Entry {
    /// None where the answer comes back another way (over HTTP on the request itself).
    reply: Option<oneshot::Sender<Reply>>,
    listener: Listener,
}

pub(crate) struct Flight {
    pub(crate) context: Arc<Context>,
    calls: Mutex<HashMap<u64, Entry>>,
    /// Locked before `calls`, where both are.
    asks: Mutex<Vec<Ask>>,
    closed: watch::Sender<Option<LinkError>>,
}

impl Flight {
    pub(crate) fn new(context: Arc<Context>) -> Arc<Self> {
        let closed = watch::channel(None).0;
        Arc::new(Self { context, calls: Mutex::default(), asks: Mutex::default(), closed })
    }

    /// Err: the connection is over, nothing was sent.
    pub(crate) fn enter(
        self: &Arc<Self>,
        id: u64,
        listener: Listener,
        reply: Option<oneshot::Sender<Reply>>,
    ) -> Result<Ticket, LinkError> {
        let mut calls = self.calls.lock();
        // Looked at under the lock: `close` empties the map under it.
        if let Some(reason) = self.closed_by() {
            return Err(reason);
        }
        calls.insert(id, Entry { reply, listener });
        Ok(Ticket { flight: self.clone(), id })
    }

    fn is_closed(&self) -> bool {
        self.closed.borrow().is_some()
    }

    pub(crate) fn closed_by(&self) -> Option<LinkError> {
        self.closed.borrow().clone()
    }

    pub(crate) fn watch_closed(&self) -> watch::Receiver<Option<LinkError>> {
        self.closed.subscribe()
    }

    /// Ends every call in flight and refuses new ones. The first reason stays. Whoever waits for a reply has sent its
    /// request: why the connection ended says nothing of whether that ran.
    pub(crate) fn close(&self, reason: &LinkError) {
        let mut calls = self.calls.lock();
        self.closed.send_if_modified(|closed| {
            let first = closed.is_none();
            if first {
                *closed = Some(reason.clone());
            }
            first
        });
        let open = std::mem::take(&mut *calls);
        drop(calls);
        for (_, entry) in open {
            if let Some(reply) = entry.reply {
                let _ = reply.send(Err(reason.after_sending()));
            }
        }
        self.end_all_asks();
    }

    /// An answer that came over the shared connection.
    pub(crate) fn answer(&self, id: Option<u64>, outcome: &Outcome<'_>) {
        let reply = id.and_then(|id| self.calls.lock().get_mut(&id)?.reply.take());
        match reply {
            Some(reply) => {
                let _ = reply.send(self.outcome(outcome));
            }
            None => {
                count(&self.context.stray_answers);
                tracing::debug!(server = self.context.name, "ignored an answer to no open call");
            }
        }
    }

    pub(crate) fn outcome(&self, outcome: &Outcome<'_>) -> Reply {
        match outcome {
            Outcome::Result(result) => Ok((*result).to_owned()),
            Outcome::Error(error) => Err(self.fault(error)),
            Outcome::Nothing => {
                Err(LinkError::malformed("an answer needs either a result or an error"))
            }
        }
    }

    fn fault(&self, error: &RawValue) -> LinkError {
        let parsed = scan::check_depth(error.get(), self.context.bounds.max_depth).and_then(|()| {
            serde_json::from_str::<Fault>(error.get())
                .map_err(|_| LinkError::malformed("an error needs a code and a message"))
        });
        match parsed {
            Ok(Fault { code, message }) => {
                LinkError::Rejected { code, message: self.context.shown(&message, SHOWN_MESSAGE) }
            }
            Err(error) => error,
        }
    }

    /// A message was over the limit: its call fails, or every call that it could have been for.
    pub(crate) fn oversized(&self, size: usize, id: Option<u64>) {
        count(&self.context.oversized);
        let limit = self.context.bounds.max_message_bytes;
        tracing::warn!(server = self.context.name, size, limit, "skipped a message over the limit");
        let mut calls = self.calls.lock();
        for (call, entry) in calls.iter_mut() {
            if id.is_none_or(|id| id == *call)
                && let Some(reply) = entry.reply.take()
            {
                let _ = reply.send(Err(LinkError::TooLarge { size, limit }));
            }
        }
    }

    /// A notification: progress of a call, a changed list, or a question withdrawn. `stream_of` as in [`Flight::ask`].
    pub(crate) fn note(&self, method: &str, params: Option<&RawValue>, stream_of: Option<u64>) {
        match method {
            "notifications/tools/list_changed" => self.context.note_change(),
            "notifications/progress" => self.progress(params),
            "notifications/cancelled" => {
                if let Some(note) = self.parse::<Withdrawn>(params) {
                    self.withdraw(&note.request_id.to_string(), stream_of);
                }
            }
            _ => {}
        }
    }

    fn parse<'a, T: Deserialize<'a>>(&self, params: Option<&'a RawValue>) -> Option<T> {
        let text = params?.get();
        scan::check_depth(text, self.context.bounds.max_depth).ok()?;
        serde_json::from_str(text).ok()
    }

    fn progress(&self, params: Option<&RawValue>) {
        let Some(note) = self.parse::<ProgressNote>(params) else { return };
        let id = match &note.progress_token {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        let sink = id.and_then(|id| self.calls.lock().get(&id)?.listener.progress.clone());
        if let Some(sink) = sink {
            let message = note.message.map(|text| self.context.shown(&text, SHOWN_MESSAGE));
            sink(Progress { done: note.progress, total: note.total, message });
        }
    }

    fn leave(&self, id: u64) {
        self.calls.lock().remove(&id);
        self.end_asks_of(id);
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ProgressNote {
    progress_token: Value,
    progress: f64,
    total: Option<f64>,
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Withdrawn {
    request_id: Value,
}

/// A call's place among those in flight; dropping it gives the place up.
pub(crate) struct Ticket {
    flight: Arc<Flight>,
    pub(crate) id: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.flight.leave(self.id);
    }
}
