//! The corpus as one list of transactions: all calls of all sequences, in the order in which they were found.
//!
//! A corpus only grows. What is new is taken in when somebody asks, so that the campaign's own list is held no longer than
//! a copy of a few pointers takes.

use std::sync::Arc;

use fuzz::call::Call;
use fuzz::campaign::{Entry, Shared};
use parking_lot::Mutex;

#[derive(Default)]
pub(crate) struct Corpus {
    known: Mutex<Arc<Transactions>>,
}

/// What the corpus held at one moment.
#[derive(Clone, Default)]
pub(crate) struct Transactions {
    entries: Vec<Arc<Entry>>,
    /// For each sequence, how many calls there are up to its end.
    ends: Vec<usize>,
}

/// One call of the corpus.
pub(crate) struct Transaction<'a> {
    pub(crate) index: usize,
    pub(crate) call: &'a Call,
    /// What it used when it was found, where that is known.
    pub(crate) gas: Option<u64>,
}

impl Corpus {
    pub(crate) fn now(&self, shared: &Shared) -> Arc<Transactions> {
        let mut known = self.known.lock();
        let (new, _) = shared.corpus_page(known.entries.len(), usize::MAX);
        if !new.is_empty() {
            Arc::make_mut(&mut known).add(new);
        }
        Arc::clone(&known)
    }
}

impl Transactions {
    fn add(&mut self, new: Vec<Arc<Entry>>) {
        for entry in new {
            self.ends.push(self.len() + entry.calls.len());
            self.entries.push(entry);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// How many there were when the corpus had so many sequences.
    pub(crate) fn up_to(&self, sequences: usize) -> usize {
        let last = sequences.checked_sub(1).and_then(|last| self.ends.get(last));
        last.copied().unwrap_or(0)
    }

    /// The transactions from one on, by their index.
    pub(crate) fn from(&self, offset: usize) -> impl Iterator<Item = Transaction<'_>> {
        let first = self.ends.partition_point(|end| *end <= offset);
        let start = first.checked_sub(1).map_or(0, |before| self.ends[before]);
        let calls = self.entries[first..].iter().flat_map(|entry| {
            let gas = entry.gas.iter().copied().map(Some).chain(std::iter::repeat(None));
            entry.calls.iter().zip(gas)
        });
        let numbered =
            (start..).zip(calls).map(|(index, (call, gas))| Transaction { index, call, gas });
        numbered.skip(offset.saturating_sub(start))
    }
}
