//! The most recent events of a campaign, for observers.
//!
//! Workers push events into a lock-free queue and never wait for readers. Readers move the events from there into a ring
//! of the most recent ones, behind a lock that only readers take.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crossbeam_queue::ArrayQueue;
use parking_lot::{Mutex, MutexGuard};

use super::pool::CorpusEntry;
use crate::call::SequenceCall;

/// Maximum events that are kept.
pub const EVENT_CAPACITY: usize = 2500;

/// Polling interval of a waiting subscription. Waking it instead would cost the workers a lock.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// An event of a worker.
#[derive(Clone, Debug)]
pub struct CampaignEvent {
    pub time: SystemTime,
    pub worker: usize,
    pub kind: CampaignEventKind,
}

/// The kind of a [`CampaignEvent`], with its data.
#[derive(Clone, Debug)]
pub enum CampaignEventKind {
    WorkerStarted,
    WorkerStopped {
        reason: String,
    },
    /// A sequence reached new branches.
    CoverageIncreased {
        entry: Arc<CorpusEntry>,
        /// Size of the corpus, including this sequence.
        corpus: usize,
    },
    TestFailed {
        test: usize,
        calls: Arc<[SequenceCall]>,
        /// Total gas of the calls.
        gas: u64,
        is_shrunk: bool,
    },
    /// An injected call, or a sample of a worker's own calls, about once a second.
    TransactionExecuted {
        call: SequenceCall,
        gas: u64,
        is_success: bool,
        is_injected: bool,
    },
}

/// The most recent events.
#[derive(Debug, Default)]
pub struct CampaignEventLog {
    buffer: Arc<EventBuffer>,
}

/// Receives the events since it was created.
#[derive(Debug)]
pub struct EventSubscription {
    buffer: Arc<EventBuffer>,
    /// Number of the next event.
    next: u64,
}

/// The events that a subscription received at once.
#[derive(Clone, Debug, Default)]
pub struct EventBatch {
    /// Oldest first.
    pub events: Vec<CampaignEvent>,
    /// Number of events that were dropped before they were read.
    pub missed: u64,
}

#[derive(Debug)]
struct EventBuffer {
    /// Unread events. It has the capacity of the ring, so that the ring can be filled completely on the next read.
    inbox: ArrayQueue<CampaignEvent>,
    /// Events dropped from the full inbox and not yet counted in the ring.
    lost: AtomicU64,
    ring: Mutex<EventRing>,
}

#[derive(Debug, Default)]
struct EventRing {
    /// In order of arrival, each with its number.
    events: VecDeque<(u64, CampaignEvent)>,
    /// Total number of events, including dropped ones.
    count: u64,
}

impl Default for EventBuffer {
    fn default() -> Self {
        Self {
            inbox: ArrayQueue::new(EVENT_CAPACITY),
            lost: AtomicU64::new(0),
            ring: Mutex::default(),
        }
    }
}

