//! An immutable part of the index: for each trigram, which of its files have it.
//!
//! ```text
//! keys    the trigrams and runs, ascending
//! ends    for each key, where its list ends in `lists` (it begins where the one before ends)
//! lists   the numbers of the files, ascending, packed as a set is; or, where that would not be shorter,
//!         one bit for each file. A list that is as long as the bits would be is the bits.
//! short   the files that have no runs: of them nothing is known that a run could deny
//! ```
//!
//! Half of all entries belong to trigrams that most files have, so bits halve the memory; and they are what lists are
//! turned into anyway, because joining bits needs no branches.

use super::plan::Plan;
use super::set::{RUNS_FROM, SPACE, put, take};

pub(super) struct Segment {
    /// What the index calls the files, by their number here.
    files: Box<[u32]>,
    keys: Box<[u32]>,
    ends: Box<[u32]>,
    lists: Box<[u8]>,
    short: Bits,
}

/// Whether these are the numbers of a file without runs.
pub(super) fn has_no_runs(numbers: &[u32]) -> bool {
    numbers.last().is_none_or(|last| *last < RUNS_FROM)
}

impl Segment {
    /// Of files with their trigrams, ascending.
    pub(super) fn build(files: &[(u32, Box<[u32]>)]) -> Self {
        // Counted first, then filled in: no sorting of all entries. The tables are big but sparse, and the pages of a
        // zeroed table that nobody touches cost nothing.
        let mut counts = vec![0_u32; SPACE];
        let mut keys = Vec::new();
        for trigram in files.iter().flat_map(|(_, trigrams)| trigrams) {
            let count = &mut counts[*trigram as usize];
            if *count == 0 {
                keys.push(*trigram);
            }
            *count += 1;
        }
        keys.sort_unstable();
        let mut places = counts;
        let mut total = 0;
        for key in &keys {
            total += std::mem::replace(&mut places[*key as usize], total);
        }
        let mut entries = vec![0_u32; total as usize];
        for (number, (_, trigrams)) in files.iter().enumerate() {
            for trigram in trigrams {
                let place = &mut places[*trigram as usize];
                entries[*place as usize] = number as u32;
                *place += 1;
            }
        }
        // By now each place is where its list ends.
        let mut start = 0;
        let lists = keys.iter().map(|key| {
            let end = places[*key as usize] as usize;
            let list = &entries[start..end];
            start = end;
            (*key, list.iter().copied())
        });
        let mut short = Bits::default();
        short.clear(files.len());
        for (number, (_, numbers)) in (0..).zip(files) {
            if has_no_runs(numbers) {
                short.set(number);
            }
        }
        Self::pack(files.iter().map(|(file, _)| *file).collect(), short, lists)
    }

    /// The same with new names for its files, without those that get none.
    pub(super) fn renamed(&self, names: &[Option<u32>]) -> Self {
        let mut files = Vec::new();
        let numbers: Vec<Option<u32>> = self
            .files
            .iter()
            .map(|file| {
                names[*file as usize].map(|name| {
                    files.push(name);
                    files.len() as u32 - 1
                })
            })
            .collect();
        let mut bits = Bits::default();
        let lists = self.keys.iter().filter_map(|key| {
            self.unpack(self.list(*key)?, &mut bits);
            let list: Vec<u32> =
                bits.iter().filter_map(|number| numbers[number as usize]).collect();
            Some((*key, list.into_iter()))
        });
        let mut short = Bits::default();
        short.clear(files.len());
        for number in self.short.iter().filter_map(|number| numbers[number as usize]) {
            short.set(number);
        }
        Self::pack(files, short, lists)
    }

