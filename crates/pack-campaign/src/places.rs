//! Where branches of code lead in the source.
//!
//! A branch is a conditional jump that goes one way. The lines that it leads to are those of the instructions that run
//! before the next jump, as far as the compiler's map names a line that can run.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use coverage::Report;
use fuzz::chain::{Edge, Part};
use fuzz::target::Target;
use solidity::Build;

/// Lines that are named of one event.
const MAX_LINES: usize = 20;

const JUMPI: u8 = 0x57;
const JUMPDEST: u8 = 0x5b;
const PUSH1: u8 = 0x60;
const PUSH4: u8 = 0x63;
/// `STOP`, `JUMP`, `JUMPI`, `RETURN`, `REVERT`, the invalid instruction, `SELFDESTRUCT`.
const LAST_OF_BLOCK: [u8; 7] = [0x00, 0x56, JUMPI, 0xf3, 0xfd, 0xfe, 0xff];

pub(crate) struct Places {
    target: Arc<Target>,
    /// Where the lines of each source begin.
    starts: OnceLock<Vec<Vec<u32>>>,
    /// By code, made when first asked for: few codes of a large build ever run.
    codes: Vec<OnceLock<Code>>,
}

/// Instructions in their order, each with the source and line that it was made for.
#[derive(Default)]
struct Code {
    instructions: Vec<(u32, Option<(usize, u32)>)>,
}

impl Places {
    pub(crate) fn new(target: Arc<Target>) -> Self {
        let codes = target.codes.known().iter().map(|_| OnceLock::new()).collect();
        Self { target, starts: OnceLock::new(), codes }
    }

    /// The lines that the branches lead to, as `path:line` in order, of those that the report knows.
    pub(crate) fn lines(&self, edges: &[Edge], report: &Report) -> Vec<String> {
        let build = &self.target.build;
        let files: HashMap<&str, _> =
            report.files.iter().map(|file| (file.path.as_str(), &file.lines)).collect();
        let can_run = |&(source, line): &(usize, u32)| {
            files.get(build.sources[source].path.as_str()).is_some_and(|it| it.contains_key(&line))
        };
        let found: BTreeSet<(usize, u32)> =
            edges.iter().flat_map(|edge| self.behind(edge)).filter(can_run).collect();
        let name = |(source, line): (usize, u32)| format!("{}:{line}", build.sources[source].path);
        found.into_iter().take(MAX_LINES).map(name).collect()
    }

    /// The places of the block that a branch leads to.
    fn behind(&self, edge: &Edge) -> Vec<(usize, u32)> {
        let index = edge.code as usize;
        let Some(known) = self.target.codes.known().get(index) else { return Vec::new() };
        let code = self.codes[index].get_or_init(|| self.read(index));
        let opcode = |at: u32| known.bytes.get(at as usize).copied().unwrap_or(0);
        let Some(first) = code.behind(edge, &known.bytes) else { return Vec::new() };
        let mut places = Vec::new();
        for (at, (offset, place)) in code.instructions.iter().enumerate().skip(first) {
            if at > first && opcode(*offset) == JUMPDEST {
                break;
            }
            places.extend(*place);
            if LAST_OF_BLOCK.contains(&opcode(*offset)) {
                break;
            }
        }
        places.dedup();
        places
    }

    fn read(&self, index: usize) -> Code {
        let build = &self.target.build;
        let known = &self.target.codes.known()[index];
        let Some(contract) = build.contracts.get(known.contract) else { return Code::default() };
        let code = match known.part {
            Part::Creation => &contract.creation,
            Part::Runtime => &contract.runtime,
        };
        let starts = self.starts.get_or_init(|| starts(build));
        let ids: HashMap<u32, usize> =
            build.sources.iter().enumerate().map(|(at, source)| (source.id, at)).collect();
        let spans = code.source_map.by_offset(&code.bytes);
        let instructions = spans.map(|(offset, span)| {
            let source = span.source.and_then(|id| ids.get(&id)).copied();
            let place = source.map(|at| (at, line(&starts[at], span.start)));
            (u32::try_from(offset).unwrap_or(u32::MAX), place)
        });
        Code { instructions: instructions.collect() }
    }
}

impl Code {
    /// The place among the instructions that a branch leads to.
    fn behind(&self, edge: &Edge, bytes: &[u8]) -> Option<usize> {
        let find = |offset: u32| self.instructions.binary_search_by_key(&offset, |it| it.0).ok();
        let jump = find(edge.offset)?;
        if !edge.taken {
            return Some(jump + 1);
        }
        // Compilers push where a conditional jump leads right before it.
        let (push, _) = self.instructions.get(jump.checked_sub(1)?)?;
        let opcode = *bytes.get(*push as usize)?;
        if !(PUSH1..=PUSH4).contains(&opcode) {
            return None;
        }
        let operand = bytes.get(*push as usize + 1..edge.offset as usize)?;
        find(operand.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte)))
    }
}

fn starts(build: &Build) -> Vec<Vec<u32>> {
    let of = |text: &str| {
        let breaks = (0u32..).zip(text.bytes()).filter(|(_, byte)| *byte == b'\n');
        std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect()
    };
    build.sources.iter().map(|source| of(&source.text)).collect()
}

/// Counted from 1.
fn line(starts: &[u32], offset: u32) -> u32 {
    u32::try_from(starts.partition_point(|start| *start <= offset)).unwrap_or(u32::MAX)
}
