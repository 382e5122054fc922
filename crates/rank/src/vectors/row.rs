//! The encoding of one vector, with one byte per dimension.
//!
//! ```text
//! scale    f32, little endian
//! values   i8 for each dimension; its value is `values[i] * scale`
//! ```
//!
//! Each row has its own scale. The largest value uses the whole byte, so the error is at most 1/254 of it.

const SCALE_BYTES: usize = size_of::<f32>();

/// A vector with 8-bit values and a common scale.
#[derive(Debug, PartialEq)]
pub(super) struct QuantizedVector {
    pub(super) scale: f32,
    pub(super) values: Vec<i8>,
}

impl QuantizedVector {
    pub(super) fn quantize(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
        let scale = largest / f32::from(i8::MAX);
        // Zero vectors stay zero, infinite vectors become zero, and the cast turns NaN into zero.
        let scale = if scale.is_finite() { scale } else { 0.0 };
        let inverse = if scale > 0.0 { scale.recip() } else { 0.0 };
        let values = vector.iter().map(|value| (value * inverse).round() as i8).collect();
        Self { scale, values }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let values = self.values.iter().map(|value| value.cast_unsigned());
        self.scale.to_le_bytes().into_iter().chain(values).collect()
    }

    /// Decodes a row. Returns `None` if the bytes are corrupt.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (scale, values) = bytes.split_first_chunk::<SCALE_BYTES>()?;
        let scale = f32::from_le_bytes(*scale);
        let values = values.iter().map(|value| value.cast_signed()).collect();
        (scale.is_finite() && scale >= 0.0).then_some(Self { scale, values })
    }
}
