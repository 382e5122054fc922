//! The state behind a link: which connection there is, who is making one, and when to try again.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::turns::Turns;
use crate::context::Context;
use crate::duplex::Duplex;
use crate::flight::Flight;
use crate::http::Http;
use crate::negotiate::{Agreed, negotiate};
use crate::session::{Meta, Request, Session, Wire};
use crate::stdio::{self, Child, Tail};
use crate::{Abilities, Endpoint, Era, LinkError, Options, Reach, Status, http, sse};

/// So soon after a failure nobody tries again: a dead server delays nobody.
const RECENT: Duration = Duration::from_secs(1);
/// An attempt over the network that failed sooner than this is not worth waiting for another.
const CHEAP: Duration = Duration::from_millis(50);
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// A connection that did not last this long counts as a failure: a server that starts and dies is not started for ever.
const LASTING: Duration = Duration::from_secs(10);

type Attempt = futures::future::Shared<BoxFuture<'static, Result<Arc<Session>, LinkError>>>;

pub(super) struct Shared {
    options: Options,
    pub(super) context: Arc<Context>,
    pub(super) tail: Arc<Tail>,
    /// Of calls that may be asked, once they have to take turns.
    pub(super) turns: Turns,
    client: OnceLock<reqwest::Client>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    phase: Phase,
    attempt: Option<(Attempt, AbortHandle)>,
    healer: Option<AbortHandle>,
    /// Since the last connection that lasted.
    failures: u32,
    connected_at: Option<Instant>,
    /// Of the last attempt, if it was one that is not to be repeated at once.
    last_failure: Option<(Instant, LinkError)>,
    ever_connected: bool,
    era: Option<Era>,
}

#[derive(Default)]
enum Phase {
    #[default]
    Never,
    Up(Arc<Session>),
    Lost {
        reason: String,
        since: Timestamp,
        next_try: Option<Timestamp>,
    },
    Closed,
}

impl Shared {
    pub(super) fn new(options: Options) -> Arc<Self> {
        Arc::new(Self {
            context: Arc::new(Context::new(&options)),
            options,
            tail: Arc::default(),
            turns: Turns::default(),
            client: OnceLock::new(),
            state: Mutex::default(),
        })
    }

    /// The open connection, or a new one.
    pub(super) async fn session(self: &Arc<Self>) -> Result<Arc<Session>, LinkError> {
        let attempt = {
            let mut state = self.state.lock();
            match &state.phase {
                Phase::Up(session) if session.is_open() => return Ok(session.clone()),
                Phase::Closed => return Err(LinkError::Closed),
                _ => {}
            }
            let recent = state.last_failure.as_ref().filter(|(at, _)| at.elapsed() < RECENT);
            match (&state.attempt, recent) {
                (Some((attempt, _)), _) => attempt.clone(),
                (None, Some((_, error))) => return Err(error.clone()),
                (None, None) => self.start_attempt(&mut state),
            }
        };
        attempt.await
    }

    /// In a task of its own: a caller who gives up does not take the others' attempt with it.
    fn start_attempt(self: &Arc<Self>, state: &mut State) -> Attempt {
        let shared = self.clone();
        let task = tokio::spawn(async move {
            let (limit, begun) = (shared.options.connect_timeout, Instant::now());
            let opened = tokio::time::timeout(limit, shared.open()).await.unwrap_or_else(|_| {
                let reason = format!("connecting takes longer than {} ms", limit.as_millis());
                Err(LinkError::unreachable(reason))
            });
            shared.settle(opened, begun.elapsed())
        });
        let abort = task.abort_handle();
        let attempt = task.map(|ended| ended.unwrap_or(Err(LinkError::Closed))).boxed().shared();
        state.attempt = Some((attempt.clone(), abort));
        attempt
    }

    async fn open(&self) -> Result<Session, LinkError> {
        let known = self.state.lock().era;
        let opened = self.open_once(known).await;
        match opened {
            // Some servers of old end at the first request that they do not know.
            Err(LinkError::Unavailable { may_have_run: true, .. })
                if known.is_none() && matches!(self.options.reach, Reach::Stdio(_)) =>
            {
                self.open_once(Some(Era::Handshake)).await
            }
            other => other,
        }
    }

