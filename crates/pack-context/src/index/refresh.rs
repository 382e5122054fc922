//! Refreshes the index before a call, so that the response reflects everything written before the query.

use std::time::{Duration, Instant};

use super::Index;
use super::state::SourceId;
use crate::IndexPhase;

/// Time limit for indexing changes; changes that are not indexed within it are reported as pending.
const CHANGES_TIMEOUT: Duration = Duration::from_millis(400);
/// Minimum wait while the index is being built. After it, a response is sent as soon as the files that the query names
/// are indexed. The wait is barely noticeable, and every further file improves the response.
const MIN_BUILD_WAIT: Duration = Duration::from_millis(150);
/// Wait for the first query of a process, which may be its only one, and for queries that would find no documents.
const FIRST_QUERY_TIMEOUT: Duration = Duration::from_millis(3_500);
/// Wait for the vectors of new discoveries; without a vector, a discovery is found by lexical search only.
const NEW_VECTORS_TIMEOUT: Duration = Duration::from_millis(1_000);
/// Maximum new discoveries embedded before the response; more than a person writes between two queries.
const MAX_EMBEDDED_AT_ONCE: usize = 8;

/// Share of the project that a response reflects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexFreshness {
    pub(crate) phase: IndexPhase,
    /// Number of indexed files, out of `all`.
    pub(crate) done: usize,
    pub(crate) all: usize,
}

impl Index {
    /// Indexes changes within a time limit, and returns how much of the project is indexed.
    pub(crate) fn refresh_for_query(
        &self,
        query: &str,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> IndexFreshness {
        let is_first_query = self.start_threads();
        self.sync.settle_changes();
        let began = Instant::now();
        match self.sync.phase() {
            IndexPhase::Ready => self.index_waiting_files(began + CHANGES_TIMEOUT, cancelled),
            IndexPhase::Idle | IndexPhase::Building => {
                let named = self.prioritize_named_files(query);
                if is_first_query {
                    self.index_waiting_files(began + FIRST_QUERY_TIMEOUT, cancelled);
                } else {
                    self.index_named_files(&named, began, cancelled);
                }
            }
        }
        self.records.refresh_discoveries(&self.core);
        if is_first_query {
            self.records.wait_until_complete(began + FIRST_QUERY_TIMEOUT);
            self.load_cached_vectors(began + FIRST_QUERY_TIMEOUT);
        }
        self.embed_new_discoveries();
        let (all, pending) = (self.core.state().file_count(), self.core.queue.len());
        IndexFreshness { phase: self.sync.phase(), done: all.saturating_sub(pending), all }
    }

    /// Indexes all waiting files until the deadline.
    fn index_waiting_files(&self, deadline: Instant, cancelled: &(dyn Fn() -> bool + Sync)) {
        self.sync.index_waiting_files(&|| cancelled() || Instant::now() >= deadline);
        self.core.queue.wait_until_done(deadline);
    }

    /// Indexes files until those named by the query are done and the index has documents.
    fn index_named_files(
        &self,
        named: &[SourceId],
        began: Instant,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) {
        self.sync.index_waiting_files(&|| {
            let waited = began.elapsed();
            let enough = || self.core.queue.are_done(named) && !self.is_empty();
            cancelled() || waited >= FIRST_QUERY_TIMEOUT || waited >= MIN_BUILD_WAIT && enough()
        });
        // The queue is empty, but other threads may still be analyzing files.
        if self.core.queue.waiting_len() == 0 {
            self.core.queue.wait_until_done(began + FIRST_QUERY_TIMEOUT);
        }
    }

    /// Loads cached vectors until the deadline.
    fn load_cached_vectors(&self, deadline: Instant) {
        if let Some(embedding) = &self.embedding
            && self.sync.is_ready()
        {
            embedding.load_cached_vectors(&|| Instant::now() >= deadline);
        }
    }

    fn embed_new_discoveries(&self) {
        let mut written = self.core.take_new_discoveries();
        let Some(embedding) = &self.embedding else { return };
        // The background thread embeds the rest.
        written.truncate(MAX_EMBEDDED_AT_ONCE);
        if !written.is_empty() {
            embedding.embed_with_timeout(written, NEW_VECTORS_TIMEOUT);
        }
    }
}
