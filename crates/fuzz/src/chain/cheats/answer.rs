//! What cheat codes return, as contracts read it.

use alloy_primitives::{Address, B256, Bytes, U256, hex};

/// `CheatcodeError(string)`, which Foundry reverts with.
pub(super) const ERROR: [u8; 4] = hex!("eeaa9e6f");

const WORD: usize = 32;

/// The error that a cheat code reverts with.
pub(super) fn error(text: &str) -> Bytes {
    let mut data = ERROR.to_vec();
    push_bytes(&mut data, text.as_bytes());
    data.into()
}

pub(super) fn word(word: impl Into<B256>) -> Bytes {
    Bytes::copy_from_slice(word.into().as_slice())
}

pub(super) fn address(address: Address) -> Bytes {
    word(address.into_word())
}

pub(super) fn text(text: &str) -> Bytes {
    bytes(text.as_bytes())
}

pub(super) fn bytes(bytes: &[u8]) -> Bytes {
    let mut data = Vec::new();
    push_bytes(&mut data, bytes);
    data.into()
}

/// Bytes of any length as the only value: where they begin, how many, and themselves in full words.
fn push_bytes(data: &mut Vec<u8>, bytes: &[u8]) {
    data.extend_from_slice(U256::from(WORD).to_be_bytes::<WORD>().as_slice());
    data.extend_from_slice(U256::from(bytes.len()).to_be_bytes::<WORD>().as_slice());
    data.extend_from_slice(bytes);
    data.resize(data.len() + bytes.len().next_multiple_of(WORD) - bytes.len(), 0);
}
