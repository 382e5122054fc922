//! The index: which texts a project has, what they say, and how a question finds them.
//!
//! ```text
//! tree::Watch ─► Core::listed ─► Work (files to look at) ─► Core::look_at ─► State (words, vectors, documents)
//!                                                              │  ▲
//!                                                              ▼  │
//!                                                  Cache (.vouch/index.db, by content)
//! ```
//!
//! The truth is the files: at every start they are listed, and what the cache knows of a file counts only if the file
//! still looks or reads the same. In a running index the watch tells of changes; a call first settles the watch, then
//! helps with the files that changed, so an answer knows of everything that was written before the question.
//!
//! `core.rs` takes a file in, `life.rs` keeps up with changes, `state.rs` is what is in memory, `cache.rs` what is on
//! disk, `search.rs` the way from a question to an answer, `embedding.rs` makes the vectors, `records.rs` what lies in no
//! file, `narrow.rs` what grep need not read.

mod analysis;
mod cache;
mod core;
mod embedding;
mod facts;
mod fresh;
mod hurry;
mod life;
mod meaning;
mod narrow;
mod neighbours;
mod records;
mod roles;
mod search;
mod snippet;
mod state;
mod texts;
mod threads;
mod work;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tree::Tree;
use tree::grep::{Narrow, Narrowed};
use tree::trigram::Plan;

use self::core::Core;
use self::embedding::{Calls, Embedding, Round};
use self::life::Keeper;
use self::meaning::Questions;
use self::threads::{Stop, Threads};
use crate::discover::Places;
use crate::status::Vectors;
use crate::{ContextError, ContextOptions, Phase, Progress, Status};

pub(crate) use self::cache::Place as CachePlace;
pub(crate) use self::embedding::Running;
pub(crate) use self::fresh::Freshness;
pub(crate) use self::neighbours::Neighbours;
pub(crate) use self::records::Records;
pub(crate) use self::search::{Found, Question, Unanswered, What};

/// How often [`Index::complete`] tells how far it is.
const TELL_EVERY: Duration = Duration::from_millis(100);
/// How often the history and the sessions are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How often files are listed although they are watched, in those turns: once a minute.
const TURNS_PER_RECHECK: u64 = 12;
/// How long the embedding thread rests when there is nothing to do, and at first after a failure.
const REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(300);

/// The index of one project. Dropping it ends its threads.
pub struct Index {
    core: Arc<Core>,
    keeper: Arc<Keeper>,
    records: Arc<Records>,
    embedding: Option<Arc<Embedding>>,
    questions: Option<Arc<Questions>>,
    calls: Arc<Calls>,
    threads: Threads,
}

impl Index {
    pub(crate) fn new(
        tree: Arc<Tree>,
        places: Places,
        records: Records,
        place: CachePlace,
        options: &ContextOptions,
    ) -> Self {
        let core = Arc::new(Core::new(tree, places, place));
        let embedder = options.embedder.clone();
        Self {
            keeper: Arc::new(Keeper::new(Arc::clone(&core), options.threads, options.watch)),
            records: Arc::new(records),
            embedding: embedder.clone().map(|embedder| Embedding::new(Arc::clone(&core), embedder)),
            questions: embedder.map(Questions::new),
            calls: Arc::default(),
            threads: Threads::default(),
            core,
        }
    }

    /// Builds, watches and embeds in the background from now on.
    pub(crate) fn start(&self) {
        self.core.trigrams.want();
        self.begin();
    }

    /// Begins the threads; true if nobody had before, so that this question is the first thing the index does.
    fn begin(&self) -> bool {
        if !self.threads.begin() {
            return false;
        }
        let keeper = Arc::clone(&self.keeper);
        self.threads.spawn("vouch-index", move |_| keeper.keep_up());
        let (records, core) = (Arc::clone(&self.records), Arc::clone(&self.core));
        let keeper = Arc::clone(&self.keeper);
        let look = move |stop: Stop| look_now_and_then(&records, &core, &keeper, &stop);
        self.threads.spawn("vouch-records", look);
        if let Some(embedding) = self.embedding.clone() {
            let (keeper, calls) = (Arc::clone(&self.keeper), Arc::clone(&self.calls));
            let work = move |stop: Stop| embed_in_background(&embedding, &keeper, &calls, &stop);
            self.threads.spawn("vouch-embed", work);
        }
        true
    }

    /// The module that a file belongs to, indexed or not.
    pub(crate) fn module_of(&self, path: &str) -> Option<String> {
        self.core.modules().of(path)
    }

    /// Whether [`Index::module_of`] answers without a look at the disk.
    pub(crate) fn knows_modules(&self) -> bool {
        self.core.known_modules().is_some()
    }

    /// Whether there is nothing to be found.
    pub(crate) fn is_empty(&self) -> bool {
        self.core.state().len() == 0
    }

    /// How many documents have a vector, and how many should; None where ranking goes by words alone.
    pub(crate) fn vectors(&self) -> Option<(usize, usize)> {
        self.embedding.as_deref().map(Embedding::progress)
    }

    /// Whether questions leave this machine to be embedded.
    pub(crate) fn asks_elsewhere(&self) -> bool {
        self.embedding.as_ref().is_some_and(|embedding| embedding.is_remote())
    }

