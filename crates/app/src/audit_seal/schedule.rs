//! Seals on a schedule: after a time, after a number of bytes, and when the server ends. Deliveries that failed are tried
//! again each minute.

use std::time::Duration;

use jiff::Timestamp;
use runtime::SealMetrics;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{AuditSealer, SealState};
use crate::config::Settings;
use crate::failure::Result;

/// Interval at which the size of the log is compared with `every_bytes`.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Pause after a checkpoint could not be signed or delivered.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum time of the last checkpoint and its delivery, when a server ends.
const STOP_TIMEOUT: Duration = Duration::from_millis(1500);

/// What a server seals, and when.
#[derive(Clone, Debug)]
pub struct SealPlan {
    pub sealer: AuditSealer,
    /// Maximum time between two checkpoints.
    pub every: Duration,
    /// Bytes of new lines after which a checkpoint is due.
    pub every_bytes: Option<u64>,
}

impl SealPlan {
    /// Returns the plan that the configuration describes.
    pub fn from_settings(settings: &Settings) -> Self {
        let seal = &settings.audit.seal;
        let sealer = AuditSealer::from_settings(settings);
        Self { sealer, every: seal.every, every_bytes: seal.every_bytes }
    }

    /// Returns the plan of a server that was started with other settings, and goes on with its log.
    pub fn reload(started: &Settings, now: &Settings) -> Self {
        let (before, after) = (Self::from_settings(started), Self::from_settings(now));
        let AuditSealer { log, keys, .. } = before.sealer;
        Self { sealer: AuditSealer { log, keys, ..after.sealer }, ..after }
    }

    fn is_active(&self) -> bool {
        !self.sealer.targets.is_empty()
    }
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SealAction {
    Nothing,
    /// Deliver what waits.
    Deliver,
    /// Sign a checkpoint and deliver it.
    Seal,
}

/// The times of the last and of the next actions.
struct SealSchedule {
    sealed: Instant,
    /// Time before which no checkpoint is signed, after an attempt that failed.
    next_seal: Instant,
    /// The same for deliveries.
    next_delivery: Instant,
}

impl SealSchedule {
    /// Returns a schedule that continues after a checkpoint of this age.
    fn resume(now: Instant, age: Duration) -> Self {
        let sealed = now.checked_sub(age).unwrap_or(now);
        Self { sealed, next_seal: now, next_delivery: now }
    }

    fn decide(&self, now: Instant, plan: &SealPlan, state: &SealState) -> SealAction {
        let is_large =
            plan.every_bytes.is_some_and(|limit| state.growth.is_none_or(|bytes| bytes >= limit));
        let is_due = is_large || now >= self.sealed + plan.every;
        if is_due && now >= self.next_seal {
            SealAction::Seal
        } else if state.undelivered > 0 && now >= self.next_delivery {
            SealAction::Deliver
        } else {
            SealAction::Nothing
        }
    }

