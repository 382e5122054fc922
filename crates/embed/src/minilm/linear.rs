//! Linear layers: rows of 16-bit activations times a matrix of 8-bit weights.
//!
//! The weights keep the 8 bits of the model file. Activations are quantized to 16 bits with one scale per row, which
//! does not measurably change the vectors. Paired 16-bit products are twice as fast as floating point. Both are stored
//! in the order in which they are read:
//!
//! ```text
//! weights      for each 16 outputs: for each pair of inputs: 2 × (8 outputs × the pair)
//! activations  for each  6 rows:    for each pair of inputs: 6 × the pair
//! ```

use crate::simd::{I16Pair, LANES, SimdOp, SimdProducts, dispatch};

/// Number of rows per tile. Twelve sums of eight lanes and their operands fill the sixteen registers of AVX2.
const TILE_ROWS: usize = 6;
const TILE_LANES: usize = 2;
const TILE_OUTPUTS: usize = TILE_LANES * LANES;

/// Number of input pairs accumulated before the sums are converted to floating point. With activations of 32,767 and
/// weights of 127, the sum of twice as many products just fits into 32 bits.
const BLOCK_PAIRS: usize = 192;

/// A linear layer with quantized weights.
pub(super) struct LinearLayer {
    inputs: usize,
    weights: Vec<[[i8; 2 * LANES]; TILE_LANES]>,
    scales: Vec<f32>,
    bias: Vec<f32>,
}

/// A matrix as stored in the model file: one row per input and one scale per output.
pub(super) struct QuantizedMatrix<'a> {
    pub(super) weights: &'a [i8],
    pub(super) scales: &'a [f32],
    pub(super) bias: &'a [f32],
    /// Factor applied to all outputs.
    pub(super) factor: f32,
}

impl LinearLayer {
    /// Creates a layer that concatenates the outputs of several matrices with the same inputs.
    ///
    /// # Panics
    ///
    /// Panics if the sizes are not multiples of the pair and tile sizes. Those of the bundled model are.
    pub(super) fn new(inputs: usize, matrices: &[QuantizedMatrix<'_>]) -> Self {
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

    pub(super) fn output_count(&self) -> usize {
        self.scales.len()
    }

    /// Writes one row of outputs per row of activations.
    pub(super) fn apply(&self, rows: &QuantizedRows, outputs: &mut Vec<f32>) {
        outputs.clear();
        outputs.resize(rows.scales.len() * self.output_count(), 0.0);
        dispatch(MultiplyRows { linear: self, rows, outputs });
    }
}

/// Activations quantized to 16 bits.
#[derive(Default)]
pub(super) struct QuantizedRows {
    tiles: Vec<[I16Pair; TILE_ROWS]>,
    scales: Vec<f32>,
}

impl QuantizedRows {
    /// Replaces the contents by `values`, as rows of `width` values each.
    pub(super) fn quantize_from(&mut self, values: &[f32], width: usize) {
        let count = values.len() / width;
        self.tiles.clear();
        self.tiles.resize(count.div_ceil(TILE_ROWS) * width / 2, [I16Pair::default(); TILE_ROWS]);
        self.scales.clear();
        dispatch(QuantizeRows { rows: self, values, width });
    }
}

struct QuantizeRows<'a> {
    rows: &'a mut QuantizedRows,
    values: &'a [f32],
    width: usize,
}

impl SimdOp for QuantizeRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl SimdProducts) {
        let tiles = self.rows.tiles.chunks_exact_mut(self.width / 2);
        for (tile, values) in tiles.zip(self.values.chunks(TILE_ROWS * self.width)) {
            for (index, row) in values.chunks_exact(self.width).enumerate() {
                let largest = max_magnitude(row);
                let scale = largest / f32::from(i16::MAX);
                self.rows.scales.push(scale);
                let inverse = if scale > 0.0 { f32::from(i16::MAX) / largest } else { 0.0 };
                let (pairs, _) = row.as_chunks::<2>();
                for (pair, [first, second]) in tile.iter_mut().zip(pairs) {
                    pair[index] =
                        I16Pair::new(round_to_i16(first * inverse), round_to_i16(second * inverse));
                }
            }
        }
    }
}

#[inline(always)]
fn max_magnitude(row: &[f32]) -> f32 {
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

/// Rounds to the nearest integer by adding a number so large that no fraction bits remain.
#[inline(always)]
fn round_to_i16(value: f32) -> i16 {
    const LARGE: f32 = 12_582_912.0;
    (value + LARGE).to_bits() as i16
}

struct MultiplyRows<'a> {
    linear: &'a LinearLayer,
    rows: &'a QuantizedRows,
    outputs: &'a mut [f32],
}

impl SimdOp for MultiplyRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, products: impl SimdProducts) {
        let Self { linear, rows, outputs } = self;
        let (pairs, width) = (linear.inputs / 2, linear.output_count());
        for (column, weights) in linear.weights.chunks_exact(pairs).enumerate() {
            let column = column * TILE_OUTPUTS;
            let scales = &linear.scales[column..column + TILE_OUTPUTS];
            let bias = &linear.bias[column..column + TILE_OUTPUTS];
            let tiles = rows.tiles.chunks_exact(pairs).zip(rows.scales.chunks(TILE_ROWS));
            for ((tile, row_scales), outputs) in tiles.zip(outputs.chunks_mut(TILE_ROWS * width)) {
                let sums = multiply_tile(products, tile, weights);
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

/// Returns the products of one tile of rows with one tile of weights.
#[inline(always)]
fn multiply_tile(
    products: impl SimdProducts,
    tile: &[[I16Pair; TILE_ROWS]],
    weights: &[[[i8; 2 * LANES]; TILE_LANES]],
) -> [[f32; TILE_OUTPUTS]; TILE_ROWS] {
    let mut all = [[0.0; TILE_OUTPUTS]; TILE_ROWS];
    for (tile, weights) in tile.chunks(BLOCK_PAIRS).zip(weights.chunks(BLOCK_PAIRS)) {
        let mut sums = [[products.zero_sums(); TILE_LANES]; TILE_ROWS];
        for (pairs, weights) in tile.iter().zip(weights) {
            for (sums, pair) in sums.iter_mut().zip(pairs) {
                for (sums, weights) in sums.iter_mut().zip(weights) {
                    *sums = products.add_products(*sums, *pair, weights);
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
