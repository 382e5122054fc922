//! The arguments of a cheat code, read one after the other.
//!
//! Contracts may send anything: whatever is cut short or points outside is refused.

use alloy_primitives::{Address, B256, I256, U256};

use super::Refusal;

/// The words after the selector.
pub(super) struct Args<'a> {
    data: &'a [u8],
    /// Where the next argument stands.
    at: usize,
}

impl<'a> Args<'a> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self { data, at: 0 }
    }

    pub(super) fn word(&mut self) -> Result<B256, Refusal> {
        let word = word_at(self.data, self.at)?;
        self.at += 32;
        Ok(word)
    }

    pub(super) fn uint(&mut self) -> Result<U256, Refusal> {
        self.word().map(Into::into)
    }

    pub(super) fn int(&mut self) -> Result<I256, Refusal> {
        self.uint().map(I256::from_raw)
    }

    /// A number that has to fit a smaller type.
    pub(super) fn small<T: TryFrom<U256>>(&mut self, what: &str) -> Result<T, Refusal> {
        let number = self.uint()?;
        T::try_from(number)
            .map_err(|_| Refusal::Misuse(format!("{number} is too large for {what}")))
    }

    pub(super) fn bool(&mut self) -> Result<bool, Refusal> {
        self.word().map(|word| !word.is_zero())
    }

    pub(super) fn address(&mut self) -> Result<Address, Refusal> {
        self.word().map(Address::from_word)
    }

    pub(super) fn selector(&mut self) -> Result<[u8; 4], Refusal> {
        self.word().map(|word| [word[0], word[1], word[2], word[3]])
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], Refusal> {
        let start = size(self.word()?)?;
        let length = size(word_at(self.data, start)?)?;
        self.data.get(start + 32..).and_then(|rest| rest.get(..length)).ok_or_else(cut_short)
    }

    /// The items of an array, to be read in their turn, and how many there are said to be.
    pub(super) fn list(&mut self) -> Result<(Self, usize), Refusal> {
        let start = size(self.word()?)?;
        let count = size(word_at(self.data, start)?)?;
        Ok((Self::new(&self.data[start + 32..]), count))
    }

    pub(super) fn text(&mut self) -> Result<String, Refusal> {
        self.bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
}

fn word_at(data: &[u8], at: usize) -> Result<B256, Refusal> {
    let word = data.get(at..).and_then(|rest| rest.get(..32)).ok_or_else(cut_short)?;
    Ok(B256::from_slice(word))
}

/// An offset or a length; none that is in the data comes near the limit.
fn size(word: B256) -> Result<usize, Refusal> {
    u32::try_from(U256::from_be_bytes(word.0)).map(|size| size as usize).map_err(|_| cut_short())
}

fn cut_short() -> Refusal {
    Refusal::Misuse("the arguments are cut short".to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Args;

    proptest! {
        #[test]
        fn any_data_is_read_or_refused(data in prop::collection::vec(any::<u8>(), 0..200), small: u8) {
            let mut data = data;
            if let Some(byte) = data.get_mut(31) {
                *byte = small;
            }
            let mut args = Args::new(&data);
            if let Ok(bytes) = args.bytes() {
                prop_assert!(bytes.len() <= data.len());
            }
            let _ = (args.text(), args.small::<u64>("a test"), args.word());
        }
    }
}
