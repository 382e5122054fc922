//! The vector of a question, and what lies near it.
//!
//! A vector takes some milliseconds from the embedded model and any time from an endpoint. So it is made on a thread of
//! its own while the words are searched, and nobody waits for long while holding the index: a vector that is late is
//! waited for outside, and the search made again.

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use embed::{EmbedError, Embedder};
use lru::LruCache;
use parking_lot::{Condvar, Mutex};
use rank::Meaning;
use rank::vectors::Vectors;

/// Questions whose vectors are remembered.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");
/// How long the index is held for a vector: longer than the embedded model takes.
const PATIENCE: Duration = Duration::from_millis(40);

type Outcome = Result<Arc<[f32]>, Arc<EmbedError>>;

/// Makes vectors of questions, and remembers the last ones.
pub(crate) struct Questions {
    embedder: Arc<dyn Embedder>,
    recent: Mutex<LruCache<Box<str>, Arc<[f32]>>>,
}

/// A question whose vector is there, or on its way.
pub(crate) struct Asked {
    outcome: Mutex<Option<Outcome>>,
    there: Condvar,
}

impl Questions {
    pub(crate) fn new(embedder: Arc<dyn Embedder>) -> Arc<Self> {
        Arc::new(Self { embedder, recent: Mutex::new(LruCache::new(REMEMBERED)) })
    }

    pub(crate) fn ask(self: &Arc<Self>, text: &str) -> Arc<Asked> {
        let known = self.recent.lock().get(text).cloned();
        let asked = Arc::new(Asked { outcome: Mutex::new(known.map(Ok)), there: Condvar::new() });
        if asked.now().is_none() {
            let (questions, text, answer) = (Arc::clone(self), Box::from(text), Arc::clone(&asked));
            let work = move || answer.set(questions.embed(text));
            if let Err(error) = thread::Builder::new().name("vouch-ask".into()).spawn(work) {
                asked.set(Err(Arc::new(EmbedError::Model(error.to_string()))));
            }
        }
        asked
    }

    fn embed(&self, text: Box<str>) -> Outcome {
        let vector: Arc<[f32]> = self.embedder.embed_query(&text).map_err(Arc::new)?.into();
        let mut recent = self.recent.lock();
        recent.put(text, Arc::clone(&vector));
        Ok(vector)
    }
}

impl Asked {
    fn set(&self, outcome: Outcome) {
        *self.outcome.lock() = Some(outcome);
        self.there.notify_all();
    }

    fn now(&self) -> Option<Outcome> {
        self.outcome.lock().clone()
    }

    fn within(&self, patience: Duration) -> Option<Outcome> {
        let mut outcome = self.outcome.lock();
        self.there.wait_while_for(&mut outcome, |outcome| outcome.is_none(), patience);
        outcome.clone()
    }

    /// Waits for the vector as long as it takes, or until `enough` says so.
    pub(crate) fn wait(&self, enough: &dyn Fn() -> bool) -> Option<Outcome> {
        loop {
            match self.within(PATIENCE) {
                Some(outcome) => return Some(outcome),
                None if enough() => return None,
                None => {}
            }
        }
    }
}

/// The documents near a question.
pub(crate) struct Near<'a> {
    pub(crate) asked: &'a Asked,
    pub(crate) vectors: &'a Vectors,
    /// Set when the vector was not there in time.
    pub(crate) late: Cell<bool>,
}

impl Near<'_> {
    fn vector(&self) -> Option<Arc<[f32]>> {
        if self.late.get() {
            return None;
        }
        match self.asked.within(PATIENCE) {
            Some(Ok(vector)) if vector.len() == self.vectors.dims() => Some(vector),
            Some(_) => None,
            None => {
                self.late.set(true);
                None
            }
        }
    }
}

impl Meaning for Near<'_> {
    fn nearest(&self, allowed: &(dyn Fn(u32) -> bool + Sync), k: usize) -> Vec<(u32, f32)> {
        match self.vector() {
            Some(vector) => self.vectors.nearest(&vector, allowed, k),
            None => Vec::new(),
        }
    }

    fn similarity(&self, id: u32) -> Option<f32> {
        self.vectors.similarity(&self.vector()?, id)
    }
}
