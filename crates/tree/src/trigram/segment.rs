//! An immutable part of the index: one posting list for each trigram, with the files that contain it.
//!
//! ```text
//! keys    the trigrams and runs, ascending
//! ends    for each key, the end of its list in `lists`; it begins at the end of the previous list
//! lists   ascending file numbers, packed like a set, or a bitmap with one bit for each file if that is not longer.
//!         A list with exactly the length of a bitmap is a bitmap.
//! short   the files without runs, which a run can never rule out
//! ```
//!
//! Half of all entries belong to trigrams that most files contain, so bitmaps halve the memory. Lists are expanded to
//! bitmaps for evaluation anyway, because combining bitmaps needs no branches.

use super::plan::TrigramPlan;
use super::set::{FIRST_RUN_KEY, KEY_COUNT, read_varint, write_varint};

/// Posting lists for a fixed set of files.
pub(super) struct TrigramSegment {
    /// The file number in the index for each file number in the segment.
    files: Box<[u32]>,
    keys: Box<[u32]>,
    ends: Box<[u32]>,
    lists: Box<[u8]>,
    short: FileBitSet,
}

/// Returns true if these ascending keys belong to a file without runs.
pub(super) fn has_no_runs(numbers: &[u32]) -> bool {
    numbers.last().is_none_or(|last| *last < FIRST_RUN_KEY)
}

impl TrigramSegment {
    /// Builds a segment from file numbers with their ascending trigrams.
    pub(super) fn build(files: &[(u32, Box<[u32]>)]) -> Self {
        // A counting sort avoids sorting all entries. The tables are large but sparse, and untouched pages of a zeroed
        // table cost nothing.
        let mut counts = vec![0_u32; KEY_COUNT];
        let mut keys = Vec::new();
        for trigram in files.iter().flat_map(|(_, trigrams)| trigrams) {
            let count = &mut counts[*trigram as usize];
            if *count == 0 {
                keys.push(*trigram);
            }
            *count += 1;
        }
        keys.sort_unstable();
        let mut offsets = counts;
        let mut total = 0;
        for key in &keys {
            total += std::mem::replace(&mut offsets[*key as usize], total);
        }
        let mut entries = vec![0_u32; total as usize];
        for (number, (_, trigrams)) in files.iter().enumerate() {
            for trigram in trigrams {
                let offset = &mut offsets[*trigram as usize];
                entries[*offset as usize] = number as u32;
                *offset += 1;
            }
        }
        // Each offset is now the end of its list.
        let mut start = 0;
        let lists = keys.iter().map(|key| {
            let end = offsets[*key as usize] as usize;
            let list = &entries[start..end];
            start = end;
            (*key, list.iter().copied())
        });
        let mut short = FileBitSet::default();
        short.clear(files.len());
        for (number, (_, numbers)) in (0..).zip(files) {
            if has_no_runs(numbers) {
                short.insert(number);
            }
        }
        Self::pack_lists(files.iter().map(|(file, _)| *file).collect(), short, lists)
    }

    /// Returns a copy with new index numbers for its files. Files without a new number are dropped.
    pub(super) fn renumber_files(&self, new_numbers: &[Option<u32>]) -> Self {
        let mut files = Vec::new();
        let numbers: Vec<Option<u32>> = self
            .files
            .iter()
            .map(|file| {
                new_numbers[*file as usize].map(|new| {
                    files.push(new);
                    files.len() as u32 - 1
                })
            })
            .collect();
        let mut bits = FileBitSet::default();
        let lists = self.keys.iter().filter_map(|key| {
            self.unpack_list(self.posting_list(*key)?, &mut bits);
            let list: Vec<u32> =
                bits.iter().filter_map(|number| numbers[number as usize]).collect();
            Some((*key, list.into_iter()))
        });
        let mut short = FileBitSet::default();
        short.clear(files.len());
        for number in self.short.iter().filter_map(|number| numbers[number as usize]) {
            short.insert(number);
        }
        Self::pack_lists(files, short, lists)
    }

