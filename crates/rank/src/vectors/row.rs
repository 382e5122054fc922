//! One vector, a byte for each dimension.
//!
//! ```text
//! scale    f32, little endian
//! values   i8 for each dimension; the dimension is value * scale
//! ```
//!
//! The scale belongs to the row: the largest value uses the whole byte, so what is lost is a half of one 127th of it.

const SCALE_BYTES: usize = size_of::<f32>();

#[derive(Debug, PartialEq)]
pub(super) struct Row {
    pub(super) scale: f32,
    pub(super) values: Vec<i8>,
}

impl Row {
    pub(super) fn quantise(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
        let scale = largest / f32::from(i8::MAX);
        // A vector of zeros stays one, an endless one becomes one; what is not a number becomes a zero by the cast.
        let scale = if scale.is_finite() { scale } else { 0.0 };
        let inverse = if scale > 0.0 { scale.recip() } else { 0.0 };
        let values = vector.iter().map(|value| (value * inverse).round() as i8).collect();
        Self { scale, values }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let values = self.values.iter().map(|value| value.cast_unsigned());
        self.scale.to_le_bytes().into_iter().chain(values).collect()
    }

    /// None if these are not the bytes of a row.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (scale, values) = bytes.split_first_chunk::<SCALE_BYTES>()?;
        let scale = f32::from_le_bytes(*scale);
        let values = values.iter().map(|value| value.cast_signed()).collect();
        (scale.is_finite() && scale >= 0.0).then_some(Self { scale, values })
    }
}