    /// The names of the modules that something belongs to, in order.
    pub(crate) fn modules(&self) -> Vec<String> {
        let state = self.core.state();
        let mut names: Vec<String> = state
            .documents()
            .filter_map(|(_, source, document)| {
                Some(search::module_of(source, document)?.to_owned())
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// A call that background work should make way for, until this is dropped.
    pub(crate) fn call(&self) -> Running<'_> {
        self.calls.begin()
    }

    /// The index as it is now. Nothing is started for it.
    pub fn status(&self) -> Status {
        let state = self.core.state();
        let (files, chunks) = (state.file_count(), state.len());
        let kinds = state.documents().filter_map(|(_, _, document)| document.kind());
        let discoveries = kinds.count();
        drop(state);
        let embedding = self.embedding.as_deref();
        let (done, all) = embedding.map(Embedding::progress).unwrap_or_default();
        Status {
            phase: self.keeper.phase(),
            files,
            chunks,
            discoveries,
            vectors: Vectors { done, all },
            model: embedding.map(|embedding| embedding.model().id.clone()),
            embedding_error: embedding.and_then(Embedding::error),
            disk_bytes: self.core.disk_bytes(),
            pending: self.core.work.len(),
            watching: self.keeper.is_live(),
            last_change: self.core.last_change().map(contract::time::of_file),
        }
    }

    /// Lists, analyses and embeds all there is. True when that is done; false when `cancelled` said so before, or when
    /// nothing embeds any more ([`Status::embedding_error`] says why). What was done is kept.
    pub fn complete(
        &self,
        progress: &(dyn Fn(Progress) + Sync),
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> bool {
        if !self.read_all(progress, cancelled) {
            return false;
        }
        let Some(embedding) = &self.embedding else { return true };
        loop {
            let (done, all) = embedding.progress();
            progress(Progress::Embedding { done, all });
            if cancelled() {
                return false;
            }
            match embedding.round(true) {
                Round::Some => {}
                Round::Nothing => return true,
                Round::Elsewhere | Round::Failed => return false,
            }
        }
    }

    /// Lists and analyses all there is, and finds the vectors that exist; embeds nothing.
    pub fn look(&self, cancelled: &(dyn Fn() -> bool + Sync)) {
        if self.read_all(&|_| (), cancelled)
            && let Some(embedding) = &self.embedding
        {
            embedding.recall(cancelled);
        }
    }

    /// Everything but the vectors; false when `cancelled` said so before it was done.
    fn read_all(
        &self,
        progress: &(dyn Fn(Progress) + Sync),
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> bool {
        progress(Progress::Listing { files: 0 });
        self.keeper.settle();
        let all = self.core.work.len();
        // Reported before the work starts, so that the first report does not depend on how fast the work is.
        progress(Progress::Analysing { done: 0, all });
        thread::scope(|scope| {
            let work = scope.spawn(|| self.keeper.catch_up(cancelled));
            while !work.is_finished() {
                let done = all.saturating_sub(self.core.work.len());
                progress(Progress::Analysing { done, all });
                thread::park_timeout(TELL_EVERY);
            }
        });
        if cancelled() {
            return false;
        }
        progress(Progress::Analysing { done: all, all });
        self.records.look(&self.core);
        true
    }

    /// Forgets all that the cache holds, so that everything is made again.
    pub fn rebuild(&self) -> Result<(), ContextError> {
        if !self.core.cache().clear() {
            return Err(ContextError::Cache);
        }
        self.keeper.again();
        Ok(())
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.core.work.close();
        self.threads.end();
        self.core.write_cache();
    }
}

impl Narrow for Index {
    fn narrow(&self, plan: &Plan, filter: &dyn Fn(&str) -> bool) -> Option<Narrowed> {
        // Before the files are listed once, a walk is as quick and needs no memory.
        if self.keeper.phase() == Phase::Idle {
            return None;
        }
        self.keeper.settle();
        let narrowed = self.core.trigrams.narrow(plan, filter);
        Some(Narrowed { unreadable: self.keeper.unreadable() as u64, ..narrowed })
    }
}

/// Looks at what tells nobody of its changes: the history, the sessions, and now and then all files.
fn look_now_and_then(records: &Records, core: &Core, keeper: &Keeper, stop: &Stop) {
    for turn in 1_u64.. {
        records.look(core);
        if turn.is_multiple_of(TURNS_PER_RECHECK) {
            keeper.recheck();
        }
        if !stop.rest(LOOK_EVERY) {
            return;
        }
    }
}

fn embed_in_background(embedding: &Embedding, keeper: &Keeper, calls: &Calls, stop: &Stop) {
    threads::make_way();
    let mut rest = REST;
    loop {
        // Words first: they take seconds, vectors take minutes.
        let round = match keeper.is_ready() {
            true => {
                calls.let_pass();
                embedding.round(false)
            }
            false => Round::Nothing,
        };
        rest = match round {
            Round::Some if stop.now() => return,
            Round::Some => {
                rest = REST;
                continue;
            }
            Round::Nothing | Round::Elsewhere => REST,
            Round::Failed => (rest * 2).min(LONGEST_REST),
        };
        if !stop.rest(rest) {
            return;
        }
    }
}
