//! Records what running code does: blocks and branches taken, comparisons, assertion events.
//!
//! There is one [`ByteCoverage`] for each byte of each known code, so that a hook finds its own by index. Hooks only
//! count and record new coverage; the campaign interprets it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloy_primitives::map::B256Map;
use alloy_primitives::{Address, B256, Bytes, U256};

use revm::bytecode::opcode::JUMPDEST;
use solidity::instruction_offsets;

use super::code::{CodePart, CompiledCodeIndex};
use super::incidents::{ArithmeticOperation, IncidentLog};
use super::read_set::ReadSet;

/// Maximum remembered code hashes; factories can create unlimited different contracts.
const MAX_HASHES: usize = 4096;

/// Maximum events of one call that are recorded, and of their data in bytes. Gas alone would allow gigabytes.
const MAX_EVENTS: usize = 1 << 14;
const MAX_EVENT_BYTES: usize = 1 << 24;

/// Maximum comparisons recorded per call.
const MAX_COMPARISONS: usize = 512;

/// Blocks between two clock checks.
const TICKS: u32 = 1 << 16;

/// Coverage of one byte of code.
#[derive(Clone, Copy, Debug, Default)]
struct ByteCoverage {
    /// Executions of the block that begins here.
    hits: u32,
    /// Observed outcomes of the branch here: bit 0 not taken, bit 1 taken.
    edges: u8,
    /// Outcomes that the comparison here still lacks; 0 if there is no comparison.
    lacks: u8,
    /// Smallest distance to the lacking outcome, in bits of the difference.
    nearest: u8,
    /// A jump destination; such a block counts itself.
    is_destination: bool,
}

const LACKS_FALSE: u8 = 1;
const LACKS_TRUE: u8 = 2;
/// Marks a comparison, even if it lacks no outcome.
const IS_COMPARISON: u8 = 4;

/// A branch with its outcome, in compiled code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BranchEdge {
    /// Index into [`CompiledCodeIndex::entries`].
    pub code: u32,
    pub offset: u32,
    pub taken: bool,
}

/// Operator of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonKind {
    Equal,
    Less,
    Greater,
    SignedLess,
    SignedGreater,
}

impl ComparisonKind {
    #[inline]
    fn holds(self, left: &U256, right: &U256) -> bool {
        match self {
            ComparisonKind::Equal => left == right,
            ComparisonKind::Less => left < right,
            ComparisonKind::Greater => left > right,
            ComparisonKind::SignedLess => to_signed(*left) < to_signed(*right),
            ComparisonKind::SignedGreater => to_signed(*left) > to_signed(*right),
        }
    }
}

/// A comparison that was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObservedComparison {
    pub code: u32,
    pub offset: u32,
    pub kind: ComparisonKind,
    pub left: U256,
    pub right: U256,
    pub outcome: bool,
    /// The other outcome has never been observed.
    pub is_open: bool,
}

/// An event with a watched topic, such as one that reports a failed assertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedEvent {
    pub code: u32,
    pub offset: u32,
    pub address: Address,
    pub topic: B256,
    /// The topics after the first.
    pub indexed: Vec<B256>,
    pub data: Bytes,
}

/// Coverage that one or more calls reached for the first time.
#[derive(Clone, Debug, Default)]
pub struct NewCoverage {
    pub edges: Vec<BranchEdge>,
    /// Comparisons that came closer to their lacking outcome, as (code, offset).
    pub nearer: Vec<(u32, u32)>,
}

impl NewCoverage {
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty() && self.nearer.is_empty()
    }

    pub fn clear(&mut self) {
        self.edges.clear();
        self.nearer.clear();
    }
}

/// Collects the observations of the hooks.
#[derive(Clone, Debug)]
pub struct ExecutionProbe {
    codes: Arc<CompiledCodeIndex>,
    /// Cells of all codes, concatenated.
    cells: Vec<ByteCoverage>,
    /// Range of the cells of each code. The last range is empty and stands for unknown code, for which nothing is counted.
    places: Vec<Range<usize>>,
    by_hash: B256Map<Option<u32>>,
    /// Index of the running code, and the range of its cells.
    current: usize,
    place: Range<usize>,
    /// Frames that ended in the middle of a block, by code and offset.
    halts: BTreeMap<(u32, u32), u32>,
    pub news: NewCoverage,
    /// Record comparisons and values.
    pub notes: bool,
    pub comparisons: Vec<ObservedComparison>,
    pub values: Vec<U256>,
    pub emitted: Vec<WatchedEvent>,
    /// Addresses of created contracts.
    pub created: Vec<Address>,
    /// Records state reads, while requested.
    pub(super) reads: Option<ReadSet>,
    pub signs: IncidentLog,
    /// The call exceeded its time limit, so that its result is unknown.
    pub(super) is_timed_out: bool,
    /// Data of the emitted events, in bytes.
    emitted_bytes: usize,
    watched_topics: Vec<B256>,
    /// The branch that ran last, as (code, offset).
    last_branch: (u32, u32),
    ticks: u32,
    /// Time limit of the call; the deadline is set at the first clock check.
    time: Duration,
    deadline: Option<Instant>,
    /// Time at which every call ends.
    end: Option<Instant>,
}