    fn pack_lists<L>(
        files: Vec<u32>,
        short: FileBitSet,
        lists: impl Iterator<Item = (u32, L)>,
    ) -> Self
    where
        L: Iterator<Item = u32> + Clone,
    {
        let width = files.len().div_ceil(8);
        let (mut keys, mut ends, mut packed) = (Vec::new(), Vec::new(), Vec::new());
        for (key, list) in lists {
            let start = packed.len();
            let mut next = 0;
            for number in list.clone() {
                write_varint(&mut packed, number - next);
                next = number + 1;
                if packed.len() - start >= width {
                    break;
                }
            }
            if packed.len() == start {
                continue;
            }
            if packed.len() - start >= width {
                packed.truncate(start);
                packed.resize(start + width, 0);
                for number in list {
                    packed[start + number as usize / 8] |= 1 << (number % 8);
                }
            }
            keys.push(key);
            ends.push(packed.len() as u32);
        }
        Self {
            files: files.into(),
            keys: keys.into(),
            ends: ends.into(),
            lists: packed.into(),
            short,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns the index numbers of the files that may satisfy the plan.
    pub(super) fn find_candidates(&self, plan: &TrigramPlan) -> impl Iterator<Item = u32> + '_ {
        let mut found = self.evaluate_plan(plan);
        // The last word may contain bits that belong to no file.
        found.truncate_to(self.len());
        found.into_numbers().map(|number| self.files[number as usize])
    }

    fn evaluate_plan(&self, plan: &TrigramPlan) -> FileBitSet {
        let mut found = FileBitSet::default();
        match plan {
            TrigramPlan::Any => found.fill(self.len()),
            TrigramPlan::Contains(number) => {
                if let Some(list) = self.posting_list(*number) {
                    self.unpack_list(list, &mut found);
                }
                if *number >= FIRST_RUN_KEY {
                    found.union_with(&self.short);
                }
            }
            TrigramPlan::AnyOf(plans) => {
                plans.iter().for_each(|plan| found.union_with(&self.evaluate_plan(plan)))
            }
            TrigramPlan::AllOf(plans) => {
                // Rarest first: often no file is left after one or two.
                let mut plans: Vec<_> =
                    plans.iter().map(|plan| (self.estimate_cost(plan), plan)).collect();
                plans.sort_unstable_by_key(|(cost, _)| *cost);
                found.fill(self.len());
                for (_, plan) in plans {
                    found.intersect_with(&self.evaluate_plan(plan));
                    if found.is_empty() {
                        break;
                    }
                }
            }
        }
        found
    }

    /// Returns a rough measure of how many files satisfy a plan.
    fn estimate_cost(&self, plan: &TrigramPlan) -> usize {
        match plan {
            TrigramPlan::Any => usize::MAX,
            TrigramPlan::Contains(trigram) => self.posting_list(*trigram).map_or(0, <[u8]>::len),
            TrigramPlan::AllOf(plans) => {
                plans.iter().map(|plan| self.estimate_cost(plan)).min().unwrap_or(usize::MAX)
            }
            TrigramPlan::AnyOf(plans) => {
                plans.iter().fold(0, |sum, plan| self.estimate_cost(plan).saturating_add(sum))
            }
        }
    }

    fn posting_list(&self, trigram: u32) -> Option<&[u8]> {
        let key = self.keys.binary_search(&trigram).ok()?;
        let start = key.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.lists[start as usize..self.ends[key] as usize])
    }

    fn unpack_list(&self, mut list: &[u8], bits: &mut FileBitSet) {
        bits.clear(self.len());
        if list.len() == self.len().div_ceil(8) {
            bits.copy_from_bytes(list);
            return;
        }
        let mut next = 0;
        while let Some(gap) = read_varint(&mut list) {
            bits.insert(next + gap);
            next += gap + 1;
        }
    }
}

/// A set of segment file numbers, as a bitmap.
#[derive(Default)]
struct FileBitSet(Vec<u64>);

impl FileBitSet {
    fn clear(&mut self, len: usize) {
        self.0.clear();
        self.0.resize(len.div_ceil(64), 0);
    }

    fn fill(&mut self, len: usize) {
        self.0.clear();
        self.0.resize(len.div_ceil(64), u64::MAX);
    }

    /// Clears the bits from `len` on in the last word.
    fn truncate_to(&mut self, len: usize) {
        if let Some(last) = self.0.get_mut(len / 64) {
            *last &= (1 << (len % 64)) - 1;
        }
    }

    fn insert(&mut self, number: u32) {
        if let Some(word) = self.0.get_mut(number as usize / 64) {
            *word |= 1 << (number % 64);
        }
    }

    fn copy_from_bytes(&mut self, bytes: &[u8]) {
        for (word, bytes) in self.0.iter_mut().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(whole);
        }
    }

    fn intersect_with(&mut self, other: &Self) {
        // Words beyond the end of the other set are empty.
        self.0.truncate(other.0.len());
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= other);
    }

    fn union_with(&mut self, other: &Self) {
        let len = self.0.len().max(other.0.len());
        self.0.resize(len, 0);
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(index, word)| set_bits(index, *word))
    }

    fn into_numbers(self) -> impl Iterator<Item = u32> {
        self.0.into_iter().enumerate().flat_map(|(index, word)| set_bits(index, word))
    }
}

/// Returns the numbers of the set bits in the word at `index`.
fn set_bits(index: usize, mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(index as u32 * 64 + bit)
    })
}
