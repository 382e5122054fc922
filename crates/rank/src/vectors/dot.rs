//! Dot products of one query with many rows.
//!
//! The query has sixteen bits and the rows eight: so a row costs half the memory traffic, and the products fit the
//! instruction that multiplies pairs of sixteen bits and adds them up. Compilers use it at half its width at best, so it
//! is spelled out for AVX2; elsewhere the plain loop does.

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
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = pulp::x86::V3::try_new() {
            return avx2.vectorize(x86::Block { avx2, query: self, values, scales, scores });
        }
        self.write_each(values, scales, scores, plain);
    }

    #[inline(always)]
    fn write_each(
        &self,
        values: &[i8],
        scales: &[f32],
        scores: &mut [f32],
        dot: impl Fn(&[i16], &[i8]) -> i32,
    ) {
        let rows = values.chunks_exact(self.query.len().max(1));
        for ((row, scale), score) in rows.zip(scales).zip(scores) {
            *score = dot(&self.query, row) as f32 * (scale * self.scale);
        }
    }
}

#[inline(always)]
fn plain(query: &[i16], row: &[i8]) -> i32 {
    query.iter().zip(row).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m128i, __m256i};

    use pulp::NullaryFnOnce;
    use pulp::x86::V3;

    use super::{Scores, plain};

    /// Numbers of sixteen bits in one register.
    const LANES: usize = 16;
    /// Sums that are kept apart, so that none waits for the one before.
    const SUMS: usize = 4;

    pub(super) struct Block<'a> {
        pub(super) avx2: V3,
        pub(super) query: &'a Scores,
        pub(super) values: &'a [i8],
        pub(super) scales: &'a [f32],
        pub(super) scores: &'a mut [f32],
    }

    impl NullaryFnOnce for Block<'_> {
        type Output = ();

        #[inline(always)]
        fn call(self) {
            let dot = |query: &[i16], row: &[i8]| dot(self.avx2, query, row);
            self.query.write_each(self.values, self.scales, self.scores, dot);
        }
    }

    #[inline(always)]
    fn dot(avx2: V3, query: &[i16], row: &[i8]) -> i32 {
        let (queries, query_rest) = query.as_chunks::<{ SUMS * LANES }>();
        let (rows, row_rest) = row.as_chunks::<{ SUMS * LANES }>();
        let mut sums = [avx2.avx._mm256_setzero_si256(); SUMS];
        for (query, row) in queries.iter().zip(rows) {
            let query: [__m256i; SUMS] = pulp::cast(*query);
            let row: [__m128i; SUMS] = pulp::cast(*row);
            for part in 0..SUMS {
                let row = avx2.avx2._mm256_cvtepi8_epi16(row[part]);
                let products = avx2.avx2._mm256_madd_epi16(query[part], row);
                sums[part] = avx2.avx2._mm256_add_epi32(sums[part], products);
            }
        }
        let lanes: [i32; SUMS * LANES / 2] = pulp::cast(sums);
        lanes.into_iter().sum::<i32>() + plain(query_rest, row_rest)
    }
}
