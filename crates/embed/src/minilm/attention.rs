//! Attention: each token takes from every token of its text, as much as their heads say.

use super::activation::softmax;
use crate::simd::{LANES, Op, Products};

const HEADS: usize = 12;
/// Dimensions of a head.
const HEAD: usize = 32;
pub(super) const WIDTH: usize = HEADS * HEAD;

/// Columns that are computed together.
const BLOCK: usize = 2 * LANES;
/// Tokens whose scores are computed together, and whose sums are.
const SCORED: usize = 4;
const MIXED: usize = 2;

/// The tokens of one text.
pub(super) struct Attention<'a> {
    /// For each token its query, already divided by the root of `HEAD`, its key and its value.
    pub(super) tokens: &'a [f32],
    /// For each token what it takes.
    pub(super) mixed: &'a mut [f32],
    pub(super) space: &'a mut Space,
}

/// Memory that is used again for the next text.
#[derive(Default)]
pub(super) struct Space {
    /// The keys of a head, a row for each dimension.
    keys: Vec<f32>,
    /// A row for each token.
    scores: Vec<f32>,
}

impl Op for Attention<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Products) {
        let count = self.tokens.len() / (3 * WIDTH);
        let padded = count.next_multiple_of(BLOCK);
        let Space { keys, scores } = self.space;
        keys.clear();
        keys.resize(HEAD * padded, 0.0);
        scores.clear();
        scores.resize(SCORED * padded, 0.0);
        for head in 0..HEADS {
            transpose_keys(self.tokens, head, keys, padded);
            for first in (0..count).step_by(SCORED) {
                let last = count.min(first + SCORED);
                // A short last group computes its last token more than once.
                let queries: [&[f32; HEAD]; SCORED] =
                    std::array::from_fn(|n| part(self.tokens, (first + n).min(last - 1), 0, head));
                score(queries, keys, scores, padded);
                for row in scores.chunks_exact_mut(padded) {
                    softmax(&mut row[..count]);
                }
                for (token, rows) in (first..last).step_by(MIXED).zip(scores.chunks(MIXED * padded))
                {
                    let sums = mix(self.tokens, head, rows, padded, count);
                    for (token, sums) in (token..last).zip(sums) {
                        self.mixed[token * WIDTH + head * HEAD..][..HEAD].copy_from_slice(&sums);
                    }
                }
            }
        }
    }
}

/// Query (0), key (1) or value (2) of a token.
#[inline(always)]
fn part(tokens: &[f32], token: usize, which: usize, head: usize) -> &[f32; HEAD] {
    let start = (token * 3 + which) * WIDTH + head * HEAD;
    tokens[start..].first_chunk().expect("every token has all its heads")
}

#[inline(always)]
fn transpose_keys(tokens: &[f32], head: usize, keys: &mut [f32], padded: usize) {
    for token in 0..tokens.len() / (3 * WIDTH) {
        for (key, value) in
            keys[token..].iter_mut().step_by(padded).zip(part(tokens, token, 1, head))
        {
            *key = *value;
        }
    }
}

#[inline(always)]
fn score(queries: [&[f32; HEAD]; SCORED], keys: &[f32], scores: &mut [f32], padded: usize) {
    for column in (0..padded).step_by(BLOCK) {
        let mut sums = [[0.0f32; BLOCK]; SCORED];
        for (dimension, keys) in keys.chunks_exact(padded).enumerate().take(HEAD) {
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
fn mix(
    tokens: &[f32],
    head: usize,
    shares: &[f32],
    padded: usize,
    count: usize,
) -> [[f32; HEAD]; MIXED] {
    let mut sums = [[0.0f32; HEAD]; MIXED];
    let (one, other) = shares.split_at(padded);
    for (token, (one, other)) in one[..count].iter().zip(&other[..count]).enumerate() {
        let value = part(tokens, token, 2, head);
        for (sums, share) in sums.iter_mut().zip([one, other]) {
            for (sum, value) in sums.iter_mut().zip(value) {
                *sum += share * value;
            }
        }
    }
    sums
}
