//! The open connections: counts them, and closes the least useful one if there are too many.
//!
//! A connection with a request in flight is never closed for another one. Of the others, those that never carried an
//! authenticated request go first, so that idle and half-open connections of strangers cannot displace a client.

mod accept;
mod serve;
mod threads;
mod watched_stream;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::limits::HttpLimits;
use crate::metrics::{CloseReason, ServerMetrics};
pub(super) use accept::accept_connections;
pub(super) use threads::ConnectionThreads;

/// Connections that were told to close may exceed the limit by this many until their tasks have run, and by a quarter of
/// the limit at most: files need descriptors too.
const CLOSING_HEADROOM: usize = 64;

/// Time in which a new connection can send its request before it may be closed for another one. It is served on another
/// thread than the one that accepts, so a flood could otherwise displace it before its request is read.
const OPENING_GRACE: Duration = Duration::from_millis(20);

/// The open connections.
pub(super) struct ConnectionTable {
    open: Mutex<OpenConnections>,
    closed: Notify,
    metrics: ServerMetrics,
}

#[derive(Default)]
struct OpenConnections {
    next_id: u64,
    /// In the order in which they were accepted.
    by_id: BTreeMap<u64, Arc<OpenConnection>>,
    /// Number of connections that were told to close for another one, and have not ended yet.
    closing: usize,
}

/// One open connection.
pub(super) struct OpenConnection {
    accepted: Instant,
    activity: Mutex<Activity>,
    /// Cancelled when the connection must end at once.
    end: CancellationToken,
}

struct Activity {
    phase: Phase,
    /// Time at which the phase began.
    since: Instant,
    requests_in_flight: usize,
    is_http2: bool,
    is_authenticated: bool,
    /// Time since which the client has accepted no byte of a response.
    stalled_since: Option<Instant>,
    close_reason: Option<CloseReason>,
}

/// The order in which connections are closed: strangers first, then by the time since which they are idle.
type IdleRank = (bool, Instant);

/// The state of a connection that has no request in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No request has arrived yet.
    Opening,
    /// Waiting for the next request.
    Idle,
    /// The headers of a later request have begun to arrive.
    ReadingHead,
}

/// The registration of an open connection, until dropped.
pub(super) struct ConnectionGuard {
    table: Arc<ConnectionTable>,
    id: u64,
    connection: Arc<OpenConnection>,
}

/// A request in flight, until dropped.
pub(super) struct RequestInFlight {
    connection: Arc<OpenConnection>,
}

impl ConnectionTable {
    pub(super) fn new(metrics: ServerMetrics) -> Arc<Self> {
        Arc::new(Self { open: Mutex::default(), closed: Notify::new(), metrics })
    }

    /// Registers a connection, and closes another one if there are more than `limit`. Returns `None` if every connection
    /// has a request in flight.
    fn register(self: &Arc<Self>, limit: usize) -> Option<ConnectionGuard> {
        let mut open = self.open.lock();
        let is_full = open.by_id.len() >= limit;
        if is_full && !open.close_longest_idle(CloseReason::Displaced) {
            return None;
        }
        let id = open.next_id;
        open.next_id += 1;
        let connection = Arc::new(OpenConnection::new());
        open.by_id.insert(id, Arc::clone(&connection));
        self.metrics.record_open();
        Some(ConnectionGuard { table: Arc::clone(self), id, connection })
    }

    /// If there are `limit` connections, waits until the one to close for another one had the time to send its request.
    async fn wait_for_grace(&self, limit: usize) {
        let left = {
            let open = self.open.lock();
            let is_full = open.by_id.len() >= limit;
            let id = is_full.then(|| open.find_longest_idle()).flatten();
            let victim = id.and_then(|id| open.by_id.get(&id));
            victim.map_or(Duration::ZERO, |it| OPENING_GRACE.saturating_sub(it.accepted.elapsed()))
        };
        if !left.is_zero() {
            tokio::time::sleep(left).await;
        }
    }

    /// Closes a quarter of the connections, and at least one, if as many have no request in flight. Waits until one has
    /// closed, at most for `pause`. Returns the number that is left.
    async fn reduce(&self, pause: Duration) -> usize {
        let closed = self.closed.notified();
        let left = {
            let mut open = self.open.lock();
            let goal = open.by_id.len() - open.by_id.len().div_ceil(4);
            while open.by_id.len() > goal && open.close_longest_idle(CloseReason::Displaced) {}
            open.by_id.len()
        };
        let _ = tokio::time::timeout(pause, closed).await;
        left.max(1)
    }

    /// Waits, for a bounded time, until connections that were told to close are closed.
    async fn wait_for_room(&self, limit: usize) {
        let headroom = (limit / 4).clamp(1, CLOSING_HEADROOM);
        loop {
            let closed = self.closed.notified();
            if self.open.lock().closing < headroom {
                return;
            }
            if tokio::time::timeout(Duration::from_millis(100), closed).await.is_err() {
                return;
            }
        }
    }

    /// Ends all connections, or only those without a request in flight.
    pub(super) fn end_all(&self, only_idle: bool) {
        for connection in self.open.lock().by_id.values() {
            let mut activity = connection.activity.lock();
            if !only_idle || activity.requests_in_flight == 0 {
                activity.close_reason.get_or_insert(CloseReason::Shutdown);
                connection.end.cancel();
            }
        }
    }

    /// Waits until no connection is open.
    pub(super) async fn wait_until_empty(&self) {
        loop {
            let closed = self.closed.notified();
            let is_empty = {
                let open = self.open.lock();
                open.by_id.is_empty() && open.closing == 0
            };
            if is_empty {
                return;
            }
            closed.await;
        }
    }
}

