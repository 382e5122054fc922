//! Waits for the end of a campaign: shows how far it is, and stops it when somebody asks.
//!
//! The first Ctrl-C (or SIGTERM) ends the fuzzing and lets failures be made small; the second ends that, too. Either way
//! what was found is printed.

use std::time::{Duration, Instant};

use ::fuzz::campaign::{Campaign, Summary};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::progress::Reporter;
use crate::report::{Explain, Result};
use crate::ui::Ui;

/// Between two looks. A campaign of some thousand calls is over in a few of them.
const TICK: Duration = Duration::from_millis(50);
/// How long workers may take to notice that all is over; a single call may run for longer.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A campaign that is over.
pub(super) struct Watched {
    pub(super) summary: Summary,
    pub(super) elapsed: Duration,
    pub(super) is_interrupted: bool,
}

pub(super) async fn until_end(ui: Ui, campaign: Campaign, mut signals: Signals) -> Watched {
    let mut reporter = Reporter::new(ui);
    let mut count = 0;
    let mut killed: Option<Instant> = None;
    while !campaign.is_finished() && killed.is_none_or(|it| it.elapsed() < LAST_WORDS) {
        reporter.show(campaign.shared());
        tokio::select! {
            () = signals.next() => {
                count += 1;
                if count == 1 {
                    reporter.note("stopping, with what was found made small; press Ctrl-C again to stop at once");
                    campaign.shared().stop();
                } else {
                    campaign.shared().kill();
                    killed.get_or_insert_with(Instant::now);
                }
            }
            () = tokio::time::sleep(TICK) => {}
        }
    }
    reporter.show(campaign.shared());
    let elapsed = reporter.elapsed();
    reporter.end();
    Watched { summary: summary(campaign), elapsed, is_interrupted: count > 0 }
}

/// What the campaign left, or has so far if a worker does not come to an end.
fn summary(campaign: Campaign) -> Summary {
    if campaign.is_finished() {
        return campaign.wait();
    }
    let shared = campaign.shared();
    Summary {
        failures: shared.failures(),
        best: shared.best(),
        ended: Vec::new(),
        calls: shared.calls(),
    }
}

/// Those that ask for the end.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub(super) fn listen() -> Result<Self> {
        let failed = "cannot listen for signals";
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).explain(failed)?,
            terminate: signal(SignalKind::terminate()).explain(failed)?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
