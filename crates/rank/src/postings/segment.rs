//! The two kinds of segments: one that accepts documents, and one that is packed for reading.

use std::collections::HashMap;

use super::{PostingSegment, score_term};
use crate::TermBag;

/// A posting in four bytes: the row in the upper 24 bits, the term frequency in the lower 8.
type Posting = u32;

fn pack_posting(row: u32, frequency: u8) -> Posting {
    row << 8 | u32::from(frequency)
}

fn posting_row(posting: Posting) -> u32 {
    posting >> 8
}

fn posting_frequency(posting: Posting) -> u8 {
    posting as u8
}

/// One document of a segment.
#[derive(Debug, Clone, Copy)]
struct DocumentRow {
    id: u32,
    /// Weighted number of terms.
    length: u32,
    dead: bool,
}

/// The documents of a segment.
#[derive(Debug, Default)]
struct DocumentRows {
    all: Vec<DocumentRow>,
    /// Number of removed rows.
    dead: usize,
}

impl DocumentRows {
    /// Marks a row as removed. Returns the length of its document.
    fn mark_removed(&mut self, row: u32) -> u32 {
        let row = &mut self.all[row as usize];
        debug_assert!(!row.dead, "a document is removed only once");
        row.dead = true;
        self.dead += 1;
        row.length
    }

    fn live_document(&self, row: u32) -> Option<u32> {
        let row = &self.all[row as usize];
        (!row.dead).then_some(row.id)
    }

    fn count_live(&self, postings: &[Posting]) -> usize {
        if self.dead == 0 {
            return postings.len();
        }
        postings
            .iter()
            .filter(|&&posting| self.live_document(posting_row(posting)).is_some())
            .count()
    }

    fn add_scores(&self, postings: &[Posting], weight: f32, norm: (f32, f32), scores: &mut [f32]) {
        for &posting in postings {
            let row = posting_row(posting) as usize;
            scores[row] +=
                score_term(weight, posting_frequency(posting), self.all[row].length, norm);
        }
    }
}

fn find_frequency(postings: &[Posting], row: u32) -> Option<u8> {
    let found = postings.binary_search_by_key(&row, |&posting| posting_row(posting)).ok()?;
    Some(posting_frequency(postings[found]))
}

/// A segment that accepts documents.
#[derive(Debug, Default)]
pub(super) struct OpenSegment {
    rows: DocumentRows,
    terms: HashMap<u32, Vec<Posting>>,
}

impl OpenSegment {
    /// Adds a document. Returns its row.
    pub(super) fn push_document(&mut self, id: u32, bag: &TermBag) -> u32 {
        let row = self.rows.all.len() as u32;
        self.rows.all.push(DocumentRow { id, length: bag.length, dead: false });
        for &(hash, frequency) in &bag.terms {
            self.terms.entry(hash).or_default().push(pack_posting(row, frequency));
        }
        row
    }

    pub(super) fn mark_removed(&mut self, row: u32) -> u32 {
        self.rows.mark_removed(row)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let lists: usize =
            self.terms.values().map(|list| list.capacity() * size_of::<Posting>()).sum();
        lists + self.terms.capacity() * size_of::<(u32, Vec<Posting>)>()
    }

    pub(super) fn seal(self) -> SealedSegment {
        let mut terms: Vec<(u32, Vec<Posting>)> = self.terms.into_iter().collect();
        terms.sort_unstable_by_key(|&(hash, _)| hash);
        let mut sealed = SealedSegment { rows: self.rows, ..SealedSegment::default() };
        for (hash, list) in terms {
            sealed.push_list(hash, list);
        }
        sealed
    }
}

/// A read-only segment from which documents can be removed. Posting lists are contiguous, ordered by term hash.
#[derive(Debug, Default)]
pub(super) struct SealedSegment {
    rows: DocumentRows,
    /// Ascending.
    hashes: Vec<u32>,
    /// End of each term's list in `postings`; it begins at the end of the previous list.
    ends: Vec<u32>,
    postings: Vec<Posting>,
}

