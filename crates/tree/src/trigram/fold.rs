//! Letter case, folded away in a way that loses no match.
//!
//! ASCII capitals become small, and so do the two characters beyond ASCII that case folding takes for ASCII letters:
//! `ſ` is an `s`, and `K` (the Kelvin sign) is a `k`. Nothing else changes: what a case-insensitive pattern takes for
//! equal beyond that, the pattern's plan lists one by one.
//!
//! Folding a piece of text gives the same bytes as folding the whole and taking the piece, if the piece is UTF-8: both
//! characters begin with a byte that no other character ends with, so no piece of UTF-8 can cut through one of them.

const LONG_S: &[u8] = "ſ".as_bytes();
const KELVIN: &[u8] = "\u{212a}".as_bytes();

/// The folded bytes of a text.
pub(super) fn folded(text: &[u8]) -> impl Iterator<Item = u8> + '_ {
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
        folded(text).collect()
    }

    #[test]
    fn what_is_folded() {
        assert_eq!(fold("KeyK ſS É\u{c5}".as_bytes()), "keyk ss É\u{c5}".as_bytes());
        assert_eq!(fold(b"\xc5\xc5\xbf\xe2\x84"), b"\xc5s\xe2\x84");
    }

    proptest! {
        #[test]
        fn a_piece_of_utf8_is_found_in_the_folded_whole(
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
