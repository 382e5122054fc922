//! Watching documents: a client hears that one has changed, and reads it again if it likes.
//!
//! Nobody pushes. Twice a second the provider is asked how the watched documents are ([`contract::Resources::changes`]), so
//! however often one changes, a client hears of it no more often than that, and nothing has to be unhooked when it goes.
//! Clients of the handshake revisions subscribe to one document after the other ([`Watching`]); since 2026-07-28 a client
//! keeps a request open that names them all ([`Watching::listen`]).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, SubscriptionContext};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::documents::Documents;
use crate::pipeline::Pipeline;

/// How often the documents are looked at.
const PACE: Duration = Duration::from_millis(500);
/// Documents that one client watches at once.
const MAX_WATCHED: usize = 64;
/// A client over HTTP that has asked for nothing for so long is gone: what it is told would keep its session for ever.
const SILENCE: Duration = Duration::from_secs(30 * 60);

/// Documents by address, each with its number when somebody last looked.
type Seen = BTreeMap<String, u64>;

/// What the client of one session watches. What runs for it ends with it.
pub(super) struct Watching {
    state: Mutex<State>,
    ended: CancellationToken,
    _ends_with_it: DropGuard,
}

struct State {
    seen: Seen,
    /// How the documents were that a request was told it may listen for, until it does.
    offered: Seen,
    is_running: bool,
    heard: Instant,
}

/// Where updates go, and how the client is reached.
pub(super) struct Line {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) peer: Peer<RoleServer>,
    /// The server ends.
    pub(super) closing: CancellationToken,
    /// Nobody notices by the connection that the client has gone.
    pub(super) is_http: bool,
}

impl Watching {
    pub(super) fn new() -> Arc<Self> {
        let ended = CancellationToken::new();
        let state = State {
            seen: Seen::new(),
            offered: Seen::new(),
            is_running: false,
            heard: Instant::now(),
        };
        let guard = ended.clone().drop_guard();
        Arc::new(Self { state: Mutex::new(state), ended, _ends_with_it: guard })
    }

    /// The client is there.
    pub(super) fn heard(&self) {
        self.state().heard = Instant::now();
    }

    /// Watches one more document, which is `number` now.
    pub(super) fn add(
        self: &Arc<Self>,
        uri: String,
        number: u64,
        line: Line,
    ) -> Result<(), ErrorData> {
        let mut state = self.state();
        if state.seen.len() >= MAX_WATCHED && !state.seen.contains_key(&uri) {
            let rule = format!(
                "a client watches at most {MAX_WATCHED} resources at once; unsubscribe from one first"
            );
            return Err(ErrorData::invalid_params(rule, None));
        }
        state.seen.insert(uri, number);
        state.heard = Instant::now();
        if !std::mem::replace(&mut state.is_running, true) {
            tokio::spawn(tell(Arc::downgrade(self), self.ended.clone(), line));
        }
        Ok(())
    }

    pub(super) fn remove(&self, uri: &str) {
        self.state().seen.remove(uri);
    }

    /// What of a request to listen can be heard of.
    pub(super) fn offer(
        &self,
        documents: &Documents,
        requested: &SubscriptionFilter,
    ) -> SubscriptionFilter {
        let uris = requested.resource_subscriptions.iter().flatten();
        let known = uris.filter_map(|uri| Some((uri.clone(), documents.changes(uri)?)));
        let offered: Seen = known.take(MAX_WATCHED).collect();
        let filter = SubscriptionFilter::builder().resource_subscriptions(offered.keys()).build();
        self.state().offered = offered;
        filter
    }

    /// Tells of changes since the offer until the client has enough of it, or the server ends.
    pub(super) async fn listen(
        &self,
        documents: Option<&Documents>,
        context: &SubscriptionContext,
        closing: &CancellationToken,
    ) {
        let Some(documents) = documents else { return };
        let accepted = context.accepted().resource_subscriptions.iter().flatten();
        let mut seen: Seen = {
            let offered = &self.state().offered;
            let number =
                |uri: &String| offered.get(uri).copied().or_else(|| documents.changes(uri));
            accepted.filter_map(|uri| Some((uri.clone(), number(uri)?))).collect()
        };
        loop {
            tokio::select! {
                biased;
                () = context.cancelled() => return,
                () = closing.cancelled() => return,
                () = tokio::time::sleep(PACE) => {}
            }
            for uri in changed(&mut seen, documents) {
                if context.sink().notify_resource_updated(uri).await.is_err() {
                    return;
                }
            }
        }
    }

    /// What has changed since the last look; None when nobody watches any more.
    fn look(&self, documents: &Documents, is_http: bool) -> Option<Vec<String>> {
        let mut state = self.state();
        if is_http && state.heard.elapsed() > SILENCE {
            state.seen.clear();
        }
        if state.seen.is_empty() {
            state.is_running = false;
            return None;
        }
        Some(changed(&mut state.seen, documents))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each step leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the client of a session what has changed. It keeps nothing of the session alive.
async fn tell(watching: Weak<Watching>, ended: CancellationToken, line: Line) {
    let Some(documents) = line.pipeline.catalog().documents() else { return };
    loop {
        tokio::select! {
            biased;
            () = ended.cancelled() => return,
            () = line.closing.cancelled() => return,
            () = tokio::time::sleep(PACE) => {}
        }
        let changed = watching.upgrade().and_then(|it| it.look(documents, line.is_http));
        let Some(changed) = changed else { return };
        for uri in changed {
            let update = ResourceUpdatedNotificationParam::new(uri);
            if line.peer.notify_resource_updated(update).await.is_err() {
                return;
            }
        }
    }
}

/// The documents that are no longer as they were seen. One that is gone keeps its place: it may come back.
fn changed(seen: &mut Seen, documents: &Documents) -> Vec<String> {
    let mut changed = Vec::new();
    for (uri, number) in seen {
        if let Some(now) = documents.changes(uri)
            && std::mem::replace(number, now) != now
        {
            changed.push(uri.clone());
        }
    }
    changed
}
