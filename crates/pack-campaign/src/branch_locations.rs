//! Maps branches of the bytecode to source lines.
//!
//! A branch is a conditional jump in one direction. It leads to the lines of the instructions that run before the
//! next jump, as far as the compiler's source map names an executable line.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use coverage::CoverageReport;
use fuzz::chain::{BranchEdge, CodePart};
use fuzz::target::FuzzTarget;
use solidity::SolidityBuild;

/// Maximum number of lines listed for one event.
const MAX_LINES: usize = 20;

const JUMPI: u8 = 0x57;
const JUMPDEST: u8 = 0x5b;
const PUSH1: u8 = 0x60;
const PUSH4: u8 = 0x63;
/// `STOP`, `JUMP`, `JUMPI`, `RETURN`, `REVERT`, the invalid instruction, `SELFDESTRUCT`.
const BLOCK_TERMINATORS: [u8; 7] = [0x00, 0x56, JUMPI, 0xf3, 0xfd, 0xfe, 0xff];

pub(crate) struct BranchLocations {
    target: Arc<FuzzTarget>,
    /// Byte offsets at which the lines of each source begin.
    starts: OnceLock<Vec<Vec<u32>>>,
    /// Instruction maps by code, built on first use: few codes of a large build ever run.
    codes: Vec<OnceLock<InstructionMap>>,
}

/// Instructions in order, each with the source and line that it was compiled from.
#[derive(Default)]
struct InstructionMap {
    instructions: Vec<(u32, Option<(usize, u32)>)>,
}

impl BranchLocations {
    pub(crate) fn new(target: Arc<FuzzTarget>) -> Self {
        let codes = target.codes.entries().iter().map(|_| OnceLock::new()).collect();
        Self { target, starts: OnceLock::new(), codes }
    }

    /// Returns the lines that the branches lead to, as sorted `path:line`, limited to lines that the report
    /// contains.
    pub(crate) fn branch_lines(
        &self,
        edges: &[BranchEdge],
        report: &CoverageReport,
    ) -> Vec<String> {
        let build = &self.target.build;
        let files: HashMap<&str, _> =
            report.files.iter().map(|file| (file.path.as_str(), &file.lines)).collect();
        let can_run = |&(source, line): &(usize, u32)| {
            files.get(build.sources[source].path.as_str()).is_some_and(|it| it.contains_key(&line))
        };
        let found: BTreeSet<(usize, u32)> =
            edges.iter().flat_map(|edge| self.block_lines(edge)).filter(can_run).collect();
        let name = |(source, line): (usize, u32)| format!("{}:{line}", build.sources[source].path);
        found.into_iter().take(MAX_LINES).map(name).collect()
    }

    /// Returns the source lines of the block that a branch leads to.
    fn block_lines(&self, edge: &BranchEdge) -> Vec<(usize, u32)> {
        let index = edge.code as usize;
        let Some(known) = self.target.codes.entries().get(index) else { return Vec::new() };
        let code = self.codes[index].get_or_init(|| self.build_instruction_map(index));
        let opcode = |at: u32| known.bytes.get(at as usize).copied().unwrap_or(0);
        let Some(first) = code.branch_target(edge, &known.bytes) else { return Vec::new() };
        let mut places = Vec::new();
        for (at, (offset, place)) in code.instructions.iter().enumerate().skip(first) {
            if at > first && opcode(*offset) == JUMPDEST {
                break;
            }
            places.extend(*place);
            if BLOCK_TERMINATORS.contains(&opcode(*offset)) {
                break;
            }
        }
        places.dedup();
        places
    }

    fn build_instruction_map(&self, index: usize) -> InstructionMap {
        let build = &self.target.build;
        let known = &self.target.codes.entries()[index];
        let Some(contract) = build.contracts.get(known.contract) else {
            return InstructionMap::default();
        };
        let code = match known.part {
            CodePart::Creation => &contract.creation,
            CodePart::Runtime => &contract.runtime,
        };
        let starts = self.starts.get_or_init(|| line_starts(build));
        let ids: HashMap<u32, usize> =
            build.sources.iter().enumerate().map(|(at, source)| (source.id, at)).collect();
        let spans = code.source_map.spans_by_offset(&code.bytes);
        let instructions = spans.map(|(offset, span)| {
            let source = span.source.and_then(|id| ids.get(&id)).copied();
            let place = source.map(|at| (at, line_at(&starts[at], span.start)));
            (u32::try_from(offset).unwrap_or(u32::MAX), place)
        });
        InstructionMap { instructions: instructions.collect() }
    }
}

impl InstructionMap {
    /// Returns the index of the instruction that a branch leads to.
    fn branch_target(&self, edge: &BranchEdge, bytes: &[u8]) -> Option<usize> {
        let find = |offset: u32| self.instructions.binary_search_by_key(&offset, |it| it.0).ok();
        let jump = find(edge.offset)?;
        if !edge.taken {
            return Some(jump + 1);
        }
        // Compilers push the jump target right before the conditional jump.
        let (push, _) = self.instructions.get(jump.checked_sub(1)?)?;
        let opcode = *bytes.get(*push as usize)?;
        if !(PUSH1..=PUSH4).contains(&opcode) {
            return None;
        }
        let operand = bytes.get(*push as usize + 1..edge.offset as usize)?;
        find(operand.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte)))
    }
}

fn line_starts(build: &SolidityBuild) -> Vec<Vec<u32>> {
    let of = |text: &str| {
        let breaks = (0u32..).zip(text.bytes()).filter(|(_, byte)| *byte == b'\n');
        std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect()
    };
    build.sources.iter().map(|source| of(&source.text)).collect()
}

/// Returns the line number of an offset, counted from 1.
fn line_at(starts: &[u32], offset: u32) -> u32 {
    u32::try_from(starts.partition_point(|start| *start <= offset)).unwrap_or(u32::MAX)
}
