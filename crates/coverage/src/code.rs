//! Bytecode as blocks of instructions, each with its span of source and its count.

use std::collections::BTreeMap;

use solidity::{SourceMap, Span};

use crate::hits::CodeHits;

const POP: u8 = 0x50;
const JUMP: u8 = 0x56;
const JUMPI: u8 = 0x57;
const JUMPDEST: u8 = 0x5b;
const PUSH0: u8 = 0x5f;
const PUSH32: u8 = 0x7f;
const SWAP16: u8 = 0x9f;

/// One instruction.
pub(crate) struct Instruction {
    pub(crate) offset: usize,
    pub(crate) opcode: u8,
    pub(crate) span: Span,
    /// The index of the block that begins at the offset which this `PUSH` pushes.
    pub(crate) refers_to: Option<usize>,
}

/// Instructions that run one after the other.
pub(crate) struct Block {
    /// The index of its first instruction and of the one behind its last.
    pub(crate) first: usize,
    pub(crate) end: usize,
    /// How often its first instruction ran.
    entered: u64,
    /// In how many places its offset is pushed.
    pub(crate) references: usize,
    /// Exceptional ends within it: where, and how often.
    halts: Vec<(usize, u64)>,
}

pub(crate) struct Code {
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) blocks: Vec<Block>,
}

impl Instruction {
    /// How many bytes it pushes from the code.
    fn operand(&self) -> usize {
        match self.opcode {
            PUSH0..=PUSH32 => usize::from(self.opcode - PUSH0),
            _ => 0,
        }
    }

    pub(crate) fn is_jump_destination(&self) -> bool {
        self.opcode == JUMPDEST
    }

    pub(crate) fn is_conditional_jump(&self) -> bool {
        self.opcode == JUMPI
    }

    /// True if what follows in the code is not run next.
    pub(crate) fn ends_flow(&self) -> bool {
        const ENDS: [u8; 6] = [0x00, JUMP, 0xf3, 0xfd, 0xfe, 0xff];
        ENDS.contains(&self.opcode)
    }

    /// True for `REVERT` and `INVALID`.
    pub(crate) fn fails(&self) -> bool {
        matches!(self.opcode, 0xfd | 0xfe)
    }

    /// True if it computes, reads or writes something.
    pub(crate) fn is_work(&self) -> bool {
        self.is_strong() && !self.is_conditional_jump() && !self.ends_flow()
    }

    /// False if it only arranges the stack or marks a place. Optimisers put such instructions wherever they are needed,
    /// so they say little of when their statement runs.
    pub(crate) fn is_strong(&self) -> bool {
        !matches!(self.opcode, POP | JUMPDEST | PUSH0..=SWAP16)
    }
}

impl Code {
    /// Only what the source map covers: behind it lies data.
    pub(crate) fn new(map: &SourceMap, hits: &CodeHits) -> Self {
        let mut code = Self::not_run(map, &hits.code);
        code.enter(hits);
        code
    }

    /// Code with all counts at zero.
    pub(crate) fn not_run(map: &SourceMap, bytes: &[u8]) -> Self {
        let mut instructions: Vec<Instruction> = map
            .by_offset(bytes)
            .map(|(offset, span)| Instruction {
                offset,
                opcode: bytes.get(offset).copied().unwrap_or_default(),
                span,
                refers_to: None,
            })
            .collect();
        let mut blocks = split(&instructions);
        let destinations: BTreeMap<usize, usize> = blocks
            .iter()
            .enumerate()
            .filter_map(|(index, block)| {
                let first = instructions.get(block.first)?;
                first.is_jump_destination().then_some((first.offset, index))
            })
            .collect();
        let width = width_of_offsets(&instructions);
        for instruction in instructions.iter_mut().filter(|push| push.operand() == width) {
            instruction.refers_to =
                pushed(bytes, instruction).and_then(|target| destinations.get(&target).copied());
        }
        for index in instructions.iter().filter_map(|instruction| instruction.refers_to) {
            blocks[index].references += 1;
        }
        Self { instructions, blocks }
    }

    /// Adds counts. What is not at the start of a block, or lies outside, is passed over.
    fn enter(&mut self, hits: &CodeHits) {
        let starts: Vec<usize> =
            self.blocks.iter().map(|block| self.instructions[block.first].offset).collect();
        for (offset, count) in &hits.blocks {
            if let Ok(index) = starts.binary_search(offset) {
                let entered = &mut self.blocks[index].entered;
                *entered = entered.saturating_add(*count);
            }
        }
        for halt in &hits.halts {
            let behind = starts.partition_point(|start| *start <= halt.0);
            if let Some(index) = behind.checked_sub(1) {
                self.blocks[index].halts.push(*halt);
            }
        }
    }

    pub(crate) fn of(&self, block: &Block) -> &[Instruction] {
        self.instructions.get(block.first..block.end).unwrap_or_default()
    }

    /// How often control came to an instruction of the block.
    pub(crate) fn came_to(&self, block: &Block, instruction: usize) -> u64 {
        self.less_halts(block, instruction, |halt, offset| halt < offset)
    }

    /// How often an instruction of the block ran to its end.
    pub(crate) fn completed(&self, block: &Block, instruction: usize) -> u64 {
        self.less_halts(block, instruction, |halt, offset| halt <= offset)
    }

    fn less_halts(&self, block: &Block, at: usize, before: impl Fn(usize, usize) -> bool) -> u64 {
        let Some(instruction) = self.instructions.get(at) else { return 0 };
        let halted = block
            .halts
            .iter()
            .filter(|(halt, _)| before(*halt, instruction.offset))
            .fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
        block.entered.saturating_sub(halted)
    }
}

fn split(instructions: &[Instruction]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut after_jump = true;
    for (index, instruction) in instructions.iter().enumerate() {
        if after_jump || instruction.is_jump_destination() {
            let (first, end, halts) = (index, index, Vec::new());
            blocks.push(Block { first, end, entered: 0, references: 0, halts });
        }
        if let Some(block) = blocks.last_mut() {
            block.end = index + 1;
        }
        after_jump = instruction.is_conditional_jump() || instruction.ends_flow();
    }
    blocks
}

/// A compiler pushes all offsets of a code with the same number of bytes. Knowing it keeps other constants from being
/// taken for offsets.
fn width_of_offsets(instructions: &[Instruction]) -> usize {
    let jumps = instructions.windows(2).filter(|pair| matches!(pair[1].opcode, JUMP | JUMPI));
    jumps.map(|pair| pair[0].operand()).max().unwrap_or_default()
}

fn pushed(code: &[u8], instruction: &Instruction) -> Option<usize> {
    let start = instruction.offset + 1;
    let operand = code.get(start..start + instruction.operand())?;
    operand.iter().try_fold(0usize, |value, byte| {
        value.checked_mul(256).map(|value| value | usize::from(*byte))
    })
}
