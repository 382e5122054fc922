//! Self-attention over the tokens of one text.

use super::activation::softmax;
use crate::simd::{LANES, SimdOp, SimdProducts};

const HEADS: usize = 12;
/// Number of dimensions per head.
const HEAD_DIMS: usize = 32;
pub(super) const WIDTH: usize = HEADS * HEAD_DIMS;

/// Number of columns computed together.
const BLOCK: usize = 2 * LANES;
/// Number of tokens scored together.
const SCORE_TOKENS: usize = 4;
/// Number of tokens mixed together.
const MIX_TOKENS: usize = 2;

/// Self-attention of one text.
pub(super) struct SelfAttention<'a> {
    /// Query, key and value of each token. Queries are already divided by the square root of `HEAD_DIMS`.
    pub(super) tokens: &'a [f32],
    /// Output: the weighted sum of values for each token.
    pub(super) mixed: &'a mut [f32],
    pub(super) space: &'a mut AttentionBuffers,
}

/// Buffers that are reused for the next text.
#[derive(Default)]
pub(super) struct AttentionBuffers {
    /// Keys of one head, one row per dimension.
    keys: Vec<f32>,
    /// Scores, one row per token.
    scores: Vec<f32>,
}

impl SimdOp for SelfAttention<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl SimdProducts) {
        let count = self.tokens.len() / (3 * WIDTH);
        let padded = count.next_multiple_of(BLOCK);
        let AttentionBuffers { keys, scores } = self.space;
        keys.clear();
        keys.resize(HEAD_DIMS * padded, 0.0);
        scores.clear();
        scores.resize(SCORE_TOKENS * padded, 0.0);
        for head in 0..HEADS {
            transpose_keys(self.tokens, head, keys, padded);
            for first in (0..count).step_by(SCORE_TOKENS) {
                let last = count.min(first + SCORE_TOKENS);
                // In a short last group, the last token is computed more than once.
                let queries: [&[f32; HEAD_DIMS]; SCORE_TOKENS] = std::array::from_fn(|n| {
                    head_slice(self.tokens, (first + n).min(last - 1), 0, head)
                });
                compute_scores(queries, keys, scores, padded);
                for row in scores.chunks_exact_mut(padded) {
                    softmax(&mut row[..count]);
                }
                for (token, rows) in
                    (first..last).step_by(MIX_TOKENS).zip(scores.chunks(MIX_TOKENS * padded))
                {
                    let sums = mix_values(self.tokens, head, rows, padded, count);
                    for (token, sums) in (token..last).zip(sums) {
                        self.mixed[token * WIDTH + head * HEAD_DIMS..][..HEAD_DIMS]
                            .copy_from_slice(&sums);
                    }
                }
            }
        }
    }
}

/// Returns the query (0), key (1) or value (2) of a token for one head.
#[inline(always)]
fn head_slice(tokens: &[f32], token: usize, which: usize, head: usize) -> &[f32; HEAD_DIMS] {
    let start = (token * 3 + which) * WIDTH + head * HEAD_DIMS;
    tokens[start..].first_chunk().expect("every token has all its heads")
}

#[inline(always)]
fn transpose_keys(tokens: &[f32], head: usize, keys: &mut [f32], padded: usize) {
    for token in 0..tokens.len() / (3 * WIDTH) {
        for (key, value) in
            keys[token..].iter_mut().step_by(padded).zip(head_slice(tokens, token, 1, head))
        {
            *key = *value;
        }
    }
}

#[inline(always)]
fn compute_scores(
    queries: [&[f32; HEAD_DIMS]; SCORE_TOKENS],
    keys: &[f32],
    scores: &mut [f32],
    padded: usize,
) {
    for column in (0..padded).step_by(BLOCK) {
        let mut sums = [[0.0f32; BLOCK]; SCORE_TOKENS];
        for (dimension, keys) in keys.chunks_exact(padded).enumerate().take(HEAD_DIMS) {
            let keys: &[f32; BLOCK] = keys[column..].first_chunk().expect("the keys are padded");
            for (sums, query) in sums.iter_mut().zip(queries) {
                for (sum, key) in sums.iter_mut().zip(keys) {
                    *sum += query[dimension] * key;
                }
            }
        }
        for (row, sums) in scores.chunks_exact_mut(padded).zip(sums) {
            row[column..column + BLOCK].copy_from_slice(&sums);
        }
    }
}

#[inline(always)]
fn mix_values(
    tokens: &[f32],
    head: usize,
    shares: &[f32],
    padded: usize,
    count: usize,
) -> [[f32; HEAD_DIMS]; MIX_TOKENS] {
    let mut sums = [[0.0f32; HEAD_DIMS]; MIX_TOKENS];
    let (one, other) = shares.split_at(padded);
    for (token, (one, other)) in one[..count].iter().zip(&other[..count]).enumerate() {
        let value = head_slice(tokens, token, 2, head);
        for (sums, share) in sums.iter_mut().zip([one, other]) {
            for (sum, value) in sums.iter_mut().zip(value) {
                *sum += share * value;
            }
        }
    }
    sums
}
