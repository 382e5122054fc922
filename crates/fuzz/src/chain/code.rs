//! Maps bytecode to compiled contracts and finds the comparisons worth observing.

use std::collections::HashSet;
use std::ops::Range;

use solidity::{ArithmeticInstruction, instruction_offsets};

/// Creation code or deployed code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodePart {
    Creation,
    Runtime,
}

/// Compiled code of a smart contract.
#[derive(Clone, Debug)]
pub struct CompiledCode {
    /// Index of the smart contract in the build.
    pub contract: usize,
    pub part: CodePart,
    /// Linked bytecode.
    pub bytes: Vec<u8>,
    /// Ranges where deployed code differs from the compiler's output, such as immutables.
    pub holes: Vec<Range<usize>>,
    /// Unchecked arithmetic to observe for overflows.
    pub unchecked: Vec<ArithmeticInstruction>,
}

/// All compiled code of a build.
#[derive(Clone, Debug, Default)]
pub struct CompiledCodeIndex {
    known: Vec<CompiledCode>,
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

impl CompiledCodeIndex {
    /// Creates an index. `selectors` are those of all functions: comparisons with them only dispatch and need no solving.
    pub fn new(known: Vec<CompiledCode>, selectors: HashSet<[u8; 4]>) -> Self {
        Self { known, selectors }
    }

    pub fn entries(&self) -> &[CompiledCode] {
        &self.known
    }

    /// Returns true if any code has arithmetic to observe.
    pub(crate) fn has_unchecked(&self) -> bool {
        self.known.iter().any(|known| !known.unchecked.is_empty())
    }

    /// Returns the index of the compiled code that matches the bytes.
    ///
    /// Creation code is followed by constructor arguments, so it is matched by prefix.
    pub fn find_code(&self, part: CodePart, code: &[u8]) -> Option<usize> {
        self.known.iter().position(|known| {
            known.part == part
                && !known.bytes.is_empty()
                && match part {
                    CodePart::Creation => code.starts_with(&known.bytes),
                    CodePart::Runtime => known.matches_deployed(code),
                }
        })
    }

    /// Returns the offsets of comparisons that may decide a branch, except function dispatch.
    pub(super) fn comparison_offsets(&self, code: &[u8]) -> Vec<usize> {
        let starts: Vec<usize> = instruction_offsets(code).collect();
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
            (decides && !self.is_selector_comparison(code, &starts[..index])).then_some(offset)
        };
        starts.iter().enumerate().filter_map(is_compared).collect()
    }

    /// Returns true if one of the two preceding instructions pushes a selector.
    fn is_selector_comparison(&self, code: &[u8], before: &[usize]) -> bool {
        before.iter().rev().take(2).any(|&offset| {
            code[offset] == opcode::PUSH4
                && code
                    .get(offset + 1..offset + 5)
                    .and_then(|bytes| bytes.try_into().ok())
                    .is_some_and(|selector: [u8; 4]| self.selectors.contains(&selector))
        })
    }
}

impl CompiledCode {
    fn matches_deployed(&self, code: &[u8]) -> bool {
        if code.len() != self.bytes.len() {
            return false;
        }
        // A library contains its own address, which is unknown before deployment.
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

/// Returns true if the next instructions jump on the top of the stack. The optimizer turns `a != b` into a difference.
fn decides_branch(code: &[u8], next: &[usize]) -> bool {
    let mut next = next.iter().map(|&offset| code[offset]).skip_while(|&op| op == opcode::ISZERO);
    let pushes = next.next().is_some_and(|op| (opcode::PUSH1..=opcode::PUSH32).contains(&op));
    pushes && next.next() == Some(opcode::JUMPI)
}
