//! Vectors of queries, and the documents nearest to them.
//!
//! The embedded model computes a vector in some milliseconds; an endpoint may take any time. So the vector is computed
//! on its own thread while the lexical search runs. The index is locked only briefly for it: a search whose vector is
//! late releases the lock, waits, and runs again.

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use embed::{EmbedError, Embedder};
use lru::LruCache;
use parking_lot::{Condvar, Mutex};
use rank::SemanticScorer;
use rank::vectors::VectorIndex;

/// Number of query vectors kept in memory.
const KEPT_VECTORS: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");
/// Maximum wait for a vector while the index is locked; longer than the embedded model takes.
const LOCKED_WAIT: Duration = Duration::from_millis(40);

type QueryVectorResult = Result<Arc<[f32]>, Arc<EmbedError>>;

/// Embeds queries, and keeps the most recent vectors.
pub(crate) struct QueryEmbedder {
    embedder: Arc<dyn Embedder>,
    recent: Mutex<LruCache<Box<str>, Arc<[f32]>>>,
}

/// The vector of a query, available or still being computed.
pub(crate) struct PendingQueryVector {
    outcome: Mutex<Option<QueryVectorResult>>,
    available: Condvar,
}

impl QueryEmbedder {
    pub(crate) fn new(embedder: Arc<dyn Embedder>) -> Arc<Self> {
        Arc::new(Self { embedder, recent: Mutex::new(LruCache::new(KEPT_VECTORS)) })
    }

    /// Returns the vector of a query if it is kept in memory; otherwise starts a thread that computes it.
    pub(crate) fn request_vector(self: &Arc<Self>, text: &str) -> Arc<PendingQueryVector> {
        let known = self.recent.lock().get(text).cloned();
        let pending = Arc::new(PendingQueryVector {
            outcome: Mutex::new(known.map(Ok)),
            available: Condvar::new(),
        });
        if pending.current_outcome().is_none() {
            let (this, text, result) = (Arc::clone(self), Box::from(text), Arc::clone(&pending));
            let work = move || result.set_outcome(this.embed_and_keep(text));
            if let Err(error) = thread::Builder::new().name("vouch-ask".into()).spawn(work) {
                pending.set_outcome(Err(Arc::new(EmbedError::Model(error.to_string()))));
            }
        }
        pending
    }

    fn embed_and_keep(&self, text: Box<str>) -> QueryVectorResult {
        let vector: Arc<[f32]> = self.embedder.embed_query(&text).map_err(Arc::new)?.into();
        let mut recent = self.recent.lock();
        recent.put(text, Arc::clone(&vector));
        Ok(vector)
    }
}

impl PendingQueryVector {
    fn set_outcome(&self, outcome: QueryVectorResult) {
        *self.outcome.lock() = Some(outcome);
        self.available.notify_all();
    }

    fn current_outcome(&self) -> Option<QueryVectorResult> {
        self.outcome.lock().clone()
    }

    fn wait_timeout(&self, timeout: Duration) -> Option<QueryVectorResult> {
        let mut outcome = self.outcome.lock();
        self.available.wait_while_for(&mut outcome, |outcome| outcome.is_none(), timeout);
        outcome.clone()
    }

    /// Blocks until the vector is available, or `enough` returns true; then returns `None`.
    pub(crate) fn wait_until(&self, enough: &dyn Fn() -> bool) -> Option<QueryVectorResult> {
        loop {
            match self.wait_timeout(LOCKED_WAIT) {
                Some(outcome) => return Some(outcome),
                None if enough() => return None,
                None => {}
            }
        }
    }
}

/// Semantic similarity between a query and the documents.
pub(crate) struct SemanticNeighbors<'a> {
    pub(crate) query_vector: &'a PendingQueryVector,
    pub(crate) vectors: &'a VectorIndex,
    /// Set if the vector was not available in time.
    pub(crate) late: Cell<bool>,
}

impl SemanticNeighbors<'_> {
    fn wait_for_vector(&self) -> Option<Arc<[f32]>> {
        if self.late.get() {
            return None;
        }
        match self.query_vector.wait_timeout(LOCKED_WAIT) {
            Some(Ok(vector)) if vector.len() == self.vectors.dims() => Some(vector),
            Some(_) => None,
            None => {
                self.late.set(true);
                None
            }
        }
    }
}

impl SemanticScorer for SemanticNeighbors<'_> {
    fn nearest(&self, allowed: &(dyn Fn(u32) -> bool + Sync), k: usize) -> Vec<(u32, f32)> {
        match self.wait_for_vector() {
            Some(vector) => self.vectors.nearest(&vector, allowed, k),
            None => Vec::new(),
        }
    }

    fn similarity(&self, id: u32) -> Option<f32> {
        self.vectors.similarity(&self.wait_for_vector()?, id)
    }
}