impl ExecutionProbe {
    pub fn new(codes: Arc<CompiledCodeIndex>, watched_topics: Vec<B256>) -> Self {
        let mut cells = Vec::new();
        let mut places = Vec::new();
        for known in codes.entries() {
            let begin = cells.len();
            cells.resize(begin + known.bytes.len() + 1, ByteCoverage::default());
            places.push(begin..cells.len());
            let cells = &mut cells[begin..];
            for offset in instruction_offsets(&known.bytes) {
                cells[offset].is_destination = known.bytes[offset] == JUMPDEST;
            }
            for offset in codes.comparison_offsets(&known.bytes) {
                cells[offset].lacks = LACKS_FALSE | LACKS_TRUE | IS_COMPARISON;
                cells[offset].nearest = u8::MAX;
            }
        }
        let signs = IncidentLog::new(&codes);
        places.push(0..0);
        Self {
            current: places.len() - 1,
            place: 0..0,
            codes,
            cells,
            places,
            by_hash: B256Map::default(),
            halts: BTreeMap::new(),
            news: NewCoverage::default(),
            notes: false,
            comparisons: Vec::new(),
            values: Vec::new(),
            emitted: Vec::new(),
            emitted_bytes: 0,
            created: Vec::new(),
            reads: None,
            signs,
            is_timed_out: false,
            watched_topics,
            last_branch: (0, 0),
            ticks: TICKS,
            time: Duration::from_secs(60),
            deadline: None,
            end: None,
        }
    }

    /// Sets the time at which every call ends.
    pub(super) fn set_end(&mut self, end: Option<Instant>) {
        self.end = end;
    }

    /// Returns true if the time at which every call ends has passed.
    pub(super) fn is_past_end(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Sets the time limit of the next call.
    pub(super) fn set_time_limit(&mut self, time: Duration) {
        self.ticks = TICKS;
        self.time = time;
        self.is_timed_out = false;
        // Most calls end long before the first clock check.
        self.deadline = None;
    }

    /// Switches to the code that runs next; `is_new` if it is entered rather than returned to.
    #[inline]
    pub(super) fn enter_code(&mut self, part: CodePart, hash: B256, code: &[u8], is_new: bool) {
        self.current = match self.by_hash.get(&hash) {
            Some(Some(index)) => *index as usize,
            Some(None) => self.places.len() - 1,
            None => self.identify_code(part, hash, code),
        };
        self.place = self.places[self.current].clone();
        if is_new && let Some(cell) = self.current_cell(0) {
            cell.hits = cell.hits.saturating_add(1);
        }
    }

    #[cold]
    fn identify_code(&mut self, part: CodePart, hash: B256, code: &[u8]) -> usize {
        if self.by_hash.len() >= MAX_HASHES {
            self.by_hash.clear();
        }
        let found = self.codes.find_code(part, code);
        self.by_hash.insert(hash, found.map(|index| index as u32));
        found.unwrap_or(self.places.len() - 1)
    }

    /// Returns the cell of a byte of the running code.
    #[inline(always)]
    fn current_cell(&mut self, offset: usize) -> Option<&mut ByteCoverage> {
        let index = self.place.start + offset;
        if index < self.place.end { self.cells.get_mut(index) } else { None }
    }

    /// Returns the cells of a code.
    fn code_cells(&self, code: usize) -> &[ByteCoverage] {
        &self.cells[self.places[code].clone()]
    }

    /// Records the start of a block. Returns false if the time limit is exceeded.
    #[inline]
    pub(super) fn record_block(&mut self, offset: usize) -> bool {
        if let Some(cell) = self.current_cell(offset) {
            cell.hits = cell.hits.saturating_add(1);
        }
        self.ticks -= 1;
        self.ticks != 0 || self.is_within_deadline()
    }

    #[cold]
    fn is_within_deadline(&mut self) -> bool {
        self.ticks = TICKS;
        let now = Instant::now();
        if self.end.is_some_and(|end| now >= end) {
            return false;
        }
        now < *self.deadline.get_or_insert(now + self.time)
    }

    /// Extends the time limit. Returns false if it is still exceeded.
    pub(super) fn extend_deadline(&mut self, by: Duration) -> bool {
        let now = Instant::now();
        if self.end.is_some_and(|end| now >= end) {
            return false;
        }
        let Some(deadline) = &mut self.deadline else { return true };
        *deadline += by;
        now < *deadline
    }

    /// Records that the frame ended in the middle of a block, before this offset.
    pub(super) fn record_halt(&mut self, offset: usize) {
        // Calls can run out of gas anywhere; more entries than this carry no information.
        const MAX_HALTS: usize = 4096;
        if self.halts.len() < MAX_HALTS && self.current + 1 < self.places.len() {
            *self.halts.entry((self.current as u32, offset as u32)).or_default() += 1;
        }
    }

    /// Records the outcome of a branch.
    #[inline]
    pub(super) fn record_branch(&mut self, offset: usize, taken: bool) {
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
            self.news.edges.push(BranchEdge { code, offset: offset as u32, taken });
        }
    }

