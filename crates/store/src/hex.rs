//! Hexadecimal encoding, used for hashes and keys of the audit log and keys in the database.

/// Number of bytes that are encoded at a time.
const CHUNK: usize = 32;
const DIGITS: &[u8; 16] = b"0123456789abcdef";

pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    encode_into(bytes, &mut text);
    text
}

/// Appends the digits to a text.
pub(crate) fn encode_into(bytes: &[u8], text: &mut String) {
    // Pushing single characters takes four times as long.
    for chunk in bytes.chunks(CHUNK) {
        let mut digits = [0; 2 * CHUNK];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(chunk) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        let digits = str::from_utf8(&digits[..2 * chunk.len()]);
        text.push_str(digits.expect("digits are ASCII"));
    }
}

/// Returns `None` unless the text is 64 lower-case digits. Upper case is rejected so that a hash has only one spelling.
pub(crate) fn decode(text: &str) -> Option<[u8; 32]> {
    decode_array(text)
}

/// Returns `None` unless the text is exactly two lower-case digits per byte.
pub(crate) fn decode_array<const N: usize>(text: &str) -> Option<[u8; N]> {
    fn parse_digit(byte: u8) -> Option<u8> {
        match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        }
    }
    if text.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = parse_digit(pair[0])? << 4 | parse_digit(pair[1])?;
    }
    Some(bytes)
}
