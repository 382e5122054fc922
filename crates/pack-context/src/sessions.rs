//! Sessions: who asked for what. What was searched for and read is remembered, so that a later search finds the session
//! and ranks the files higher that people work on.
//!
//! A session is a client's connection, or a handle that the client gives ([`Caller::session`]); where there is neither,
//! all that one principal's client does without a pause of half an hour. Its id is a digest: the handle of a connection
//! is as good as a key to it, and is shown to nobody.
//!
//! Recording never waits: events go into a queue, and a thread writes them to the store in batches (`recorder.rs`).
//! Reading a session first lets the queue run empty, so everybody sees what they did. `warmth.rs` is what ranking uses,
//! `text.rs` a session as a text. The store is opened by the first use and not before (`kept.rs`).

mod kept;
mod recorder;
mod text;
mod warmth;

use std::collections::HashMap;
use std::sync::Arc;

use contract::Caller;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use store::context::{Event, Session, SessionKey, What};
use store::{Clock, system_clock};

pub(crate) use self::kept::Kept;
use self::recorder::Recorder;
pub(crate) use self::text::{SessionText, topics};
pub(crate) use self::warmth::Warmth;
use crate::discover::id_of;

/// After a pause this long, a client that names no session begins a new one.
const IDLE: SignedDuration = SignedDuration::from_mins(30);
/// A search that is recorded whole is at most this long; queries are bounded to less.
const MAX_QUERY_CHARACTERS: usize = 500;
/// Begins the ids of sessions that no handle names: a letter that a digest never begins with.
const UNNAMED: char = 'u';
/// Clients without a session that are remembered at once; more begin anew.
const MAX_IDLE_CLIENTS: usize = 1_000;

/// The sessions of one project. Dropping it writes what is still in the queue.
pub(crate) struct Sessions {
    kept: Arc<Kept>,
    recorder: Recorder,
    clock: Clock,
    /// By principal and client: the running session of those that name none.
    unnamed: Mutex<HashMap<(String, String), Running>>,
    warmth: Warmth,
}

struct Running {
    id: String,
    seen: Timestamp,
}

impl Sessions {
    pub(crate) fn new(kept: Arc<Kept>) -> Self {
        Self::with_clock(kept, system_clock())
    }

    pub(crate) fn with_clock(kept: Arc<Kept>, clock: Clock) -> Self {
        Self {
            recorder: Recorder::new(Arc::clone(&kept)),
            warmth: Warmth::new(Arc::clone(&kept)),
            unnamed: Mutex::default(),
            kept,
            clock,
        }
    }

    pub(crate) fn record_read(&self, caller: &Caller, path: &str) {
        let at = (self.clock)();
        let session = self.key_of(caller, at);
        self.warmth.read(path, at, &session.id);
        self.recorder.record(Event { session, at, what: What::Read { path: path.to_owned() } });
    }

    /// A query that holds a recognisable secret is not kept.
    pub(crate) fn record_search(&self, caller: &Caller, query: &str, results: usize) {
        if secrets::find(query).is_some() {
            return;
        }
        let at = (self.clock)();
        let query = query.chars().take(MAX_QUERY_CHARACTERS).collect();
        let what = What::Search { query, results: results as u64 };
        self.recorder.record(Event { session: self.key_of(caller, at), at, what });
    }

    /// The id of the session that the caller is in.
    pub(crate) fn id_of(&self, caller: &Caller) -> String {
        self.key_of(caller, (self.clock)()).id
    }

    /// The session that the caller is in; None before anything was done in it.
    pub(crate) fn current(&self, caller: &Caller) -> Option<Session> {
        let id = self.id_of(caller);
        self.recorder.flush();
        self.kept.ask(|store| store.session(&id)).flatten()
    }

    /// The last sessions of all callers, newest first.
    pub(crate) fn recent(&self, limit: usize) -> Vec<Session> {
        self.recorder.flush();
        self.kept.ask(|store| store.sessions(limit)).unwrap_or_default()
    }

    /// The sessions as texts that a search can find, newest first.
    pub(crate) fn documents(&self, module_of: impl Fn(&str) -> Option<String>) -> Vec<SessionText> {
        let sessions = self.recent(store::context::MAX_SESSIONS);
        sessions.iter().map(|session| SessionText::of(session, &module_of)).collect()
    }

    /// Grows whenever something was recorded, by whichever process: then [`Sessions::documents`] differ.
    pub(crate) fn generation(&self) -> i64 {
        self.kept.ask(store::ContextStore::activity).unwrap_or_default()
    }

    /// Which files people work on.
    pub(crate) fn warmth(&self) -> &Warmth {
        &self.warmth
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Waits until everything recorded so far is in the store.
    #[cfg(test)]
    pub(crate) fn flush(&self) {
        self.recorder.flush();
    }

    fn key_of(&self, caller: &Caller, now: Timestamp) -> SessionKey {
        let principal = caller.principal.to_string();
        let client = caller.client.as_deref().map(str::to_owned);
        let id = match &caller.session {
            // With the principal: who knows another's handle is not therefore in their session.
            Some(handle) => id_of(&["session", &principal, handle]),
            None => self.unnamed(&principal, client.as_deref().unwrap_or_default(), now),
        };
        SessionKey { id, principal, client }
    }

    /// The running session of a client that names none, here or in a process before; else a new one.
    fn unnamed(&self, principal: &str, client: &str, now: Timestamp) -> String {
        let begun = |at: Timestamp| {
            let time = at.as_millisecond().to_string();
            format!("{UNNAMED}{}", id_of(&["unnamed session", principal, client, &time]))
        };
        let goes_on = |seen: Timestamp| now.duration_since(seen) < IDLE;
        let mut unnamed = self.unnamed.lock();
        if unnamed.len() > MAX_IDLE_CLIENTS {
            unnamed.clear();
        }
        let key = (principal.to_owned(), client.to_owned());
        let id = match unnamed.get(&key) {
            Some(running) => goes_on(running.seen).then(|| running.id.clone()),
            None => {
                let named = (!client.is_empty()).then_some(client);
                let last = self.kept.ask(|store| store.last_session_of(principal, named)).flatten();
                last.filter(|last| last.key.id.starts_with(UNNAMED) && goes_on(last.seen_at))
                    .map(|last| last.key.id)
            }
        };
        let id = id.unwrap_or_else(|| begun(now));
        unnamed.insert(key, Running { id: id.clone(), seen: now });
        id
    }
}

#[cfg(test)]
mod tests;
