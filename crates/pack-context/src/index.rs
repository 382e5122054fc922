//! The search index over a project's files, discoveries, commits and sessions.
//!
//! ```text
//! tree::Watch ─► IndexCore::apply_change ─► AnalysisQueue ─► IndexCore::index_file ─► InMemoryIndex
//!                                                                │  ▲                (terms, vectors, documents)
//!                                                                ▼  │
//!                                                    ContentCache (index.db, keyed by content)
//! ```
//!
//! The files are the source of truth. They are listed at every start, and a cached analysis is used only if the file's
//! stamp or content is unchanged. While the index runs, the watch reports changes. A call first settles the watch, then
//! helps to analyze the changed files. So a response reflects everything that was written before the query.
//!
//! - `core.rs` indexes one file, and holds the state that all threads share.
//! - `file_sync.rs` keeps the index in sync with the files.
//! - `state.rs` is the in-memory index, `cache.rs` the content cache on disk.
//! - `search.rs` runs a query, `refresh.rs` is the work done before it.
//! - `embedding.rs` computes the document vectors, `query_vectors.rs` those of queries.
//! - `records.rs` indexes documents that are not files.
//! - `trigram_filter.rs` narrows the files that grep has to read.

mod analysis;
mod analysis_queue;
mod background;
mod cache;
mod core;
mod embedding;
mod embedding_text;
mod facts;
mod file_sync;
mod imports;
mod prioritize;
mod query_vectors;
mod records;
mod refresh;
mod roles;
mod search;
mod snippet;
mod state;
mod trigram_filter;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tree::FileTree;
use tree::grep::{CandidateSource, GrepCandidates};
use tree::trigram::TrigramPlan;

use self::background::{BackgroundThreads, StopSignal};
use self::core::IndexCore;
use self::embedding::{ActiveCalls, DocumentEmbedder, EmbeddingRoundOutcome};
use self::file_sync::FileSynchronizer;
use self::query_vectors::QueryEmbedder;
use crate::discover::DiscoveryExtractor;
use crate::status::VectorProgress;
use crate::{ContextError, ContextOptions, IndexPhase, IndexProgress, IndexStatus};

pub(crate) use self::cache::CacheLocation;
pub(crate) use self::embedding::ActiveCallGuard;
pub(crate) use self::imports::ImportResolverFactory;
pub(crate) use self::records::RecordIndexer;
pub(crate) use self::refresh::IndexFreshness;
pub(crate) use self::search::{ContextQuery, SearchError, SearchHit, SearchHitContent};

/// Interval of progress reports from [`Index::run_to_completion`].
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// Interval at which the commit history and the sessions are polled.
const RECORD_POLL_INTERVAL: Duration = Duration::from_secs(5);
/// Polls between two listings of files that are watched; gives one listing a minute.
const POLLS_PER_RECHECK: u64 = 12;
/// Pause of the embedding thread if there is nothing to do. After a failure the pause doubles, up to the maximum.
const IDLE_PAUSE: Duration = Duration::from_secs(1);
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(300);

/// The index of one project. Dropping it stops its threads.
pub struct Index {
    core: Arc<IndexCore>,
    sync: Arc<FileSynchronizer>,
    records: Arc<RecordIndexer>,
    embedding: Option<Arc<DocumentEmbedder>>,
    query_embedder: Option<Arc<QueryEmbedder>>,
    calls: Arc<ActiveCalls>,
    threads: BackgroundThreads,
}

impl Index {
    pub(crate) fn new(
        tree: Arc<FileTree>,
        places: DiscoveryExtractor,
        records: RecordIndexer,
        cache_location: CacheLocation,
        options: &ContextOptions,
    ) -> Self {
        let core = Arc::new(IndexCore::new(tree, places, cache_location));
        let embedder = options.embedder.clone();
        Self {
            sync: Arc::new(FileSynchronizer::new(
                Arc::clone(&core),
                options.threads,
                options.watch,
            )),
            records: Arc::new(records),
            embedding: embedder
                .clone()
                .map(|embedder| DocumentEmbedder::new(Arc::clone(&core), embedder)),
            query_embedder: embedder.map(QueryEmbedder::new),
            calls: Arc::default(),
            threads: BackgroundThreads::default(),
            core,
        }
    }

