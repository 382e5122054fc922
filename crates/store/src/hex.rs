//! Hexadecimal encoding of 32 bytes, used for hashes in the audit log and keys in the database.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

pub(crate) fn encode(bytes: &[u8; 32]) -> String {
    let mut text = String::with_capacity(64);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

/// Returns `None` unless the text is 64 lower-case digits. Upper case is rejected so that a hash has only one spelling.
pub(crate) fn decode(text: &str) -> Option<[u8; 32]> {
    fn parse_digit(byte: u8) -> Option<u8> {
        match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        }
    }
    let text: &[u8; 64] = text.as_bytes().try_into().ok()?;
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = parse_digit(pair[0])? << 4 | parse_digit(pair[1])?;
    }
    Some(bytes)
}
