//! Exchanges discoveries between workers so that a run is reproducible.
//!
//! Work is divided into rounds by executed work, not by time. The other workers receive the discoveries of a round
//! [`LAG`] rounds later, in worker order. Each worker therefore sees the same data in every run, regardless of thread
//! scheduling. It waits only for a worker that is nearly [`LAG`] rounds behind.

use std::collections::VecDeque;
use std::sync::Arc;

use super::checker::FailureSite;
use super::pool::CorpusEntry;
use parking_lot::{Condvar, Mutex};

/// Rounds after which discoveries are received. It exceeds the longest stretch of work, during which a worker ends no
/// round (see `worker::STRETCH_WORK`). With a lag of 2, two workers made a tenth fewer calls because one waited for the
/// other.
const LAG: u64 = 8;

/// Discoveries of one worker in one round.
#[derive(Clone, Debug, Default)]
pub(super) struct RoundDiscoveries {
    pub entries: Vec<Arc<CorpusEntry>>,
    /// Failed tests, each with its site in code.
    pub failures: Vec<(usize, FailureSite)>,
    /// Tests that cannot be run.
    pub not_run: Vec<usize>,
}

/// Passes discoveries between workers.
#[derive(Debug)]
pub(super) struct WorkerExchange {
    outboxes: Mutex<Vec<WorkerOutbox>>,
    changed: Condvar,
}

/// Discoveries of one worker that others have not all received.
#[derive(Debug, Default)]
struct WorkerOutbox {
    /// Discoveries by round, starting with round `first`.
    rounds: VecDeque<Arc<RoundDiscoveries>>,
    first: u64,
    /// The worker has ended and adds no more rounds.
    has_left: bool,
    /// Next round that this worker receives from the others.
    next_received: u64,
}

impl WorkerExchange {
    pub(super) fn new(workers: usize) -> Self {
        let outboxes = (0..workers).map(|_| WorkerOutbox::default()).collect();
        Self { outboxes: Mutex::new(outboxes), changed: Condvar::new() }
    }

    /// Adds the discoveries of the worker's round, and returns those of the others from [`LAG`] rounds before the next.
    ///
    /// Waits for workers that are behind. Returns `None` if `is_stopped` becomes true while it waits.
    pub(super) fn exchange_round(
        &self,
        worker: usize,
        discoveries: RoundDiscoveries,
        is_stopped: impl Fn() -> bool,
    ) -> Option<Vec<Arc<RoundDiscoveries>>> {
        let mut outboxes = self.outboxes.lock();
        let outbox = &mut outboxes[worker];
        outbox.rounds.push_back(Arc::new(discoveries));
        let next = outbox.first + outbox.rounds.len() as u64;
        self.changed.notify_all();
        let Some(wanted) = next.checked_sub(LAG) else {
            return Some(Vec::new());
        };
        loop {
            let is_available = |outbox: &WorkerOutbox| {
                outbox.has_left || wanted < outbox.first + outbox.rounds.len() as u64
            };
            if outboxes.iter().all(is_available) {
                break;
            }
            if is_stopped() {
                return None;
            }
            let wait = std::time::Duration::from_millis(50);
            self.changed.wait_for(&mut outboxes, wait);
        }
        let found = outboxes
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != worker)
            .filter_map(|(_, outbox)| {
                let index = wanted.checked_sub(outbox.first)?;
                outbox.rounds.get(index as usize).cloned()
            })
            .collect();
        outboxes[worker].next_received = wanted + 1;
        Self::drop_received_rounds(&mut outboxes);
        Some(found)
    }

    /// Marks the worker as ended, so that the others no longer wait for it.
    pub(super) fn leave(&self, worker: usize) {
        let mut outboxes = self.outboxes.lock();
        outboxes[worker].has_left = true;
        self.changed.notify_all();
    }

    /// Returns true once all workers have left.
    pub(super) fn have_all_left(&self) -> bool {
        let outboxes = self.outboxes.lock();
        outboxes.iter().all(|outbox| outbox.has_left)
    }

    /// Removes rounds that all remaining workers have received.
    fn drop_received_rounds(outboxes: &mut [WorkerOutbox]) {
        let present = outboxes.iter().filter(|outbox| !outbox.has_left);
        let Some(received) = present.map(|outbox| outbox.next_received).min() else { return };
        for outbox in outboxes {
            while outbox.first < received && outbox.rounds.pop_front().is_some() {
                outbox.first += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(test: usize) -> RoundDiscoveries {
        RoundDiscoveries { failures: vec![(test, (0, 0))], ..RoundDiscoveries::default() }
    }

    fn tests(found: Option<Vec<Arc<RoundDiscoveries>>>) -> Option<Vec<usize>> {
        Some(
            found?
                .iter()
                .flat_map(|discoveries| discoveries.failures.iter().map(|(test, _)| *test))
                .collect(),
        )
    }

    #[test]
    fn discoveries_arrive_after_lag_rounds() {
        let exchange = WorkerExchange::new(2);
        let lag = usize::try_from(LAG).unwrap();
        for round in 1..lag {
            assert_eq!(tests(exchange.exchange_round(0, failure(round), || false)), Some(vec![]));
            assert_eq!(
                tests(exchange.exchange_round(1, failure(100 + round), || false)),
                Some(vec![])
            );
        }
        assert_eq!(tests(exchange.exchange_round(0, failure(lag), || false)), Some(vec![101]));
        assert_eq!(tests(exchange.exchange_round(1, failure(100 + lag), || false)), Some(vec![1]));
        assert_eq!(tests(exchange.exchange_round(0, failure(lag + 1), || false)), Some(vec![102]));
    }

    #[test]
    fn does_not_wait_for_worker_that_left() {
        let exchange = WorkerExchange::new(2);
        exchange.leave(1);
        for round in 0..2 * usize::try_from(LAG).unwrap() {
            assert_eq!(tests(exchange.exchange_round(0, failure(round), || false)), Some(vec![]));
        }
    }

    #[test]
    fn stop_ends_the_wait() {
        let exchange = WorkerExchange::new(2);
        for _ in 1..LAG {
            assert!(exchange.exchange_round(0, failure(1), || true).is_some());
        }
        assert!(exchange.exchange_round(0, failure(2), || true).is_none());
    }
}
