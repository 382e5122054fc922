//! What whoever executed the code hands in.

/// What was executed of one contract's creation or runtime code.
#[derive(Clone, Debug)]
pub struct CodeHits {
    /// Index in `Build::contracts`.
    pub contract: usize,
    pub part: Part,
    /// The code that ran, with its libraries linked; what follows it (arguments of a constructor) does no harm.
    pub code: Vec<u8>,
    /// Where a block begins, and how often it was entered. Blocks begin at offset 0, at each `JUMPDEST` and after each
    /// `JUMPI` that did not jump.
    pub blocks: Vec<(usize, u64)>,
    /// Which way conditional jumps went.
    pub edges: Vec<Edge>,
    /// Frames that ended exceptionally in the middle of a block, such as for want of gas: at which instruction, and
    /// how often. That instruction counts as come to, the ones after it do not.
    pub halts: Vec<(usize, u64)>,
}

/// Which of a contract's two codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    Creation,
    Runtime,
}

/// One way that a conditional jump can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where the `JUMPI` is.
    pub offset: usize,
    /// Whether it jumped.
    pub taken: bool,
    /// Whether it ever went this way. Counts come from the blocks; this only adds what they cannot show.
    pub seen: bool,
}
