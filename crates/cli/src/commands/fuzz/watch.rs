//! Runs a campaign to its end: updates the display and stops the campaign on request.
//!
//! The first Ctrl-C or SIGTERM stops fuzzing and lets failures be shrunk; the second also stops shrinking. The results are
//! printed either way. In the full-screen view, the keys q and Ctrl-C do the same.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ::fuzz::campaign::{Campaign, CampaignState, CampaignSummary};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::display::CampaignDisplay;
use super::screen::ControlRequest;
use crate::report::{FailureExt, Result};

/// Interval between checks. A campaign of some thousand calls takes a few of them.
const TICK: Duration = Duration::from_millis(50);
/// Time that workers have to end after the second stop request; a single call may take longer.
const KILL_GRACE: Duration = Duration::from_secs(2);

/// A campaign that has ended.
pub(super) struct FinishedCampaign {
    pub(super) summary: CampaignSummary,
    pub(super) elapsed: Duration,
    pub(super) is_interrupted: bool,
}

/// Displays a campaign until it ends, and returns its summary.
pub(super) async fn watch_until_end(
    mut front: CampaignDisplay,
    campaign: Campaign,
    mut signals: StopSignals,
) -> FinishedCampaign {
    let began = Instant::now();
    let shared = Arc::clone(campaign.shared());
    let mut stop = StopRequests::default();
    while !campaign.is_finished() && !stop.is_overdue() {
        for request in front.show_campaign(&shared) {
            match request {
                ControlRequest::Stop => stop.request_stop(&front, &shared),
                // A stopping campaign cannot be paused: it would never end.
                ControlRequest::TogglePause if shared.is_stopped() => {}
                ControlRequest::TogglePause if shared.is_paused() => shared.resume(),
                ControlRequest::TogglePause => shared.pause(),
            }
        }
        tokio::select! {
            () = signals.wait_for_signal() => stop.request_stop(&front, &shared),
            () = tokio::time::sleep(TICK) => {}
        }
    }
    let elapsed = began.elapsed();
    front.finish_display(&shared);
    FinishedCampaign { summary: take_summary(campaign), elapsed, is_interrupted: stop.asked > 0 }
}

/// Counts stop requests: the first stops fuzzing, the second also stops shrinking.
#[derive(Default)]
struct StopRequests {
    asked: usize,
    killed: Option<Instant>,
}

impl StopRequests {
    fn request_stop(&mut self, front: &CampaignDisplay, shared: &CampaignState) {
        self.asked += 1;
        if self.asked == 1 {
            front.print_note(
                "stopping after failures are shrunk; press Ctrl-C again to stop immediately",
            );
            shared.stop();
        } else {
            shared.kill();
            self.killed.get_or_insert_with(Instant::now);
        }
    }

    /// Returns true if workers did not end in time after the second request.
    fn is_overdue(&self) -> bool {
        self.killed.is_some_and(|it| it.elapsed() >= KILL_GRACE)
    }
}

/// Returns the summary of the campaign, or its current state if a worker does not end.
fn take_summary(campaign: Campaign) -> CampaignSummary {
    if campaign.is_finished() {
        return campaign.wait();
    }
    let shared = campaign.shared();
    CampaignSummary {
        failures: shared.failures(),
        best: shared.best(),
        verdicts: shared.verdicts(),
        ended: Vec::new(),
        calls: shared.calls(),
    }
}

/// Listener for SIGINT and SIGTERM.
pub(super) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    pub(super) fn listen() -> Result<Self> {
        let message = "failed to listen for signals";
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).explain(message)?,
            terminate: signal(SignalKind::terminate()).explain(message)?,
        })
    }

    /// Waits for the next signal.
    async fn wait_for_signal(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
