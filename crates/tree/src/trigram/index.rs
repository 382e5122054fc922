//! The index as files come and go: a few immutable segments, and the files that are too new for one.
//!
//! A changed file is a new file: its old number is dead, and segments forget it when they are merged. Segments are
//! merged when there are several of one size, so each file is rewritten only a few times however many there are.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::plan::Plan;
use super::segment::Segment;
use super::set::Set;

/// New files wait until there are this many: few enough to be looked through one by one.
const FRESH: usize = 64;
/// So many segments of one size become one of the next.
const MERGED: usize = 8;
/// Segments grow to this many files. More would make the lists of common trigrams long for no gain.
const MAX_FILES: usize = 8192;
/// Or to this many bytes of sets: building one takes up to eight times as much for a moment.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// Narrows searches over a changing set of files.
#[derive(Default)]
pub struct Index {
    /// The live files, by number.
    paths: Vec<Option<Arc<str>>>,
    numbers: HashMap<Arc<str>, u32>,
    segments: Vec<Segment>,
    fresh: Vec<(u32, Set)>,
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
        self.add(path, set);
        if self.fresh.len() >= FRESH {
            self.settle_fresh();
        }
    }

    /// Adds many files at once, which is cheaper than one by one.
    pub fn extend(&mut self, files: impl IntoIterator<Item = (String, Option<Set>)>) {
        let mut bytes = 0;
        for (path, set) in files {
            bytes += set.as_ref().map_or(0, |set| set.as_bytes().len());
            self.add(&path, set);
            if self.fresh.len() >= MAX_FILES || bytes >= MAX_BYTES {
                self.settle_fresh();
                bytes = 0;
            }
        }
        if self.fresh.len() >= FRESH {
            self.settle_fresh();
        }
    }

    fn add(&mut self, path: &str, set: Option<Set>) {
        let number = match self.numbers.get(path) {
            // So far nothing is known of it that would have to be forgotten.
            Some(number) if self.unknown.remove(number) => *number,
            _ => self.number(path),
        };
        match set {
            Some(set) => self.fresh.push((number, set)),
            None => drop(self.unknown.insert(number)),
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
        self.fresh.retain(|(fresh, _)| *fresh != number);
        // Dead numbers are only dropped by merging; too many of them, and everything is merged.
        if self.paths.len() > 2 * self.numbers.len() + MAX_FILES {
            self.renumber();
        }
    }

    /// The files that may hold what the plan needs, in no order.
    pub fn candidates(&self, plan: &Plan) -> Vec<Arc<str>> {
        if *plan == Plan::Any {
            return self.paths().cloned().collect();
        }
        let fresh = self.fresh.iter().filter(|(_, set)| {
            let trigrams: Vec<u32> = set.iter().collect();
            satisfies(&trigrams, plan)
        });
        let fresh = fresh.map(|(file, _)| *file);
        let settled = self.segments.iter().flat_map(|segment| segment.candidates(plan));
        let numbers = settled.chain(fresh).chain(self.unknown.iter().copied());
        numbers.filter_map(|number| self.paths[number as usize].clone()).collect()
    }

    fn settle_fresh(&mut self) {
        self.segments.push(Segment::build(&self.fresh));
        self.fresh.clear();
        // Segments stand by age, and so the small ones at the end.
        while let Some(segments) = self.mergeable() {
            let merged = Segment::merge(&self.segments[segments..], |file| self.is_live(file));
            self.segments.truncate(segments);
            self.segments.push(merged);
        }
    }

    /// Where the last segments begin that are of one size and enough to be merged.
    fn mergeable(&self) -> Option<usize> {
        let size = |segment: &Segment| segment.len().max(1).ilog2() / MERGED.ilog2();
        let first = self.segments.len().checked_sub(MERGED)?;
        let last = size(&self.segments[self.segments.len() - 1]);
        let alike = self.segments[first..].iter().all(|segment| size(segment) <= last);
        let files: usize = self.segments[first..].iter().map(Segment::len).sum();
        (alike && files <= MAX_FILES).then_some(first)
    }

    fn is_live(&self, number: u32) -> bool {
        self.paths[number as usize].is_some()
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
        self.fresh.retain_mut(|(file, _)| {
            new[*file as usize].is_some_and(|new| {
                *file = new;
                true
            })
        });
        self.unknown = self.unknown.iter().filter_map(|file| new[*file as usize]).collect();
        self.paths = paths;
    }
}

/// Whether a single file has what the plan needs.
fn satisfies(trigrams: &[u32], plan: &Plan) -> bool {
    match plan {
        Plan::Any => true,
        Plan::Has(trigram) => trigrams.binary_search(trigram).is_ok(),
        Plan::All(plans) => plans.iter().all(|plan| satisfies(trigrams, plan)),
        Plan::One(plans) => plans.iter().any(|plan| satisfies(trigrams, plan)),
    }
}
