//! Non-negative whole numbers without an upper bound in the agreed schemas.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A non-negative whole number. A number over `u64::MAX` is treated as `u64::MAX`, because no list here is that
/// long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WholeNumber(pub(super) u64);

impl WholeNumber {
    pub(super) fn as_index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(WholeNumberVisitor).map(Self)
    }
}

struct WholeNumberVisitor;

impl Visitor<'_> for WholeNumberVisitor {
    type Value = u64;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a non-negative whole number")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        u64::try_from(number).map_err(E::custom)
    }

    /// JSON numbers that do not fit an integer arrive as floats.
    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        if number >= 0.0 { Ok(u64::MAX) } else { Err(E::custom("negative")) }
    }
}
