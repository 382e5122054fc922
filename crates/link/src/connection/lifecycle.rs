//! The lifecycle of a connection: opens sessions, shares them among callers, and reconnects with backoff.
//!
//! Retrying a call on a new session is up to [`Connection`](super::Connection).

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;

use super::elicitation_queue::ElicitationQueue;
use crate::context::ConnectionContext;
use crate::duplex::DuplexTransport;
use crate::http::HttpClientTransport;
use crate::in_flight::InFlightCalls;
use crate::negotiation::{NegotiatedProtocol, negotiate_protocol};
use crate::session::{ClientTransport, OutgoingRequest, RequestMeta, UpstreamSession};
use crate::stdio::{self, StderrTail, StdioChild};
use crate::{
    CallerCapabilities, ConnectionError, ConnectionStatus, HttpEndpoint, Options, ProtocolEra,
    UpstreamEndpoint, http, sse,
};

/// Time after a failed attempt in which calls fail with its error instead of starting a new attempt.
const FAILURE_COOLDOWN: Duration = Duration::from_secs(1);
/// A network attempt that failed faster than this costs nothing, so the next call may start another one at once.
const CHEAP_ATTEMPT: Duration = Duration::from_millis(50);
const MIN_RECONNECT_DELAY: Duration = Duration::from_millis(100);
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(30);
/// A connection that ended sooner than this counts as a failure, so that the backoff also grows for a server that starts
/// and then exits.
const STABLE_AFTER: Duration = Duration::from_secs(10);

type ConnectAttempt =
    futures::future::Shared<BoxFuture<'static, Result<Arc<UpstreamSession>, ConnectionError>>>;

pub(super) struct ConnectionLifecycle {
    options: Options,
    pub(super) context: Arc<ConnectionContext>,
    pub(super) tail: Arc<StderrTail>,
    /// Orders elicitable calls, once they have to run one at a time.
    pub(super) turns: ElicitationQueue,
    client: OnceLock<reqwest::Client>,
    /// The runtime in which the connection was created, if any. Sessions live there, because they outlive the runtime of
    /// the caller who needs them first.
    runtime: Option<Handle>,
    state: Mutex<ConnectionState>,
}

#[derive(Default)]
struct ConnectionState {
    phase: ConnectionPhase,
    attempt: Option<(ConnectAttempt, AbortHandle)>,
    healer: Option<AbortHandle>,
    /// Consecutive failures since the last stable connection.
    failures: u32,
    connected_at: Option<Instant>,
    /// Time and error of the last failed attempt, unless it was cheap.
    last_failure: Option<(Instant, ConnectionError)>,
    ever_connected: bool,
    era: Option<ProtocolEra>,
}

#[derive(Default)]
enum ConnectionPhase {
    #[default]
    NeverConnected,
    Connected(Arc<UpstreamSession>),
    Lost {
        reason: String,
        since: Timestamp,
        next_try: Option<Timestamp>,
    },
    Closed,
}

impl ConnectionLifecycle {
    pub(super) fn new(options: Options) -> Arc<Self> {
        Arc::new(Self {
            context: Arc::new(ConnectionContext::new(&options)),
            options,
            tail: Arc::default(),
            turns: ElicitationQueue::default(),
            client: OnceLock::new(),
            runtime: Handle::try_current().ok(),
            state: Mutex::default(),
        })
    }

    fn spawn_task<F>(&self, work: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        match &self.runtime {
            Some(runtime) => runtime.spawn(work),
            None => tokio::spawn(work),
        }
    }

    /// Returns the open session, or opens a new one. Concurrent callers share one attempt.
    pub(super) async fn open_or_reuse_session(
        self: &Arc<Self>,
    ) -> Result<Arc<UpstreamSession>, ConnectionError> {
        let attempt = {
            let mut state = self.state.lock();
            match &state.phase {
                ConnectionPhase::Connected(session) if session.is_open() => {
                    return Ok(session.clone());
                }
                ConnectionPhase::Closed => return Err(ConnectionError::Closed),
                _ => {}
            }
            let recent =
                state.last_failure.as_ref().filter(|(at, _)| at.elapsed() < FAILURE_COOLDOWN);
            match (&state.attempt, recent) {
                (Some((attempt, _)), _) => attempt.clone(),
                (None, Some((_, error))) => return Err(error.clone()),
                (None, None) => self.start_attempt(&mut state),
            }
        };
        attempt.await
    }

