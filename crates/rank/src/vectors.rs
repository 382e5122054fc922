//! The vectors of documents, one byte for each dimension, and which of them lie near a query.
//!
//! Every row is looked at, by all cores where there are many: for the hundred thousand rows of a big project this takes a
//! few milliseconds, is exact, and leaves nothing to build or to keep in order. A library for approximate neighbors
//! would not be exact, and has an index to build. Models are not known here; the caller
//! keeps one [`Vectors`] for each.
//!
//! `row.rs` is the format of one vector, `dot.rs` the arithmetic, `nearest.rs` keeps the best.

mod dot;
mod nearest;
mod row;

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::thread;

use self::dot::Scores;
use self::nearest::Nearest;
use self::row::Row;

/// Rows whose scores are computed before the best of them are picked; they stay in the first cache of the processor.
const BLOCK: usize = 512;

/// Rows that a thread more is worth its start for: about a millisecond of work.
const ROWS_FOR_A_THREAD: usize = 16_384;

/// Vectors of one model, by the number of their document.
pub struct Vectors {
    dims: usize,
    /// `dims` values for each row, without gaps.
    values: Vec<i8>,
    /// What a row's values are multiplied with.
    scales: Vec<f32>,
    /// The document of each row.
    ids: Vec<u32>,
    /// The row of each document.
    places: HashMap<u32, u32>,
}

impl Vectors {
    pub fn new(dims: usize) -> Self {
        Self {
            dims,
            values: Vec::new(),
            scales: Vec::new(),
            ids: Vec::new(),
            places: HashMap::new(),
        }
    }

    /// A vector in the form that is kept, here and on disk: about a quarter of its size.
    pub fn row(vector: &[f32]) -> Vec<u8> {
        Row::quantise(vector).to_bytes()
    }

    /// The dimensions of a vector in that form; None if it is damaged.
    pub fn dims_of(row: &[u8]) -> Option<usize> {
        Row::from_bytes(row).map(|row| row.values.len())
    }

    pub fn dims(&self) -> usize {
        self.dims
    }

    pub fn len(&self) -> usize {
        self.ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub fn contains(&self, id: u32) -> bool {
        self.places.contains_key(&id)
    }

    /// Adds a document, or gives it another vector; false and nothing else if the vector has other dimensions.
    pub fn insert(&mut self, id: u32, vector: &[f32]) -> bool {
        self.put(id, &Row::quantise(vector))
    }

    /// The same from bytes that [`Vectors::row`] made; false as well if they are damaged.
    pub fn insert_row(&mut self, id: u32, bytes: &[u8]) -> bool {
        Row::from_bytes(bytes).is_some_and(|row| self.put(id, &row))
    }

    fn put(&mut self, id: u32, row: &Row) -> bool {
        if row.values.len() != self.dims {
            return false;
        }
        if let Some(place) = self.place(id) {
            self.values[place * self.dims..][..self.dims].copy_from_slice(&row.values);
            self.scales[place] = row.scale;
            return true;
        }
        let Ok(place) = u32::try_from(self.ids.len()) else { return false };
        self.places.insert(id, place);
        self.ids.push(id);
        self.scales.push(row.scale);
        self.values.extend_from_slice(&row.values);
        true
    }

    /// Forgets a document; the last row takes its place.
    pub fn remove(&mut self, id: u32) -> bool {
        let Some(place) = self.place(id) else { return false };
        let last = self.ids.len() - 1;
        self.values.copy_within(last * self.dims.., place * self.dims);
        self.values.truncate(last * self.dims);
        self.scales.swap_remove(place);
        self.ids.swap_remove(place);
        if let Some(&moved) = self.ids.get(place) {
            self.places.insert(moved, place as u32);
        }
        self.places.remove(&id);
        true
    }

    /// The vector of a document, as exact as it was kept.
    pub fn get(&self, id: u32) -> Option<Vec<f32>> {
        let place = self.place(id)?;
        let scale = self.scales[place];
        Some(self.values_at(place, 1).iter().map(|value| f32::from(*value) * scale).collect())
    }

    /// The cosine of a query and a document, both of length one.
    ///
    /// # Panics
    ///
    /// If the query has other dimensions, as does [`Vectors::nearest`]: a vector of another model is a defect.
    pub fn similarity(&self, query: &[f32], id: u32) -> Option<f32> {
        let place = self.place(id)?;
        let mut score = [0.0];
        self.scores(query).write(self.values_at(place, 1), &self.scales[place..=place], &mut score);
        Some(score[0])
    }

    /// The `k` nearest of the allowed documents with their cosines, nearest first.
    ///
    /// `allowed` is asked only for documents that are near enough; so a costly filter is no reason to filter later.
    pub fn nearest(
        &self,
        query: &[f32],
        allowed: impl Fn(u32) -> bool + Sync,
        k: usize,
    ) -> Vec<(u32, f32)> {
        let scores = self.scores(query);
        let share = self.len().div_ceil(self.helpers() + 1).max(1);
        let look = |from: usize| {
            let rows = from..self.len().min(from + share);
            self.nearest_within(rows, &scores, &allowed, k)
        };
        let nearest = thread::scope(|scope| {
            let shares = (share..self.len()).step_by(share);
            let helpers: Vec<_> = shares.map(|from| scope.spawn(move || look(from))).collect();
            helpers.into_iter().fold(look(0), |mut nearest, helper| {
                nearest.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
                nearest
            })
        });
        nearest.into_sorted()
    }

    /// Threads that are worth their start beside the one that asks.
    fn helpers(&self) -> usize {
        static CORES: LazyLock<usize> =
            LazyLock::new(|| thread::available_parallelism().map_or(1, NonZeroUsize::get));
        (self.len() / ROWS_FOR_A_THREAD).min(CORES.saturating_sub(1))
    }

    fn nearest_within(
        &self,
        rows: Range<usize>,
        scores: &Scores,
        allowed: &impl Fn(u32) -> bool,
        k: usize,
    ) -> Nearest {
        let mut nearest = Nearest::new(k);
        let mut block = [0.0; BLOCK];
        for from in rows.clone().step_by(BLOCK) {
            let rows = BLOCK.min(rows.end - from);
            let scales = &self.scales[from..from + rows];
            scores.write(self.values_at(from, rows), scales, &mut block[..rows]);
            for (place, &score) in (from..).zip(&block[..rows]) {
                if nearest.wants(score) && allowed(self.ids[place]) {
                    nearest.add(self.ids[place], score);
                }
            }
        }
        nearest
    }

    fn scores(&self, query: &[f32]) -> Scores {
        assert_eq!(query.len(), self.dims, "a query has the dimensions of the vectors");
        Scores::new(query)
    }

    fn values_at(&self, place: usize, rows: usize) -> &[i8] {
        &self.values[place * self.dims..][..rows * self.dims]
    }

    fn place(&self, id: u32) -> Option<usize> {
        self.places.get(&id).map(|place| *place as usize)
    }
}
