//! The trigrams of one file, and their serialized form for a cache.
//!
//! A long file also has runs of four bytes. It contains so many trigrams that the trigrams of a few words are likely to
//! be among them by chance.
//!
//! ```text
//! key:          a trigram is its three bytes; a run of four bytes is 2^24 plus 24 bits of a hash
//! set on disk:  the differences between ascending keys (starting from -1), minus one,
//!               each as LEB128: seven bits per byte, lowest first; the high bit marks continuation
//! ```

use super::fold::fold_case;

/// Maximum size of a text with a set. Longer texts are rare and generated: the longest source in a thousand crates.io
/// packages is a 16 MB parser, and nine more exceed 4 MB.
pub const MAX_INDEXED_BYTES: usize = 20 * 1024 * 1024;

/// Minimum size of a file whose runs are stored.
const LONG_FILE_BYTES: usize = 64 * 1024;

/// The first key of a run of four bytes; smaller keys are trigrams.
pub(super) const FIRST_RUN_KEY: u32 = 1 << 24;
/// Number of possible keys.
pub(super) const KEY_COUNT: usize = 1 << 25;

/// The trigrams of a file, ascending and packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrigramSet(Box<[u8]>);

impl TrigramSet {
    /// Returns the serialized form for a cache.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Restores a set from a cache. Returns `None` if the bytes are invalid.
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let mut rest = &*bytes;
        let mut next = 0_usize;
        while !rest.is_empty() {
            next = next.checked_add(read_varint(&mut rest)? as usize)?.checked_add(1)?;
            if next > KEY_COUNT {
                return None;
            }
        }
        Some(Self(bytes.into()))
    }

    pub(super) fn from_ascending(trigrams: impl IntoIterator<Item = u32>) -> Self {
        let mut bytes = Vec::new();
        let mut next = 0;
        for trigram in trigrams {
            write_varint(&mut bytes, trigram - next);
            next = trigram + 1;
        }
        Self(bytes.into())
    }

    /// Returns the keys in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let mut rest = &*self.0;
        let mut next = 0;
        std::iter::from_fn(move || {
            let trigram = next + read_varint(&mut rest)?;
            next = trigram + 1;
            Some(trigram)
        })
    }
}

