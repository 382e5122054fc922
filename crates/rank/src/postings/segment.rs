//! Two forms of the same thing: a segment that still grows, and one that is packed for reading.

use std::collections::HashMap;

use super::{Segment, saturated};
use crate::Bag;

/// A posting in four bytes: the row in the upper 24 bits, the frequency in the lower 8.
type Posting = u32;

fn posting(row: u32, frequency: u8) -> Posting {
    row << 8 | u32::from(frequency)
}

fn row_of(posting: Posting) -> u32 {
    posting >> 8
}

fn frequency_of(posting: Posting) -> u8 {
    posting as u8
}

#[derive(Debug, Clone, Copy)]
struct Row {
    id: u32,
    length: u32,
    dead: bool,
}

/// Rows, and how many of them are dead.
#[derive(Debug, Default)]
struct Rows {
    all: Vec<Row>,
    dead: usize,
}

impl Rows {
    fn kill(&mut self, row: u32) -> u32 {
        let row = &mut self.all[row as usize];
        debug_assert!(!row.dead, "a document is taken out once");
        row.dead = true;
        self.dead += 1;
        row.length
    }

    fn live(&self, row: u32) -> Option<u32> {
        let row = &self.all[row as usize];
        (!row.dead).then_some(row.id)
    }

    fn count(&self, postings: &[Posting]) -> usize {
        if self.dead == 0 {
            return postings.len();
        }
        postings.iter().filter(|&&posting| self.live(row_of(posting)).is_some()).count()
    }

    fn add_scores(&self, postings: &[Posting], weight: f32, norm: (f32, f32), scores: &mut [f32]) {
        for &posting in postings {
            let row = row_of(posting) as usize;
            scores[row] += saturated(weight, frequency_of(posting), self.all[row].length, norm);
        }
    }
}

fn frequency(postings: &[Posting], row: u32) -> Option<u8> {
    let found = postings.binary_search_by_key(&row, |&posting| row_of(posting)).ok()?;
    Some(frequency_of(postings[found]))
}

/// A segment that takes documents.
#[derive(Debug, Default)]
pub(super) struct Open {
    rows: Rows,
    terms: HashMap<u32, Vec<Posting>>,
}

impl Open {
    pub(super) fn push(&mut self, id: u32, bag: &Bag) -> u32 {
        let row = self.rows.all.len() as u32;
        self.rows.all.push(Row { id, length: bag.length, dead: false });
        for &(hash, frequency) in &bag.terms {
            self.terms.entry(hash).or_default().push(posting(row, frequency));
        }
        row
    }

    pub(super) fn kill(&mut self, row: u32) -> u32 {
        self.rows.kill(row)
    }

    pub(super) fn bytes(&self) -> usize {
        let lists: usize =
            self.terms.values().map(|list| list.capacity() * size_of::<Posting>()).sum();
        lists + self.terms.capacity() * size_of::<(u32, Vec<Posting>)>()
    }

    pub(super) fn seal(self) -> Sealed {
        let mut terms: Vec<(u32, Vec<Posting>)> = self.terms.into_iter().collect();
        terms.sort_unstable_by_key(|&(hash, _)| hash);
        let mut sealed = Sealed { rows: self.rows, ..Sealed::default() };
        for (hash, list) in terms {
            sealed.push_list(hash, list);
        }
        sealed
    }
}

/// A segment that only loses documents: every list one after the other, found by the term's number.
#[derive(Debug, Default)]
pub(super) struct Sealed {
    rows: Rows,
    /// Ascending.
    hashes: Vec<u32>,
    /// Where the list of each term ends in `postings`; it begins where the one before ends.
    ends: Vec<u32>,
    postings: Vec<Posting>,
}

