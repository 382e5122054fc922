//! Whole numbers of which the contract's schemas say no more than that they are not negative.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A number that is too large to be told apart from the largest counts as that one: nothing here has so many parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Whole(pub(super) u64);

impl Whole {
    pub(super) fn as_index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        input.deserialize_any(Numbers).map(Self)
    }
}

struct Numbers;

impl Visitor<'_> for Numbers {
    type Value = u64;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a whole number that is not negative")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        u64::try_from(number).map_err(E::custom)
    }

    /// JSON has no other form for a number that does not fit.
    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        if number >= 0.0 { Ok(u64::MAX) } else { Err(E::custom("negative")) }
    }
}
