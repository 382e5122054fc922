//! Writers of this process, one at a time, first come first served.
//!
//! A file lock alone is not fair, and waiting for it means asking again and again. Here a waiter sleeps until the one
//! before it wakes it, so only the writer at the head ever asks for the file lock. Nobody leaves the queue early: a
//! call that is cancelled meanwhile finds out when its turn comes, which is soon, since those before it started earlier
//! and are cancelled earlier.

use std::collections::VecDeque;
use std::thread::{self, Thread};

use parking_lot::Mutex;

#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
}

/// `waiting` are the holders of the tickets after `serving`, in order.
#[derive(Default)]
struct State {
    next: u64,
    serving: u64,
    waiting: VecDeque<Thread>,
}

/// The head of the queue; the next one's turn comes when this is dropped.
pub(super) struct Turn<'a> {
    queue: &'a Queue,
}

impl Queue {
    pub(super) fn wait(&self) -> Turn<'_> {
        let mut state = self.state.lock();
        let ticket = state.next;
        state.next += 1;
        if ticket != state.serving {
            state.waiting.push_back(thread::current());
            // A thread may also wake for no reason.
            while ticket != state.serving {
                drop(state);
                thread::park();
                state = self.state.lock();
            }
        }
        Turn { queue: self }
    }
}

impl Drop for Turn<'_> {
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
    fn turns_come_in_the_order_of_arrival_one_at_a_time() {
        let (queue, served) = (Queue::default(), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            let head = queue.wait();
            for number in 0..50 {
                let (queue, served) = (&queue, &served);
                scope.spawn(move || {
                    let _turn = queue.wait();
                    // Fails to lock if somebody else has the turn too.
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
    fn a_turn_that_panics_ends() {
        let queue = Queue::default();
        thread::scope(|scope| {
            let panicked = scope.spawn(|| {
                let _turn = queue.wait();
                panic!("on purpose");
            });
            assert!(panicked.join().is_err());
        });
        drop(queue.wait());
    }
}