impl Sealed {
    /// One segment of the live documents of several.
    pub(super) fn merge(segments: &[&Self]) -> Self {
        let mut merged = Self::default();
        let renumbered: Vec<Vec<Option<u32>>> =
            segments.iter().map(|segment| merged.take_rows(&segment.rows)).collect();
        let mut hashes: Vec<u32> =
            segments.iter().flat_map(|segment| &segment.hashes).copied().collect();
        hashes.sort_unstable();
        hashes.dedup();
        merged.postings.reserve_exact(segments.iter().map(|segment| segment.postings.len()).sum());
        // Each list is met once, in order: a cursor for each segment instead of a search for each term.
        let mut cursors = vec![0; segments.len()];
        for hash in hashes {
            let lists = segments.iter().zip(&renumbered).zip(&mut cursors);
            let live = lists.flat_map(|((segment, numbers), cursor)| {
                let mut list: &[Posting] = &[];
                if segment.hashes.get(*cursor) == Some(&hash) {
                    list = segment.list_at(*cursor);
                    *cursor += 1;
                }
                list.iter().filter_map(|&old| {
                    Some(posting(numbers[row_of(old) as usize]?, frequency_of(old)))
                })
            });
            merged.push_list(hash, live);
        }
        merged.postings.shrink_to_fit();
        merged
    }

    /// Takes over the live rows; gives the new number of each.
    fn take_rows(&mut self, rows: &Rows) -> Vec<Option<u32>> {
        let take = |row: &Row| {
            (!row.dead).then(|| {
                self.rows.all.push(*row);
                self.rows.all.len() as u32 - 1
            })
        };
        rows.all.iter().map(take).collect()
    }

    /// Terms come in ascending order; one without postings is left out.
    fn push_list(&mut self, hash: u32, list: impl IntoIterator<Item = Posting>) {
        let begin = self.postings.len();
        self.postings.extend(list);
        if self.postings.len() > begin {
            self.hashes.push(hash);
            self.ends.push(
                u32::try_from(self.postings.len()).expect("2^24 rows do not fill 2^32 postings"),
            );
        }
    }

    pub(super) fn kill(&mut self, row: u32) -> u32 {
        self.rows.kill(row)
    }

    pub(super) fn mostly_dead(&self) -> bool {
        self.rows.dead * 2 > self.rows.all.len()
    }

    pub(super) fn rows(&self) -> usize {
        self.rows.all.len()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.rows.all.len() as u32).filter_map(|row| Some((row, self.rows.live(row)?)))
    }

    pub(super) fn bytes(&self) -> usize {
        let numbers = self.hashes.capacity() + self.ends.capacity() + self.postings.capacity();
        numbers * size_of::<u32>() + self.rows.all.capacity() * size_of::<Row>()
    }

    fn list_at(&self, at: usize) -> &[Posting] {
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.postings[begin as usize..self.ends[at] as usize]
    }
}

/// What both forms have.
trait Lists {
    fn table(&self) -> &Rows;
    fn list(&self, hash: u32) -> &[Posting];
}

impl Lists for Open {
    fn table(&self) -> &Rows {
        &self.rows
    }

    fn list(&self, hash: u32) -> &[Posting] {
        self.terms.get(&hash).map_or(&[], Vec::as_slice)
    }
}

impl Lists for Sealed {
    fn table(&self) -> &Rows {
        &self.rows
    }

    fn list(&self, hash: u32) -> &[Posting] {
        self.hashes.binary_search(&hash).map_or(&[], |at| self.list_at(at))
    }
}

impl<L: Lists> Segment for L {
    fn rows(&self) -> usize {
        self.table().all.len()
    }
    fn live(&self, row: u32) -> Option<u32> {
        self.table().live(row)
    }
    fn length(&self, row: u32) -> u32 {
        self.table().all[row as usize].length
    }
    fn count(&self, hash: u32) -> usize {
        self.table().count(self.list(hash))
    }
    fn frequency(&self, hash: u32, row: u32) -> Option<u8> {
        frequency(self.list(hash), row)
    }
    fn add_scores(&self, hash: u32, weight: f32, norm: (f32, f32), scores: &mut [f32]) {
        self.table().add_scores(self.list(hash), weight, norm, scores);
    }
}
