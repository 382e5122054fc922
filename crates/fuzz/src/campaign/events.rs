//! What happened last, for those who watch.
//!
//! Workers put events into a queue without locks and never wait for who reads. Whoever reads moves them from there into
//! the ring of the last ones, behind a lock that only readers take.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crossbeam_queue::ArrayQueue;
use parking_lot::{Mutex, MutexGuard};

use super::pool::Entry;
use crate::call::Call;

/// How many events are remembered.
pub const CAPACITY: usize = 2500;

/// How often somebody who waits looks. Being woken would cost the workers a lock.
const POLL: Duration = Duration::from_millis(20);

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
    WorkerStopped {
        reason: String,
    },
    /// The sequence showed branches for the first time.
    CoverageIncreased {
        entry: Arc<Entry>,
        /// How many sequences there are since.
        corpus: usize,
    },
    TestFailed {
        test: usize,
        calls: Arc<[Call]>,
        /// What the calls used together.
        gas: u64,
        is_shrunk: bool,
    },
    /// A call that somebody injected, or one of a worker's own, about once a second.
    TransactionExecuted {
        call: Call,
        gas: u64,
        is_success: bool,
        is_injected: bool,
    },
}

/// The last events.
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

#[derive(Debug)]
struct Board {
    /// What nobody has looked at. It holds as much as the ring, so that the last events are there when one does.
    inbox: ArrayQueue<Event>,
    /// Events that had to make room in the inbox, since the ring was told.
    lost: AtomicU64,
    ring: Mutex<Ring>,
}

#[derive(Debug, Default)]
struct Ring {
    /// In the order in which they came, each with its number.
    events: VecDeque<(u64, Event)>,
    /// How many events there were in all.
    count: u64,
}

impl Default for Board {
    fn default() -> Self {
        Self { inbox: ArrayQueue::new(CAPACITY), lost: AtomicU64::new(0), ring: Mutex::default() }
    }
}

impl Events {
    pub fn push(&self, worker: usize, what: Happening) {
        let event = Event { time: SystemTime::now(), worker, what };
        if self.board.inbox.force_push(event).is_some() {
            self.board.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The newest first, by their times.
    pub fn last(&self, count: usize) -> Vec<Event> {
        let ring = self.board.look();
        // Two workers may come in another order than they looked at the clock.
        let mut events: Vec<&Event> = ring.events.iter().rev().map(|(_, event)| event).collect();
        events.sort_by_key(|event| Reverse(event.time));
        events.into_iter().take(count).cloned().collect()
    }

    /// How many are remembered, [`CAPACITY`] at most.
    pub fn len(&self) -> usize {
        self.board.look().events.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Follows what happens from now on.
    pub fn subscribe(&self) -> Subscription {
        let next = self.board.look().count;
        Subscription { board: self.board.clone(), next }
    }
}

impl Subscription {
    /// What happened since the last time; waits for it as long as is said, if nothing did.
    pub fn next(&mut self, wait: Duration) -> News {
        let end = Instant::now().checked_add(wait);
        loop {
            let news = self.take();
            let left = end.map_or(POLL, |end| end.saturating_duration_since(Instant::now()));
            if !news.events.is_empty() || news.missed > 0 || left.is_zero() {
                return news;
            }
            thread::sleep(left.min(POLL));
        }
    }

    fn take(&mut self) -> News {
        let ring = self.board.look();
        let new = ring.events.iter().rev().take_while(|(number, _)| *number >= self.next);
        let mut events: Vec<Event> = new.map(|(_, event)| event.clone()).collect();
        events.reverse();
        let missed = ring.count - self.next - events.len() as u64;
        self.next = ring.count;
        News { events, missed }
    }
}

impl Board {
    /// The ring, with everything that came until now.
    fn look(&self) -> MutexGuard<'_, Ring> {
        let mut ring = self.ring.lock();
        // What had to go was there before what is there now.
        ring.count += self.lost.swap(0, Ordering::Relaxed);
        // No more than there is room for: workers go on while this is emptied.
        for event in std::iter::from_fn(|| self.inbox.pop()).take(CAPACITY) {
            ring.add(event);
        }
        ring
    }
}

impl Ring {
    fn add(&mut self, event: Event) {
        if self.events.len() == CAPACITY {
            self.events.pop_front();
        }
        self.events.push_back((self.count, event));
        self.count += 1;
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
    fn who_comes_late_after_others_have_looked_is_told_the_same() {
        let events = Events::default();
        let mut subscription = events.subscribe();
        for from in (0..2 * CAPACITY).step_by(500) {
            stopped(&events, from..from + 500);
            assert_eq!(events.len(), (from + 500).min(CAPACITY));
        }
        let news = subscription.next(Duration::ZERO);
        assert_eq!((news.missed, news.events.len()), (CAPACITY as u64, CAPACITY));
        assert_eq!(reasons(&news)[0], CAPACITY.to_string());
    }

    #[test]
    fn nothing_is_lost_or_told_twice_while_many_push_and_read() {
        const PUSHED: usize = 4 * CAPACITY;
        let events = Events::default();
        let mut subscription = events.subscribe();
        let (mut got, mut missed) = (0, 0);
        thread::scope(|scope| {
            let pushing: Vec<_> =
                (0..2).map(|_| scope.spawn(|| stopped(&events, 0..PUSHED))).collect();
            while !pushing.iter().all(|it| it.is_finished()) {
                let news = subscription.next(Duration::from_millis(1));
                got += news.events.len() as u64;
                missed += news.missed;
                assert!(events.last(CAPACITY).is_sorted_by(|a, b| a.time >= b.time));
            }
        });
        let news = subscription.next(Duration::ZERO);
        assert_eq!(got + missed + news.events.len() as u64 + news.missed, 2 * PUSHED as u64);
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
