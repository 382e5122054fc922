//! What happened last, for those who watch.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

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

/// The last events.
#[derive(Debug, Default)]
pub struct Events {
    ring: Mutex<VecDeque<Event>>,
}

impl Events {
    pub fn push(&self, worker: usize, what: Happening) {
        let event = Event { time: SystemTime::now(), worker, what };
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        if ring.len() == CAPACITY {
            ring.pop_front();
        }
        ring.push_back(event);
    }

    /// The newest first.
    pub fn last(&self, count: usize) -> Vec<Event> {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        ring.iter().rev().take(count).cloned().collect()
    }
}
