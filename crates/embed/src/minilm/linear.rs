//! A linear layer: rows of activations times a matrix of small integers.
//!
//! The weights stay in the eight bits that they have in the file. Activations get sixteen bits, with a scale for each
//! row: that loses nothing that shows in a vector, and pairs of products of sixteen bits are twice as fast as floating
//! point. Both are kept in the order in which they are read:
//!
//! ```text
//! weights      for each 16 outputs: for each pair of inputs: 2 × (8 outputs × the pair)
//! activations  for each  6 rows:    for each pair of inputs: 6 × the pair
//! ```

use crate::simd::{LANES, Op, Pair, Products, dispatch};

/// Twelve sums of eight lanes and what they are made from fill the sixteen registers of AVX2.
const TILE_ROWS: usize = 6;
const TILE_LANES: usize = 2;
const TILE_OUTPUTS: usize = TILE_LANES * LANES;

/// Pairs of inputs that are added up before the sums are made floating point: with a row of 32,767 and weights of 127
/// the sum of twice as many products just fits into 32 bits.
const BLOCK_PAIRS: usize = 192;

pub(super) struct Linear {
    inputs: usize,
    weights: Vec<[[i8; 2 * LANES]; TILE_LANES]>,
    scales: Vec<f32>,
    bias: Vec<f32>,
}

/// A matrix as the file has it: a row for each input, and a scale for each output.
pub(super) struct Matrix<'a> {
    pub(super) weights: &'a [i8],
    pub(super) scales: &'a [f32],
    pub(super) bias: &'a [f32],
    /// What all outputs are multiplied with.
    pub(super) factor: f32,
}

impl Linear {
    /// One layer that computes the outputs of several matrices of the same inputs, one after the other.
    ///
    /// # Panics
    ///
    /// If the sizes are not those of tiles and pairs, which those of the embedded model are.
    pub(super) fn new(inputs: usize, matrices: &[Matrix<'_>]) -> Self {
        assert!(inputs.is_multiple_of(2), "inputs come in pairs");
        let mut linear = Self { inputs, weights: Vec::new(), scales: Vec::new(), bias: Vec::new() };
        for matrix in matrices {
            let outputs = matrix.scales.len();
            assert!(outputs.is_multiple_of(TILE_OUTPUTS), "outputs come in tiles");
            assert_eq!(
                matrix.weights.len(),
                inputs * outputs,
                "a weight for each input and output"
            );
            for tile in (0..outputs).step_by(TILE_OUTPUTS) {
                for input in (0..inputs).step_by(2) {
                    linear.weights.push(std::array::from_fn(|vector| {
                        std::array::from_fn(|lane| {
                            let output = tile + vector * LANES + lane / 2;
                            matrix.weights[(input + lane % 2) * outputs + output]
                        })
                    }));
                }
            }
            linear.scales.extend(matrix.scales.iter().map(|scale| scale * matrix.factor));
            linear.bias.extend(matrix.bias.iter().map(|bias| bias * matrix.factor));
        }
        linear
    }

    pub(super) fn outputs(&self) -> usize {
        self.scales.len()
    }

    /// Writes a row of outputs for each row.
    pub(super) fn apply(&self, rows: &Rows, outputs: &mut Vec<f32>) {
        outputs.clear();
        outputs.resize(rows.scales.len() * self.outputs(), 0.0);
        dispatch(Multiply { linear: self, rows, outputs });
    }
}

/// Activations, made small.
#[derive(Default)]
pub(super) struct Rows {
    tiles: Vec<[Pair; TILE_ROWS]>,
    scales: Vec<f32>,
}

impl Rows {
    /// Takes rows of `width` values each.
    pub(super) fn set(&mut self, values: &[f32], width: usize) {
        let count = values.len() / width;
        self.tiles.clear();
        self.tiles.resize(count.div_ceil(TILE_ROWS) * width / 2, [Pair::default(); TILE_ROWS]);
        self.scales.clear();
        dispatch(Quantise { rows: self, values, width });
    }
}

struct Quantise<'a> {
    rows: &'a mut Rows,
    values: &'a [f32],
    width: usize,
}