    /// Starts an attempt and returns a shared future of its outcome. It runs in its own task, so that a caller that is
    /// dropped does not abort it for the others.
    fn start_attempt(self: &Arc<Self>, state: &mut ConnectionState) -> ConnectAttempt {
        let shared = self.clone();
        let task = self.spawn_task(async move {
            let (limit, begun) = (shared.options.connect_timeout, Instant::now());
            let opened =
                tokio::time::timeout(limit, shared.open_session()).await.unwrap_or_else(|_| {
                    let hint = match &shared.options.endpoint {
                        UpstreamEndpoint::Stdio(program) => stdio::describe_timeout(program),
                        _ => "",
                    };
                    let limit = limit.as_millis();
                    let reason = format!("connecting took longer than {limit} ms{hint}");
                    Err(ConnectionError::server_unreachable(reason))
                });
            shared.finish_attempt(opened, begun.elapsed())
        });
        let abort = task.abort_handle();
        let attempt =
            task.map(|ended| ended.unwrap_or(Err(ConnectionError::Closed))).boxed().shared();
        state.attempt = Some((attempt.clone(), abort));
        attempt
    }

    async fn open_session(&self) -> Result<UpstreamSession, ConnectionError> {
        let known = self.state.lock().era;
        let opened = self.open_session_once(known).await;
        match opened {
            // Some old servers exit at the first unknown request.
            Err(ConnectionError::Unavailable { may_have_run: true, .. })
                if known.is_none()
                    && matches!(self.options.endpoint, UpstreamEndpoint::Stdio(_)) =>
            {
                self.open_session_once(Some(ProtocolEra::Handshake)).await
            }
            other => other,
        }
    }

    async fn open_session_once(
        &self,
        known: Option<ProtocolEra>,
    ) -> Result<UpstreamSession, ConnectionError> {
        let flight = InFlightCalls::new(self.context.clone());
        let (transport, child) = self.open_transport(flight).await?;
        let known = if matches!(self.options.endpoint, UpstreamEndpoint::Sse(_)) {
            Some(ProtocolEra::Handshake)
        } else {
            known
        };
        let limit = self.options.connect_timeout;
        let negotiated = negotiate_protocol(&transport, &self.context, known, limit).await?;
        let NegotiatedProtocol { server, list_changed, has_tools } = negotiated;
        let session = UpstreamSession { transport, server, has_tools, child };
        let (protocol, era) = session.protocol();
        match (&session.transport, era) {
            (ClientTransport::Http(http), ProtocolEra::Handshake) => {
                http.spawn_listener(protocol, era)
            }
            (ClientTransport::Http(http), ProtocolEra::Stateless) if list_changed => {
                http.spawn_listener(protocol, era)
            }
            (ClientTransport::Duplex(duplex), ProtocolEra::Stateless) if list_changed => {
                subscribe_to_list_changes(duplex, protocol, &self.context).await;
            }
            _ => {}
        }
        Ok(session)
    }

    async fn open_transport(
        &self,
        flight: Arc<InFlightCalls>,
    ) -> Result<(ClientTransport, Option<StdioChild>), ConnectionError> {
        match &self.options.endpoint {
            UpstreamEndpoint::Stdio(program) => {
                let (duplex, child) =
                    stdio::start_server(program, flight, self.tail.clone()).await?;
                Ok((ClientTransport::Duplex(duplex), Some(child)))
            }
            UpstreamEndpoint::Http(target) => Ok((
                ClientTransport::Http(HttpClientTransport::new(
                    self.http_client(target)?,
                    target,
                    flight,
                )?),
                None,
            )),
            UpstreamEndpoint::Sse(target) => {
                let duplex = sse::connect_sse(self.http_client(target)?, target, flight).await?;
                Ok((ClientTransport::Duplex(duplex), None))
            }
        }
    }

