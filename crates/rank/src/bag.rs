//! A document as a bag of words: its terms and their frequencies. It is small enough to be kept for every document.

use crate::terms;

/// The indexed fields of a document.
#[derive(Debug, Clone, Copy, Default)]
pub struct RankDocument<'a> {
    pub text: &'a str,
    /// Relative path of its file.
    pub path: Option<&'a str>,
    /// Names that the document defines, qualified if known (`Router::route`).
    pub symbols: &'a [&'a str],
    /// True for prose, false for code.
    pub prose: bool,
}

/// Version of the term extraction. It must be raised whenever a document would yield a different bag, because bags of
/// different versions must not be mixed.
pub const VERSION: u32 = 4;

/// Additional weight of a term in a defined name.
const SYMBOL_WEIGHT: u8 = 3;
/// Additional weight of a term in the stem of the file name.
const FILE_STEM_WEIGHT: u8 = 2;
/// Additional weight of a term in a folder name.
const FOLDER_WEIGHT: u8 = 1;

/// Additional weight of a term at the beginning of prose, which usually states the topic.
const LEAD_WEIGHT: u8 = 1;
/// Length of the beginning of prose, in bytes.
const LEAD_BYTES: usize = 200;

/// Number of innermost folders that are indexed. Outer folders are common to most files.
const FOLDERS: usize = 3;

/// The terms of a document, ordered by hash.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TermBag {
    /// Weighted number of terms, used for length normalization.
    pub length: u32,
    /// Ascending stem hashes, each with its (saturating) frequency.
    pub terms: Vec<(u32, u8)>,
}

/// Invalid serialized bytes.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BagError {
    #[error("truncated bag of words")]
    Short,
    #[error("invalid bag of words: duplicate or unordered terms")]
    Order,
}

impl TermBag {
    /// Extracts the terms of a document.
    pub fn from_document(document: &RankDocument<'_>) -> Self {
        let mut all = Vec::new();
        terms::for_each_term(document.text, |term| all.push((term.hash, 1)));
        if document.prose {
            let lead = &document.text[..document.text.floor_char_boundary(LEAD_BYTES)];
            terms::for_each_term(lead, |term| all.push((term.hash, LEAD_WEIGHT)));
        }
        for symbol in document.symbols {
            terms::for_each_term(symbol, |term| all.push((term.hash, SYMBOL_WEIGHT)));
            all.extend(terms::definition_hash(symbol).map(|hash| (hash, 1)));
        }
        if let Some(path) = document.path {
            add_path_terms(path, &mut all);
        }
        Self::from_weighted(all)
    }

    fn from_weighted(mut all: Vec<(u32, u8)>) -> Self {
        let length = all.iter().map(|&(_, weight)| u32::from(weight)).sum();
        all.sort_unstable_by_key(|&(hash, _)| hash);
        all.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        all.shrink_to_fit();
        Self { length, terms: all }
    }

    /// Serializes the bag for a cache: hash differences as LEB128, each followed by its frequency.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 + self.terms.len() * 5);
        push_varint(&mut bytes, self.length);
        let mut before = 0;
        for &(hash, frequency) in &self.terms {
            push_varint(&mut bytes, hash - before);
            bytes.push(frequency);
            before = hash;
        }
        bytes
    }

    /// Restores a bag from [`TermBag::to_bytes`]. Returns an error if the bytes are truncated or unordered.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, BagError> {
        let mut rest = bytes;
        let length = take_varint(&mut rest)?;
        let mut terms: Vec<(u32, u8)> = Vec::with_capacity(rest.len() / 4);
        while !rest.is_empty() {
            let difference = take_varint(&mut rest)?;
            let hash = match terms.last() {
                None => difference,
                Some(_) if difference == 0 => return Err(BagError::Order),
                Some(&(before, _)) => before.checked_add(difference).ok_or(BagError::Order)?,
            };
            let (&frequency, after) = rest.split_first().ok_or(BagError::Short)?;
            rest = after;
            terms.push((hash, frequency));
        }
        Ok(Self { length, terms })
    }
}

fn add_path_terms(path: &str, all: &mut Vec<(u32, u8)>) {
    let mut names = path.rsplit('/');
    let file = names.next().unwrap_or_default();
    let stem =
        file.split_once('.').map_or(file, |(stem, _)| if stem.is_empty() { file } else { stem });
    terms::for_each_term(stem, |term| all.push((term.hash, FILE_STEM_WEIGHT)));
    for folder in names.take(FOLDERS) {
        terms::for_each_term(folder, |term| all.push((term.hash, FOLDER_WEIGHT)));
    }
}

fn push_varint(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take_varint(rest: &mut &[u8]) -> Result<u32, BagError> {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let (&byte, after) = rest.split_first().ok_or(BagError::Short)?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return u32::try_from(value).map_err(|_| BagError::Order);
        }
    }
    Err(BagError::Order)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn weights_symbols_and_paths_higher() {
        let plain =
            TermBag::from_document(&RankDocument { text: "route", ..RankDocument::default() });
        let named = TermBag::from_document(&RankDocument {
            text: "route",
            path: Some("src/http/route.test.ts"),
            symbols: &["route"],
            ..RankDocument::default()
        });
        assert_eq!(plain.terms[0].1, 1);
        let (route, _) = plain.terms[0];
        let found = named.terms.iter().find(|&&(hash, _)| hash == route);
        assert_eq!(found, Some(&(route, 1 + SYMBOL_WEIGHT + FILE_STEM_WEIGHT)));
    }

    #[test]
    fn weights_the_beginning_of_prose_higher() {
        let text = format!("retry {}later", "and so on, ".repeat(20));
        let bag = TermBag::from_document(&RankDocument {
            text: &text,
            prose: true,
            ..RankDocument::default()
        });
        let frequency = |word: &str| {
            let term = terms::whole_name_hash(word).unwrap();
            bag.terms.iter().find(|&&(hash, _)| hash == term).map(|&(_, frequency)| frequency)
        };
        assert_eq!((frequency("retry"), frequency("later")), (Some(1 + LEAD_WEIGHT), Some(1)));
    }

    #[test]
    fn term_extraction_matches_its_version() {
        let bag = TermBag::from_document(&RankDocument {
            text: "fn parseHTTPHeaders(raw: &str) -> Result<Headers> // reads __all__ of them",
            path: Some("src/net/http.rs"),
            symbols: &["Net::parseHTTPHeaders"],
            prose: true,
        });
        let (length, terms) = (bag.length, bag.terms);
        insta::assert_snapshot!(format!("version {VERSION}: length {length}, terms {terms:?}"));
    }

    proptest! {
        #[test]
        fn bags_roundtrip_through_bytes(text in "(\\PC{0,12} ){0,40}") {
            let bag = TermBag::from_document(&RankDocument { text: &text, ..RankDocument::default() });
            prop_assert_eq!(TermBag::from_bytes(&bag.to_bytes()), Ok(bag));
        }

        #[test]
        fn arbitrary_bytes_are_rejected_or_give_ordered_terms(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(bag) = TermBag::from_bytes(&bytes) {
                prop_assert!(bag.terms.is_sorted_by(|a, b| a.0 < b.0));
            }
        }
    }
}
