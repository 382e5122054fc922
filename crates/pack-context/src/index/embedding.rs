//! Vectors for the documents, made in the background.
//!
//! Work goes in rounds. A round takes the documents that have no vector, the most useful first: what people wrote to be
//! found, what searches surfaced, files on people's minds, then sources before tests. It looks them up in the cache, and
//! only where that gives nothing does it embed a few. So a start, a vector that another process made, and a branch that
//! comes back all take the same way, and stopping anywhere loses at most one round.
//!
//! Of several processes on one cache one embeds, the one that holds the lock file; the others find its vectors.

mod one;
mod pause;
mod queue;
mod refused;

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use embed::{EmbedError, Embedder};
use parking_lot::Mutex;
use rank::vectors::Vectors;
use sha2::{Digest, Sha256};

use self::one::OneProcess;
pub(crate) use self::pause::{Calls, Running};
use self::refused::Refused;
use super::analysis::key_of_text;
use super::cache::Key;
use super::core::Core;
use super::state::{Body, DocumentId};
use super::{roles, snippet, texts};

/// Documents that one round looks up.
const LOOK_UP: usize = 2_048;
/// Documents that one round embeds: about a third of a second, for which a call may have to share the processor.
const EMBED: usize = 12;
/// Vectors that are put in under one lock.
const PUT_TOGETHER: usize = 256;

pub(crate) struct Embedding {
    core: Arc<Core>,
    embedder: Arc<dyn Embedder>,
    /// Names the model in the cache.
    model: Key,
    turn: Mutex<Turn>,
    preferred: Mutex<VecDeque<DocumentId>>,
    /// Raised when somebody prefers others.
    preferences: AtomicU64,
    error: Mutex<Option<String>>,
    refused: Refused,
    counted: Mutex<Counted>,
}

/// How many documents should have a vector, as of a generation of the state and a number of refused texts.
#[derive(Default)]
struct Counted {
    generation: u64,
    refused: usize,
    wanted: usize,
}

/// What one round leaves for the next. Whoever holds it makes the round.
#[derive(Default)]
struct Turn {
    /// Texts that the cache does not have, as of this version of it.
    absent: HashSet<Key>,
    version: Option<i64>,
    /// Texts that cannot be read now, as of this generation of the state.
    unread: HashSet<Key>,
    generation: u64,
    /// What is missing, the most useful first, as of that generation and of these preferences.
    queue: Option<VecDeque<Missing>>,
    preferences: u64,
    /// Whether the queue held all that was missing when it was made.
    whole: bool,
    one: OneProcess,
}

/// What a round came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// Some documents have their vectors now.
    Some,
    /// There is nothing to do.
    Nothing,
    /// Another process is at it.
    Elsewhere,
    Failed,
}

/// A document without a vector.
struct Missing {
    id: DocumentId,
    key: Key,
}

impl Embedding {
    pub(crate) fn new(core: Arc<Core>, embedder: Arc<dyn Embedder>) -> Arc<Self> {
        let mut model = Key::default();
        model.copy_from_slice(&Sha256::digest(&embedder.model().hash)[..size_of::<Key>()]);
        Arc::new(Self {
            core,
            embedder,
            model,
            turn: Mutex::default(),
            preferred: Mutex::default(),
            preferences: AtomicU64::default(),
            error: Mutex::default(),
            refused: Refused::default(),
            counted: Mutex::default(),
        })
    }

    pub(crate) fn model(&self) -> &embed::Model {
        self.embedder.model()
    }

    pub(crate) fn is_remote(&self) -> bool {
        self.embedder.is_remote()
    }

    /// Why the last attempt failed, if it did.
    pub(crate) fn error(&self) -> Option<String> {
        self.error.lock().clone()
    }

