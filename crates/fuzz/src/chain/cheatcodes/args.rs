//! Reads the arguments of a cheat code in order.
//!
//! Callers may send any bytes. Truncated data and offsets outside of it are rejected.

use alloy_primitives::{Address, B256, I256, U256};

use super::CheatcodeError;

/// Reader of the calldata after the selector.
pub(super) struct CheatcodeArgs<'a> {
    data: &'a [u8],
    /// Offset of the next argument.
    at: usize,
}

impl<'a> CheatcodeArgs<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self { data, at: 0 }
    }

    pub(super) fn read_word(&mut self) -> Result<B256, CheatcodeError> {
        let word = read_word_at(self.data, self.at)?;
        self.at += 32;
        Ok(word)
    }

    pub(super) fn read_uint(&mut self) -> Result<U256, CheatcodeError> {
        self.read_word().map(Into::into)
    }

    pub(super) fn read_int(&mut self) -> Result<I256, CheatcodeError> {
        self.read_uint().map(I256::from_raw)
    }

    /// Reads a number that has to fit a smaller type.
    pub(super) fn read_small<T: TryFrom<U256>>(
        &mut self,
        type_name: &str,
    ) -> Result<T, CheatcodeError> {
        let number = self.read_uint()?;
        T::try_from(number).map_err(|_| {
            CheatcodeError::InvalidUse(format!("{number} is too large for {type_name}"))
        })
    }

    pub(super) fn read_bool(&mut self) -> Result<bool, CheatcodeError> {
        self.read_word().map(|word| !word.is_zero())
    }

    pub(super) fn read_address(&mut self) -> Result<Address, CheatcodeError> {
        self.read_word().map(Address::from_word)
    }

    pub(super) fn read_selector(&mut self) -> Result<[u8; 4], CheatcodeError> {
        self.read_word().map(|word| [word[0], word[1], word[2], word[3]])
    }

    pub(super) fn read_bytes(&mut self) -> Result<&'a [u8], CheatcodeError> {
        let start = to_size(self.read_word()?)?;
        let length = to_size(read_word_at(self.data, start)?)?;
        self.data.get(start + 32..).and_then(|rest| rest.get(..length)).ok_or_else(truncated_error)
    }

    /// Returns a reader of the items of an array, and the declared item count.
    pub(super) fn read_list(&mut self) -> Result<(Self, usize), CheatcodeError> {
        let start = to_size(self.read_word()?)?;
        let count = to_size(read_word_at(self.data, start)?)?;
        Ok((Self::new(&self.data[start + 32..]), count))
    }

    pub(super) fn read_text(&mut self) -> Result<String, CheatcodeError> {
        self.read_bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
}

fn read_word_at(data: &[u8], at: usize) -> Result<B256, CheatcodeError> {
    let word = data.get(at..).and_then(|rest| rest.get(..32)).ok_or_else(truncated_error)?;
    Ok(B256::from_slice(word))
}

/// Converts an offset or a length. Valid ones are far below the limit.
fn to_size(word: B256) -> Result<usize, CheatcodeError> {
    u32::try_from(U256::from_be_bytes(word.0))
        .map(|size| size as usize)
        .map_err(|_| truncated_error())
}

fn truncated_error() -> CheatcodeError {
    CheatcodeError::InvalidUse("arguments are truncated".to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::CheatcodeArgs;

    proptest! {
        #[test]
        fn reading_arbitrary_data_never_panics(data in prop::collection::vec(any::<u8>(), 0..200), small: u8) {
            let mut data = data;
            if let Some(byte) = data.get_mut(31) {
                *byte = small;
            }
            let mut args = CheatcodeArgs::new(&data);
            if let Ok(bytes) = args.read_bytes() {
                prop_assert!(bytes.len() <= data.len());
            }
            let _ = (args.read_text(), args.read_small::<u64>("a test"), args.read_word());
        }
    }
}
