//! Bytecode as text: hexadecimal digits, with placeholders where addresses of libraries belong.
//!
//! A placeholder takes the 40 digits of an address: `__$<34 digits of a hash>$__` since solc 0.5, and before that
//! `__path:Name`, cut or filled up with `_`. What a placeholder means is told by the output's link references, or else
//! found by `merge`, which knows the names of all contracts.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;

use crate::{Code, Link, Malformed, SourceMap};

/// Digits of an address.
const PLACEHOLDER: usize = 40;

/// Reads code. `names` has the library for each offset that is known.
pub(super) fn parse(
    object: &str,
    source_map: &str,
    names: &BTreeMap<usize, String>,
) -> Result<Code, Malformed> {
    let digits = object.trim().strip_prefix("0x").unwrap_or(object.trim()).as_bytes();
    let mut code = Code {
        bytes: Vec::with_capacity(digits.len() / 2),
        links: Vec::new(),
        source_map: SourceMap::parse(source_map),
    };
    let mut at = 0;
    while at < digits.len() {
        if digits[at] == b'_' {
            let text = digits.get(at..at + PLACEHOLDER).ok_or(Malformed::NotHex(at))?;
            let offset = code.bytes.len();
            let library = match names.get(&offset) {
                Some(name) => name.clone(),
                None => String::from_utf8_lossy(text).into_owned(),
            };
            code.links.push(Link { library, offset });
            code.bytes.extend([0; PLACEHOLDER / 2]);
            at += PLACEHOLDER;
        } else {
            let low = *digits.get(at + 1).ok_or(Malformed::OddLength)?;
            code.bytes.push(digit(digits[at], at)? << 4 | digit(low, at + 1)?);
            at += 2;
        }
    }
    Ok(code)
}

fn digit(byte: u8, at: usize) -> Result<u8, Malformed> {
    let value = char::from(byte).to_digit(16).ok_or(Malformed::NotHex(at))?;
    Ok(value as u8)
}

/// A piece of code, as the compiler's references name it.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct Piece {
    start: usize,
    length: usize,
}

/// Path to name to places.
pub(super) type LinkReferences = BTreeMap<String, BTreeMap<String, Vec<Piece>>>;

/// The library for each offset.
pub(super) fn library_names(references: &LinkReferences) -> BTreeMap<usize, String> {
    let mut names = BTreeMap::new();
    for (path, libraries) in references {
        for (name, pieces) in libraries {
            let library = if path.is_empty() { name.clone() } else { format!("{path}:{name}") };
            names.extend(pieces.iter().map(|piece| (piece.start, library.clone())));
        }
    }
    names
}

/// The places of immutable values that lie within the code, in order.
pub(super) fn immutables(
    references: &BTreeMap<String, Vec<Piece>>,
    code: &[u8],
) -> Vec<Range<usize>> {
    let mut ranges: Vec<_> = references
        .values()
        .flatten()
        .filter_map(|piece| Some(piece.start..piece.start.checked_add(piece.length)?))
        .filter(|range| range.end <= code.len())
        .collect();
    ranges.sort_by_key(|range| (range.start, range.end));
    ranges
}