    /// Records a comparison of two values.
    #[inline]
    pub(super) fn record_comparison(
        &mut self,
        offset: usize,
        kind: ComparisonKind,
        left: &U256,
        right: &U256,
    ) {
        let notes = self.notes;
        if let Some(cell) = self.current_cell(offset)
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
        kind: ComparisonKind,
        [left, right]: [U256; 2],
        (outcome, is_open): (bool, bool),
    ) {
        if self.comparisons.len() < MAX_COMPARISONS {
            let (code, offset) = (self.current as u32, offset as u32);
            let comparison =
                ObservedComparison { code, offset, kind, left, right, outcome, is_open };
            self.comparisons.push(comparison);
        }
    }

    /// Records a value as a candidate argument.
    #[inline]
    pub(super) fn record_value(&mut self, value: U256) {
        if self.notes && self.values.len() < MAX_COMPARISONS {
            self.values.push(value);
        }
    }

    /// Returns true if events with this topic are recorded.
    #[inline]
    pub(super) fn watches_topic(&self, topic: &B256) -> bool {
        self.watched_topics.contains(topic)
    }

    /// Records an event by its topics; `topics` is empty for events that are not watched.
    pub(super) fn record_event(
        &mut self,
        offset: usize,
        address: Address,
        topics: &[B256],
        data: Bytes,
    ) {
        let Some((topic, indexed)) = topics.split_first() else { return };
        if self.emitted.len() >= MAX_EVENTS || self.emitted_bytes + data.len() > MAX_EVENT_BYTES {
            return;
        }
        self.emitted_bytes += data.len();
        let (code, offset) = (self.current as u32, offset as u32);
        let (topic, indexed) = (*topic, indexed.to_vec());
        self.emitted.push(WatchedEvent { code, offset, address, topic, indexed, data });
    }

    /// Returns the branch that ran last, in any code.
    pub(crate) fn last_branch(&self) -> (u32, u32) {
        self.last_branch
    }

    /// Clears the events and incidents of the previous call.
    pub(crate) fn clear_call(&mut self) {
        self.emitted.clear();
        self.emitted_bytes = 0;
        self.signs.clear();
    }

    /// Records the operands of an arithmetic instruction.
    pub(super) fn record_arithmetic(
        &mut self,
        depth: usize,
        offset: usize,
        operation: ArithmeticOperation,
        operands: [U256; 2],
    ) {
        self.signs.record_operation(
            depth,
            (self.current as u32, offset as u32),
            operation,
            operands,
        );
    }

    /// Returns true if the last call produced an event or incident that a test may check.
    pub(crate) fn has_incidents(&self) -> bool {
        !self.emitted.is_empty() || !self.signs.is_empty()
    }

    /// Returns the number of compiled codes.
    pub(super) fn code_count(&self) -> usize {
        self.codes.entries().len()
    }

    /// Iterates over block counts by the offset of the block.
    pub fn block_hits(&self, code: usize) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.code_cells(code)
            .iter()
            .enumerate()
            .filter_map(|(offset, cell)| (cell.hits > 0).then_some((offset, cell.hits)))
    }

    /// Iterates over frames that ended in the middle of a block, by offset.
    pub fn halt_counts(&self, code: usize) -> impl Iterator<Item = (usize, u32)> + '_ {
        let code = code as u32;
        let of_code = self.halts.range((code, 0)..=(code, u32::MAX));
        of_code.map(|(&(_, offset), &count)| (offset as usize, count))
    }

    /// Iterates over the observed branch outcomes.
    pub fn seen_edges(&self, code: usize) -> impl Iterator<Item = (usize, bool)> + '_ {
        self.code_cells(code).iter().enumerate().flat_map(|(offset, cell)| {
            let seen = cell.edges;
            [(1, false), (2, true)]
                .into_iter()
                .filter_map(move |(bit, taken)| (seen & bit != 0).then_some((offset, taken)))
        })
    }

    /// Returns true if the comparison at this location still lacks an outcome.
    pub fn is_comparison_open(&self, (code, offset): (u32, u32)) -> bool {
        let cell = self.code_cells(code as usize).get(offset as usize);
        cell.is_some_and(|cell| cell.lacks > IS_COMPARISON)
    }

    /// Adds branches that another worker covered. Returns true if any is new here.
    pub fn merge_edges(&mut self, edges: &[BranchEdge]) -> bool {
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

fn to_signed(word: U256) -> alloy_primitives::I256 {
    alloy_primitives::I256::from_raw(word)
}
