//! The corpus as one list of transactions: all calls of all sequences, in discovery order.
//!
//! A corpus only grows. New entries are fetched on demand, so that the campaign's own list is locked only while a
//! few pointers are copied.

use std::sync::Arc;

use fuzz::call::SequenceCall;
use fuzz::campaign::{CampaignState, CorpusEntry};
use parking_lot::Mutex;

#[derive(Default)]
pub(crate) struct CorpusCache {
    snapshot: Mutex<Arc<CorpusSnapshot>>,
}

/// Transactions of the corpus at one moment.
#[derive(Clone, Default)]
pub(crate) struct CorpusSnapshot {
    entries: Vec<Arc<CorpusEntry>>,
    /// For each sequence, the number of calls up to its end.
    ends: Vec<usize>,
}

/// One call of the corpus, with its index among all transactions.
pub(crate) struct CorpusTransaction<'a> {
    pub(crate) index: usize,
    pub(crate) call: &'a SequenceCall,
    /// Gas used when the sequence was found, if known.
    pub(crate) gas: Option<u64>,
}

impl CorpusCache {
    pub(crate) fn current_snapshot(&self, shared: &CampaignState) -> Arc<CorpusSnapshot> {
        let mut snapshot = self.snapshot.lock();
        let (new, _) = shared.corpus_page(snapshot.entries.len(), usize::MAX);
        if !new.is_empty() {
            Arc::make_mut(&mut snapshot).push_entries(new);
        }
        Arc::clone(&snapshot)
    }
}

impl CorpusSnapshot {
    fn push_entries(&mut self, new: Vec<Arc<CorpusEntry>>) {
        for entry in new {
            self.ends.push(self.len() + entry.calls.len());
            self.entries.push(entry);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Returns the number of transactions in the first `sequences` sequences.
    pub(crate) fn count_up_to(&self, sequences: usize) -> usize {
        let last = sequences.checked_sub(1).and_then(|last| self.ends.get(last));
        last.copied().unwrap_or(0)
    }

    /// Returns the transactions from index `offset` on.
    pub(crate) fn iter_from(&self, offset: usize) -> impl Iterator<Item = CorpusTransaction<'_>> {
        let first = self.ends.partition_point(|end| *end <= offset);
        let start = first.checked_sub(1).map_or(0, |before| self.ends[before]);
        let calls = self.entries[first..].iter().flat_map(|entry| {
            let gas = entry.gas.iter().copied().map(Some).chain(std::iter::repeat(None));
            entry.calls.iter().zip(gas)
        });
        let numbered =
            (start..).zip(calls).map(|(index, (call, gas))| CorpusTransaction { index, call, gas });
        numbered.skip(offset.saturating_sub(start))
    }
}
