//! Parses bytecode: hexadecimal digits, with placeholders for library addresses.
//!
//! A placeholder takes the 40 digits of an address: `__$<34 digits of a hash>$__` since solc 0.5, and before that
//! `__path:Name`, truncated or padded with `_`. Its library is taken from the link references of the output. If those
//! are missing, `merge` resolves it with the names of all contracts.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;

use crate::{ContractBytecode, LibraryLink, MalformedContract, SourceMap};

/// Hexadecimal digits of an address.
const PLACEHOLDER: usize = 40;

/// Parses bytecode. `names` maps known offsets to libraries.
pub(super) fn parse_bytecode(
    object: &str,
    source_map: &str,
    names: &BTreeMap<usize, String>,
) -> Result<ContractBytecode, MalformedContract> {
    let digits = object.trim().strip_prefix("0x").unwrap_or(object.trim()).as_bytes();
    let mut code = ContractBytecode {
        bytes: Vec::with_capacity(digits.len() / 2),
        links: Vec::new(),
        source_map: SourceMap::parse(source_map),
    };
    let mut at = 0;
    while at < digits.len() {
        if digits[at] == b'_' {
            let text = digits.get(at..at + PLACEHOLDER).ok_or(MalformedContract::NotHex(at))?;
            let offset = code.bytes.len();
            let library = match names.get(&offset) {
                Some(name) => name.clone(),
                None => String::from_utf8_lossy(text).into_owned(),
            };
            code.links.push(LibraryLink { library, offset });
            code.bytes.extend([0; PLACEHOLDER / 2]);
            at += PLACEHOLDER;
        } else {
            let low = *digits.get(at + 1).ok_or(MalformedContract::OddLength)?;
            code.bytes.push(parse_hex_digit(digits[at], at)? << 4 | parse_hex_digit(low, at + 1)?);
            at += 2;
        }
    }
    Ok(code)
}

fn parse_hex_digit(byte: u8, at: usize) -> Result<u8, MalformedContract> {
    let value = char::from(byte).to_digit(16).ok_or(MalformedContract::NotHex(at))?;
    Ok(value as u8)
}

/// A byte range of the bytecode in the references of the compiler.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct BytecodeRange {
    start: usize,
    length: usize,
}

/// Byte ranges by source path and library name.
pub(super) type LinkReferences = BTreeMap<String, BTreeMap<String, Vec<BytecodeRange>>>;

/// Returns the library for each offset.
pub(super) fn library_names(references: &LinkReferences) -> BTreeMap<usize, String> {
    let mut names = BTreeMap::new();
    for (path, libraries) in references {
        for (name, ranges) in libraries {
            let library = if path.is_empty() { name.clone() } else { format!("{path}:{name}") };
            names.extend(ranges.iter().map(|range| (range.start, library.clone())));
        }
    }
    names
}

/// Returns the sorted ranges of immutable values that are within the bytecode.
pub(super) fn immutable_ranges(
    references: &BTreeMap<String, Vec<BytecodeRange>>,
    code: &[u8],
) -> Vec<Range<usize>> {
    let mut ranges: Vec<_> = references
        .values()
        .flatten()
        .filter_map(|range| Some(range.start..range.start.checked_add(range.length)?))
        .filter(|range| range.end <= code.len())
        .collect();
    ranges.sort_by_key(|range| (range.start, range.end));
    ranges
}
