//! The mutable index: immutable segments, plus recent files that are not in a segment yet.
//!
//! A changed file gets a new number, and its old number is dead. Segments have one size and are never merged: many
//! small segments cost a search little, whereas a merge would delay the search that waits for it. When half of all
//! numbers are dead, the segments are rewritten without them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::plan::TrigramPlan;
use super::segment::{TrigramSegment, has_no_runs};
use super::set::{FIRST_RUN_KEY, TrigramSet};

/// Maximum number of recent files before they become a segment. Scanning them takes a fraction of a millisecond.
const MAX_FRESH: usize = 2048;
/// Maximum number of trigrams of all recent files together.
const MAX_FRESH_TRIGRAMS: usize = 16 * 1024 * 1024;

/// A trigram index over a changing set of files.
#[derive(Default)]
pub struct TrigramIndex {
    /// The live files, by number.
    paths: Vec<Option<Arc<str>>>,
    numbers: HashMap<Arc<str>, u32>,
    segments: Vec<TrigramSegment>,
    /// Recent files: their numbers and ascending trigrams.
    fresh: Vec<(u32, Box<[u32]>)>,
    fresh_trigrams: usize,
    /// Files without a trigram set, which are always candidates.
    unknown: BTreeSet<u32>,
}

impl TrigramIndex {
    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Returns all files in arbitrary order.
    pub fn paths(&self) -> impl Iterator<Item = &Arc<str>> {
        self.numbers.keys()
    }

    pub fn contains(&self, path: &str) -> bool {
        self.numbers.contains_key(path)
    }

    /// Adds or replaces a file. A file without a set is always a candidate.
    pub fn insert(&mut self, path: &str, set: Option<TrigramSet>) {
        let number = match self.numbers.get(path) {
            // No trigrams are stored under this number, so it can be reused.
            Some(number) if self.unknown.remove(number) => *number,
            _ => self.assign_number(path),
        };
        let Some(set) = set else {
            self.unknown.insert(number);
            return;
        };
        let trigrams: Box<[u32]> = set.iter().collect();
        self.fresh_trigrams += trigrams.len();
        self.fresh.push((number, trigrams));
        if self.fresh.len() >= MAX_FRESH || self.fresh_trigrams >= MAX_FRESH_TRIGRAMS {
            self.segments.push(TrigramSegment::build(&self.fresh));
            self.fresh.clear();
            self.fresh_trigrams = 0;
        }
    }

    /// Gives a file a new number, and removes its old one.
    fn assign_number(&mut self, path: &str) -> u32 {
        self.remove(path);
        let number = self.paths.len() as u32;
        let path: Arc<str> = path.into();
        self.paths.push(Some(Arc::clone(&path)));
        self.numbers.insert(path, number);
        number
    }

    /// Removes a file; no-op if absent.
    pub fn remove(&mut self, path: &str) {
        let Some(number) = self.numbers.remove(path) else { return };
        self.paths[number as usize] = None;
        self.unknown.remove(&number);
        if let Some(place) = self.fresh.iter().position(|(fresh, _)| *fresh == number) {
            let (_, trigrams) = self.fresh.swap_remove(place);
            self.fresh_trigrams -= trigrams.len();
        }
        if self.paths.len() > 2 * (self.numbers.len() + MAX_FRESH) {
            self.renumber_files();
        }
    }

    /// Returns the files that may satisfy the plan, in arbitrary order.
    pub fn find_candidates(&self, plan: &TrigramPlan) -> Vec<Arc<str>> {
        if *plan == TrigramPlan::Any {
            return self.paths().cloned().collect();
        }
        let fresh = self.fresh.iter().filter(|(_, trigrams)| satisfies_plan(trigrams, plan));
        let settled = self.segments.iter().flat_map(|segment| segment.find_candidates(plan));
        let numbers =
            settled.chain(fresh.map(|(file, _)| *file)).chain(self.unknown.iter().copied());
        numbers.filter_map(|number| self.paths[number as usize].clone()).collect()
    }

    /// Renumbers the live files without gaps.
    fn renumber_files(&mut self) {
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
            *segment = segment.renumber_files(&new);
        }
        self.segments.retain(|segment| segment.len() > 0);
        for (file, _) in &mut self.fresh {
            *file = new[*file as usize].expect("recent files are live");
        }
        self.unknown = self.unknown.iter().filter_map(|file| new[*file as usize]).collect();
        self.paths = paths;
    }
}

/// Returns true if a file with these trigrams may satisfy the plan.
fn satisfies_plan(trigrams: &[u32], plan: &TrigramPlan) -> bool {
    match plan {
        TrigramPlan::Any => true,
        TrigramPlan::Contains(number) => {
            let is_excused = *number >= FIRST_RUN_KEY && has_no_runs(trigrams);
            is_excused || trigrams.binary_search(number).is_ok()
        }
        TrigramPlan::AllOf(plans) => plans.iter().all(|plan| satisfies_plan(trigrams, plan)),
        TrigramPlan::AnyOf(plans) => plans.iter().any(|plan| satisfies_plan(trigrams, plan)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trigram::TrigramCollector;
    use crate::trigram::set::text_keys;

    fn has(text: &str) -> TrigramPlan {
        TrigramPlan::AllOf(text_keys(text.as_bytes()).map(TrigramPlan::Contains).collect())
    }

    fn found(index: &TrigramIndex, plan: &TrigramPlan) -> Vec<String> {
        let mut paths: Vec<_> =
            index.find_candidates(plan).iter().map(|path| path.to_string()).collect();
        paths.sort();
        paths
    }

    /// Uses thousands of files, so that segments, recent files, changes, removals and renumbering all occur.
    #[test]
    fn finds_files_after_inserts_changes_and_removals() {
        let mut index = TrigramIndex::default();
        // Every other file is long.
        let mut collectors = [usize::MAX, 0].map(TrigramCollector::with_run_threshold);
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
            // Other files contain the same trigrams at other positions.
            let removed = round * 100;
            let near = found(&index, &has(&format!("file{removed:05}")));
            assert!(!near.contains(&path(removed)));
            assert_eq!(found(&index, &has(&format!("round{round}"))).len(), index.len());
            assert_eq!(found(&index, &has("round9")), ["always"]);
            assert_eq!(found(&index, &TrigramPlan::Any).len(), index.len());
        }
        assert!(index.paths.len() < 2 * (3000 + MAX_FRESH) + 2, "dead numbers must be dropped");
        assert!(index.segments.iter().all(|segment| segment.len() <= MAX_FRESH));
    }
}