impl Op for Quantise<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl Products) {
        let tiles = self.rows.tiles.chunks_exact_mut(self.width / 2);
        for (tile, values) in tiles.zip(self.values.chunks(TILE_ROWS * self.width)) {
            for (place, row) in values.chunks_exact(self.width).enumerate() {
                let largest = largest(row);
                let scale = largest / f32::from(i16::MAX);
                self.rows.scales.push(scale);
                let inverse = if scale > 0.0 { f32::from(i16::MAX) / largest } else { 0.0 };
                let (pairs, _) = row.as_chunks::<2>();
                for (pair, [first, second]) in tile.iter_mut().zip(pairs) {
                    pair[place] = Pair::new(rounded(first * inverse), rounded(second * inverse));
                }
            }
        }
    }
}

#[inline(always)]
fn largest(row: &[f32]) -> f32 {
    let (chunks, _) = row.as_chunks::<LANES>();
    let mut largest = [0.0f32; LANES];
    for chunk in chunks {
        for (largest, value) in largest.iter_mut().zip(chunk) {
            let value = value.abs();
            *largest = if value > *largest { value } else { *largest };
        }
    }
    largest.into_iter().fold(0.0, f32::max)
}

/// The nearest integer, by a number so large that its fraction has no bits left.
#[inline(always)]
fn rounded(value: f32) -> i16 {
    const LARGE: f32 = 12_582_912.0;
    (value + LARGE).to_bits() as i16
}

struct Multiply<'a> {
    linear: &'a Linear,
    rows: &'a Rows,
    outputs: &'a mut [f32],
}

impl Op for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, products: impl Products) {
        let Self { linear, rows, outputs } = self;
        let (pairs, width) = (linear.inputs / 2, linear.outputs());
        for (column, weights) in linear.weights.chunks_exact(pairs).enumerate() {
            let column = column * TILE_OUTPUTS;
            let scales = &linear.scales[column..column + TILE_OUTPUTS];
            let bias = &linear.bias[column..column + TILE_OUTPUTS];
            let tiles = rows.tiles.chunks_exact(pairs).zip(rows.scales.chunks(TILE_ROWS));
            for ((tile, row_scales), outputs) in tiles.zip(outputs.chunks_mut(TILE_ROWS * width)) {
                let sums = sums(products, tile, weights);
                let rows = outputs.chunks_exact_mut(width).zip(row_scales).zip(&sums);
                for ((output, row_scale), sums) in rows {
                    let output = &mut output[column..column + TILE_OUTPUTS];
                    for lane in 0..TILE_OUTPUTS {
                        output[lane] = sums[lane] * (row_scale * scales[lane]) + bias[lane];
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn sums(
    products: impl Products,
    tile: &[[Pair; TILE_ROWS]],
    weights: &[[[i8; 2 * LANES]; TILE_LANES]],
) -> [[f32; TILE_OUTPUTS]; TILE_ROWS] {
    let mut all = [[0.0; TILE_OUTPUTS]; TILE_ROWS];
    for (tile, weights) in tile.chunks(BLOCK_PAIRS).zip(weights.chunks(BLOCK_PAIRS)) {
        let mut sums = [[products.zero(); TILE_LANES]; TILE_ROWS];
        for (pairs, weights) in tile.iter().zip(weights) {
            for (sums, pair) in sums.iter_mut().zip(pairs) {
                for (sums, weights) in sums.iter_mut().zip(weights) {
                    *sums = products.add(*sums, *pair, weights);
                }
            }
        }
        for (all, sums) in all.iter_mut().zip(sums) {
            let (chunks, _) = all.as_chunks_mut::<LANES>();
            for (all, sums) in chunks.iter_mut().zip(sums) {
                for (all, sum) in all.iter_mut().zip(products.to_floats(sums)) {
                    *all += sum;
                }
            }
        }
    }
    all
}