    fn http_client(&self, target: &HttpEndpoint) -> Result<reqwest::Client, ConnectionError> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let client = http::build_client(target, self.options.connect_timeout)?;
        Ok(self.client.get_or_init(|| client).clone())
    }

    /// Records the outcome of an attempt. Starts reconnecting in the background if it failed.
    fn finish_attempt(
        self: &Arc<Self>,
        opened: Result<UpstreamSession, ConnectionError>,
        took: Duration,
    ) -> Result<Arc<UpstreamSession>, ConnectionError> {
        let mut state = self.state.lock();
        state.attempt = None;
        if matches!(state.phase, ConnectionPhase::Closed) {
            return Err(ConnectionError::Closed);
        }
        match opened {
            Ok(session) => {
                let session = Arc::new(session);
                let server = &session.server;
                tracing::info!(server = self.context.name, protocol = server.protocol, "connected");
                state.era = Some(server.era);
                state.connected_at = Some(Instant::now());
                state.last_failure = None;
                self.context.one_at_a_time.store(false, Ordering::Relaxed);
                if let Some(healer) = state.healer.take() {
                    healer.abort();
                }
                if std::mem::replace(&mut state.ever_connected, true) {
                    self.context.notify_list_changed();
                }
                state.phase = ConnectionPhase::Connected(session.clone());
                self.spawn_task(watch_session(
                    Arc::downgrade(self),
                    session.transport.in_flight_calls().clone(),
                ));
                Ok(session)
            }
            Err(error) => {
                tracing::warn!(server = self.context.name, %error, "failed to connect");
                state.failures = state.failures.saturating_add(1);
                // A refused network connection is cheap, so the next call may try again.
                let is_cheap = took < CHEAP_ATTEMPT
                    && !matches!(self.options.endpoint, UpstreamEndpoint::Stdio(_));
                state.last_failure = (!is_cheap).then(|| (Instant::now(), error.clone()));
                state.mark_lost(&error);
                self.start_reconnecting(&mut state);
                Err(error)
            }
        }
    }

    /// Discards a session that is no longer usable; the next call opens a new one.
    pub(super) fn discard_session(&self, session: &Arc<UpstreamSession>, reason: &ConnectionError) {
        // The pipe of a closed session stays open for calls that still check how much of it the child has read.
        if session.is_open() {
            session.shut_down(reason);
        }
        let mut state = self.state.lock();
        if matches!(&state.phase, ConnectionPhase::Connected(current) if Arc::ptr_eq(current, session))
        {
            state.mark_lost(reason);
        }
    }

    /// Starts the background reconnect loop, unless it already runs.
    fn start_reconnecting(self: &Arc<Self>, state: &mut ConnectionState) {
        if state.healer.as_ref().is_none_or(AbortHandle::is_finished) {
            let healer = self.spawn_task(run_reconnect_loop(Arc::downgrade(self)));
            state.healer = Some(healer.abort_handle());
        }
    }

    pub(super) fn status(&self) -> ConnectionStatus {
        match &self.state.lock().phase {
            ConnectionPhase::NeverConnected => ConnectionStatus::NeverConnected,
            ConnectionPhase::Connected(session) => {
                match session.transport.in_flight_calls().closing_reason() {
                    None => ConnectionStatus::Connected(session.server.clone()),
                    Some(reason) => {
                        let reason = reason.to_string();
                        ConnectionStatus::Lost { reason, since: Timestamp::now(), next_try: None }
                    }
                }
            }
            ConnectionPhase::Lost { reason, since, next_try } => ConnectionStatus::Lost {
                reason: reason.clone(),
                since: *since,
                next_try: *next_try,
            },
            ConnectionPhase::Closed => ConnectionStatus::Closed,
        }
    }

    pub(super) fn era(&self) -> Option<ProtocolEra> {
        match &self.state.lock().phase {
            ConnectionPhase::Connected(session) => Some(session.server.era),
            _ => None,
        }
    }

    /// Closes permanently: aborts attempts and returns the session that was open.
    pub(super) fn shut_down(&self) -> Option<Arc<UpstreamSession>> {
        let mut state = self.state.lock();
        if let Some((_, attempt)) = state.attempt.take() {
            attempt.abort();
        }
        if let Some(healer) = state.healer.take() {
            healer.abort();
        }
        let phase = std::mem::replace(&mut state.phase, ConnectionPhase::Closed);
        drop(state);
        match phase {
            ConnectionPhase::Connected(session) => Some(session),
            _ => None,
        }
    }
}

