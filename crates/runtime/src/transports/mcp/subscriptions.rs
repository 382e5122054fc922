//! Subscriptions: notifies clients about changed resources and catalogs.
//!
//! Resources are polled twice a second ([`contract::ResourceProvider::resource_revision`]). This bounds the rate of
//! notifications, and no callback has to be removed when a client disconnects. Clients of the handshake revisions
//! subscribe to each resource separately ([`ResourceSubscriptions`]). Since 2026-07-28 a client keeps one request open
//! that names all of them ([`ResourceSubscriptions::listen`]).
//!
//! A new catalog is announced immediately, and further ones at most once per polling interval.

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

use crate::pipeline::Pipeline;
use crate::resource_catalog::ResourceCatalog;

/// Polling interval of resource changes.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum subscribed resources per client.
const MAX_SUBSCRIPTIONS: usize = 64;
/// An HTTP client that has sent no request for this long counts as disconnected. Notifications would otherwise keep its
/// session alive forever.
const IDLE_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Resource addresses, each with the change counter of the last poll.
type SeenVersions = BTreeMap<String, u64>;

/// The subscriptions of one session's client. Its background tasks end when it is dropped.
pub(super) struct ResourceSubscriptions {
    state: Mutex<SubscriptionState>,
    /// Notified when the client sends a request.
    activity: Arc<Notify>,
    ended: CancellationToken,
    _end_guard: DropGuard,
}

struct SubscriptionState {
    seen: SeenVersions,
    /// Change counters of the resources offered to a request, until it starts to listen.
    offered: SeenVersions,
    /// Catalog changes offered to a request, until it starts to listen.
    offered_lists: Option<watch::Receiver<u64>>,
    is_running: bool,
    /// Catalog changes since the session began. Taken when notifications start.
    catalog_changes: Option<watch::Receiver<u64>>,
    last_active: Instant,
}

/// Destination of notifications for one client.
pub(super) struct UpdateSink {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) peer: Peer<RoleServer>,
    /// Cancelled when the server shuts down.
    pub(super) shutdown: CancellationToken,
    /// True over HTTP, where a disconnect of the client is not visible.
    pub(super) is_http: bool,
}

impl ResourceSubscriptions {
    pub(super) fn new(pipeline: &Pipeline) -> Arc<Self> {
        let ended = CancellationToken::new();
        let state = SubscriptionState {
            seen: SeenVersions::new(),
            offered: SeenVersions::new(),
            offered_lists: None,
            is_running: false,
            catalog_changes: Some(pipeline.catalog_changes()),
            last_active: Instant::now(),
        };
        let guard = ended.clone().drop_guard();
        let activity = Arc::default();
        Arc::new(Self { state: Mutex::new(state), activity, ended, _end_guard: guard })
    }

    /// Records that the client is active.
    pub(super) fn record_activity(&self) {
        self.state.lock().last_active = Instant::now();
        self.activity.notify_waiters();
    }

    /// Starts notifying the client about new catalogs, until its session ends.
    pub(super) fn follow_catalog(self: &Arc<Self>, sink: UpdateSink) {
        let mut state = self.state.lock();
        state.last_active = Instant::now();
        if let Some(changes) = state.catalog_changes.take() {
            let (subscriptions, activity) = (Arc::downgrade(self), Arc::clone(&self.activity));
            tokio::spawn(notify_catalog_changes(
                subscriptions,
                activity,
                changes,
                self.ended.clone(),
                sink,
            ));
        }
    }

    /// Subscribes to a resource whose change counter is `number` now. Errors if the client has too many subscriptions.
    pub(super) fn subscribe(
        self: &Arc<Self>,
        uri: String,
        number: u64,
        sink: UpdateSink,
    ) -> Result<(), ErrorData> {
        let mut state = self.state.lock();
        if state.seen.len() >= MAX_SUBSCRIPTIONS && !state.seen.contains_key(&uri) {
            let message = format!(
                "a client may subscribe to at most {MAX_SUBSCRIPTIONS} resources; unsubscribe from one first"
            );
            return Err(ErrorData::invalid_params(message, None));
        }
        state.seen.insert(uri, number);
        state.last_active = Instant::now();
        if !std::mem::replace(&mut state.is_running, true) {
            tokio::spawn(notify_resource_changes(Arc::downgrade(self), self.ended.clone(), sink));
        }
        Ok(())
    }

    pub(super) fn unsubscribe(&self, uri: &str) {
        self.state.lock().seen.remove(uri);
    }

    /// Returns the part of a requested filter that can be served to this client, and remembers the current change counters for it.
    pub(super) fn accept_filter(
        &self,
        resources: Option<&ResourceCatalog>,
        lists: Option<watch::Receiver<u64>>,
        requested: &SubscriptionFilter,
        may_read: impl Fn(&str) -> bool,
    ) -> SubscriptionFilter {
        let uris = requested.resource_subscriptions.iter().flatten();
        let uris = uris.filter(|uri| may_read(uri));
        let known = uris.filter_map(|uri| Some((uri.clone(), resources?.changes(uri)?)));
        let offered: SeenVersions = known.take(MAX_SUBSCRIPTIONS).collect();
        let mut filter = SubscriptionFilter::builder().resource_subscriptions(offered.keys());
        if lists.is_some() {
            filter = filter.tools_list_changed();
        }
        let mut state = self.state.lock();
        state.offered = offered;
        state.offered_lists = lists;
        filter.build()
    }