impl CampaignEventLog {
    pub fn push(&self, worker: usize, what: CampaignEventKind) {
        let event = CampaignEvent { time: SystemTime::now(), worker, kind: what };
        if self.buffer.inbox.force_push(event).is_some() {
            self.buffer.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the last `count` events, newest first by time.
    pub fn last_events(&self, count: usize) -> Vec<CampaignEvent> {
        let ring = self.buffer.drain_inbox();
        // Two workers may push in a different order than they read the clock.
        let mut events: Vec<&CampaignEvent> =
            ring.events.iter().rev().map(|(_, event)| event).collect();
        events.sort_by_key(|event| Reverse(event.time));
        events.into_iter().take(count).cloned().collect()
    }

    /// Returns the number of kept events, at most [`EVENT_CAPACITY`].
    pub fn len(&self) -> usize {
        self.buffer.drain_inbox().events.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a subscription to all events from now on.
    pub fn subscribe(&self) -> EventSubscription {
        let next = self.buffer.drain_inbox().count;
        EventSubscription { buffer: self.buffer.clone(), next }
    }
}

impl EventSubscription {
    /// Returns the events since the previous call. If there are no new ones, waits for up to `wait`.
    pub fn next_batch(&mut self, wait: Duration) -> EventBatch {
        let end = Instant::now().checked_add(wait);
        loop {
            let batch = self.take_new_events();
            let left =
                end.map_or(POLL_INTERVAL, |end| end.saturating_duration_since(Instant::now()));
            if !batch.events.is_empty() || batch.missed > 0 || left.is_zero() {
                return batch;
            }
            thread::sleep(left.min(POLL_INTERVAL));
        }
    }

    fn take_new_events(&mut self) -> EventBatch {
        let ring = self.buffer.drain_inbox();
        let new = ring.events.iter().rev().take_while(|(number, _)| *number >= self.next);
        let mut events: Vec<CampaignEvent> = new.map(|(_, event)| event.clone()).collect();
        events.reverse();
        let missed = ring.count - self.next - events.len() as u64;
        self.next = ring.count;
        EventBatch { events, missed }
    }
}

impl EventBuffer {
    /// Returns the ring after moving all events of the inbox into it.
    fn drain_inbox(&self) -> MutexGuard<'_, EventRing> {
        let mut ring = self.ring.lock();
        // Dropped events are older than those in the inbox.
        ring.count += self.lost.swap(0, Ordering::Relaxed);
        // Bounded by the capacity, because workers keep pushing meanwhile.
        for event in std::iter::from_fn(|| self.inbox.pop()).take(EVENT_CAPACITY) {
            ring.push_event(event);
        }
        ring
    }
}

impl EventRing {
    fn push_event(&mut self, event: CampaignEvent) {
        if self.events.len() == EVENT_CAPACITY {
            self.events.pop_front();
        }
        self.events.push_back((self.count, event));
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push_stopped(events: &CampaignEventLog, reasons: std::ops::Range<usize>) {
        for reason in reasons {
            events.push(0, CampaignEventKind::WorkerStopped { reason: reason.to_string() });
        }
    }

    fn reasons(batch: &EventBatch) -> Vec<String> {
        let reason = |event: &CampaignEvent| match &event.kind {
            CampaignEventKind::WorkerStopped { reason } => reason.clone(),
            other => format!("{other:?}"),
        };
        batch.events.iter().map(reason).collect()
    }

    #[test]
    fn subscription_receives_later_events_once_and_in_order() {
        let events = CampaignEventLog::default();
        push_stopped(&events, 0..2);
        let mut subscription = events.subscribe();
        assert!(subscription.next_batch(Duration::ZERO).events.is_empty());
        push_stopped(&events, 2..4);
        assert_eq!(reasons(&subscription.next_batch(Duration::ZERO)), ["2", "3"]);
        assert!(subscription.next_batch(Duration::ZERO).events.is_empty());
    }

    #[test]
    fn late_reader_gets_number_of_missed_events() {
        let events = CampaignEventLog::default();
        let mut subscription = events.subscribe();
        push_stopped(&events, 0..EVENT_CAPACITY + 3);
        let batch = subscription.next_batch(Duration::ZERO);
        assert_eq!((batch.missed, batch.events.len()), (3, EVENT_CAPACITY));
        assert_eq!(reasons(&batch)[0], "3");
    }

    #[test]
    fn missed_events_are_counted_when_others_read_meanwhile() {
        let events = CampaignEventLog::default();
        let mut subscription = events.subscribe();
        for from in (0..2 * EVENT_CAPACITY).step_by(500) {
            push_stopped(&events, from..from + 500);
            assert_eq!(events.len(), (from + 500).min(EVENT_CAPACITY));
        }
        let batch = subscription.next_batch(Duration::ZERO);
        assert_eq!((batch.missed, batch.events.len()), (EVENT_CAPACITY as u64, EVENT_CAPACITY));
        assert_eq!(reasons(&batch)[0], EVENT_CAPACITY.to_string());
    }

    #[test]
    fn concurrent_push_and_read_neither_lose_nor_repeat_events() {
        const PUSHED: usize = 4 * EVENT_CAPACITY;
        let events = CampaignEventLog::default();
        let mut subscription = events.subscribe();
        let (mut got, mut missed) = (0, 0);
        thread::scope(|scope| {
            let pushing: Vec<_> =
                (0..2).map(|_| scope.spawn(|| push_stopped(&events, 0..PUSHED))).collect();
            while !pushing.iter().all(|it| it.is_finished()) {
                let batch = subscription.next_batch(Duration::from_millis(1));
                got += batch.events.len() as u64;
                missed += batch.missed;
                assert!(events.last_events(EVENT_CAPACITY).is_sorted_by(|a, b| a.time >= b.time));
            }
        });
        let batch = subscription.next_batch(Duration::ZERO);
        assert_eq!(got + missed + batch.events.len() as u64 + batch.missed, 2 * PUSHED as u64);
    }

    #[test]
    fn waiting_subscription_receives_new_event() {
        let events = CampaignEventLog::default();
        let mut subscription = events.subscribe();
        let waiting = std::thread::spawn(move || subscription.next_batch(Duration::from_secs(600)));
        push_stopped(&events, 0..1);
        assert_eq!(reasons(&waiting.join().expect("the thread does not panic")), ["0"]);
    }
}
