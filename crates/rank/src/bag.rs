//! A document as its words: which, how often, how many. Small enough to be kept for every document of a project.

use crate::terms;

/// What of a document is indexed by word.
#[derive(Debug, Clone, Copy, Default)]
pub struct Document<'a> {
    pub text: &'a str,
    /// Relative path of its file.
    pub path: Option<&'a str>,
    /// Names that it defines, qualified where that is known (`Router::route`).
    pub symbols: &'a [&'a str],
    /// Whether people wrote it for people.
    pub prose: bool,
}

/// Raised whenever the same document would give another bag: bags of two versions must not be searched together.
pub const VERSION: u32 = 4;

/// How much more a word counts in these places than in the text.
const SYMBOL_WEIGHT: u8 = 3;
const FILE_STEM_WEIGHT: u8 = 2;
const FOLDER_WEIGHT: u8 = 1;

/// How much more a word counts at the beginning of prose, and how long that is, in bytes: people say first what it is
/// about.
const LEAD_WEIGHT: u8 = 1;
const LEAD: usize = 200;

/// Folders beside the file that count; those further up are the same for everything.
const FOLDERS: usize = 3;

/// The words of a document, in the order of their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bag {
    /// How many words the document has, weighted; what a frequency is measured against.
    pub length: u32,
    /// Numbers of stems, ascending, each with its frequency (saturating).
    pub terms: Vec<(u32, u8)>,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum BagError {
    #[error("a bag of words ends too early")]
    Short,
    #[error("a bag of words names a term twice or out of order")]
    Order,
}

impl Bag {
    pub fn of(document: &Document<'_>) -> Self {
        let mut all = Vec::new();
        terms::each(document.text, |term| all.push((term.hash, 1)));
        if document.prose {
            let lead = &document.text[..document.text.floor_char_boundary(LEAD)];
            terms::each(lead, |term| all.push((term.hash, LEAD_WEIGHT)));
        }
        for symbol in document.symbols {
            terms::each(symbol, |term| all.push((term.hash, SYMBOL_WEIGHT)));
            all.extend(terms::definition(symbol).map(|hash| (hash, 1)));
        }
        if let Some(path) = document.path {
            add_path(path, &mut all);
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

    /// Few bytes for a cache: differences of the numbers, seven bits to a byte.
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

fn add_path(path: &str, all: &mut Vec<(u32, u8)>) {
    let mut names = path.rsplit('/');
    let file = names.next().unwrap_or_default();
    let stem =
        file.split_once('.').map_or(file, |(stem, _)| if stem.is_empty() { file } else { stem });
    terms::each(stem, |term| all.push((term.hash, FILE_STEM_WEIGHT)));
    for folder in names.take(FOLDERS) {
        terms::each(folder, |term| all.push((term.hash, FOLDER_WEIGHT)));
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
    fn names_and_paths_count_more() {
        let plain = Bag::of(&Document { text: "route", ..Document::default() });
        let named = Bag::of(&Document {
            text: "route",
            path: Some("src/http/route.test.ts"),
            symbols: &["route"],
            ..Document::default()
        });
        assert_eq!(plain.terms[0].1, 1);
        let (route, _) = plain.terms[0];
        let found = named.terms.iter().find(|&&(hash, _)| hash == route);
        assert_eq!(found, Some(&(route, 1 + SYMBOL_WEIGHT + FILE_STEM_WEIGHT)));
    }

    #[test]
    fn prose_says_first_what_it_is_about() {
        let text = format!("retry {}later", "and so on, ".repeat(20));
        let bag = Bag::of(&Document { text: &text, prose: true, ..Document::default() });
        let often = |word: &str| {
            let term = terms::whole(word).unwrap();
            bag.terms.iter().find(|&&(hash, _)| hash == term).map(|&(_, frequency)| frequency)
        };
        assert_eq!((often("retry"), often("later")), (Some(1 + LEAD_WEIGHT), Some(1)));
    }

    #[test]
    fn another_bag_needs_another_version() {
        let bag = Bag::of(&Document {
            text: "fn parseHTTPHeaders(raw: &str) -> Result<Headers> // reads __all__ of them",
            path: Some("src/net/http.rs"),
            symbols: &["Net::parseHTTPHeaders"],
            prose: true,
        });
        insta::assert_snapshot!(format!("version {VERSION}: {bag:?}"));
    }

    proptest! {
        #[test]
        fn bytes_give_the_bag_back(text in "(\\PC{0,12} ){0,40}") {
            let bag = Bag::of(&Document { text: &text, ..Document::default() });
            prop_assert_eq!(Bag::from_bytes(&bag.to_bytes()), Ok(bag));
        }

        #[test]
        fn foreign_bytes_are_an_error_or_a_bag_in_order(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(bag) = Bag::from_bytes(&bytes) {
                prop_assert!(bag.terms.is_sorted_by(|a, b| a.0 < b.0));
            }
        }
    }
}