impl OpenConnections {
    /// Tells the longest-idle connection to close. Returns false if every connection has a request in flight.
    fn close_longest_idle(&mut self, reason: CloseReason) -> bool {
        while let Some(id) = self.find_longest_idle() {
            // It may have received a request since.
            if self.by_id.get(&id).is_some_and(|victim| victim.close_unless_busy(reason)) {
                self.by_id.remove(&id);
                self.closing += 1;
                return true;
            }
        }
        false
    }

    fn find_longest_idle(&self) -> Option<u64> {
        let mut best: Option<(IdleRank, u64)> = None;
        for (id, connection) in &self.by_id {
            // A connection cannot have been idle before it was accepted, so later ones cannot be a better choice. In a
            // flood of strangers, this is the case after a few connections.
            if best.is_some_and(|(rank, _)| !rank.0 && rank.1 < connection.accepted) {
                break;
            }
            let rank = connection.idle_rank().map(|rank| (rank, *id));
            best = best.into_iter().chain(rank).min();
        }
        best.map(|(_, id)| id)
    }
}

impl OpenConnection {
    fn new() -> Self {
        let accepted = Instant::now();
        let activity = Activity {
            phase: Phase::Opening,
            since: accepted,
            requests_in_flight: 0,
            is_http2: false,
            is_authenticated: false,
            stalled_since: None,
            close_reason: None,
        };
        Self { accepted, activity: Mutex::new(activity), end: CancellationToken::new() }
    }

    /// Returns the order in which connections are closed, or `None` if this one is in use or closing.
    fn idle_rank(&self) -> Option<IdleRank> {
        let activity = self.activity.lock();
        let is_candidate = activity.requests_in_flight == 0 && activity.close_reason.is_none();
        is_candidate.then_some((activity.is_authenticated, activity.since))
    }

    fn close_unless_busy(&self, reason: CloseReason) -> bool {
        let mut activity = self.activity.lock();
        if activity.requests_in_flight > 0 || activity.close_reason.is_some() {
            return false;
        }
        activity.close_reason = Some(reason);
        self.end.cancel();
        true
    }

    /// Records the start of a request. Returns `None` if the connection was told to close: the request would be cut off.
    fn begin_request(self: &Arc<Self>, is_http2: bool) -> Option<RequestInFlight> {
        let mut activity = self.activity.lock();
        if activity.close_reason.is_some() {
            return None;
        }
        activity.requests_in_flight += 1;
        activity.is_http2 = is_http2;
        Some(RequestInFlight { connection: Arc::clone(self) })
    }

    /// Records that a request of this connection was authenticated.
    pub(super) fn mark_authenticated(&self) {
        self.activity.lock().is_authenticated = true;
    }

    /// Records that bytes arrived.
    fn note_read(&self) {
        let mut activity = self.activity.lock();
        // Frames of HTTP/2 need not belong to a request.
        let is_head = activity.phase == Phase::Idle && activity.requests_in_flight == 0;
        if is_head && !activity.is_http2 {
            activity.phase = Phase::ReadingHead;
            activity.since = Instant::now();
        }
    }

    /// Records whether the client accepts bytes.
    fn note_write(&self, is_stalled: bool) {
        let mut activity = self.activity.lock();
        if !is_stalled {
            activity.stalled_since = None;
        } else if activity.stalled_since.is_none() {
            activity.stalled_since = Some(Instant::now());
        }
    }

    /// Returns the next time limit with the reason to close at it, or `None` while a request is in flight.
    fn next_deadline(&self, limits: &HttpLimits) -> Option<(Instant, CloseReason)> {
        let activity = self.activity.lock();
        if let Some(since) = activity.stalled_since {
            return Some((since + limits.write_timeout, CloseReason::WriteTimeout));
        }
        if activity.requests_in_flight > 0 {
            return None;
        }
        Some(match activity.phase {
            Phase::Idle => (activity.since + limits.idle_timeout, CloseReason::Idle),
            Phase::Opening | Phase::ReadingHead => {
                (activity.since + limits.header_timeout, CloseReason::HeaderTimeout)
            }
        })
    }

    fn set_close_reason(&self, reason: CloseReason) {
        self.activity.lock().close_reason.get_or_insert(reason);
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        {
            let mut open = self.table.open.lock();
            if open.by_id.remove(&self.id).is_none() {
                open.closing -= 1;
            }
        }
        let reason = self.connection.activity.lock().close_reason;
        self.table.metrics.record_close(reason.unwrap_or(CloseReason::Client));
        self.table.closed.notify_waiters();
    }
}

impl Drop for RequestInFlight {
    fn drop(&mut self) {
        let mut activity = self.connection.activity.lock();
        activity.requests_in_flight -= 1;
        if activity.requests_in_flight == 0 {
            activity.phase = Phase::Idle;
            activity.since = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call that began would be cut off.
    #[test]
    fn connection_that_is_closing_begins_no_request() {
        let table = ConnectionTable::new(ServerMetrics::default());
        let registered = table.register(1).unwrap();
        let first = Arc::clone(&registered.connection);
        let request = first.begin_request(false).unwrap();
        assert!(table.register(1).is_none(), "it is in use");
        drop(request);
        assert!(table.register(1).is_some(), "it is closed for another one");
        assert!(first.begin_request(false).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn new_connection_has_time_to_send_its_request() {
        let table = ConnectionTable::new(ServerMetrics::default());
        let _stranger = table.register(1).unwrap();
        let start = Instant::now();
        table.wait_for_grace(2).await;
        assert_eq!(start.elapsed(), Duration::ZERO, "there is room");
        for _ in 0..2 {
            table.wait_for_grace(1).await;
            assert!(start.elapsed() >= OPENING_GRACE);
            assert!(start.elapsed() < 2 * OPENING_GRACE, "it has no more than that");
        }
    }
}
