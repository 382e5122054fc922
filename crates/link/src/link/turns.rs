//! Calls that may be asked, one after another, for a server whose questions do not say which call they are about.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::Asker;

#[derive(Default)]
pub(super) struct Turns(Arc<Mutex<()>>);

impl Turns {
    /// Waits for a turn. It lasts as long as the asker that comes back.
    pub(super) async fn take(&self, asker: Arc<dyn Asker>) -> Arc<dyn Asker> {
        let turn = self.0.clone();
        let held = Mutex::new(Some(turn.clone().lock_owned().await));
        Arc::new(InTurn { asker, turn, held, open: AtomicUsize::new(0) })
    }
}

/// Asks for a call that has the turn. While somebody thinks, others have it: a question that comes meanwhile is not from
/// the call that waits for an answer.
struct InTurn {
    asker: Arc<dyn Asker>,
    turn: Arc<Mutex<()>>,
    held: Mutex<Option<OwnedMutexGuard<()>>>,
    open: AtomicUsize,
}

#[async_trait]
impl Asker for InTurn {
    async fn ask(&self, method: &str, params: Value) -> Result<Value, String> {
        let open = Open::new(&self.open);
        self.held.lock().await.take();
        let answer = self.asker.ask(method, params).await;
        drop(open);
        // Before the answer goes out: then the call goes on, and may ask again. One with a second question open waits
        // for that; one whose question was withdrawn goes on without a turn.
        let mut held = self.held.lock().await;
        if held.is_none() && self.open.load(Ordering::SeqCst) == 0 {
            *held = Some(self.turn.clone().lock_owned().await);
        }
        answer
    }
}

/// Counts a question, also one that ends by being dropped.
struct Open<'a>(&'a AtomicUsize);

impl<'a> Open<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