    async fn open_once(&self, known: Option<Era>) -> Result<Session, LinkError> {
        let flight = Flight::new(self.context.clone());
        let (wire, child) = self.dial(flight).await?;
        let known =
            if matches!(self.options.reach, Reach::Sse(_)) { Some(Era::Handshake) } else { known };
        let limit = self.options.connect_timeout;
        let agreed = negotiate(&wire, &self.context, known, limit).await?;
        let Agreed { server, list_changed, has_tools } = agreed;
        let session = Session { wire, server, has_tools, child };
        let (protocol, era) = session.protocol();
        match (&session.wire, era) {
            (Wire::Http(http), Era::Handshake) => http.listen(protocol, era),
            (Wire::Http(http), Era::Stateless) if list_changed => http.listen(protocol, era),
            (Wire::Duplex(duplex), Era::Stateless) if list_changed => {
                subscribe(duplex, protocol, &self.context).await;
            }
            _ => {}
        }
        Ok(session)
    }

    async fn dial(&self, flight: Arc<Flight>) -> Result<(Wire, Option<Child>), LinkError> {
        match &self.options.reach {
            Reach::Stdio(program) => {
                let (duplex, child) = stdio::start(program, flight, self.tail.clone()).await?;
                Ok((Wire::Duplex(duplex), Some(child)))
            }
            Reach::Http(target) => {
                Ok((Wire::Http(Http::new(self.client(target)?, target, flight)?), None))
            }
            Reach::Sse(target) => {
                let duplex = sse::connect(self.client(target)?, target, flight).await?;
                Ok((Wire::Duplex(duplex), None))
            }
        }
    }

    fn client(&self, target: &Endpoint) -> Result<reqwest::Client, LinkError> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let client = http::client(target, self.options.connect_timeout)?;
        Ok(self.client.get_or_init(|| client).clone())
    }

    /// The end of an attempt.
    fn settle(
        self: &Arc<Self>,
        opened: Result<Session, LinkError>,
        took: Duration,
    ) -> Result<Arc<Session>, LinkError> {
        let mut state = self.state.lock();
        state.attempt = None;
        if matches!(state.phase, Phase::Closed) {
            return Err(LinkError::Closed);
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
                    self.context.note_change();
                }
                state.phase = Phase::Up(session.clone());
                tokio::spawn(watch(Arc::downgrade(self), session.wire.flight().clone()));
                Ok(session)
            }
            Err(error) => {
                tracing::warn!(server = self.context.name, %error, "cannot connect");
                state.failures = state.failures.saturating_add(1);
                // To be refused by an address costs nobody anything, so the next call may try again.
                let is_cheap = took < CHEAP && !matches!(self.options.reach, Reach::Stdio(_));
                state.last_failure = (!is_cheap).then(|| (Instant::now(), error.clone()));
                state.lost(&error);
                self.heal(&mut state);
                Err(error)
            }
        }
    }

    /// The connection is of no use any more; whoever needs one next makes a new one.
    pub(super) fn lose(&self, session: &Arc<Session>, reason: &LinkError) {
        // The pipe of a connection that has ended stays open for the calls that still ask it what the child has read.
        if session.is_open() {
            session.shut(reason);
        }
        let mut state = self.state.lock();
        if matches!(&state.phase, Phase::Up(current) if Arc::ptr_eq(current, session)) {
            state.lost(reason);
        }
    }

    /// Starts the attempts in the background, unless they are under way.
    fn heal(self: &Arc<Self>, state: &mut State) {
        if state.healer.as_ref().is_none_or(AbortHandle::is_finished) {
            state.healer = Some(tokio::spawn(heal(Arc::downgrade(self))).abort_handle());
        }
    }

    pub(super) fn status(&self) -> Status {
        match &self.state.lock().phase {
            Phase::Never => Status::Never,
            Phase::Up(session) => match session.wire.flight().closed_by() {
                None => Status::Connected(session.server.clone()),
                Some(reason) => {
                    let reason = reason.to_string();
                    Status::Lost { reason, since: Timestamp::now(), next_try: None }
                }
            },
            Phase::Lost { reason, since, next_try } => {
                Status::Lost { reason: reason.clone(), since: *since, next_try: *next_try }
            }
            Phase::Closed => Status::Closed,
        }
    }

    pub(super) fn era(&self) -> Option<Era> {
        match &self.state.lock().phase {
            Phase::Up(session) => Some(session.server.era),
            _ => None,
        }
    }

    /// For good. Gives the connection that was open.
    pub(super) fn shut(&self) -> Option<Arc<Session>> {
        let mut state = self.state.lock();
        if let Some((_, attempt)) = state.attempt.take() {
            attempt.abort();
        }
        if let Some(healer) = state.healer.take() {
            healer.abort();
        }
        let phase = std::mem::replace(&mut state.phase, Phase::Closed);
        drop(state);
        match phase {
            Phase::Up(session) => Some(session),
            _ => None,
        }
    }
}

