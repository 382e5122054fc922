//! Bytecode split into basic blocks, with the source span of each instruction and the hit count of each block.

use std::collections::BTreeMap;

use solidity::{SourceMap, SourceSpan};

use crate::hits::CodeHits;

const POP: u8 = 0x50;
const JUMP: u8 = 0x56;
const JUMPI: u8 = 0x57;
const JUMPDEST: u8 = 0x5b;
const PUSH0: u8 = 0x5f;
const PUSH32: u8 = 0x7f;
const SWAP16: u8 = 0x9f;

/// An instruction with its source span.
pub(crate) struct MappedInstruction {
    pub(crate) offset: usize,
    pub(crate) opcode: u8,
    pub(crate) span: SourceSpan,
    /// Index of the block whose start offset this `PUSH` pushes.
    pub(crate) refers_to: Option<usize>,
}

/// A sequence of instructions without jumps into or out of its middle.
pub(crate) struct BasicBlock {
    /// Index range of its instructions: `first..end`.
    pub(crate) first: usize,
    pub(crate) end: usize,
    /// Execution count of its first instruction.
    entered: u64,
    /// Number of `PUSH` instructions that push its offset.
    pub(crate) references: usize,
    /// Offsets and counts of exceptional halts within the block.
    halts: Vec<(usize, u64)>,
}

/// The instructions and basic blocks of a bytecode, with hit counts.
pub(crate) struct CodeProfile {
    pub(crate) instructions: Vec<MappedInstruction>,
    pub(crate) blocks: Vec<BasicBlock>,
}

impl MappedInstruction {
    /// Returns the number of immediate bytes.
    fn operand_len(&self) -> usize {
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

    /// Returns true if control never continues with the next instruction.
    pub(crate) fn ends_flow(&self) -> bool {
        const ENDS: [u8; 6] = [0x00, JUMP, 0xf3, 0xfd, 0xfe, 0xff];
        ENDS.contains(&self.opcode)
    }

    /// Returns true for `REVERT` and `INVALID`.
    pub(crate) fn is_failure(&self) -> bool {
        matches!(self.opcode, 0xfd | 0xfe)
    }

    /// Returns true if it computes, reads or writes a value.
    pub(crate) fn is_computation(&self) -> bool {
        self.is_significant() && !self.is_conditional_jump() && !self.ends_flow()
    }

    /// Returns false if it only arranges the stack or marks a jump destination. Optimizers place such instructions
    /// freely, so they are weak evidence of the time at which their statement runs.
    pub(crate) fn is_significant(&self) -> bool {
        !matches!(self.opcode, POP | JUMPDEST | PUSH0..=SWAP16)
    }
}

impl CodeProfile {
    /// Reads the instructions that the source map covers, with their counts. The bytes after them are data.
    pub(crate) fn new(map: &SourceMap, hits: &CodeHits) -> Self {
        let mut code = Self::without_hits(map, &hits.code);
        code.add_hits(hits);
        code
    }

    /// Reads the instructions that the source map covers, with all counts at zero.
    pub(crate) fn without_hits(map: &SourceMap, bytes: &[u8]) -> Self {
        let mut instructions: Vec<MappedInstruction> = map
            .spans_by_offset(bytes)
            .map(|(offset, span)| MappedInstruction {
                offset,
                opcode: bytes.get(offset).copied().unwrap_or_default(),
                span,
                refers_to: None,
            })
            .collect();
        let mut blocks = split_blocks(&instructions);
        let destinations: BTreeMap<usize, usize> = blocks
            .iter()
            .enumerate()
            .filter_map(|(index, block)| {
                let first = instructions.get(block.first)?;
                first.is_jump_destination().then_some((first.offset, index))
            })
            .collect();
        let width = find_offset_width(&instructions);
        for instruction in instructions.iter_mut().filter(|push| push.operand_len() == width) {
            instruction.refers_to = read_push_operand(bytes, instruction)
                .and_then(|target| destinations.get(&target).copied());
        }
        for index in instructions.iter().filter_map(|instruction| instruction.refers_to) {
            blocks[index].references += 1;
        }
        Self { instructions, blocks }
    }

    /// Adds hit counts. Entries whose offset is not the start of a block are ignored.
    fn add_hits(&mut self, hits: &CodeHits) {
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

    /// Returns the instructions of a block.
    pub(crate) fn instructions_in(&self, block: &BasicBlock) -> &[MappedInstruction] {
        self.instructions.get(block.first..block.end).unwrap_or_default()
    }

    /// Returns the number of times control arrived at an instruction of the block.
    pub(crate) fn arrival_count(&self, block: &BasicBlock, instruction: usize) -> u64 {
        self.subtract_halts(block, instruction, |halt, offset| halt < offset)
    }

    /// Returns the number of times an instruction of the block completed.
    pub(crate) fn completion_count(&self, block: &BasicBlock, instruction: usize) -> u64 {
        self.subtract_halts(block, instruction, |halt, offset| halt <= offset)
    }

    fn subtract_halts(
        &self,
        block: &BasicBlock,
        at: usize,
        before: impl Fn(usize, usize) -> bool,
    ) -> u64 {
        let Some(instruction) = self.instructions.get(at) else { return 0 };
        let halted = block
            .halts
            .iter()
            .filter(|(halt, _)| before(*halt, instruction.offset))
            .fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
        block.entered.saturating_sub(halted)
    }
}

fn split_blocks(instructions: &[MappedInstruction]) -> Vec<BasicBlock> {
    let mut blocks: Vec<BasicBlock> = Vec::new();
    let mut after_jump = true;
    for (index, instruction) in instructions.iter().enumerate() {
        if after_jump || instruction.is_jump_destination() {
            let (first, end, halts) = (index, index, Vec::new());
            blocks.push(BasicBlock { first, end, entered: 0, references: 0, halts });
        }
        if let Some(block) = blocks.last_mut() {
            block.end = index + 1;
        }
        after_jump = instruction.is_conditional_jump() || instruction.ends_flow();
    }
    blocks
}

/// Returns the number of bytes in which the compiler pushes code offsets. It is the same for all offsets of a bytecode,
/// so constants of other widths cannot be mistaken for offsets.
fn find_offset_width(instructions: &[MappedInstruction]) -> usize {
    let jumps = instructions.windows(2).filter(|pair| matches!(pair[1].opcode, JUMP | JUMPI));
    jumps.map(|pair| pair[0].operand_len()).max().unwrap_or_default()
}

fn read_push_operand(code: &[u8], instruction: &MappedInstruction) -> Option<usize> {
    let start = instruction.offset + 1;
    let operand = code.get(start..start + instruction.operand_len())?;
    operand.iter().try_fold(0usize, |value, byte| {
        value.checked_mul(256).map(|value| value | usize::from(*byte))
    })
}
