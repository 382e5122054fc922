//! Case folding that loses no match.
//!
//! ASCII capitals are lowercased, and so are the two non-ASCII characters that case folding maps to ASCII letters:
//! `ſ` becomes `s`, and `K` (the Kelvin sign) becomes `k`. No other character changes. A pattern's plan lists all other
//! case-insensitive equivalents explicitly.
//!
//! If a substring is valid UTF-8, folding it yields the same bytes as the matching part of the folded whole. Both
//! characters begin with a byte that no other character ends with, so a UTF-8 substring cannot split them.

const LONG_S: &[u8] = "ſ".as_bytes();
const KELVIN: &[u8] = "\u{212a}".as_bytes();

/// Returns the case-folded bytes of `text`.
pub(super) fn fold_case(text: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let first = *text.get(at)?;
        at += 1;
        match first {
            0xc5 if text[at - 1..].starts_with(LONG_S) => {
                at += LONG_S.len() - 1;
                Some(b's')
            }
            0xe2 if text[at - 1..].starts_with(KELVIN) => {
                at += KELVIN.len() - 1;
                Some(b'k')
            }
            byte => Some(byte.to_ascii_lowercase()),
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fold(text: &[u8]) -> Vec<u8> {
        fold_case(text).collect()
    }

    #[test]
    fn folds_ascii_long_s_and_kelvin_sign() {
        assert_eq!(fold("KeyK ſS É\u{c5}".as_bytes()), "keyk ss É\u{c5}".as_bytes());
        assert_eq!(fold(b"\xc5\xc5\xbf\xe2\x84"), b"\xc5s\xe2\x84");
    }

    proptest! {
        #[test]
        fn folded_utf8_substring_occurs_in_the_folded_whole(
            before in prop::collection::vec(prop::sample::select(&b"\xc5\xbf\xe2\x84\xaaks"[..]), 0..8),
            piece in "[ksKSſ\u{212a}\u{c5}ÿ€]{0,6}",
            after in prop::collection::vec(prop::sample::select(&b"\xc5\xbf\xe2\x84\xaaks"[..]), 0..8),
        ) {
            let whole = fold(&[&before, piece.as_bytes(), &after].concat());
            let piece = fold(piece.as_bytes());
            prop_assert!(piece.is_empty() || whole.windows(piece.len()).any(|part| part == piece));
        }
    }
}
