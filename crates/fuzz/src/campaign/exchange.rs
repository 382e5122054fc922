//! How workers share what they find, so that a run can be repeated.
//!
//! Work is cut into rounds, by what was executed and not by time. What a worker finds in a round the others take in
//! [`LAG`] rounds later, in the order of the workers. So each worker sees the same in each run, however the system
//! schedules the threads, and waits only for one that has fallen nearly as many rounds behind.

use std::collections::VecDeque;
use std::sync::Arc;

use super::check::Site;
use super::pool::Entry;
use parking_lot::{Condvar, Mutex};

/// How many rounds later finds are taken in: more than the longest stretch of work takes, in which a worker ends no round
/// (see `worker::STRETCH_WORK`). With two rounds, two workers made a tenth fewer calls, since one waited for the other.
const LAG: u64 = 8;

/// What a worker found in one round.
#[derive(Clone, Debug, Default)]
pub(super) struct Finds {
    pub entries: Vec<Arc<Entry>>,
    /// Tests that failed, with the place.
    pub failures: Vec<(usize, Site)>,
}

/// Where finds are put down.
#[derive(Debug)]
pub(super) struct Exchange {
    board: Mutex<Vec<Desk>>,
    changed: Condvar,
}

/// The finds of one worker that somebody may still want.
#[derive(Debug, Default)]
struct Desk {
    /// Of the rounds from `first` on.
    rounds: VecDeque<Arc<Finds>>,
    first: u64,
    /// It will put down nothing more.
    has_left: bool,
    /// The round that this worker takes in next.
    taken: u64,
}

impl Exchange {
    pub(super) fn new(workers: usize) -> Self {
        let board = (0..workers).map(|_| Desk::default()).collect();
        Self { board: Mutex::new(board), changed: Condvar::new() }
    }

    /// Puts down what was found in the worker's round, and takes what the others found [`LAG`] rounds before the next.
    ///
    /// None if `is_stopped` says so while it waits.
    pub(super) fn swap(
        &self,
        worker: usize,
        finds: Finds,
        is_stopped: impl Fn() -> bool,
    ) -> Option<Vec<Arc<Finds>>> {
        let mut board = self.board.lock();
        let desk = &mut board[worker];
        desk.rounds.push_back(Arc::new(finds));
        let next = desk.first + desk.rounds.len() as u64;
        self.changed.notify_all();
        let Some(wanted) = next.checked_sub(LAG) else {
            return Some(Vec::new());
        };
        loop {
            let is_there =
                |desk: &Desk| desk.has_left || wanted < desk.first + desk.rounds.len() as u64;
            if board.iter().all(is_there) {
                break;
            }
            if is_stopped() {
                return None;
            }
            let wait = std::time::Duration::from_millis(50);
            self.changed.wait_for(&mut board, wait);
        }
        let found = board
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != worker)
            .filter_map(|(_, desk)| {
                let index = wanted.checked_sub(desk.first)?;
                desk.rounds.get(index as usize).cloned()
            })
            .collect();
        board[worker].taken = wanted + 1;
        Self::tidy(&mut board);
        Some(found)
    }

    /// The worker ends; nobody waits for it any more.
    pub(super) fn leave(&self, worker: usize) {
        let mut board = self.board.lock();
        board[worker].has_left = true;
        self.changed.notify_all();
    }

    /// True once all workers have left.
    pub(super) fn is_deserted(&self) -> bool {
        let board = self.board.lock();
        board.iter().all(|desk| desk.has_left)
    }

    /// Forgets what everybody has.
    fn tidy(board: &mut [Desk]) {
        let taken = board.iter().filter(|desk| !desk.has_left).map(|desk| desk.taken).min();
        let Some(taken) = taken else { return };
        for desk in board {
            while desk.first < taken && desk.rounds.pop_front().is_some() {
                desk.first += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(test: usize) -> Finds {
        Finds { failures: vec![(test, (0, 0))], ..Finds::default() }
    }

    fn tests(found: Option<Vec<Arc<Finds>>>) -> Option<Vec<usize>> {
        Some(found?.iter().flat_map(|finds| finds.failures.iter().map(|(test, _)| *test)).collect())
    }

    #[test]
    fn finds_arrive_some_rounds_later() {
        let exchange = Exchange::new(2);
        let lag = usize::try_from(LAG).unwrap();
        for round in 1..lag {
            assert_eq!(tests(exchange.swap(0, failure(round), || false)), Some(vec![]));
            assert_eq!(tests(exchange.swap(1, failure(100 + round), || false)), Some(vec![]));
        }
        assert_eq!(tests(exchange.swap(0, failure(lag), || false)), Some(vec![101]));
        assert_eq!(tests(exchange.swap(1, failure(100 + lag), || false)), Some(vec![1]));
        assert_eq!(tests(exchange.swap(0, failure(lag + 1), || false)), Some(vec![102]));
    }

    #[test]
    fn nobody_waits_for_one_that_left() {
        let exchange = Exchange::new(2);
        exchange.leave(1);
        for round in 0..2 * usize::try_from(LAG).unwrap() {
            assert_eq!(tests(exchange.swap(0, failure(round), || false)), Some(vec![]));
        }
    }

    #[test]
    fn a_stop_ends_the_wait() {
        let exchange = Exchange::new(2);
        for _ in 1..LAG {
            assert!(exchange.swap(0, failure(1), || true).is_some());
        }
        assert!(exchange.swap(0, failure(2), || true).is_none());
    }
}