/// Appends a number as LEB128.
pub(super) fn write_varint(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a LEB128 number and advances `bytes`. Returns `None` if it is truncated or too large.
pub(super) fn read_varint(bytes: &mut &[u8]) -> Option<u32> {
    let mut number = 0_u32;
    for shift in (0..32).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Builds trigram sets. Reuse one for each thread, because its table takes 4 MB.
pub struct TrigramCollector {
    seen: Box<[u64]>,
    found: Vec<u32>,
    long_from: usize,
}

impl Default for TrigramCollector {
    fn default() -> Self {
        Self::with_run_threshold(LONG_FILE_BYTES)
    }
}

impl TrigramCollector {
    /// Creates a collector that also stores the runs of files of at least `long_from` bytes.
    pub fn with_run_threshold(long_from: usize) -> Self {
        Self { seen: vec![0; KEY_COUNT / 64].into(), found: Vec::new(), long_from }
    }

    /// Returns the set of a file's content, or `None` if the file must always be searched.
    pub fn collect(&mut self, content: &[u8]) -> Option<TrigramSet> {
        let decoded = content.starts_with(b"\xff\xfe") || content.starts_with(b"\xfe\xff");
        // The searcher stops at the first NUL byte or earlier.
        let end = content.iter().position(|byte| *byte == 0).unwrap_or(content.len());
        if decoded || end > MAX_INDEXED_BYTES {
            return None;
        }
        self.add_text(&content[..end]);
        self.found.sort_unstable();
        let set = TrigramSet::from_ascending(self.found.iter().copied());
        for trigram in self.found.drain(..) {
            self.seen[trigram as usize / 64] = 0;
        }
        Some(set)
    }

    /// Adds all keys of a text. Hot path: it processes every byte of every file.
    fn add_text(&mut self, text: &[u8]) {
        let is_long = text.len() >= self.long_from;
        let (mut last, mut length) = (0, 0);
        for byte in fold_case(text) {
            if byte == b'\n' {
                length = 0;
                continue;
            }
            last = last << 8 | u32::from(byte);
            length += 1;
            if length >= 3 {
                self.add_key(trigram_key(last));
            }
            if is_long && length >= 4 {
                self.add_key(run_key(last));
            }
        }
    }

    fn add_key(&mut self, trigram: u32) {
        let word = &mut self.seen[trigram as usize / 64];
        let bit = 1 << (trigram % 64);
        if *word & bit == 0 {
            *word |= bit;
            self.found.push(trigram);
        }
    }
}

/// Returns the key of the trigram in the last three of four bytes.
fn trigram_key(bytes: u32) -> u32 {
    bytes & 0x00ff_ffff
}

/// Returns the key of a run of four bytes.
fn run_key(bytes: u32) -> u32 {
    FIRST_RUN_KEY | bytes.wrapping_mul(0x9e37_79b1) >> 8
}

/// Returns the keys of a text without line feeds: trigrams and runs, with duplicates.
pub(super) fn text_keys(text: &[u8]) -> impl Iterator<Item = u32> + '_ {
    let (mut last, mut length) = (0_u32, 0);
    fold_case(text).flat_map(move |byte| {
        last = last << 8 | u32::from(byte);
        length += 1;
        [(length >= 3).then(|| trigram_key(last)), (length >= 4).then(|| run_key(last))]
            .into_iter()
            .flatten()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(content: &[u8]) -> Option<Vec<String>> {
        let set = TrigramCollector::default().collect(content)?;
        let text = |trigram: u32| String::from_utf8_lossy(&trigram.to_be_bytes()[1..]).into_owned();
        Some(set.iter().map(text).collect())
    }

    #[test]
    fn collects_trigrams_of_searchable_text() {
        assert_eq!(texts(b"ABCab\nxy\nxyz").unwrap(), ["abc", "bca", "cab", "xyz"]);
        assert_eq!(texts(b"abcd\0efgh").unwrap(), ["abc", "bcd"]);
        assert_eq!(texts(b"ab").unwrap(), [""; 0]);
        assert_eq!(texts(b"\xff\xfea\0b\0"), None);
        assert_eq!(texts(&vec![b'a'; MAX_INDEXED_BYTES + 1]), None);
    }

    #[test]
    fn collects_runs_of_long_files() {
        let set = TrigramCollector::with_run_threshold(6).collect(b"AbcDe\nxyz").unwrap();
        let expected: Vec<u32> = [&b"abcde"[..], b"xyz"].into_iter().flat_map(text_keys).collect();
        assert_eq!(set.iter().filter(|number| *number >= FIRST_RUN_KEY).count(), 2);
        assert!(expected.iter().all(|number| set.iter().any(|own| own == *number)));
        assert_eq!(set.iter().count(), expected.len());
    }

    #[test]
    fn collector_starts_empty_for_each_file() {
        let mut collector = TrigramCollector::default();
        collector.collect(b"first").unwrap();
        let again = collector.collect(b"abc").unwrap();
        assert_eq!(again, TrigramCollector::default().collect(b"abc").unwrap());
    }

    proptest! {
        #[test]
        fn sets_roundtrip_through_bytes(content in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(set) = TrigramCollector::with_run_threshold(150).collect(&content) {
                let again = TrigramSet::from_bytes(set.as_bytes().to_vec()).unwrap();
                prop_assert_eq!(again, set);
            }
        }

        #[test]
        fn arbitrary_bytes_are_rejected_or_give_valid_keys(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some(set) = TrigramSet::from_bytes(bytes) {
                prop_assert!(set.iter().is_sorted());
                prop_assert!(set.iter().all(|trigram| (trigram as usize) < KEY_COUNT));
            }
        }
    }
}
