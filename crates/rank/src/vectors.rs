//! Document vectors with one byte per dimension, and nearest-neighbor search over them.
//!
//! The search scans every row, in parallel for many rows. It takes a few milliseconds for the hundred thousand rows of
//! a large project, is exact, and needs no index structure. A library for approximate neighbors
//! would not be exact and would need an index. Embedding models are outside the scope of this module; the
//! caller keeps one [`VectorIndex`] for each model.
//!
//! `row.rs` defines the format of one vector, `dot.rs` computes dot products, and `nearest.rs` keeps the best scores.

mod dot;
mod nearest;
mod row;

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::thread;

use self::dot::QueryScorer;
use self::nearest::NearestNeighbors;
use self::row::QuantizedVector;

/// Number of rows that are scored at once; their scores fit in the L1 cache.
const BLOCK_ROWS: usize = 512;

/// Number of rows that justify another thread: about a millisecond of work.
const ROWS_PER_THREAD: usize = 16_384;

/// Vectors of one model, by document id.
pub struct VectorIndex {
    dims: usize,
    /// `dims` values for each row, contiguous.
    values: Vec<i8>,
    /// Scale factor of each row.
    scales: Vec<f32>,
    /// The document of each row.
    ids: Vec<u32>,
    /// The row of each document.
    rows_by_id: HashMap<u32, u32>,
}

impl VectorIndex {
    pub fn new(dims: usize) -> Self {
        Self {
            dims,
            values: Vec::new(),
            scales: Vec::new(),
            ids: Vec::new(),
            rows_by_id: HashMap::new(),
        }
    }

    /// Encodes a vector for storage in memory and on disk, at about a quarter of its size.
    pub fn encode_vector(vector: &[f32]) -> Vec<u8> {
        QuantizedVector::quantize(vector).to_bytes()
    }

    /// Returns the dimensions of an encoded vector, or `None` if it is corrupt.
    pub fn encoded_dims(row: &[u8]) -> Option<usize> {
        QuantizedVector::from_bytes(row).map(|row| row.values.len())
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
        self.rows_by_id.contains_key(&id)
    }

    /// Adds or replaces the vector of a document. Returns false, without any change, if its dimensions differ.
    pub fn insert(&mut self, id: u32, vector: &[f32]) -> bool {
        self.insert_quantized(id, &QuantizedVector::quantize(vector))
    }

    /// Like [`VectorIndex::insert`], for a vector from [`VectorIndex::encode_vector`]. Also returns false if it is
    /// corrupt.
    pub fn insert_encoded(&mut self, id: u32, bytes: &[u8]) -> bool {
        QuantizedVector::from_bytes(bytes).is_some_and(|row| self.insert_quantized(id, &row))
    }

    fn insert_quantized(&mut self, id: u32, row: &QuantizedVector) -> bool {
        if row.values.len() != self.dims {
            return false;
        }
        if let Some(index) = self.row_index(id) {
            self.values[index * self.dims..][..self.dims].copy_from_slice(&row.values);
            self.scales[index] = row.scale;
            return true;
        }
        let Ok(index) = u32::try_from(self.ids.len()) else { return false };
        self.rows_by_id.insert(id, index);
        self.ids.push(id);
        self.scales.push(row.scale);
        self.values.extend_from_slice(&row.values);
        true
    }

    /// Removes a document, and moves the last row into its row. Returns false if the document is absent.
    pub fn remove(&mut self, id: u32) -> bool {
        let Some(place) = self.row_index(id) else { return false };
        let last = self.ids.len() - 1;
        self.values.copy_within(last * self.dims.., place * self.dims);
        self.values.truncate(last * self.dims);
        self.scales.swap_remove(place);
        self.ids.swap_remove(place);
        if let Some(&moved) = self.ids.get(place) {
            self.rows_by_id.insert(moved, place as u32);
        }
        self.rows_by_id.remove(&id);
        true
    }

    /// Returns the vector of a document, with the precision of its encoding.
    pub fn get(&self, id: u32) -> Option<Vec<f32>> {
        let place = self.row_index(id)?;
        let scale = self.scales[place];
        Some(self.values_at(place, 1).iter().map(|value| f32::from(*value) * scale).collect())
    }

    /// Returns the cosine of a query and a document, both of unit length, or `None` if the document is absent.
    ///
    /// # Panics
    ///
    /// Panics if the dimensions of the query differ, like [`VectorIndex::nearest`]. A vector of another model is a bug.
    pub fn similarity(&self, query: &[f32], id: u32) -> Option<f32> {
        let place = self.row_index(id)?;
        let mut score = [0.0];
        self.query_scorer(query).score_rows(
            self.values_at(place, 1),
            &self.scales[place..=place],
            &mut score,
        );
        Some(score[0])
    }

    /// Returns the `k` nearest allowed documents with their cosines, nearest first.
    ///
    /// `allowed` is called only for documents that are near enough, so it may be expensive.
    pub fn nearest(
        &self,
        query: &[f32],
        allowed: impl Fn(u32) -> bool + Sync,
        k: usize,
    ) -> Vec<(u32, f32)> {
        let scores = self.query_scorer(query);
        let share = self.len().div_ceil(self.helper_thread_count() + 1).max(1);
        let look = |from: usize| {
            let rows = from..self.len().min(from + share);
            self.nearest_within(rows, &scores, &allowed, k)
        };
        let nearest = thread::scope(|scope| {
            let shares = (share..self.len()).step_by(share);
            let helpers: Vec<_> = shares.map(|from| scope.spawn(move || look(from))).collect();
            helpers.into_iter().fold(look(0), |mut nearest, helper| {
                nearest.merge_neighbors(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
                nearest
            })
        });
        nearest.into_sorted()
    }

    /// Returns the number of threads to start in addition to the current one.
    fn helper_thread_count(&self) -> usize {
        static CORES: LazyLock<usize> =
            LazyLock::new(|| thread::available_parallelism().map_or(1, NonZeroUsize::get));
        (self.len() / ROWS_PER_THREAD).min(CORES.saturating_sub(1))
    }

    fn nearest_within(
        &self,
        rows: Range<usize>,
        scores: &QueryScorer,
        allowed: &impl Fn(u32) -> bool,
        k: usize,
    ) -> NearestNeighbors {
        let mut nearest = NearestNeighbors::new(k);
        let mut block = [0.0; BLOCK_ROWS];
        for from in rows.clone().step_by(BLOCK_ROWS) {
            let rows = BLOCK_ROWS.min(rows.end - from);
            let scales = &self.scales[from..from + rows];
            scores.score_rows(self.values_at(from, rows), scales, &mut block[..rows]);
            for (place, &score) in (from..).zip(&block[..rows]) {
                if nearest.accepts_score(score) && allowed(self.ids[place]) {
                    nearest.add_neighbor(self.ids[place], score);
                }
            }
        }
        nearest
    }

    fn query_scorer(&self, query: &[f32]) -> QueryScorer {
        assert_eq!(query.len(), self.dims, "query and index must have the same dimensions");
        QueryScorer::new(query)
    }

    fn values_at(&self, place: usize, rows: usize) -> &[i8] {
        &self.values[place * self.dims..][..rows * self.dims]
    }

    fn row_index(&self, id: u32) -> Option<usize> {
        self.rows_by_id.get(&id).map(|place| *place as usize)
    }
}