    /// Starts building, watching and embedding in the background.
    pub(crate) fn start(&self) {
        self.core.trigrams.enable_sets();
        self.start_threads();
    }

    /// Starts the background threads. Returns true if they were not running, so that this query is the index's first
    /// work.
    fn start_threads(&self) -> bool {
        if !self.threads.mark_started() {
            return false;
        }
        let sync = Arc::clone(&self.sync);
        self.threads.spawn_thread("vouch-index", move |_| sync.run_until_closed());
        let (records, core) = (Arc::clone(&self.records), Arc::clone(&self.core));
        let sync = Arc::clone(&self.sync);
        let poll = move |stop: StopSignal| poll_records(&records, &core, &sync, &stop);
        self.threads.spawn_thread("vouch-records", poll);
        if let Some(embedding) = self.embedding.clone() {
            let (sync, calls) = (Arc::clone(&self.sync), Arc::clone(&self.calls));
            let work =
                move |stop: StopSignal| embed_in_background(&embedding, &sync, &calls, &stop);
            self.threads.spawn_thread("vouch-embed", work);
        }
        true
    }

    /// Returns the module that a file belongs to, whether or not the file is indexed.
    pub(crate) fn module_of(&self, path: &str) -> Option<String> {
        self.core.modules().find_module(path)
    }

    /// Returns true if [`Index::module_of`] does not have to read the disk.
    pub(crate) fn has_loaded_modules(&self) -> bool {
        self.core.known_modules().is_some()
    }

    /// Returns true if the index has no documents.
    pub(crate) fn is_empty(&self) -> bool {
        self.core.state().len() == 0
    }

    /// Returns the number of documents that have a vector, and of those that should; `None` if ranking is lexical only.
    pub(crate) fn vector_progress(&self) -> Option<(usize, usize)> {
        self.embedding.as_deref().map(DocumentEmbedder::progress)
    }

    /// Returns true if queries are sent to a remote endpoint to be embedded.
    pub(crate) fn is_embedder_remote(&self) -> bool {
        self.embedding.as_ref().is_some_and(|embedding| embedding.is_remote())
    }

