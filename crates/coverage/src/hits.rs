//! Execution counts recorded by the caller: the input of this crate.

/// Hits recorded for the creation or runtime bytecode of one smart contract.
#[derive(Clone, Debug)]
pub struct CodeHits {
    /// Index in `SolidityBuild::contracts`.
    pub contract: usize,
    pub part: CodeSection,
    /// The executed bytecode, with its libraries linked. Trailing data, such as constructor arguments, is ignored.
    pub code: Vec<u8>,
    /// Start offset and entry count of each basic block. Blocks begin at offset 0, at each `JUMPDEST` and after each
    /// `JUMPI` that did not jump.
    pub blocks: Vec<(usize, u64)>,
    /// Directions taken by conditional jumps.
    pub edges: Vec<EdgeHit>,
    /// Offset and count of exceptional halts in the middle of a block, such as running out of gas. Control arrived at
    /// the halting instruction, but not at the instructions after it.
    pub halts: Vec<(usize, u64)>,
}

/// The two kinds of bytecode of a smart contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeSection {
    Creation,
    Runtime,
}

/// One direction of a conditional jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeHit {
    /// Offset of the `JUMPI`.
    pub offset: usize,
    /// True for the edge to the jump target, false for the fall-through.
    pub taken: bool,
    /// True if this direction was ever taken. Counts come from `blocks`; this covers edges that blocks cannot show.
    pub seen: bool,
}
