//! What running code shows: blocks and branches taken, comparisons, assertions.
//!
//! One [`Cell`] for each byte of each known code, so that a hook finds its own by index. Hooks only count and note what is
//! new; what to make of it is for the campaign.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloy_primitives::map::B256Map;
use alloy_primitives::{Address, B256, Bytes, U256};

use revm::bytecode::opcode::JUMPDEST;
use solidity::offsets;

use super::code::{Codes, Part};
use super::reads::Reads;
use super::signs::{Operation, Signs};

/// Hashes of code that are remembered; contracts that make contracts may make no end of them.
const MAX_HASHES: usize = 4096;

/// Comparisons that are noted in one call.
const MAX_COMPARISONS: usize = 512;

/// Blocks between two looks at the clock.
const TICKS: u32 = 1 << 16;

/// What is known of one byte of code.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// How often the block that begins here ran.
    hits: u32,
    /// Outcomes of the branch here that were seen: not taken, taken.
    edges: u8,
    /// The outcomes that the comparison here still lacks; 0 where none is.
    lacks: u8,
    /// How near it came to the outcome that it lacks, in bits of the difference.
    nearest: u8,
    /// A jump may lead here; such a block counts itself.
    is_destination: bool,
}

const LACKS_FALSE: u8 = 1;
const LACKS_TRUE: u8 = 2;
/// Lacks nothing any more, but may be told.
const IS_COMPARISON: u8 = 4;

/// A branch with its outcome, in code that was compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edge {
    /// The place in [`Codes::known`].
    pub code: u32,
    pub offset: u32,
    pub taken: bool,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Equal,
    Less,
    Greater,
    SignedLess,
    SignedGreater,
}

impl Kind {
    #[inline]
    fn holds(self, left: &U256, right: &U256) -> bool {
        match self {
            Kind::Equal => left == right,
            Kind::Less => left < right,
            Kind::Greater => left > right,
            Kind::SignedLess => signed(*left) < signed(*right),
            Kind::SignedGreater => signed(*left) > signed(*right),
        }
    }
}

/// A comparison that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    pub code: u32,
    pub offset: u32,
    pub kind: Kind,
    pub left: U256,
    pub right: U256,
    pub outcome: bool,
    /// It has never had the other outcome.
    pub is_open: bool,
}

/// An event that somebody watches for, such as one that says that an assertion failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emitted {
    pub code: u32,
    pub offset: u32,
    pub address: Address,
    pub topic: B256,
    /// The topics after the first.
    pub indexed: Vec<B256>,
    pub data: Bytes,
}

/// What one or more calls showed for the first time.
#[derive(Clone, Debug, Default)]
pub struct News {
    pub edges: Vec<Edge>,
    /// Comparisons that came nearer, by place.
    pub nearer: Vec<(u32, u32)>,
}

impl News {
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty() && self.nearer.is_empty()
    }

    pub fn clear(&mut self) {
        self.edges.clear();
        self.nearer.clear();
    }
}

/// Hooks write here; see the module.
#[derive(Clone, Debug)]
pub struct Probe {
    codes: Arc<Codes>,
    /// Of all codes, one after the other.
    cells: Vec<Cell>,
    /// Where the cells of each code are. The last is for code that nobody compiled: it has none, so nothing is counted.
    places: Vec<Range<usize>>,
    by_hash: B256Map<Option<u32>>,
    /// The code that runs, and where its cells are.
    current: usize,
    place: Range<usize>,
    /// Frames that ended in the middle of a block, by code and offset.
    halts: BTreeMap<(u32, u32), u32>,
    pub news: News,
    /// Note comparisons and values.
    pub notes: bool,
    pub comparisons: Vec<Comparison>,
    pub values: Vec<U256>,
    pub emitted: Vec<Emitted>,
    /// Where contracts were created.
    pub created: Vec<Address>,
    /// Where it is noted what is looked at, while somebody wants to know.
    pub(super) reads: Option<Reads>,
    pub signs: Signs,
    watched_topics: Vec<B256>,
    /// The branch that ran last.
    last_branch: (u32, u32),
    ticks: u32,
    /// How long the call may take, and until when once the clock was looked at.
    time: Duration,
    deadline: Option<Instant>,
}

