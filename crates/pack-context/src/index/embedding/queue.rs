//! Which documents have no vector, the most useful first.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;

use super::{Embedding, LOOK_UP, Missing, Turn, roles};
use crate::index::state::DocumentId;

/// Documents that searches surfaced and that go first.
const PREFERRED: usize = 256;

impl Embedding {
    /// These go before the others.
    pub(crate) fn prefer(&self, documents: impl IntoIterator<Item = DocumentId>) {
        let mut preferred = self.preferred.lock();
        let mut added = false;
        for id in documents {
            if !preferred.contains(&id) {
                preferred.push_front(id);
                added = true;
            }
        }
        if added {
            preferred.truncate(PREFERRED);
            self.preferences.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes out what has its vector by now.
    pub(super) fn drop_done(&self, queue: &mut VecDeque<Missing>) {
        let state = self.core.state();
        queue.retain(|missing| !state.has_vector(missing.id));
    }

    /// Looks for what is missing, where the queue does not tell any more: it is done, documents have changed, or
    /// somebody prefers others.
    pub(super) fn fill_queue(&self, turn: &mut Turn) {
        let generation = self.core.state().generation;
        let preferences = self.preferences.load(Ordering::Relaxed);
        let same = turn.generation == generation && turn.preferences == preferences;
        let told = match &turn.queue {
            // An empty queue that held all there was says that nothing is missing.
            Some(queue) => same && (!queue.is_empty() || turn.whole),
            None => false,
        };
        if told {
            return;
        }
        turn.preferences = preferences;
        let missing = self.missing(turn, LOOK_UP);
        turn.whole = missing.len() < LOOK_UP;
        turn.queue = Some(missing.into());
    }

    /// The documents without a vector, the most useful first, at most so many.
    pub(super) fn missing(&self, turn: &mut Turn, limit: usize) -> Vec<Missing> {
        let preferred: HashMap<DocumentId, usize> = {
            let mut preferred = self.preferred.lock();
            let state = self.core.state();
            preferred.retain(|id| !state.has_vector(*id));
            preferred.iter().enumerate().map(|(place, id)| (*id, place)).collect()
        };
        let state = self.core.state();
        if turn.generation != state.generation {
            turn.generation = state.generation;
            turn.unread.clear();
        }
        let mut missing: Vec<_> = state
            .documents()
            .filter(|(id, source, document)| {
                (!document.is_piece() || roles::is_embedded(source.role))
                    && !state.has_vector(*id)
                    && !turn.unread.contains(&document.embedded)
                    && !self.refused.contains(&document.embedded)
            })
            .map(|(id, source, document)| {
                let record = !document.is_piece();
                let heat = state.attention.get(&id.source()).copied().unwrap_or_default();
                let rank = match (record, preferred.get(&id)) {
                    (true, _) => (0, 0),
                    (false, Some(place)) => (1, *place),
                    // In hundredths: the hottest first.
                    (false, None) if heat > 0.0 => (2, 100 - (heat * 100.0) as usize),
                    (false, None) => (3, usize::from(roles::urgency(source.role))),
                };
                (rank, Missing { id, key: document.embedded })
            })
            .collect();
        drop(state);
        let order = |one: &(_, Missing), other: &(_, Missing)| {
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
