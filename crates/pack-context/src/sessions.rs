//! Sessions: records searches and file reads per caller.
//!
//! Later searches can find a session, and files that were read recently rank higher.
//!
//! A session belongs to its principal: no other one reads it or finds it.
//!
//! A session is a client's connection, or a handle that the client passes ([`Caller::session`]). Without either, it is
//! all activity of one principal's client without a pause of 30 minutes. Session ids are digests, because a connection
//! handle grants access to the connection and must not be shown.
//!
//! Recording never blocks: events go into a queue, and a thread writes them to the store in batches (`recorder.rs`).
//! Reading a session flushes the queue first, so callers see their own activity. `recency.rs` computes the scores that
//! ranking uses, and `text.rs` renders a session as text. The store is opened on first use (`lazy_store.rs`).

mod lazy_store;
mod recency;
mod recorder;
mod text;

use std::collections::HashMap;
use std::sync::Arc;

use contract::Caller;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use store::context::{SessionAction, SessionEvent, SessionKey, SessionRecord};
use store::{Clock, ContextStore, system_clock};

pub(crate) use self::lazy_store::LazyContextStore;
pub(crate) use self::recency::FileRecency;
use self::recorder::SessionRecorder;
pub(crate) use self::text::{SessionText, extract_topics};
use crate::discover::digest_id;

/// Pause after which a client without a session handle starts a new session.
const IDLE_TIMEOUT: SignedDuration = SignedDuration::from_mins(30);
/// Maximum characters recorded of a query.
const MAX_QUERY_CHARACTERS: usize = 500;
/// Prefix of ids of sessions without a handle; the letter is not in the digest alphabet.
const UNNAMED_PREFIX: char = 'u';
/// Maximum clients without a handle that are tracked; above it, all of them start new sessions.
const MAX_IDLE_CLIENTS: usize = 1_000;

/// Records and reads the sessions of one project. Dropping it flushes the queue.
pub(crate) struct SessionTracker {
    store: Arc<LazyContextStore>,
    recorder: SessionRecorder,
    clock: Clock,
    /// Running sessions of clients without a handle, by principal and client.
    unnamed: Mutex<HashMap<(String, String), UnnamedSession>>,
    recency: FileRecency,
}

/// The running session of a client without a handle.
struct UnnamedSession {
    id: String,
    seen: Timestamp,
}

impl SessionTracker {
    pub(crate) fn new(store: Arc<LazyContextStore>) -> Self {
        Self::with_clock(store, system_clock())
    }

    pub(crate) fn with_clock(store: Arc<LazyContextStore>, clock: Clock) -> Self {
        Self {
            recorder: SessionRecorder::new(Arc::clone(&store)),
            recency: FileRecency::new(Arc::clone(&store)),
            unnamed: Mutex::default(),
            store,
            clock,
        }
    }

    /// Records that the caller read a file.
    pub(crate) fn record_read(&self, caller: &Caller, path: &str) {
        let at = (self.clock)();
        let session = self.session_key(caller, at);
        self.recency.record_read(path, at, &session.id);
        self.recorder.record_event(SessionEvent {
            session,
            at,
            action: SessionAction::Read { path: path.to_owned() },
        });
    }

    /// Records a search; no-op if the query contains a recognizable secret.
    pub(crate) fn record_search(&self, caller: &Caller, query: &str, results: usize) {
        if secrets::find_secret(query).is_some() {
            return;
        }
        let at = (self.clock)();
        let query = query.chars().take(MAX_QUERY_CHARACTERS).collect();
        let what = SessionAction::Search { query, results: results as u64 };
        self.recorder.record_event(SessionEvent {
            session: self.session_key(caller, at),
            at,
            action: what,
        });
    }

    /// Returns the id of the caller's session.
    pub(crate) fn session_id(&self, caller: &Caller) -> String {
        self.session_key(caller, (self.clock)()).id
    }

    /// Returns the caller's session, or `None` before its first recorded event.
    pub(crate) fn current_session(&self, caller: &Caller) -> Option<SessionRecord> {
        let id = self.session_id(caller);
        self.recorder.flush();
        self.store.with_existing_store(|store| store.find_session(&id)).flatten()
    }

    /// Returns the most recent sessions of the caller's principal, newest first.
    pub(crate) fn recent_sessions(&self, caller: &Caller, limit: usize) -> Vec<SessionRecord> {
        self.recorder.flush();
        let list = |store: &ContextStore| store.list_sessions(Some(&caller.principal), limit);
        self.store.with_existing_store(list).unwrap_or_default()
    }

    /// Returns the sessions of all principals as searchable texts, newest first. A search must leave out those of other
    /// principals.
    pub(crate) fn session_texts(
        &self,
        module_of: impl Fn(&str) -> Option<String>,
    ) -> Vec<SessionText> {
        self.recorder.flush();
        let list = |store: &ContextStore| store.list_sessions(None, store::context::MAX_SESSIONS);
        let sessions = self.store.with_existing_store(list).unwrap_or_default();
        sessions.iter().map(|session| SessionText::from_session(session, &module_of)).collect()
    }

    /// Returns a counter that grows whenever any process records an event.
    ///
    /// A new value means that [`SessionTracker::session_texts`] may have changed.
    pub(crate) fn generation(&self) -> i64 {
        self.store.with_existing_store(store::ContextStore::activity_generation).unwrap_or_default()
    }

    /// Returns the recency scores of files.
    pub(crate) fn recency(&self) -> &FileRecency {
        &self.recency
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    /// Waits until everything recorded so far is in the store.
    #[cfg(test)]
    pub(crate) fn flush(&self) {
        self.recorder.flush();
    }

    fn session_key(&self, caller: &Caller, now: Timestamp) -> SessionKey {
        let principal = caller.principal.to_string();
        let client = caller.client.as_deref().map(str::to_owned);
        let id = match &caller.session {
            // The id includes the principal, so that knowing another principal's handle does not join its session.
            Some(handle) => digest_id(&["session", &principal, handle]),
            None => {
                self.resume_unnamed_session(&principal, client.as_deref().unwrap_or_default(), now)
            }
        };
        SessionKey { id, principal, client }
    }

    /// Returns the id of the running session of a client without a handle, or of a new one.
    ///
    /// A session may have been started by an earlier process.
    fn resume_unnamed_session(&self, principal: &str, client: &str, now: Timestamp) -> String {
        let new_id = |at: Timestamp| {
            let time = at.as_millisecond().to_string();
            format!("{UNNAMED_PREFIX}{}", digest_id(&["unnamed session", principal, client, &time]))
        };
        let is_running = |seen: Timestamp| now.duration_since(seen) < IDLE_TIMEOUT;
        let mut unnamed = self.unnamed.lock();
        if unnamed.len() > MAX_IDLE_CLIENTS {
            unnamed.clear();
        }
        let key = (principal.to_owned(), client.to_owned());
        let id = match unnamed.get(&key) {
            Some(running) => is_running(running.seen).then(|| running.id.clone()),
            None => {
                let named = (!client.is_empty()).then_some(client);
                let last = self
                    .store
                    .with_existing_store(|store| store.find_last_session(principal, named))
                    .flatten();
                last.filter(|last| {
                    last.key.id.starts_with(UNNAMED_PREFIX) && is_running(last.seen_at)
                })
                .map(|last| last.key.id)
            }
        };
        let id = id.unwrap_or_else(|| new_id(now));
        unnamed.insert(key, UnnamedSession { id: id.clone(), seen: now });
        id
    }
}

#[cfg(test)]
mod tests;