    /// Returns the time of the next check.
    fn next_check(&self, now: Instant, plan: &SealPlan) -> Instant {
        let due = (self.sealed + plan.every).max(self.next_seal);
        // What is overdue could not be done now.
        if due <= now { now + CHECK_INTERVAL } else { due.min(now + CHECK_INTERVAL) }
    }
}

/// Seals on the schedule of the current plan until `stop` is cancelled, and once more then. A plan without targets seals
/// nothing. Failures are logged and retried.
pub async fn seal_on_schedule(
    mut plans: watch::Receiver<SealPlan>,
    metrics: SealMetrics,
    stop: CancellationToken,
) {
    let start = plans.borrow().clone();
    let mut schedule = SealSchedule::resume(Instant::now(), start.find_age().await);
    let mut next_check = Instant::now();
    loop {
        let plan = plans.borrow_and_update().clone();
        tokio::select! {
            () = stop.cancelled() => break,
            Ok(()) = plans.changed() => {
                next_check = Instant::now();
                continue;
            }
            () = tokio::time::sleep_until(next_check) => {}
        }
        if plan.is_active() {
            tokio::select! {
                // A delivery that hangs does not delay the end.
                () = stop.cancelled() => break,
                () = plan.run_due_action(&mut schedule, &metrics) => {}
            }
        }
        next_check = schedule.next_check(Instant::now(), &plan);
    }
    let plan = plans.borrow().clone();
    if plan.is_active() {
        // What is not delivered now waits for the next start.
        let sealed = tokio::time::timeout(STOP_TIMEOUT, plan.seal_and_deliver(&metrics)).await;
        if sealed.is_err() {
            tracing::warn!("the last checkpoint of the audit log is not delivered everywhere yet");
        }
    }
}

impl SealPlan {
    /// Returns the age of the last checkpoint; zero if there is none.
    async fn find_age(&self) -> Duration {
        let last = self.sealer.run_blocking(|sealer| Ok(sealer.queue().read_last()?)).await;
        let Ok(Some(last)) = last else { return Duration::ZERO };
        let age = Timestamp::now().duration_since(last.checkpoint.time);
        // A clock that was set back makes it negative. More than the interval changes nothing.
        Duration::try_from(age).unwrap_or_default().min(self.every)
    }

    async fn run_due_action(&self, schedule: &mut SealSchedule, metrics: &SealMetrics) {
        let action = match self.sealer.run_blocking(AuditSealer::inspect).await {
            Ok(state) => {
                state.show(metrics);
                schedule.decide(Instant::now(), self, &state)
            }
            Err(failure) => {
                let error = failure.to_one_line();
                tracing::error!(error, "failed to read what the last checkpoint contains");
                return;
            }
        };
        match action {
            SealAction::Nothing => {}
            SealAction::Deliver => {
                schedule.next_delivery = Instant::now() + RETRY_INTERVAL;
                self.deliver(metrics).await;
            }
            SealAction::Seal => {
                schedule.next_seal = Instant::now() + RETRY_INTERVAL;
                if self.seal(metrics).await {
                    let now = Instant::now();
                    (schedule.sealed, schedule.next_seal) = (now, now);
                    schedule.next_delivery = now + RETRY_INTERVAL;
                    self.deliver(metrics).await;
                }
            }
        }
    }

    async fn seal_and_deliver(&self, metrics: &SealMetrics) {
        // What waited before is delivered in any case.
        self.seal(metrics).await;
        self.deliver(metrics).await;
    }

    /// Signs a checkpoint. Returns false if that failed.
    async fn seal(&self, metrics: &SealMetrics) -> bool {
        // The whole current file is hashed, which would block the threads that serve connections.
        let sealed = self.sealer.run_blocking(AuditSealer::create_partial_checkpoint).await;
        if let Err(failure) = &sealed {
            metrics.record_failure();
            let error = failure.to_one_line();
            tracing::error!(error, "failed to seal the audit log");
        }
        sealed.is_ok()
    }

    async fn deliver(&self, metrics: &SealMetrics) {
        let report = |error: String| {
            metrics.record_failure();
            tracing::error!(
                error,
                "failed to deliver a checkpoint of the audit log; it is sent again"
            );
        };
        match self.sealer.deliver(&self.sealer.targets).await {
            Ok(deliveries) => {
                let failures = deliveries.into_iter().filter_map(|delivery| delivery.result.err());
                failures.for_each(|failure| report(failure.to_one_line()));
            }
            Err(failure) => report(failure.to_one_line()),
        }
        let state: Result<_> = self.sealer.run_blocking(AuditSealer::inspect).await;
        if let Ok(state) = state {
            state.show(metrics);
        }
    }
}

impl SealState {
    fn show(&self, metrics: &SealMetrics) {
        metrics.set_undelivered(self.undelivered);
        if let Some(last) = &self.last {
            let seq = last.checkpoint.chains.first().map_or(0, |tip| tip.seq);
            metrics.set_sealed(seq, last.checkpoint.time.as_second());
        }
    }
}
