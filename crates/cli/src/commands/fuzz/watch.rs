//! Waits for the end of a campaign: shows how far it is, and stops it when somebody asks.
//!
//! The first Ctrl-C (or SIGTERM) ends the fuzzing and lets failures be made small; the second ends that, too. Either way
//! what was found is printed. On the screen the keys q and Ctrl-C mean the same.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ::fuzz::campaign::{Campaign, Shared, Summary};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::front::Front;
use super::screen::Wish;
use crate::report::{Explain, Result};

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

pub(super) async fn until_end(
    mut front: Front,
    campaign: Campaign,
    mut signals: Signals,
) -> Watched {
    let began = Instant::now();
    let shared = Arc::clone(campaign.shared());
    let mut stop = Stop::default();
    while !campaign.is_finished() && !stop.is_overdue() {
        for wish in front.show(&shared) {
            match wish {
                Wish::Stop => stop.ask(&front, &shared),
                // What ends must not wait for somebody to let it go on.
                Wish::Pause if shared.is_stopped() => {}
                Wish::Pause if shared.is_paused() => shared.resume(),
                Wish::Pause => shared.pause(),
            }
        }
        tokio::select! {
            () = signals.next() => stop.ask(&front, &shared),
            () = tokio::time::sleep(TICK) => {}
        }
    }
    let elapsed = began.elapsed();
    front.end(&shared);
    Watched { summary: summary(campaign), elapsed, is_interrupted: stop.asked > 0 }
}

/// How often somebody asked for the end.
#[derive(Default)]
struct Stop {
    asked: usize,
    killed: Option<Instant>,
}

impl Stop {
    fn ask(&mut self, front: &Front, shared: &Shared) {
        self.asked += 1;
        if self.asked == 1 {
            front.note(
                "stopping, with what was found made small; press Ctrl-C again to stop at once",
            );
            shared.stop();
        } else {
            shared.kill();
            self.killed.get_or_insert_with(Instant::now);
        }
    }

    /// A worker had its time and does not come to an end.
    fn is_overdue(&self) -> bool {
        self.killed.is_some_and(|it| it.elapsed() >= LAST_WORDS)
    }
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
