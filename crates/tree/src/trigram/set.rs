//! The trigrams of one file, and their form for a cache. A long file has runs of four bytes, too: it holds so many
//! different trigrams that those of a few words are all among them, each in another place.
//!
//! ```text
//! a number:       a trigram is its three bytes; a run of four is 2^24 plus 24 bits of a hash
//! a set on disk:  the differences between ascending numbers (the first one from -1), less one,
//!                 each as LEB128: seven bits a byte, lowest first, the high bit says that more follow
//! ```

use super::fold::folded;

/// Longer texts have no set: they are few, and generated. (The longest source in a thousand packages of crates.io is a
/// parser of 16 MB; nine more have over 4 MB.)
pub const MAX_BYTES: usize = 20 * 1024 * 1024;

/// From so many bytes on a file is long.
const LONG_FROM: usize = 64 * 1024;

/// Numbers from here on are runs of four bytes.
pub(super) const RUNS_FROM: u32 = 1 << 24;
/// How many numbers there can be.
pub(super) const SPACE: usize = 1 << 25;

/// The trigrams of a file, ascending, packed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set(Box<[u8]>);

impl Set {
    /// The form for a cache.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// A set from a cache; None if it is none.
    pub fn from_bytes(bytes: Vec<u8>) -> Option<Self> {
        let mut rest = &*bytes;
        let mut next = 0_usize;
        while !rest.is_empty() {
            next = next.checked_add(take(&mut rest)? as usize)?.checked_add(1)?;
            if next > SPACE {
                return None;
            }
        }
        Some(Self(bytes.into()))
    }

    pub(super) fn of_ascending(trigrams: impl IntoIterator<Item = u32>) -> Self {
        let mut bytes = Vec::new();
        let mut next = 0;
        for trigram in trigrams {
            put(&mut bytes, trigram - next);
            next = trigram + 1;
        }
        Self(bytes.into())
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let mut rest = &*self.0;
        let mut next = 0;
        std::iter::from_fn(move || {
            let trigram = next + take(&mut rest)?;
            next = trigram + 1;
            Some(trigram)
        })
    }
}

pub(super) fn put(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

pub(super) fn take(bytes: &mut &[u8]) -> Option<u32> {
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

/// Makes sets; keep one for each thread, because its table is four megabytes.
pub struct Collector {
    seen: Box<[u64]>,
    found: Vec<u32>,
    long_from: usize,
}

impl Default for Collector {
    fn default() -> Self {
        Self::with_runs_from(LONG_FROM)
    }
}

impl Collector {
    /// Takes files of at least so many bytes for long.
    pub fn with_runs_from(long_from: usize) -> Self {
        Self { seen: vec![0; SPACE / 64].into(), found: Vec::new(), long_from }
    }

    /// The set of a file's content; None if the file must always be searched.
    pub fn collect(&mut self, content: &[u8]) -> Option<Set> {
        let decoded = content.starts_with(b"\xff\xfe") || content.starts_with(b"\xfe\xff");
        // The searcher stops at the first NUL byte, or before.
        let end = content.iter().position(|byte| *byte == 0).unwrap_or(content.len());
        if decoded || end > MAX_BYTES {
            return None;
        }
        self.add_all(&content[..end]);
        self.found.sort_unstable();
        let set = Set::of_ascending(self.found.iter().copied());
        for trigram in self.found.drain(..) {
            self.seen[trigram as usize / 64] = 0;
        }
        Some(set)
    }

    /// Every byte of every file passes here.
    fn add_all(&mut self, text: &[u8]) {
        let is_long = text.len() >= self.long_from;
        let (mut last, mut length) = (0, 0);
        for byte in folded(text) {
            if byte == b'\n' {
                length = 0;
                continue;
            }
            last = last << 8 | u32::from(byte);
            length += 1;
            if length >= 3 {
                self.add(trigram(last));
            }
            if is_long && length >= 4 {
                self.add(run(last));
            }
        }
    }

    fn add(&mut self, trigram: u32) {
        let word = &mut self.seen[trigram as usize / 64];
        let bit = 1 << (trigram % 64);
        if *word & bit == 0 {
            *word |= bit;
            self.found.push(trigram);
        }
    }
}

/// The last three of four bytes.
fn trigram(bytes: u32) -> u32 {
    bytes & 0x00ff_ffff
}

/// The number of a run of four bytes.
fn run(bytes: u32) -> u32 {
    RUNS_FROM | bytes.wrapping_mul(0x9e37_79b1) >> 8
}

/// What a long file has that holds this piece of text: trigrams and runs, with repetitions.
pub(super) fn numbers_of(text: &[u8]) -> impl Iterator<Item = u32> + '_ {
    let (mut last, mut length) = (0_u32, 0);
    folded(text).flat_map(move |byte| {
        last = last << 8 | u32::from(byte);
        length += 1;
        [(length >= 3).then(|| trigram(last)), (length >= 4).then(|| run(last))]
            .into_iter()
            .flatten()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(content: &[u8]) -> Option<Vec<String>> {
        let set = Collector::default().collect(content)?;
        let text = |trigram: u32| String::from_utf8_lossy(&trigram.to_be_bytes()[1..]).into_owned();
        Some(set.iter().map(text).collect())
    }

    #[test]
    fn sets_of_files() {
        assert_eq!(texts(b"ABCab\nxy\nxyz").unwrap(), ["abc", "bca", "cab", "xyz"]);
        assert_eq!(texts(b"abcd\0efgh").unwrap(), ["abc", "bcd"]);
        assert_eq!(texts(b"ab").unwrap(), [""; 0]);
        assert_eq!(texts(b"\xff\xfea\0b\0"), None);
        assert_eq!(texts(&vec![b'a'; MAX_BYTES + 1]), None);
    }

    #[test]
    fn a_long_file_has_its_runs_too() {
        let set = Collector::with_runs_from(6).collect(b"AbcDe\nxyz").unwrap();
        let expected: Vec<u32> = [&b"abcde"[..], b"xyz"].into_iter().flat_map(numbers_of).collect();
        assert_eq!(set.iter().filter(|number| *number >= RUNS_FROM).count(), 2);
        assert!(expected.iter().all(|number| set.iter().any(|own| own == *number)));
        assert_eq!(set.iter().count(), expected.len());
    }

    #[test]
    fn a_collector_forgets() {
        let mut collector = Collector::default();
        collector.collect(b"first").unwrap();
        let again = collector.collect(b"abc").unwrap();
        assert_eq!(again, Collector::default().collect(b"abc").unwrap());
    }

    proptest! {
        #[test]
        fn sets_survive_a_cache(content in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Some(set) = Collector::with_runs_from(150).collect(&content) {
                let again = Set::from_bytes(set.as_bytes().to_vec()).unwrap();
                prop_assert_eq!(again, set);
            }
        }

        #[test]
        fn bytes_that_are_no_set_are_refused_or_harmless(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some(set) = Set::from_bytes(bytes) {
                prop_assert!(set.iter().is_sorted());
                prop_assert!(set.iter().all(|trigram| (trigram as usize) < SPACE));
            }
        }
    }
}