    fn pack<L>(files: Vec<u32>, short: Bits, lists: impl Iterator<Item = (u32, L)>) -> Self
    where
        L: Iterator<Item = u32> + Clone,
    {
        let width = files.len().div_ceil(8);
        let (mut keys, mut ends, mut packed) = (Vec::new(), Vec::new(), Vec::new());
        for (key, list) in lists {
            let start = packed.len();
            let mut next = 0;
            for number in list.clone() {
                put(&mut packed, number - next);
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

    /// The files that may satisfy the plan.
    pub(super) fn candidates(&self, plan: &Plan) -> impl Iterator<Item = u32> + '_ {
        let mut found = self.satisfying(plan);
        // The bits are whole words, so the last may have bits of no file.
        found.cut(self.len());
        found.into_numbers().map(|number| self.files[number as usize])
    }

    fn satisfying(&self, plan: &Plan) -> Bits {
        let mut found = Bits::default();
        match plan {
            Plan::Any => found.fill(self.len()),
            Plan::Has(number) => {
                if let Some(list) = self.list(*number) {
                    self.unpack(list, &mut found);
                }
                if *number >= RUNS_FROM {
                    found.or(&self.short);
                }
            }
            Plan::One(plans) => plans.iter().for_each(|plan| found.or(&self.satisfying(plan))),
            Plan::All(plans) => {
                // The rarest first: often nothing is left after one or two.
                let mut plans: Vec<_> = plans.iter().map(|plan| (self.cost(plan), plan)).collect();
                plans.sort_unstable_by_key(|(cost, _)| *cost);
                found.fill(self.len());
                for (_, plan) in plans {
                    found.and(&self.satisfying(plan));
                    if found.is_empty() {
                        break;
                    }
                }
            }
        }
        found
    }

    /// About how many files a plan leaves.
    fn cost(&self, plan: &Plan) -> usize {
        match plan {
            Plan::Any => usize::MAX,
            Plan::Has(trigram) => self.list(*trigram).map_or(0, <[u8]>::len),
            Plan::All(plans) => {
                plans.iter().map(|plan| self.cost(plan)).min().unwrap_or(usize::MAX)
            }
            Plan::One(plans) => {
                plans.iter().fold(0, |sum, plan| self.cost(plan).saturating_add(sum))
            }
        }
    }

    fn list(&self, trigram: u32) -> Option<&[u8]> {
        let key = self.keys.binary_search(&trigram).ok()?;
        let start = key.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.lists[start as usize..self.ends[key] as usize])
    }

    fn unpack(&self, mut list: &[u8], bits: &mut Bits) {
        bits.clear(self.len());
        if list.len() == self.len().div_ceil(8) {
            bits.copy(list);
            return;
        }
        let mut next = 0;
        while let Some(gap) = take(&mut list) {
            bits.set(next + gap);
            next += gap + 1;
        }
    }
}

/// A set of file numbers.
#[derive(Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn clear(&mut self, len: usize) {
        self.0.clear();
        self.0.resize(len.div_ceil(64), 0);
    }

    fn fill(&mut self, len: usize) {
        self.0.clear();
        self.0.resize(len.div_ceil(64), u64::MAX);
    }

    fn cut(&mut self, len: usize) {
        if let Some(last) = self.0.get_mut(len / 64) {
            *last &= (1 << (len % 64)) - 1;
        }
    }

    fn set(&mut self, number: u32) {
        if let Some(word) = self.0.get_mut(number as usize / 64) {
            *word |= 1 << (number % 64);
        }
    }

    fn copy(&mut self, bytes: &[u8]) {
        for (word, bytes) in self.0.iter_mut().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(whole);
        }
    }

    fn and(&mut self, other: &Self) {
        // What the other does not reach, it does not have.
        self.0.truncate(other.0.len());
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= other);
    }

    fn or(&mut self, other: &Self) {
        let len = self.0.len().max(other.0.len());
        self.0.resize(len, 0);
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(place, word)| ones(place, *word))
    }

    fn into_numbers(self) -> impl Iterator<Item = u32> {
        self.0.into_iter().enumerate().flat_map(|(place, word)| ones(place, word))
    }
}

fn ones(place: usize, mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(place as u32 * 64 + bit)
    })
}
