//! Orders the documents that have no vector, the most useful first.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;

use super::{DocumentEmbedder, EmbeddingRoundState, LOOKUP_BATCH, MissingVector, roles};
use crate::index::state::DocumentId;

/// Maximum documents prioritized because a search returned them.
const MAX_PREFERRED: usize = 256;

impl DocumentEmbedder {
    /// Prioritizes these documents.
    pub(crate) fn prioritize_documents(&self, documents: impl IntoIterator<Item = DocumentId>) {
        let mut preferred = self.preferred.lock();
        let mut added = false;
        for id in documents {
            if !preferred.contains(&id) {
                preferred.push_front(id);
                added = true;
            }
        }
        if added {
            preferred.truncate(MAX_PREFERRED);
            self.preferences.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Removes documents that have a vector from the queue.
    pub(super) fn remove_embedded(&self, queue: &mut VecDeque<MissingVector>) {
        let state = self.core.state();
        queue.retain(|missing| !state.has_vector(missing.id));
    }

    /// Fills the queue if it is outdated: it is processed, documents have changed, or other documents are prioritized.
    pub(super) fn refill_queue(&self, round: &mut EmbeddingRoundState) {
        let generation = self.core.state().generation;
        let preferences = self.preferences.load(Ordering::Relaxed);
        let same = round.generation == generation && round.preferences == preferences;
        let is_current = match &round.queue {
            // An empty queue that contained every document means that no vector is missing.
            Some(queue) => same && (!queue.is_empty() || round.whole),
            None => false,
        };
        if is_current {
            return;
        }
        round.preferences = preferences;
        let missing = self.find_missing(round, LOOKUP_BATCH);
        round.whole = missing.len() < LOOKUP_BATCH;
        round.queue = Some(missing.into());
    }

    /// Returns up to `limit` documents without a vector, the most useful first.
    pub(super) fn find_missing(
        &self,
        round: &mut EmbeddingRoundState,
        limit: usize,
    ) -> Vec<MissingVector> {
        let preferred: HashMap<DocumentId, usize> = {
            let mut preferred = self.preferred.lock();
            let state = self.core.state();
            preferred.retain(|id| !state.has_vector(*id));
            preferred.iter().enumerate().map(|(position, id)| (*id, position)).collect()
        };
        let state = self.core.state();
        if round.generation != state.generation {
            round.generation = state.generation;
            round.unread.clear();
        }
        let mut missing: Vec<_> = state
            .documents()
            .filter(|(id, source, document)| {
                (!document.is_chunk() || roles::is_embedded_role(source.role))
                    && !state.has_vector(*id)
                    && !round.unread.contains(&document.embedding_key)
                    && !self.rejected.contains(&document.embedding_key)
            })
            .map(|(id, source, document)| {
                let is_record = !document.is_chunk();
                let recency = state.recency.get(&id.source()).copied().unwrap_or_default();
                let rank = match (is_record, preferred.get(&id)) {
                    (true, _) => (0, 0),
                    (false, Some(position)) => (1, *position),
                    // In hundredths, the most recent first.
                    (false, None) if recency > 0.0 => (2, 100 - (recency * 100.0) as usize),
                    (false, None) => (3, usize::from(roles::priority_for_role(source.role))),
                };
                (rank, MissingVector { id, key: document.embedding_key })
            })
            .collect();
        drop(state);
        let order = |one: &(_, MissingVector), other: &(_, MissingVector)| {
            (one.0, one.1.id).cmp(&(other.0, other.1.id))
        };
        if missing.len() > limit {
            missing.select_nth_unstable_by(limit, order);
            missing.truncate(limit);
        }
        missing.sort_unstable_by(order);
        missing.into_iter().map(|(_, missing)| missing).collect()
    }
}
