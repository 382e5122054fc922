//! ABI encoding of cheat code return values.

use alloy_primitives::{Address, B256, Bytes, U256, hex};

/// Selector of `CheatcodeError(string)`, which Foundry reverts with.
pub(super) const CHEATCODE_ERROR: [u8; 4] = hex!("eeaa9e6f");

const WORD: usize = 32;

/// Encodes the error that a cheat code reverts with.
pub(super) fn encode_error(text: &str) -> Bytes {
    let mut data = CHEATCODE_ERROR.to_vec();
    push_bytes(&mut data, text.as_bytes());
    data.into()
}

pub(super) fn encode_word(word: impl Into<B256>) -> Bytes {
    Bytes::copy_from_slice(word.into().as_slice())
}

pub(super) fn encode_address(address: Address) -> Bytes {
    encode_word(address.into_word())
}

pub(super) fn encode_string(text: &str) -> Bytes {
    encode_bytes(text.as_bytes())
}

pub(super) fn encode_bytes(bytes: &[u8]) -> Bytes {
    let mut data = Vec::new();
    push_bytes(&mut data, bytes);
    data.into()
}

/// Appends a dynamic value as the only argument: offset, length, and the bytes padded to full words.
fn push_bytes(data: &mut Vec<u8>, bytes: &[u8]) {
    data.extend_from_slice(U256::from(WORD).to_be_bytes::<WORD>().as_slice());
    data.extend_from_slice(U256::from(bytes.len()).to_be_bytes::<WORD>().as_slice());
    data.extend_from_slice(bytes);
    data.resize(data.len() + bytes.len().next_multiple_of(WORD) - bytes.len(), 0);
}