impl Probe {
    pub fn new(codes: Arc<Codes>, watched_topics: Vec<B256>) -> Self {
        let mut cells = Vec::new();
        let mut places = Vec::new();
        for known in codes.known() {
            let begin = cells.len();
            cells.resize(begin + known.bytes.len() + 1, Cell::default());
            places.push(begin..cells.len());
            let cells = &mut cells[begin..];
            for offset in offsets(&known.bytes) {
                cells[offset].is_destination = known.bytes[offset] == JUMPDEST;
            }
            for offset in codes.comparisons(&known.bytes) {
                cells[offset].lacks = LACKS_FALSE | LACKS_TRUE | IS_COMPARISON;
                cells[offset].nearest = u8::MAX;
            }
        }
        let signs = Signs::new(&codes);
        places.push(0..0);
        Self {
            current: places.len() - 1,
            place: 0..0,
            codes,
            cells,
            places,
            by_hash: B256Map::default(),
            halts: BTreeMap::new(),
            news: News::default(),
            notes: false,
            comparisons: Vec::new(),
            values: Vec::new(),
            emitted: Vec::new(),
            created: Vec::new(),
            reads: None,
            signs,
            watched_topics,
            last_branch: (0, 0),
            ticks: TICKS,
            time: Duration::from_secs(60),
            deadline: None,
        }
    }

    /// Gives the next call a time limit.
    pub(super) fn limit(&mut self, time: Duration) {
        self.ticks = TICKS;
        self.time = time;
        // Most calls are over long before they are worth a look at the clock.
        self.deadline = None;
    }

    /// The code that runs from here on; `is_new` where it is entered and not returned to.
    #[inline]
    pub(super) fn enter(&mut self, part: Part, hash: B256, code: &[u8], is_new: bool) {
        self.current = match self.by_hash.get(&hash) {
            Some(Some(index)) => *index as usize,
            Some(None) => self.places.len() - 1,
            None => self.learn(part, hash, code),
        };
        self.place = self.places[self.current].clone();
        if is_new && let Some(cell) = self.cell(0) {
            cell.hits = cell.hits.saturating_add(1);
        }
    }

    #[cold]
    fn learn(&mut self, part: Part, hash: B256, code: &[u8]) -> usize {
        if self.by_hash.len() >= MAX_HASHES {
            self.by_hash.clear();
        }
        let found = self.codes.find(part, code);
        self.by_hash.insert(hash, found.map(|index| index as u32));
        found.unwrap_or(self.places.len() - 1)
    }

    /// What is known of a byte of the code that runs.
    #[inline(always)]
    fn cell(&mut self, offset: usize) -> Option<&mut Cell> {
        let index = self.place.start + offset;
        if index < self.place.end { self.cells.get_mut(index) } else { None }
    }

    /// What is known of a piece of code.
    fn cells(&self, code: usize) -> &[Cell] {
        &self.cells[self.places[code].clone()]
    }

    /// A block begins. False if the time is up.
    #[inline]
    pub(super) fn block(&mut self, offset: usize) -> bool {
        if let Some(cell) = self.cell(offset) {
            cell.hits = cell.hits.saturating_add(1);
        }
        self.ticks -= 1;
        self.ticks != 0 || self.is_in_time()
    }

    #[cold]
    fn is_in_time(&mut self) -> bool {
        self.ticks = TICKS;
        let now = Instant::now();
        now < *self.deadline.get_or_insert(now + self.time)
    }

    /// The frame ends in the middle of a block, before this offset.
    pub(super) fn halt(&mut self, offset: usize) {
        // The gas ran out everywhere at some time; more than this tells nobody anything.
        const MAX_HALTS: usize = 4096;
        if self.halts.len() < MAX_HALTS && self.current + 1 < self.places.len() {
            *self.halts.entry((self.current as u32, offset as u32)).or_default() += 1;
        }
    }

    /// A branch was decided.
    #[inline]
    pub(super) fn branch(&mut self, offset: usize, taken: bool) {
        let code = self.current as u32;
        self.last_branch = (code, offset as u32);
        let index = self.place.start + offset;
        if index + 1 >= self.place.end {
            return;
        }
        let Some([cell, next]) = self.cells.get_mut(index..index + 2) else { return };
        if !taken && !next.is_destination {
            next.hits = next.hits.saturating_add(1);
        }
        let edge = 1 << u8::from(taken);
        if cell.edges & edge == 0 {
            cell.edges |= edge;
            self.news.edges.push(Edge { code, offset: offset as u32, taken });
        }
    }

