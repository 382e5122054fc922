//! Dot products of one query with many rows.
//!
//! The loops are plain; [`SimdOp::dispatch`] compiles them once for each instruction set that the machine may have. The
//! query has sixteen bits and the rows eight, because then the compiler uses the instruction that multiplies pairs of
//! sixteen bits and adds them up.

use rten_simd::{Isa, SimdOp};

/// A query, ready to be multiplied.
pub(super) struct Scores {
    query: Vec<i16>,
    scale: f32,
}

impl Scores {
    pub(super) fn new(query: &[f32]) -> Self {
        let largest = query.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
        // Even if every product were the largest one, their sum stays within an `i32`.
        let room = i32::MAX as usize / (query.len().max(1) * i8::MAX as usize);
        let scale = largest / room.min(i16::MAX as usize) as f32;
        let inverse = if scale > 0.0 { scale.recip() } else { 0.0 };
        Self { query: query.iter().map(|value| (value * inverse).trunc() as i16).collect(), scale }
    }

    /// Writes the cosine of each row.
    pub(super) fn write(&self, values: &[i8], scales: &[f32], scores: &mut [f32]) {
        Block { query: self, values, scales, scores }.dispatch();
    }
}

struct Block<'a> {
    query: &'a Scores,
    values: &'a [i8],
    scales: &'a [f32],
    scores: &'a mut [f32],
}

impl SimdOp for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, _: I) {
        let query = &self.query.query[..];
        let rows = self.values.chunks_exact(query.len().max(1));
        for ((row, scale), score) in rows.zip(self.scales).zip(self.scores) {
            *score = dot(query, row) as f32 * (scale * self.query.scale);
        }
    }
}

#[inline(always)]
fn dot(query: &[i16], row: &[i8]) -> i32 {
    query.iter().zip(row).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}