    /// One round. `alone` embeds even while another process does: for somebody who waits for the outcome.
    pub(crate) fn round(&self, alone: bool) -> Round {
        let mut turn = self.turn.lock();
        self.fill_queue(&mut turn);
        let queue = turn.queue.take().unwrap_or_default();
        let (round, queue) = self.work_on(&mut turn, queue, alone);
        turn.queue = Some(queue);
        round
    }

    /// Puts in what the cache has of all that is missing, and makes nothing.
    pub(crate) fn recall(&self, enough: &dyn Fn() -> bool) {
        // A turn of its own: a round that runs would be waited for.
        let mut turn = Turn::default();
        let missing = self.missing(&mut turn, usize::MAX);
        for some in missing.chunks(LOOK_UP) {
            if enough() {
                break;
            }
            self.look_up(&mut turn, some);
        }
    }

    /// What a round makes of the queue, and what it leaves of it.
    fn work_on(
        &self,
        turn: &mut Turn,
        mut queue: VecDeque<Missing>,
        alone: bool,
    ) -> (Round, VecDeque<Missing>) {
        if queue.is_empty() {
            turn.one.release();
            return (Round::Nothing, queue);
        }
        if self.look_up(turn, queue.make_contiguous()) {
            self.drop_done(&mut queue);
            return (Round::Some, queue);
        }
        if !turn.one.take(&self.core.cache().lock_file()) && !alone {
            return (Round::Elsewhere, queue);
        }
        let wanted: Vec<&Missing> = queue.iter().take(EMBED).collect();
        let count = wanted.len();
        let round = self.embed(turn, &wanted);
        if round != Round::Failed {
            queue.drain(..count);
        }
        (round, queue)
    }

    /// Embeds these documents at once: somebody has just written them and may ask for them next.
    fn embed_now(&self, documents: &[DocumentId]) {
        // A turn of its own: a round that runs would be waited for.
        let mut turn = Turn::default();
        let state = self.core.state();
        let missing: Vec<Missing> = documents
            .iter()
            .filter(|id| !state.has_vector(**id))
            .filter_map(|id| Some(Missing { id: *id, key: state.document(*id)?.1.embedded }))
            .collect();
        drop(state);
        if !missing.is_empty() && !self.look_up(&mut turn, &missing) {
            self.embed(&mut turn, &missing.iter().collect::<Vec<_>>());
        }
    }

    /// The same, waited for only so long: an endpoint may take any time.
    pub(crate) fn embed_within(self: &Arc<Self>, documents: Vec<DocumentId>, patience: Duration) {
        let (done, is_done) = mpsc::channel::<()>();
        let this = Arc::clone(self);
        let work = move || {
            this.embed_now(&documents);
            drop(done);
        };
        if thread::Builder::new().name("vouch-written".into()).spawn(work).is_ok() {
            // Nothing is ever sent: the end of the work closes the channel.
            let _ = is_done.recv_timeout(patience);
        }
    }

    /// Vectors have this length from now on. Those of another length came from another model under the same name, and
    /// are of no use beside the new ones.
    pub(crate) fn expect(&self, dims: usize) {
        let fits = |vectors: &Vectors| vectors.dims() == dims;
        if self.core.state().vectors.as_ref().is_none_or(fits) {
            return;
        }
        self.core.state_mut().forget_vectors();
        self.core.cache().forget_vectors(&self.model);
        tracing::warn!(dims, "the vectors have another length than before: all are made again");
    }

    /// How many documents have a vector, and how many should. Counted again only when documents have changed.
    pub(crate) fn progress(&self) -> (usize, usize) {
        let state = self.core.state();
        let mut counted = self.counted.lock();
        let (generation, refused) = (state.generation, self.refused.len());
        if (counted.generation, counted.refused) != (generation, refused) {
            let wanted = state.documents().filter(|(_, source, document)| {
                (!document.is_piece() || roles::is_embedded(source.role))
                    && !self.refused.contains(&document.embedded)
            });
            *counted = Counted { generation, refused, wanted: wanted.count() };
        }
        let done = state.vectors.as_ref().map_or(0, Vectors::len);
        (done.min(counted.wanted), counted.wanted)
    }