    /// Notifies about changes since the filter was accepted, until the client cancels or the server shuts down.
    pub(super) async fn listen(
        &self,
        pipeline: &Pipeline,
        context: &SubscriptionContext,
        shutdown: &CancellationToken,
    ) {
        let resources = pipeline.catalog().resources().cloned();
        let (mut seen, mut lists) = self.take_accepted(pipeline, resources.as_deref(), context);
        let mut poll = tokio::time::interval(POLL_INTERVAL);
        poll.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        poll.reset();
        loop {
            tokio::select! {
                biased;
                () = context.cancelled() => return,
                () = shutdown.cancelled() => return,
                Some(()) = next_catalog_change(&mut lists) => {
                    if context.sink().notify_tool_list_changed().await.is_err() {
                        return;
                    }
                    // Neither resources nor the next catalog are announced before the next tick.
                    poll.reset();
                    tokio::select! {
                        biased;
                        () = context.cancelled() => return,
                        () = shutdown.cancelled() => return,
                        _ = poll.tick() => {}
                    }
                }
                _ = poll.tick(), if !seen.is_empty() => {}
            }
            let Some(resources) = &resources else { continue };
            for uri in update_changed(&mut seen, resources) {
                if context.sink().notify_resource_updated(uri).await.is_err() {
                    return;
                }
            }
        }
    }

    /// Returns the change counters and the catalog changes remembered for the accepted filter.
    fn take_accepted(
        &self,
        pipeline: &Pipeline,
        resources: Option<&ResourceCatalog>,
        context: &SubscriptionContext,
    ) -> (SeenVersions, Option<watch::Receiver<u64>>) {
        let accepted = context.accepted();
        let mut state = self.state.lock();
        let number = |uri: &String| {
            state.offered.get(uri).copied().or_else(|| resources.and_then(|it| it.changes(uri)))
        };
        let uris = accepted.resource_subscriptions.iter().flatten();
        let seen = uris.filter_map(|uri| Some((uri.clone(), number(uri)?))).collect();
        let lists = (accepted.tools_list_changed == Some(true))
            .then(|| state.offered_lists.take().unwrap_or_else(|| pipeline.catalog_changes()));
        (seen, lists)
    }

    /// Returns true if the client has been inactive for so long that it counts as disconnected.
    fn is_idle(&self) -> bool {
        self.state.lock().last_active.elapsed() > IDLE_LIMIT
    }

    /// Returns the resources that changed since the last poll, or `None` if there are no subscriptions left.
    fn take_changes(&self, resources: &ResourceCatalog, is_http: bool) -> Option<Vec<String>> {
        let mut state = self.state.lock();
        if is_http && state.last_active.elapsed() > IDLE_LIMIT {
            state.seen.clear();
        }
        if state.seen.is_empty() {
            state.is_running = false;
            return None;
        }
        Some(update_changed(&mut state.seen, resources))
    }
}

/// Waits for the next published catalog. Returns `None` if the request did not ask for catalog changes.
async fn next_catalog_change(lists: &mut Option<watch::Receiver<u64>>) -> Option<()> {
    lists.as_mut()?.changed().await.ok()
}

/// Notifies the client of a session about new catalogs. An idle client is notified once it is active again, because a
/// notification would keep its session alive forever.
async fn notify_catalog_changes(
    subscriptions: Weak<ResourceSubscriptions>,
    activity: Arc<Notify>,
    mut changes: watch::Receiver<u64>,
    ended: CancellationToken,
    sink: UpdateSink,
) {
    let ended_or_shutdown = async || {
        tokio::select! {
            () = ended.cancelled() => {}
            () = sink.shutdown.cancelled() => {}
        }
    };
    loop {
        tokio::select! {
            biased;
            () = ended_or_shutdown() => return,
            changed = changes.changed() => if changed.is_err() { return },
        }
        if sink.is_http {
            tokio::select! {
                biased;
                () = ended_or_shutdown() => return,
                is_active = wait_until_active(&subscriptions, &activity) => if !is_active { return },
            }
        }
        if sink.peer.notify_tool_list_changed().await.is_err() {
            return;
        }
        tokio::select! {
            biased;
            () = ended_or_shutdown() => return,
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
    }
}

/// Waits until an idle client is active again. Returns false if its session has ended.
async fn wait_until_active(subscriptions: &Weak<ResourceSubscriptions>, activity: &Notify) -> bool {
    loop {
        let active = activity.notified();
        match subscriptions.upgrade().map(|it| it.is_idle()) {
            None => return false,
            Some(false) => return true,
            Some(true) => active.await,
        }
    }
}

/// Notifies the client of a session about changed resources. It does not keep the session alive.
async fn notify_resource_changes(
    subscriptions: Weak<ResourceSubscriptions>,
    ended: CancellationToken,
    sink: UpdateSink,
) {
    let Some(resources) = sink.pipeline.catalog().resources().cloned() else { return };
    loop {
        tokio::select! {
            biased;
            () = ended.cancelled() => return,
            () = sink.shutdown.cancelled() => return,
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
        let changed =
            subscriptions.upgrade().and_then(|it| it.take_changes(&resources, sink.is_http));
        let Some(changed) = changed else { return };
        for uri in changed {
            let update = ResourceUpdatedNotificationParam::new(uri);
            if sink.peer.notify_resource_updated(update).await.is_err() {
                return;
            }
        }
    }
}

/// Returns the resources that changed since they were last seen, and updates their counters. A removed resource stays
/// subscribed, because it may return.
fn update_changed(seen: &mut SeenVersions, resources: &ResourceCatalog) -> Vec<String> {
    let mut changed = Vec::new();
    for (uri, number) in seen {
        if let Some(now) = resources.changes(uri)
            && std::mem::replace(number, now) != now
        {
            changed.push(uri.clone());
        }
    }
    changed
}