impl State {
    fn lost(&mut self, reason: &LinkError) {
        let since = match &self.phase {
            Phase::Lost { since, .. } => *since,
            _ => Timestamp::now(),
        };
        self.phase = Phase::Lost { reason: reason.to_string(), since, next_try: None };
    }
}

/// Over a pipe the answer to this request is its end; the notifications come like all others.
async fn subscribe(duplex: &Duplex, protocol: &str, context: &Context) {
    let params = serde_json::json!({
        "notifications": { "toolsListChanged": true },
        "_meta": Meta::new(protocol, Abilities::default()),
    });
    let request = Request::new(context.next_id(), "subscriptions/listen", params);
    let (reply, ended) = tokio::sync::oneshot::channel();
    let Ok(ticket) = duplex.flight.enter(request.id, request.listener, Some(reply)) else { return };
    if duplex.outlet.send(request.body).await.is_ok() {
        tokio::spawn(async move {
            let _ = ended.await;
            drop(ticket);
        });
    }
}

/// Waits for the end of a connection and sees to the next.
async fn watch(shared: Weak<Shared>, flight: Arc<Flight>) {
    let mut closed = flight.watch_closed();
    let reason = match closed.wait_for(Option::is_some).await {
        Ok(reason) => reason.clone(),
        Err(_) => None,
    };
    let (Some(reason), Some(shared)) = (reason, shared.upgrade()) else { return };
    let mut state = shared.state.lock();
    let current =
        matches!(&state.phase, Phase::Up(session) if Arc::ptr_eq(session.wire.flight(), &flight));
    if current {
        tracing::info!(server = shared.context.name, %reason, "the connection ended");
        let lasted = state.connected_at.is_some_and(|at| at.elapsed() > LASTING);
        state.failures = if lasted { 0 } else { state.failures.saturating_add(1) };
        state.lost(&reason);
        shared.heal(&mut state);
    }
}

async fn heal(link: Weak<Shared>) {
    loop {
        let pause = {
            let Some(shared) = link.upgrade() else { return };
            let mut state = shared.state.lock();
            let pause = pause(state.failures);
            let Phase::Lost { next_try, .. } = &mut state.phase else { return };
            *next_try = Timestamp::now().checked_add(pause).ok();
            pause
        };
        tokio::time::sleep(pause).await;
        let attempt = {
            let Some(shared) = link.upgrade() else { return };
            let mut state = shared.state.lock();
            if !matches!(state.phase, Phase::Lost { .. }) {
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

/// Twice as long after each failure, and never the same for two links.
fn pause(failures: u32) -> Duration {
    let full = FIRST_PAUSE.saturating_mul(1 << failures.min(16)).min(MAX_PAUSE);
    let mut random = [0];
    let share = getrandom::fill(&mut random).map_or(1.0, |()| f64::from(random[0]) / 255.0);
    full.mul_f64(0.5 + share / 2.0)
}
