//! The index as files come and go: immutable segments, and the files that are too new for one.
//!
//! A changed file is a new file: its old number is dead. Segments are of one size and never merged: many small ones cost
//! a search little, and one pause that rewrites everything costs the search that waits for it much. When half of all
//! numbers are dead, segments are written anew without them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::plan::Plan;
use super::segment::{Segment, has_no_runs};
use super::set::{RUNS_FROM, Set};

/// New files wait until there are this many, or have this many trigrams between them. Looking through them one by one
/// takes a fraction of a millisecond.
const MAX_FRESH: usize = 2048;
const MAX_FRESH_TRIGRAMS: usize = 16 * 1024 * 1024;

/// Narrows searches over a changing set of files.
#[derive(Default)]
pub struct Index {
    /// The live files, by number.
    paths: Vec<Option<Arc<str>>>,
    numbers: HashMap<Arc<str>, u32>,
    segments: Vec<Segment>,
    /// Number and trigrams, ascending.
    fresh: Vec<(u32, Box<[u32]>)>,
    fresh_trigrams: usize,
    /// Files without a set: always candidates.
    unknown: BTreeSet<u32>,
}

impl Index {
    /// How many files there are.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// All files, in no order.
    pub fn paths(&self) -> impl Iterator<Item = &Arc<str>> {
        self.numbers.keys()
    }

    pub fn contains(&self, path: &str) -> bool {
        self.numbers.contains_key(path)
    }

    /// Adds a file, or says anew what is in it. Without a set it is always a candidate.
    pub fn insert(&mut self, path: &str, set: Option<Set>) {
        let number = match self.numbers.get(path) {
            // So far nothing is known of it that would have to be forgotten.
            Some(number) if self.unknown.remove(number) => *number,
            _ => self.number(path),
        };
        let Some(set) = set else {
            self.unknown.insert(number);
            return;
        };
        let trigrams: Box<[u32]> = set.iter().collect();
        self.fresh_trigrams += trigrams.len();
        self.fresh.push((number, trigrams));
        if self.fresh.len() >= MAX_FRESH || self.fresh_trigrams >= MAX_FRESH_TRIGRAMS {
            self.segments.push(Segment::build(&self.fresh));
            self.fresh.clear();
            self.fresh_trigrams = 0;
        }
    }

    fn number(&mut self, path: &str) -> u32 {
        self.remove(path);
        let number = self.paths.len() as u32;
        let path: Arc<str> = path.into();
        self.paths.push(Some(Arc::clone(&path)));
        self.numbers.insert(path, number);
        number
    }

    pub fn remove(&mut self, path: &str) {
        let Some(number) = self.numbers.remove(path) else { return };
        self.paths[number as usize] = None;
        self.unknown.remove(&number);
        if let Some(place) = self.fresh.iter().position(|(fresh, _)| *fresh == number) {
            let (_, trigrams) = self.fresh.swap_remove(place);
            self.fresh_trigrams -= trigrams.len();
        }
        if self.paths.len() > 2 * (self.numbers.len() + MAX_FRESH) {
            self.renumber();
        }
    }

    /// The files that may hold what the plan needs, in no order.
    pub fn candidates(&self, plan: &Plan) -> Vec<Arc<str>> {
        if *plan == Plan::Any {
            return self.paths().cloned().collect();
        }
        let fresh = self.fresh.iter().filter(|(_, trigrams)| satisfies(trigrams, plan));
        let settled = self.segments.iter().flat_map(|segment| segment.candidates(plan));
        let numbers =
            settled.chain(fresh.map(|(file, _)| *file)).chain(self.unknown.iter().copied());
        numbers.filter_map(|number| self.paths[number as usize].clone()).collect()
    }

    /// Gives the live files new numbers without gaps.
    fn renumber(&mut self) {
        let mut paths = Vec::with_capacity(self.numbers.len());
        let mut new = vec![None; self.paths.len()];
        for (old, path) in self.paths.iter().enumerate() {
            if let Some(path) = path {
                new[old] = Some(paths.len() as u32);
                self.numbers.insert(Arc::clone(path), paths.len() as u32);
                paths.push(Some(Arc::clone(path)));
            }
        }
        for segment in &mut self.segments {
            *segment = segment.renamed(&new);
        }
        self.segments.retain(|segment| segment.len() > 0);
        for (file, _) in &mut self.fresh {
            *file = new[*file as usize].expect("what is fresh is live");
        }
        self.unknown = self.unknown.iter().filter_map(|file| new[*file as usize]).collect();
        self.paths = paths;
    }
}

/// Whether a single file has what the plan needs.
fn satisfies(trigrams: &[u32], plan: &Plan) -> bool {
    match plan {
        Plan::Any => true,
        Plan::Has(number) => {
            let is_excused = *number >= RUNS_FROM && has_no_runs(trigrams);
            is_excused || trigrams.binary_search(number).is_ok()
        }
        Plan::All(plans) => plans.iter().all(|plan| satisfies(trigrams, plan)),
        Plan::One(plans) => plans.iter().any(|plan| satisfies(trigrams, plan)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trigram::Collector;
    use crate::trigram::set::numbers_of;

    fn has(text: &str) -> Plan {
        Plan::All(numbers_of(text.as_bytes()).map(Plan::Has).collect())
    }

    fn found(index: &Index, plan: &Plan) -> Vec<String> {
        let mut paths: Vec<_> =
            index.candidates(plan).iter().map(|path| path.to_string()).collect();
        paths.sort();
        paths
    }

    /// Files by the thousand: whatever is in segments, fresh, changed, gone or renumbered is found where it should be.
    #[test]
    fn files_come_change_and_go() {
        let mut index = Index::default();
        // Every other one is long.
        let mut collectors = [usize::MAX, 0].map(Collector::with_runs_from);
        let mut text = |number: usize, round: usize| {
            collectors[number % 2]
                .collect(format!("common text, file{number:05}, round{round}").as_bytes())
        };
        let path = |number: usize| format!("folder/{number}");
        for round in 0..4 {
            for number in 0..3000 {
                index.insert(&path(number), text(number, round));
            }
            for number in (round * 100)..(round * 100 + 50) {
                index.remove(&path(number));
            }
            index.insert("always", None);
            index.insert("always", None);
            assert_eq!(found(&index, &has("file02999")), ["always".to_owned(), path(2999),]);
            // Others have the same trigrams, in other places.
            let removed = round * 100;
            let near = found(&index, &has(&format!("file{removed:05}")));
            assert!(!near.contains(&path(removed)));
            assert_eq!(found(&index, &has(&format!("round{round}"))).len(), index.len());
            assert_eq!(found(&index, &has("round9")), ["always"]);
            assert_eq!(found(&index, &Plan::Any).len(), index.len());
        }
        assert!(index.paths.len() < 2 * (3000 + MAX_FRESH) + 2, "dead numbers are dropped");
        assert!(index.segments.iter().all(|segment| segment.len() <= MAX_FRESH));
    }
}
