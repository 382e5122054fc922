//! Which contract a piece of code belongs to, and where in it something is worth watching.

use std::collections::HashSet;
use std::ops::Range;

use solidity::{Arithmetic, offsets};

/// Deployed code or the code that deploys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Creation,
    Runtime,
}

/// Code of a contract that was compiled.
#[derive(Clone, Debug)]
pub struct Known {
    /// The contract's place in the build.
    pub contract: usize,
    pub part: Part,
    /// Linked.
    pub bytes: Vec<u8>,
    /// Where deployed code differs from the compiler's.
    pub holes: Vec<Range<usize>>,
    /// Arithmetic that wraps without a word, where that is to be told.
    pub unchecked: Vec<Arithmetic>,
}

/// All code of a build.
#[derive(Clone, Debug, Default)]
pub struct Codes {
    known: Vec<Known>,
    selectors: HashSet<[u8; 4]>,
}

mod opcode {
    pub(super) const SUB: u8 = 0x03;
    pub(super) const LT: u8 = 0x10;
    pub(super) const EQ: u8 = 0x14;
    pub(super) const ISZERO: u8 = 0x15;
    pub(super) const XOR: u8 = 0x18;
    pub(super) const JUMPI: u8 = 0x57;
    pub(super) const PUSH1: u8 = 0x60;
    pub(super) const PUSH4: u8 = 0x63;
    pub(super) const PUSH20: u8 = 0x73;
    pub(super) const PUSH32: u8 = 0x7f;
}

impl Codes {
    /// `selectors` are those of all functions: comparisons with them choose a function and need no solving.
    pub fn new(known: Vec<Known>, selectors: HashSet<[u8; 4]>) -> Self {
        Self { known, selectors }
    }

    pub fn known(&self) -> &[Known] {
        &self.known
    }

    /// True if arithmetic is to be watched.
    pub(crate) fn has_unchecked(&self) -> bool {
        self.known.iter().any(|known| !known.unchecked.is_empty())
    }

    /// Finds the contract that the code belongs to.
    ///
    /// The code that deploys a contract is followed by the constructor's arguments, so it is known by its beginning.
    pub fn find(&self, part: Part, code: &[u8]) -> Option<usize> {
        self.known.iter().position(|known| {
            known.part == part
                && !known.bytes.is_empty()
                && match part {
                    Part::Creation => code.starts_with(&known.bytes),
                    Part::Runtime => known.is(code),
                }
        })
    }

    /// Where the code compares what may decide a branch, and not just which function was called.
    pub(super) fn comparisons(&self, code: &[u8]) -> Vec<usize> {
        let starts: Vec<usize> = offsets(code).collect();
        let is_compared = |(index, &offset): (usize, &usize)| {
            let decides = match code[offset] {
                opcode::LT..=opcode::EQ => true,
                opcode::SUB | opcode::XOR => decides_branch(code, &starts[index + 1..]),
                opcode::ISZERO => {
                    let before = starts[..index].last().map(|&offset| code[offset]);
                    let is_truth =
                        before.is_some_and(|op| (opcode::LT..=opcode::ISZERO).contains(&op));
                    !is_truth && decides_branch(code, &starts[index + 1..])
                }
                _ => false,
            };
            (decides && !self.chooses_function(code, &starts[..index])).then_some(offset)
        };
        starts.iter().enumerate().filter_map(is_compared).collect()
    }

    /// True if one of the two instructions before pushes a selector.
    fn chooses_function(&self, code: &[u8], before: &[usize]) -> bool {
        before.iter().rev().take(2).any(|&offset| {
            code[offset] == opcode::PUSH4
                && code
                    .get(offset + 1..offset + 5)
                    .and_then(|bytes| bytes.try_into().ok())
                    .is_some_and(|selector: [u8; 4]| self.selectors.contains(&selector))
        })
    }
}

impl Known {
    fn is(&self, code: &[u8]) -> bool {
        if code.len() != self.bytes.len() {
            return false;
        }
        // A library holds its own address, which is not known before it is deployed.
        let own = (self.bytes.first() == Some(&opcode::PUSH20)).then_some(1..21);
        let mut from = 0;
        for hole in own.iter().chain(&self.holes) {
            if hole.start < from || hole.end > code.len() {
                return false;
            }
            if code[from..hole.start] != self.bytes[from..hole.start] {
                return false;
            }
            from = hole.end;
        }
        code[from..] == self.bytes[from..]
    }
}

/// True if the next instructions jump on what is on the stack. The optimiser turns `a != b` into a difference.
fn decides_branch(code: &[u8], next: &[usize]) -> bool {
    let mut next = next.iter().map(|&offset| code[offset]).skip_while(|&op| op == opcode::ISZERO);
    let pushes = next.next().is_some_and(|op| (opcode::PUSH1..=opcode::PUSH32).contains(&op));
    pushes && next.next() == Some(opcode::JUMPI)
}