impl ConnectionState {
    fn mark_lost(&mut self, reason: &ConnectionError) {
        let since = match &self.phase {
            ConnectionPhase::Lost { since, .. } => *since,
            _ => Timestamp::now(),
        };
        self.phase = ConnectionPhase::Lost { reason: reason.to_string(), since, next_try: None };
    }
}

/// Subscribes to `tools/list_changed`. Over a pipe the response arrives when the subscription ends; the notifications
/// arrive on the shared stream.
async fn subscribe_to_list_changes(
    duplex: &DuplexTransport,
    protocol: &str,
    context: &ConnectionContext,
) {
    let params = serde_json::json!({
        "notifications": { "toolsListChanged": true },
        "_meta": RequestMeta::new(protocol, CallerCapabilities::default()),
    });
    let request = OutgoingRequest::new(context.next_id(), "subscriptions/listen", params);
    let (reply, ended) = tokio::sync::oneshot::channel();
    let Ok(ticket) = duplex.flight.register_call(request.id, request.listener, Some(reply)) else {
        return;
    };
    if duplex.outlet.send(request.body).await.is_ok() {
        tokio::spawn(async move {
            let _ = ended.await;
            drop(ticket);
        });
    }
}

/// Waits for the end of a session, then starts reconnecting.
async fn watch_session(shared: Weak<ConnectionLifecycle>, flight: Arc<InFlightCalls>) {
    let mut closed = flight.watch_closed();
    let reason = match closed.wait_for(Option::is_some).await {
        Ok(reason) => reason.clone(),
        Err(_) => None,
    };
    let (Some(reason), Some(shared)) = (reason, shared.upgrade()) else { return };
    let mut state = shared.state.lock();
    let current = matches!(&state.phase, ConnectionPhase::Connected(session) if Arc::ptr_eq(session.transport.in_flight_calls(), &flight));
    if current {
        tracing::info!(server = shared.context.name, %reason, "connection lost");
        let lasted = state.connected_at.is_some_and(|at| at.elapsed() > STABLE_AFTER);
        state.failures = if lasted { 0 } else { state.failures.saturating_add(1) };
        state.mark_lost(&reason);
        shared.start_reconnecting(&mut state);
    }
}

/// Attempts to connect with growing delays, until a session is open or the connection is closed.
async fn run_reconnect_loop(lifecycle: Weak<ConnectionLifecycle>) {
    loop {
        let pause = {
            let Some(shared) = lifecycle.upgrade() else { return };
            let mut state = shared.state.lock();
            let pause = reconnect_delay(state.failures);
            let ConnectionPhase::Lost { next_try, .. } = &mut state.phase else { return };
            *next_try = Timestamp::now().checked_add(pause).ok();
            pause
        };
        tokio::time::sleep(pause).await;
        let attempt = {
            let Some(shared) = lifecycle.upgrade() else { return };
            let mut state = shared.state.lock();
            if !matches!(state.phase, ConnectionPhase::Lost { .. }) {
                return;
            }
            match &state.attempt {
                Some((attempt, _)) => attempt.clone(),
                None => shared.start_attempt(&mut state),
            }
        };
        let _ = attempt.await;
    }
}

/// Returns the delay before the next attempt: doubled after each failure up to a maximum, with random jitter.
fn reconnect_delay(failures: u32) -> Duration {
    let full = MIN_RECONNECT_DELAY.saturating_mul(1 << failures.min(16)).min(MAX_RECONNECT_DELAY);
    let mut random = [0];
    let share = getrandom::fill(&mut random).map_or(1.0, |()| f64::from(random[0]) / 255.0);
    full.mul_f64(0.5 + share / 2.0)
}
