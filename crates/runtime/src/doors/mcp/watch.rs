//! Watching documents: a client hears that one has changed, and reads it again if it likes.
//!
//! Nobody pushes. Twice a second the provider is asked how the watched documents are ([`contract::Resources::changes`]), so
//! however often one changes, a client hears of it no more often than that, and nothing has to be unhooked when it goes.
//! Clients of the handshake revisions subscribe to one document after the other ([`Watching`]); since 2026-07-28 a client
//! keeps a request open that names them all ([`Watching::listen`]).
//!
//! That another catalog was published is told at once, and again no more often than documents are looked at.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, SubscriptionContext};
use tokio::sync::{Notify, watch};
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
    /// Woken when the client shows that it is there.
    awake: Arc<Notify>,
    ended: CancellationToken,
    _ends_with_it: DropGuard,
}

struct State {
    seen: Seen,
    /// How the documents were that a request was told it may listen for, until it does.
    offered: Seen,
    /// The same of the catalog.
    offered_lists: Option<watch::Receiver<u64>>,
    is_running: bool,
    /// How the catalog was when the session began; taken when the client is followed.
    began_with: Option<watch::Receiver<u64>>,
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
    pub(super) fn new(pipeline: &Pipeline) -> Arc<Self> {
        let ended = CancellationToken::new();
        let state = State {
            seen: Seen::new(),
            offered: Seen::new(),
            offered_lists: None,
            is_running: false,
            began_with: Some(pipeline.catalog_changes()),
            heard: Instant::now(),
        };
        let guard = ended.clone().drop_guard();
        let awake = Arc::default();
        Arc::new(Self { state: Mutex::new(state), awake, ended, _ends_with_it: guard })
    }

    /// The client is there.
    pub(super) fn heard(&self) {
        self.state.lock().heard = Instant::now();
        self.awake.notify_waiters();
    }

    /// Tells the client of every other catalog, until it goes.
    pub(super) fn follow(self: &Arc<Self>, line: Line) {
        let mut state = self.state.lock();
        state.heard = Instant::now();
        if let Some(changes) = state.began_with.take() {
            let (watching, awake) = (Arc::downgrade(self), Arc::clone(&self.awake));
            tokio::spawn(follow(watching, awake, changes, self.ended.clone(), line));
        }
    }

    /// Watches one more document, which is `number` now.
    pub(super) fn add(
        self: &Arc<Self>,
        uri: String,
        number: u64,
        line: Line,
    ) -> Result<(), ErrorData> {
        let mut state = self.state.lock();
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
        self.state.lock().seen.remove(uri);
    }

    /// What of a request to listen can be heard of.
    pub(super) fn offer(
        &self,
        documents: Option<&Documents>,
        lists: Option<watch::Receiver<u64>>,
        requested: &SubscriptionFilter,
    ) -> SubscriptionFilter {
        let uris = requested.resource_subscriptions.iter().flatten();
        let known = uris.filter_map(|uri| Some((uri.clone(), documents?.changes(uri)?)));
        let offered: Seen = known.take(MAX_WATCHED).collect();
        let mut filter = SubscriptionFilter::builder().resource_subscriptions(offered.keys());
        if lists.is_some() {
            filter = filter.tools_list_changed();
        }
        let mut state = self.state.lock();
        state.offered = offered;
        state.offered_lists = lists;
        filter.build()
    }

    /// Tells of changes since the offer until the client has enough of it, or the server ends.
    pub(super) async fn listen(
        &self,
        pipeline: &Pipeline,
        context: &SubscriptionContext,
        closing: &CancellationToken,
    ) {
        let documents = pipeline.catalog().documents().cloned();
        let (mut seen, mut lists) = self.taken_up(pipeline, documents.as_deref(), context);
        let mut look = tokio::time::interval(PACE);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        look.reset();
        loop {
            tokio::select! {
                biased;
                () = context.cancelled() => return,
                () = closing.cancelled() => return,
                Some(()) = next_change(&mut lists) => {
                    if context.sink().notify_tool_list_changed().await.is_err() {
                        return;
                    }
                    // Documents are looked at, and the next catalog is told of, no sooner than this.
                    look.reset();
                    tokio::select! {
                        biased;
                        () = context.cancelled() => return,
                        () = closing.cancelled() => return,
                        _ = look.tick() => {}
                    }
                }
                _ = look.tick(), if !seen.is_empty() => {}
            }
            let Some(documents) = &documents else { continue };
            for uri in changed(&mut seen, documents) {
                if context.sink().notify_resource_updated(uri).await.is_err() {
                    return;
                }
            }
        }
    }