    /// Returns the sorted names of all modules that have documents.
    pub(crate) fn module_names(&self) -> Vec<String> {
        let state = self.core.state();
        let mut names: Vec<String> = state
            .documents()
            .filter_map(|(_, source, document)| {
                Some(search::document_module(source, document)?.to_owned())
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Registers a call. Background embedding pauses until the returned guard is dropped.
    pub(crate) fn begin_call(&self) -> ActiveCallGuard<'_> {
        self.calls.begin_call()
    }

    /// Returns a snapshot of the index, without starting anything.
    pub fn status(&self) -> IndexStatus {
        let state = self.core.state();
        let (files, chunks) = (state.file_count(), state.len());
        let kinds = state.documents().filter_map(|(_, _, document)| document.kind());
        let discoveries = kinds.count();
        drop(state);
        let embedding = self.embedding.as_deref();
        let (done, all) = embedding.map(DocumentEmbedder::progress).unwrap_or_default();
        IndexStatus {
            phase: self.sync.phase(),
            files,
            chunks,
            discoveries,
            vectors: VectorProgress { done, all },
            model: embedding.map(|embedding| embedding.model().id.clone()),
            embedding_error: embedding.and_then(DocumentEmbedder::error),
            disk_bytes: self.core.disk_bytes(),
            pending: self.core.queue.len(),
            watching: self.sync.is_watching(),
            last_change: self.core.last_change().map(contract::time::format_system_time),
        }
    }

    /// Lists, analyzes and embeds everything. Returns true once all is done. Returns false if `cancelled` returned true
    /// first, or if embedding failed (see [`IndexStatus::embedding_error`]). Completed work is kept either way.
    pub fn run_to_completion(
        &self,
        progress: &(dyn Fn(IndexProgress) + Sync),
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> bool {
        if !self.scan_all(progress, cancelled) {
            return false;
        }
        let Some(embedding) = &self.embedding else { return true };
        loop {
            let (done, all) = embedding.progress();
            progress(IndexProgress::Embedding { done, all });
            if cancelled() {
                return false;
            }
            match embedding.run_round(true) {
                EmbeddingRoundOutcome::Progressed => {}
                EmbeddingRoundOutcome::NothingToDo => return true,
                EmbeddingRoundOutcome::LockedByOtherProcess | EmbeddingRoundOutcome::Failed => {
                    return false;
                }
            }
        }
    }

    /// Lists and analyzes all files and records, and loads cached vectors. Embeds nothing.
    pub fn scan_without_embedding(&self, cancelled: &(dyn Fn() -> bool + Sync)) {
        if self.scan_all(&|_| (), cancelled)
            && let Some(embedding) = &self.embedding
        {
            embedding.load_cached_vectors(cancelled);
        }
    }

    /// Does everything except vectors. Returns false if `cancelled` returned true first.
    fn scan_all(
        &self,
        progress: &(dyn Fn(IndexProgress) + Sync),
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> bool {
        progress(IndexProgress::Listing { files: 0 });
        self.sync.settle_changes();
        let all = self.core.queue.len();
        thread::scope(|scope| {
            let work = scope.spawn(|| self.sync.drain_queue(cancelled));
            while !work.is_finished() {
                let done = all.saturating_sub(self.core.queue.len());
                progress(IndexProgress::Analyzing { done, all });
                thread::park_timeout(PROGRESS_INTERVAL);
            }
        });
        if cancelled() {
            return false;
        }
        progress(IndexProgress::Analyzing { done: all, all });
        self.records.refresh_all(&self.core);
        true
    }

    /// Clears the cache and queues all files, so that everything is computed again.
    ///
    /// Fails if the cache cannot be cleared.
    pub fn rebuild(&self) -> Result<(), ContextError> {
        if !self.core.cache().delete_all() {
            return Err(ContextError::Cache);
        }
        self.sync.requeue_all_files();
        Ok(())
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.core.queue.close();
        self.threads.stop_and_wait();
        self.core.flush_cache();
    }
}

impl CandidateSource for Index {
    fn find_candidates(
        &self,
        plan: &TrigramPlan,
        filter: &dyn Fn(&str) -> bool,
    ) -> Option<GrepCandidates> {
        // Before the first listing, a walk is as fast and needs no memory.
        if self.sync.phase() == IndexPhase::Idle {
            return None;
        }
        self.sync.settle_changes();
        let narrowed = self.core.trigrams.select_candidates(plan, filter);
        Some(GrepCandidates { unreadable: self.sync.unreadable_folders() as u64, ..narrowed })
    }
}

/// Polls sources that do not report their changes: the commit history, the sessions, and less often all files.
fn poll_records(
    records: &RecordIndexer,
    core: &IndexCore,
    sync: &FileSynchronizer,
    stop: &StopSignal,
) {
    for poll in 1_u64.. {
        records.refresh_all(core);
        if poll.is_multiple_of(POLLS_PER_RECHECK) {
            sync.relist_files();
        }
        if !stop.sleep_unless_stopped(RECORD_POLL_INTERVAL) {
            return;
        }
    }
}

fn embed_in_background(
    embedding: &DocumentEmbedder,
    sync: &FileSynchronizer,
    calls: &ActiveCalls,
    stop: &StopSignal,
) {
    background::lower_thread_priority();
    let mut pause = IDLE_PAUSE;
    loop {
        // Analysis goes first: it takes seconds, vectors take minutes.
        let round = match sync.is_ready() {
            true => {
                calls.wait_until_idle();
                embedding.run_round(false)
            }
            false => EmbeddingRoundOutcome::NothingToDo,
        };
        pause = match round {
            EmbeddingRoundOutcome::Progressed if stop.is_stopping() => return,
            EmbeddingRoundOutcome::Progressed => {
                pause = IDLE_PAUSE;
                continue;
            }
            EmbeddingRoundOutcome::NothingToDo | EmbeddingRoundOutcome::LockedByOtherProcess => {
                IDLE_PAUSE
            }
            EmbeddingRoundOutcome::Failed => (pause * 2).min(MAX_RETRY_PAUSE),
        };
        if !stop.sleep_unless_stopped(pause) {
            return;
        }
    }
}
