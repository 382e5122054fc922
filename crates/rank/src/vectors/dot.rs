//! Dot products of one query with many rows.
//!
//! The query has 16 bits per value and the rows have 8. This halves the memory traffic of a row, and the products fit
//! the instruction that multiplies pairs of 16-bit values and adds them. Compilers use it at half its width at best, so
//! AVX2 has an explicit implementation. Other targets use a scalar loop.

/// A quantized query.
pub(super) struct QueryScorer {
    query: Vec<i16>,
    scale: f32,
}

impl QueryScorer {
    pub(super) fn new(query: &[f32]) -> Self {
        let largest = query.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
        // The sum fits in an `i32` even if every product is maximal.
        let room = i32::MAX as usize / (query.len().max(1) * i8::MAX as usize);
        let scale = largest / room.min(i16::MAX as usize) as f32;
        let inverse = if scale > 0.0 { scale.recip() } else { 0.0 };
        Self { query: query.iter().map(|value| (value * inverse).trunc() as i16).collect(), scale }
    }

    /// Writes the cosine of each row.
    pub(super) fn score_rows(&self, values: &[i8], scales: &[f32], scores: &mut [f32]) {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = pulp::x86::V3::try_new() {
            return avx2.vectorize(x86::ScoreBlock { avx2, query: self, values, scales, scores });
        }
        self.score_rows_with(values, scales, scores, dot_scalar);
    }

    #[inline(always)]
    fn score_rows_with(
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
fn dot_scalar(query: &[i16], row: &[i8]) -> i32 {
    query.iter().zip(row).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m128i, __m256i};

    use pulp::NullaryFnOnce;
    use pulp::x86::V3;

    use super::{QueryScorer, dot_scalar};

    /// Number of 16-bit values in one register.
    const LANES: usize = 16;
    /// Number of independent sums, which avoid waiting for the previous addition.
    const SUMS: usize = 4;

    /// The arguments of [`QueryScorer::score_rows`], for dispatch with AVX2 enabled.
    pub(super) struct ScoreBlock<'a> {
        pub(super) avx2: V3,
        pub(super) query: &'a QueryScorer,
        pub(super) values: &'a [i8],
        pub(super) scales: &'a [f32],
        pub(super) scores: &'a mut [f32],
    }

    impl NullaryFnOnce for ScoreBlock<'_> {
        type Output = ();

        #[inline(always)]
        fn call(self) {
            let dot = |query: &[i16], row: &[i8]| dot_avx2(self.avx2, query, row);
            self.query.score_rows_with(self.values, self.scales, self.scores, dot);
        }
    }

    #[inline(always)]
    fn dot_avx2(avx2: V3, query: &[i16], row: &[i8]) -> i32 {
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
        lanes.into_iter().sum::<i32>() + dot_scalar(query_rest, row_rest)
    }
}