    /// How everything was that the request was told it may listen for.
    fn taken_up(
        &self,
        pipeline: &Pipeline,
        documents: Option<&Documents>,
        context: &SubscriptionContext,
    ) -> (Seen, Option<watch::Receiver<u64>>) {
        let accepted = context.accepted();
        let mut state = self.state.lock();
        let number = |uri: &String| {
            state.offered.get(uri).copied().or_else(|| documents.and_then(|it| it.changes(uri)))
        };
        let uris = accepted.resource_subscriptions.iter().flatten();
        let seen = uris.filter_map(|uri| Some((uri.clone(), number(uri)?))).collect();
        let lists = (accepted.tools_list_changed == Some(true))
            .then(|| state.offered_lists.take().unwrap_or_else(|| pipeline.catalog_changes()));
        (seen, lists)
    }

    /// Whether nobody has heard of the client for so long that it counts as gone.
    fn is_silent(&self) -> bool {
        self.state.lock().heard.elapsed() > SILENCE
    }

    /// What has changed since the last look; None when nobody watches any more.
    fn look(&self, documents: &Documents, is_http: bool) -> Option<Vec<String>> {
        let mut state = self.state.lock();
        if is_http && state.heard.elapsed() > SILENCE {
            state.seen.clear();
        }
        if state.seen.is_empty() {
            state.is_running = false;
            return None;
        }
        Some(changed(&mut state.seen, documents))
    }
}

/// The next published change; None where nobody wants to know.
async fn next_change(lists: &mut Option<watch::Receiver<u64>>) -> Option<()> {
    lists.as_mut()?.changed().await.ok()
}

/// Tells the client of a session of every other catalog. One that has been silent is told when it shows up again: what it is
/// told would keep its session for ever.
async fn follow(
    watching: Weak<Watching>,
    awake: Arc<Notify>,
    mut changes: watch::Receiver<u64>,
    ended: CancellationToken,
    line: Line,
) {
    let over = async || {
        tokio::select! {
            () = ended.cancelled() => {}
            () = line.closing.cancelled() => {}
        }
    };
    loop {
        tokio::select! {
            biased;
            () = over() => return,
            changed = changes.changed() => if changed.is_err() { return },
        }
        if line.is_http {
            tokio::select! {
                biased;
                () = over() => return,
                is_there = until_heard(&watching, &awake) => if !is_there { return },
            }
        }
        if line.peer.notify_tool_list_changed().await.is_err() {
            return;
        }
        tokio::select! {
            biased;
            () = over() => return,
            () = tokio::time::sleep(PACE) => {}
        }
    }
}

/// Waits for a client that has been silent for so long that it counts as gone; false if its session is over.
async fn until_heard(watching: &Weak<Watching>, awake: &Notify) -> bool {
    loop {
        let waking = awake.notified();
        match watching.upgrade().map(|it| it.is_silent()) {
            None => return false,
            Some(false) => return true,
            Some(true) => waking.await,
        }
    }
}

/// Tells the client of a session what has changed. It keeps nothing of the session alive.
async fn tell(watching: Weak<Watching>, ended: CancellationToken, line: Line) {
    let Some(documents) = line.pipeline.catalog().documents().cloned() else { return };
    loop {
        tokio::select! {
            biased;
            () = ended.cancelled() => return,
            () = line.closing.cancelled() => return,
            () = tokio::time::sleep(PACE) => {}
        }
        let changed = watching.upgrade().and_then(|it| it.look(&documents, line.is_http));
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
