//! What happened last, for those who watch.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

/// How many events are remembered.
pub const CAPACITY: usize = 2500;

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Event {
    pub time: SystemTime,
    pub worker: usize,
    pub what: Happening,
}

/// See [`Event`].
#[derive(Clone, Debug)]
pub enum Happening {
    WorkerStarted,
    WorkerStopped { reason: String },
    CoverageIncreased { call: String, branches: usize, corpus: usize },
    TestFailed { test: usize, calls: Vec<String>, is_shrunk: bool },
    TransactionExecuted { call: String, gas: u64, is_success: bool },
}

/// The last events. Who pushes never waits for who reads.
#[derive(Debug, Default)]
pub struct Events {
    board: Arc<Board>,
}

/// Follows the events from where it began.
#[derive(Debug)]
pub struct Subscription {
    board: Arc<Board>,
    /// The number of the next event.
    next: u64,
}

/// What a subscription got.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// The oldest first.
    pub events: Vec<Event>,
    /// Events that came and went before somebody asked for them.
    pub missed: u64,
}

#[derive(Debug, Default)]
struct Board {
    ring: Mutex<Ring>,
    pushed: Condvar,
}

#[derive(Debug, Default)]
struct Ring {
    events: VecDeque<Event>,
    /// How many events were pushed in all.
    count: u64,
}

impl Events {
    pub fn push(&self, worker: usize, what: Happening) {
        let event = Event { time: SystemTime::now(), worker, what };
        let mut ring = self.board.lock();
        if ring.events.len() == CAPACITY {
            ring.events.pop_front();
        }
        ring.events.push_back(event);
        ring.count += 1;
        self.board.pushed.notify_all();
    }

    /// The newest first.
    pub fn last(&self, count: usize) -> Vec<Event> {
        self.board.lock().events.iter().rev().take(count).cloned().collect()
    }

    /// Follows what happens from now on.
    pub fn subscribe(&self) -> Subscription {
        let next = self.board.lock().count;
        Subscription { board: self.board.clone(), next }
    }
}

impl Subscription {
    /// What happened since the last time; waits for it as long as is said, if nothing did.
    pub fn next(&mut self, wait: Duration) -> News {
        let ring = self.board.lock();
        let is_old = |ring: &mut Ring| ring.count == self.next;
        let waited = self.board.pushed.wait_timeout_while(ring, wait, is_old);
        let (ring, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let new = ring.count - self.next;
        self.next = ring.count;
        let kept = (ring.events.len() as u64).min(new);
        let events = ring.events.iter().skip(ring.events.len() - kept as usize);
        News { events: events.cloned().collect(), missed: new - kept }
    }
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopped(events: &Events, reasons: std::ops::Range<usize>) {
        for reason in reasons {
            events.push(0, Happening::WorkerStopped { reason: reason.to_string() });
        }
    }

    fn reasons(news: &News) -> Vec<String> {
        let reason = |event: &Event| match &event.what {
            Happening::WorkerStopped { reason } => reason.clone(),
            other => format!("{other:?}"),
        };
        news.events.iter().map(reason).collect()
    }

    #[test]
    fn a_subscription_gets_what_comes_after_it_once_and_in_order() {
        let events = Events::default();
        stopped(&events, 0..2);
        let mut subscription = events.subscribe();
        assert!(subscription.next(Duration::ZERO).events.is_empty());
        stopped(&events, 2..4);
        assert_eq!(reasons(&subscription.next(Duration::ZERO)), ["2", "3"]);
        assert!(subscription.next(Duration::ZERO).events.is_empty());
    }

    #[test]
    fn who_comes_late_is_told_how_much_is_gone() {
        let events = Events::default();
        let mut subscription = events.subscribe();
        stopped(&events, 0..CAPACITY + 3);
        let news = subscription.next(Duration::ZERO);
        assert_eq!((news.missed, news.events.len()), (3, CAPACITY));
        assert_eq!(reasons(&news)[0], "3");
    }

    #[test]
    fn who_waits_is_woken() {
        let events = Events::default();
        let mut subscription = events.subscribe();
        let waiting = std::thread::spawn(move || subscription.next(Duration::from_secs(600)));
        stopped(&events, 0..1);
        assert_eq!(reasons(&waiting.join().expect("it does not crash")), ["0"]);
    }
}