    /// Puts in what the cache has; false if it has none of these.
    fn look_up(&self, turn: &mut Turn, missing: &[Missing]) -> bool {
        let version = self.core.cache().version();
        if turn.version != version {
            turn.version = version;
            turn.absent.clear();
        }
        let asked: Vec<&Missing> =
            missing.iter().filter(|missing| !turn.absent.contains(&missing.key)).collect();
        if asked.is_empty() {
            return false;
        }
        let keys: Vec<Key> = asked.iter().map(|missing| missing.key).collect();
        let rows = self.core.cache().vectors(&self.model, &keys);
        let mut found = Vec::new();
        for (missing, row) in asked.into_iter().zip(rows) {
            match row {
                Some(row) => found.push((missing.id, missing.key, row)),
                None => {
                    turn.absent.insert(missing.key);
                }
            }
        }
        self.put(found)
    }

    fn embed(&self, turn: &mut Turn, wanted: &[&Missing]) -> Round {
        let texts = self.texts(turn, wanted);
        if texts.is_empty() {
            return Round::Some;
        }
        let rows = match self.refused.embed(&*self.embedder, &texts) {
            Ok(rows) => rows,
            Err(error) => {
                self.note(Some(&error));
                return Round::Failed;
            }
        };
        self.note(None);
        if let Some(dims) = rows.first().and_then(|(_, row)| Vectors::dims_of(row)) {
            self.expect(dims);
        }
        let kept: Vec<(Key, Vec<u8>)> =
            rows.iter().map(|(missing, row)| (missing.key, row.clone())).collect();
        self.core.cache().add_vectors(&self.model, &kept);
        for (key, _) in &kept {
            turn.absent.remove(key);
        }
        self.put(rows.into_iter().map(|(missing, row)| (missing.id, missing.key, row)).collect());
        Round::Some
    }

    /// The texts that are embedded for these documents, as far as they can be read.
    fn texts<'a>(&self, turn: &mut Turn, wanted: &[&'a Missing]) -> Vec<(&'a Missing, String)> {
        wanted
            .iter()
            .filter_map(|missing| {
                let text = self.text(missing.id).filter(|text| key_of_text(text) == missing.key);
                if text.is_none() {
                    turn.unread.insert(missing.key);
                }
                Some((*missing, text?))
            })
            .collect()
    }

    fn text(&self, id: DocumentId) -> Option<String> {
        let state = self.core.state();
        let (source, document) = state.document(id)?;
        let (path, bytes, name) = match &document.body {
            Body::Discovery(discovery) => return Some(texts::of_record(&discovery.text())),
            Body::Session(session) => return Some(texts::of_record(&session.text)),
            Body::Piece { bytes, names, .. } => {
                (source.path()?.to_owned(), bytes.clone(), names.lines().next().map(str::to_owned))
            }
        };
        let digest = document.digest;
        drop(state);
        let body = snippet::read(&self.core.tree, &path, &bytes, digest)?;
        Some(texts::of_piece(&path, name.as_deref(), &body))
    }

    /// Puts vectors in, to documents that still say what was embedded.
    fn put(&self, rows: Vec<(DocumentId, Key, Vec<u8>)>) -> bool {
        let mut any = false;
        for some in rows.chunks(PUT_TOGETHER) {
            let mut state = self.core.state_mut();
            for (id, key, row) in some {
                let says =
                    state.document(*id).is_some_and(|(_, document)| document.embedded == *key);
                any |= says && state.put_vector(*id, row);
            }
        }
        any
    }

    fn note(&self, error: Option<&EmbedError>) {
        let text = error.map(ToString::to_string);
        let mut noted = self.error.lock();
        if *noted != text {
            if let Some(text) = &text {
                tracing::warn!(
                    error = text,
                    "documents could not be embedded; they are tried again"
                );
            }
            *noted = text;
        }
    }
}