    /// Two values were compared.
    #[inline]
    pub(super) fn compare(&mut self, offset: usize, kind: Kind, left: &U256, right: &U256) {
        let notes = self.notes;
        if let Some(cell) = self.cell(offset)
            && (cell.lacks > IS_COMPARISON || notes && cell.lacks != 0)
        {
            let outcome = kind.holds(left, right);
            cell.lacks &= !(if outcome { LACKS_TRUE } else { LACKS_FALSE });
            let is_open = cell.lacks > IS_COMPARISON;
            if is_open {
                let nearness = left.abs_diff(*right).bit_len().min(255) as u8;
                if nearness < cell.nearest {
                    cell.nearest = nearness;
                    self.news.nearer.push((self.current as u32, offset as u32));
                }
            }
            if notes {
                self.note_comparison(offset, kind, [*left, *right], (outcome, is_open));
            }
        }
    }

    #[cold]
    fn note_comparison(
        &mut self,
        offset: usize,
        kind: Kind,
        [left, right]: [U256; 2],
        (outcome, is_open): (bool, bool),
    ) {
        if self.comparisons.len() < MAX_COMPARISONS {
            let (code, offset) = (self.current as u32, offset as u32);
            let comparison = Comparison { code, offset, kind, left, right, outcome, is_open };
            self.comparisons.push(comparison);
        }
    }

    /// A value that is worth trying as an argument.
    #[inline]
    pub(super) fn value(&mut self, value: U256) {
        if self.notes && self.values.len() < MAX_COMPARISONS {
            self.values.push(value);
        }
    }

    /// True if events with this topic are to be told.
    #[inline]
    pub(super) fn watches(&self, topic: &B256) -> bool {
        self.watched_topics.contains(topic)
    }

    /// An event by its topics; there are none of one that nobody watches for.
    pub(super) fn emit(&mut self, offset: usize, address: Address, topics: &[B256], data: Bytes) {
        let Some((topic, indexed)) = topics.split_first() else { return };
        let (code, offset) = (self.current as u32, offset as u32);
        let (topic, indexed) = (*topic, indexed.to_vec());
        self.emitted.push(Emitted { code, offset, address, topic, indexed, data });
    }

    /// The branch that ran last, in any code.
    pub(crate) fn last_branch(&self) -> (u32, u32) {
        self.last_branch
    }

    /// Forgets what the call before told that its tests had to know.
    pub(crate) fn forget_call(&mut self) {
        self.emitted.clear();
        self.signs.clear();
    }

    /// An instruction makes a number of two.
    pub(super) fn calculate(
        &mut self,
        depth: usize,
        offset: usize,
        made: Operation,
        of: [U256; 2],
    ) {
        self.signs.calculate(depth, (self.current as u32, offset as u32), made, of);
    }

    /// True if the last call did something that tests may be about.
    pub(crate) fn has_signs(&self) -> bool {
        !self.emitted.is_empty() || !self.signs.is_empty()
    }

    /// How many pieces of code there are.
    pub(super) fn codes(&self) -> usize {
        self.codes.known().len()
    }

    /// How often each block ran, by the offset that it begins at.
    pub fn hits(&self, code: usize) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.cells(code)
            .iter()
            .enumerate()
            .filter_map(|(offset, cell)| (cell.hits > 0).then_some((offset, cell.hits)))
    }

    /// Frames that ended in the middle of a block, by the offset where.
    pub fn halts(&self, code: usize) -> impl Iterator<Item = (usize, u32)> + '_ {
        let code = code as u32;
        let of_code = self.halts.range((code, 0)..=(code, u32::MAX));
        of_code.map(|(&(_, offset), &count)| (offset as usize, count))
    }

    /// The outcomes of branches that were seen.
    pub fn edges(&self, code: usize) -> impl Iterator<Item = (usize, bool)> + '_ {
        self.cells(code).iter().enumerate().flat_map(|(offset, cell)| {
            let seen = cell.edges;
            [(1, false), (2, true)]
                .into_iter()
                .filter_map(move |(bit, taken)| (seen & bit != 0).then_some((offset, taken)))
        })
    }

    /// True if the comparison at this place still lacks an outcome.
    pub fn is_open(&self, (code, offset): (u32, u32)) -> bool {
        let cell = self.cells(code as usize).get(offset as usize);
        cell.is_some_and(|cell| cell.lacks > IS_COMPARISON)
    }

    /// Takes note of branches that another worker saw; true if one was new here.
    pub fn see(&mut self, edges: &[Edge]) -> bool {
        let mut is_new = false;
        for edge in edges {
            let place = self.places[edge.code as usize].clone();
            if let Some(cell) = self.cells[place].get_mut(edge.offset as usize) {
                let bit = 1 << u8::from(edge.taken);
                is_new |= cell.edges & bit == 0;
                cell.edges |= bit;
            }
        }
        is_new
    }
}

fn signed(word: U256) -> alloy_primitives::I256 {
    alloy_primitives::I256::from_raw(word)
}
