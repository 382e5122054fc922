//! Operations between the linear layers, written as loops that compile to vector instructions.

use crate::simd::{LANES, SimdOp, SimdProducts};

/// Adds the rows of `more`, normalizes each row to mean 0 and deviation 1, then applies the gain and bias of the layer.
pub(super) struct NormalizeRows<'a> {
    pub(super) rows: &'a mut [f32],
    pub(super) more: &'a [f32],
    pub(super) gain: &'a [f32],
    pub(super) bias: &'a [f32],
}

impl SimdOp for NormalizeRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl SimdProducts) {
        let width = self.gain.len();
        let rows = self.rows.chunks_exact_mut(width).zip(self.more.chunks_exact(width));
        for (row, more) in rows {
            for (value, more) in row.iter_mut().zip(more) {
                *value += more;
            }
            let mean = sum_lanes(row, |value| value) / width as f32;
            let variance = sum_lanes(row, |value| (value - mean) * (value - mean)) / width as f32;
            let inverse = 1.0 / (variance + 1e-12).sqrt();
            for ((value, gain), bias) in row.iter_mut().zip(self.gain).zip(self.bias) {
                *value = (*value - mean) * inverse * gain + bias;
            }
        }
    }
}

/// The GELU activation `x · Φ(x)`, with Φ the normal distribution function.
pub(super) struct GeluActivation<'a>(pub(super) &'a mut [f32]);

impl SimdOp for GeluActivation<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, _: impl SimdProducts) {
        for value in self.0 {
            *value *= 0.5 * (1.0 + erf(*value * std::f32::consts::FRAC_1_SQRT_2));
        }
    }
}

/// Replaces scores by their softmax, which sums to 1.
#[inline(always)]
pub(super) fn softmax(scores: &mut [f32]) {
    let (chunks, rest) = scores.as_chunks::<LANES>();
    let mut largest = [f32::NEG_INFINITY; LANES];
    for chunk in chunks {
        for (largest, score) in largest.iter_mut().zip(chunk) {
            *largest = if score > largest { *score } else { *largest };
        }
    }
    let largest = largest.into_iter().chain(rest.iter().copied()).fold(f32::MIN, f32::max);
    for score in &mut *scores {
        *score = exp(*score - largest);
    }
    let inverse = 1.0 / sum_lanes(scores, |score| score);
    for score in scores {
        *score *= inverse;
    }
}

/// Sums mapped values in lanes. A sequential sum fixes the order of additions and so cannot be vectorized.
#[inline(always)]
pub(super) fn sum_lanes(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for chunk in chunks {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += of(*value);
        }
    }
    sums.into_iter().chain(rest.iter().map(|value| of(*value))).sum()
}

/// Error function by Abramowitz and Stegun, 7.1.26, with an error of at most 1.5e-7.
#[inline(always)]
fn erf(x: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let series =
        (((1.061_405_4 * t - 1.453_152) * t + 1.421_413_7) * t - 0.284_496_74) * t + 0.254_829_6;
    (1.0 - series * t * exp(-x * x)).copysign(x)
}

/// Branchless exponential function for `x <= 0`, with a relative error of one in ten million.
#[inline(always)]
fn exp(x: f32) -> f32 {
    // So large that no fraction bits remain: adding it rounds and leaves the integer in the low bits.
    const LARGE: f32 = 12_582_912.0;
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    // Below -87 the result is practically 0, and the exponent would overflow.
    let x = if x > -87.0 { x } else { -87.0 };
    let shifted = x * std::f32::consts::LOG2_E + LARGE;
    let whole = shifted - LARGE;
    let rest = (x - whole * LN_2_HIGH) - whole * LN_2_LOW;
    let series = ((((0.008_333_333 * rest + 0.041_666_667) * rest + 0.166_666_67) * rest + 0.5)
        * rest
        + 1.0)
        * rest
        + 1.0;
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3F80_0000));
    series * power
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::dispatch;

    #[test]
    fn exp_matches_standard_library() {
        for step in 0..8000 {
            let x = step as f32 * -0.01;
            let (found, expected) = (exp(x), x.exp());
            assert!(
                (found - expected).abs() <= expected * 1e-5,
                "exp({x}) is {expected}, not {found}"
            );
        }
        assert!(exp(-1e30) < 1e-37);
    }

    #[test]
    fn erf_matches_known_values() {
        let known = [
            (0.0, 0.0),
            (0.5, 0.520_499_9),
            (1.0, 0.842_700_8),
            (2.0, 0.995_322_3),
            (-1.0, -0.842_700_8),
            (9.0, 1.0),
        ];
        for (x, expected) in known {
            assert!((erf(x) - expected).abs() < 1e-6, "erf({x}) is {expected}, not {}", erf(x));
        }
    }

    #[test]
    fn softmax_sums_to_one() {
        for count in [1, 7, 8, 9, 256] {
            let mut scores: Vec<f32> = (0..count).map(|n| (n % 13) as f32 * 3.0 - 20.0).collect();
            softmax(&mut scores);
            assert!((scores.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn normalized_row_has_mean_zero_and_deviation_one() {
        let mut rows: Vec<f32> = (0..768).map(|n| (n * n % 101) as f32).collect();
        let more = vec![3.0; 768];
        let (gain, bias) = (vec![1.0; 384], vec![0.0; 384]);
        dispatch(NormalizeRows { rows: &mut rows, more: &more, gain: &gain, bias: &bias });
        for row in rows.chunks(384) {
            let mean = row.iter().sum::<f32>() / 384.0;
            let deviation = (row.iter().map(|value| value * value).sum::<f32>() / 384.0).sqrt();
            assert!(mean.abs() < 1e-4 && (deviation - 1.0).abs() < 1e-4, "{mean}, {deviation}");
        }
    }
}
