//! Queue of the writers of one process: one at a time, in order of arrival.
//!
//! A file lock alone is not fair, and waiting for it means polling. Here a waiter sleeps until its predecessor
//! wakes it, so only the writer at the head polls the file lock. Writers never leave the queue early. A cancelled
//! call notices the cancellation when its turn comes, which is soon, because earlier calls time out earlier.

use std::collections::VecDeque;
use std::thread::{self, Thread};

use parking_lot::Mutex;

#[derive(Default)]
pub(super) struct WriterQueue {
    state: Mutex<WriterQueueState>,
}

/// State of the queue. `waiting` contains the threads that hold the tickets after `serving`, in order.
#[derive(Default)]
struct WriterQueueState {
    next: u64,
    serving: u64,
    waiting: VecDeque<Thread>,
}

/// Exclusive turn at the head of the queue. Dropping it wakes the next writer.
pub(super) struct WriterTurn<'a> {
    queue: &'a WriterQueue,
}

impl WriterQueue {
    pub(super) fn wait_for_turn(&self) -> WriterTurn<'_> {
        let mut state = self.state.lock();
        let ticket = state.next;
        state.next += 1;
        if ticket != state.serving {
            state.waiting.push_back(thread::current());
            // A parked thread can wake spuriously.
            while ticket != state.serving {
                drop(state);
                thread::park();
                state = self.state.lock();
            }
        }
        WriterTurn { queue: self }
    }
}

impl Drop for WriterTurn<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        state.serving += 1;
        if let Some(next) = state.waiting.pop_front() {
            next.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serves_writers_one_at_a_time_in_order_of_arrival() {
        let (queue, served) = (WriterQueue::default(), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            let head = queue.wait_for_turn();
            for number in 0..50 {
                let (queue, served) = (&queue, &served);
                scope.spawn(move || {
                    let _turn = queue.wait_for_turn();
                    // Locking fails if another thread also has the turn.
                    served.try_lock().expect("one at a time").push(number);
                });
                while queue.state.lock().waiting.len() <= number {
                    thread::yield_now();
                }
            }
            drop(head);
        });
        assert_eq!(served.into_inner(), Vec::from_iter(0..50));
    }

    #[test]
    fn panicking_writer_releases_its_turn() {
        let queue = WriterQueue::default();
        thread::scope(|scope| {
            let panicked = scope.spawn(|| {
                let _turn = queue.wait_for_turn();
                panic!("on purpose");
            });
            assert!(panicked.join().is_err());
        });
        drop(queue.wait_for_turn());
    }
}