impl SealedSegment {
    /// Returns one segment with the live documents of several segments.
    pub(super) fn merge_segments(segments: &[&Self]) -> Self {
        let mut merged = Self::default();
        let renumbered: Vec<Vec<Option<u32>>> =
            segments.iter().map(|segment| merged.take_rows(&segment.rows)).collect();
        let mut hashes: Vec<u32> =
            segments.iter().flat_map(|segment| &segment.hashes).copied().collect();
        hashes.sort_unstable();
        hashes.dedup();
        merged.postings.reserve_exact(segments.iter().map(|segment| segment.postings.len()).sum());
        // Lists are visited in order, so one cursor for each segment replaces a search for each term.
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
                    Some(pack_posting(numbers[posting_row(old) as usize]?, posting_frequency(old)))
                })
            });
            merged.push_list(hash, live);
        }
        merged.postings.shrink_to_fit();
        merged
    }

    /// Appends the live rows of another segment. Returns the new number of each row.
    fn take_rows(&mut self, rows: &DocumentRows) -> Vec<Option<u32>> {
        let take = |row: &DocumentRow| {
            (!row.dead).then(|| {
                self.rows.all.push(*row);
                self.rows.all.len() as u32 - 1
            })
        };
        rows.all.iter().map(take).collect()
    }

    /// Appends the list of a term. Hashes must be ascending; an empty list is skipped.
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

    pub(super) fn mark_removed(&mut self, row: u32) -> u32 {
        self.rows.mark_removed(row)
    }

    pub(super) fn is_mostly_removed(&self) -> bool {
        self.rows.dead * 2 > self.rows.all.len()
    }

    pub(super) fn row_count(&self) -> usize {
        self.rows.all.len()
    }

    /// Returns the live documents as pairs of row and id.
    pub(super) fn live_ids(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.rows.all.len() as u32).filter_map(|row| Some((row, self.rows.live_document(row)?)))
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let numbers = self.hashes.capacity() + self.ends.capacity() + self.postings.capacity();
        numbers * size_of::<u32>() + self.rows.all.capacity() * size_of::<DocumentRow>()
    }

    fn list_at(&self, at: usize) -> &[Posting] {
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.postings[begin as usize..self.ends[at] as usize]
    }
}

/// The common parts of both kinds of segments.
trait PostingLists {
    fn document_rows(&self) -> &DocumentRows;
    fn posting_list(&self, hash: u32) -> &[Posting];
}

impl PostingLists for OpenSegment {
    fn document_rows(&self) -> &DocumentRows {
        &self.rows
    }

    fn posting_list(&self, hash: u32) -> &[Posting] {
        self.terms.get(&hash).map_or(&[], Vec::as_slice)
    }
}

impl PostingLists for SealedSegment {
    fn document_rows(&self) -> &DocumentRows {
        &self.rows
    }

    fn posting_list(&self, hash: u32) -> &[Posting] {
        self.hashes.binary_search(&hash).map_or(&[], |at| self.list_at(at))
    }
}

impl<L: PostingLists> PostingSegment for L {
    fn row_count(&self) -> usize {
        self.document_rows().all.len()
    }
    fn live_document(&self, row: u32) -> Option<u32> {
        self.document_rows().live_document(row)
    }
    fn document_length(&self, row: u32) -> u32 {
        self.document_rows().all[row as usize].length
    }
    fn document_frequency(&self, hash: u32) -> usize {
        self.document_rows().count_live(self.posting_list(hash))
    }
    fn term_frequency(&self, hash: u32, row: u32) -> Option<u8> {
        find_frequency(self.posting_list(hash), row)
    }
    fn add_scores(&self, hash: u32, weight: f32, norm: (f32, f32), scores: &mut [f32]) {
        self.document_rows().add_scores(self.posting_list(hash), weight, norm, scores);
    }
}
