//! Counts of units and decisions, summed over several bytecodes.
//!
//! A unit that is uncertain in one bytecode is uncertain in the sum.

use std::collections::{BTreeMap, BTreeSet};

use solidity::{SolidityBuild, SolidityContract};

use super::{BranchCoverage, BranchOutcome, FileReport, FunctionCoverage};
use crate::branches;
use crate::bytecode::CodeProfile;
use crate::hits::{CodeHits, CodeSection};
use crate::line_index::LineIndex;
use crate::owners::InstructionOwners;
use crate::statement_tree::{
    NodeId, NodeSlot, RoutineRole, SourceRoutine, StatementKind, StatementTree,
};
use crate::tally;

/// Summed counts of units, decisions and lines.
#[derive(Default)]
pub(super) struct CoverageSums {
    units: BTreeMap<NodeId, u64>,
    uncertain_units: BTreeSet<NodeId>,
    decisions: BTreeMap<usize, [BranchOutcome; 2]>,
    uncertain_decisions: BTreeSet<usize>,
    /// Line counts of sources without an AST, by source index and line number.
    lines_without_ast: BTreeMap<(usize, u32), u64>,
}

impl CoverageSums {
    /// Adds the counts of one bytecode.
    pub(super) fn add_code(
        &mut self,
        build: &SolidityBuild,
        tree: &StatementTree,
        hits: &CodeHits,
    ) {
        let Some(contract) = build.contracts.get(hits.contract) else { return };
        let map = match hits.part {
            CodeSection::Creation => &contract.creation.source_map,
            CodeSection::Runtime => &contract.runtime.source_map,
        };
        let source = build.sources.iter().position(|source| source.path == contract.source);
        let bases =
            source.map(|source| tree.base_contracts(source, &contract.name)).unwrap_or_default();
        let code = CodeProfile::new(map, hits);
        let mut owners = InstructionOwners::resolve(tree, &code, hits.part);
        // A constructor may be too short to show that it was Yul-optimized.
        owners.yul_optimized |= is_runtime_yul_optimized(tree, contract);
        let tally = tally::tally_units(tree, &code, &owners, hits.part, bases);
        let outcomes =
            branches::DecisionJumps::new(tree, &code, &tally, owners.yul_optimized, &hits.edges)
                .count_outcomes();
        let lines_without_ast = count_lines_without_ast(build, tree, &code);
        self.merge(Self {
            units: tally.units.into_iter().collect(),
            uncertain_units: tally.uncertain.into_iter().collect(),
            decisions: outcomes.counted.into_iter().collect(),
            uncertain_decisions: outcomes.uncertain.into_iter().collect(),
            lines_without_ast,
        });
    }

    pub(super) fn merge(&mut self, other: Self) {
        add_counts(&mut self.units, other.units);
        add_counts(&mut self.lines_without_ast, other.lines_without_ast);
        self.uncertain_units.extend(other.uncertain_units);
        self.uncertain_decisions.extend(other.uncertain_decisions);
        for (decision, outcomes) in other.decisions {
            let sums = self.decisions.entry(decision).or_insert([BranchOutcome::NEVER; 2]);
            sums.iter_mut().zip(outcomes).for_each(|(sum, outcome)| sum.add(outcome));
        }
    }

    /// Returns the coverage of all files with at least one reported line.
    pub(super) fn file_reports(
        &self,
        build: &SolidityBuild,
        tree: &StatementTree,
    ) -> Vec<FileReport> {
        let mut files: Vec<FileReport> = build
            .sources
            .iter()
            .map(|source| FileReport { path: source.path.clone(), ..FileReport::default() })
            .collect();
        for ((source, line), count) in &self.lines_without_ast {
            files[*source].lines.insert(*line, *count);
        }
        for ((source, line), count) in self.line_counts(tree) {
            files[source].lines.insert(line, count);
        }
        for (index, outcomes) in &self.decisions {
            let decision = &tree.decisions[*index];
            if self.uncertain_decisions.contains(index)
                || self.uncertain_units.contains(&decision.unit)
            {
                continue;
            }
            let (line, start) = (decision.line, decision.extent.start);
            let branch = BranchCoverage { line, start, outcomes: *outcomes };
            files[decision.extent.source].branches.push(branch);
        }
        for routine in &tree.routines {
            if let Some(count) = self.count_entries(tree, routine) {
                let (name, line) = (routine.title.clone(), routine.line);
                let source = tree.nodes[routine.node].extent.source;
                files[source].functions.push(FunctionCoverage { name, line, count });
            }
        }
        files.retain(|file| !file.lines.is_empty());
        for file in &mut files {
            file.branches.sort_by_key(|branch| (branch.line, branch.start));
            file.functions.sort_by_key(|function| function.line);
        }
        files
    }

    /// Returns the counts of lines whose highest count is known: each uncounted unit of the line must be bounded by a
    /// counted one.
    fn line_counts(&self, tree: &StatementTree) -> BTreeMap<(usize, u32), u64> {
        let mut by_line: BTreeMap<(usize, u32), Vec<NodeId>> = BTreeMap::new();
        for id in tree.units_in(0..tree.nodes.len()) {
            let node = &tree.nodes[id];
            by_line.entry((node.extent.source, node.line)).or_default().push(id);
        }
        let highest = by_line.into_iter().filter_map(|(line, units)| {
            let (counted, rest): (Vec<NodeId>, Vec<NodeId>) =
                units.into_iter().partition(|id| self.is_counted(*id));
            let bounded =
                rest.iter().all(|id| counted.iter().any(|by| tree.is_bounded_by(*id, *by)));
            let count = counted.iter().filter_map(|id| self.units.get(id).copied()).max()?;
            bounded.then_some((line, count))
        });
        highest.collect()
    }

    fn is_counted(&self, id: NodeId) -> bool {
        self.units.contains_key(&id) && !self.uncertain_units.contains(&id)
    }

    /// Returns the number of arrivals at the first unit of a function, if that unit runs once per call.
    fn count_entries(&self, tree: &StatementTree, routine: &SourceRoutine) -> Option<u64> {
        if routine.role == RoutineRole::Construction && !routine.title.ends_with(".constructor") {
            return None;
        }
        let inside = routine.node..tree.nodes[routine.node].end;
        // A later unit would only do if no unit before it can leave the function.
        let first = tree.units_in(inside).next()?;
        let counted = self.is_counted(first) && runs_once(tree, first, routine.node);
        counted.then(|| self.units.get(&first).copied())?
    }
}

fn is_runtime_yul_optimized(tree: &StatementTree, contract: &SolidityContract) -> bool {
    let code = CodeProfile::without_hits(&contract.runtime.source_map, &contract.runtime.bytes);
    InstructionOwners::resolve(tree, &code, CodeSection::Runtime).yul_optimized
}

/// Returns true if a unit runs exactly once per call, unless control leaves the function before it.
fn runs_once(tree: &StatementTree, unit: NodeId, function: NodeId) -> bool {
    let mut id = unit;
    while let Some(parent) = tree.nodes[id].parent.filter(|_| id != function) {
        let once = match tree.nodes[parent].kind {
            StatementKind::Loop => tree.nodes[id].slot == NodeSlot::Start,
            StatementKind::If | StatementKind::Choice => tree.nodes[id].slot == NodeSlot::Head,
            StatementKind::Function | StatementKind::List | StatementKind::Unit => true,
        };
        if !once {
            return false;
        }
        id = parent;
    }
    true
}

/// Returns line counts for sources without an AST. A span within one line counts for that line, with the highest
/// count of its instructions.
fn count_lines_without_ast(
    build: &SolidityBuild,
    tree: &StatementTree,
    code: &CodeProfile,
) -> BTreeMap<(usize, u32), u64> {
    let lines: Vec<Option<LineIndex>> = build
        .sources
        .iter()
        .enumerate()
        .map(|(index, source)| (!tree.has_ast(index)).then(|| LineIndex::from_text(&source.text)))
        .collect();
    let mut counts = BTreeMap::new();
    for block in &code.blocks {
        for (index, instruction) in (block.first..).zip(code.instructions_in(block)) {
            let Some(extent) = tree.resolve_span(instruction.span) else { continue };
            let Some(lines) = lines.get(extent.source).and_then(Option::as_ref) else { continue };
            let line = lines.line_at(extent.start);
            if extent.start < extent.end && lines.line_at(extent.end - 1) == line {
                let count = counts.entry((extent.source, line)).or_default();
                *count = code.arrival_count(block, index).max(*count);
            }
        }
    }
    counts
}

fn add_counts<K: Ord>(sums: &mut BTreeMap<K, u64>, counts: BTreeMap<K, u64>) {
    for (key, count) in counts {
        let sum = sums.entry(key).or_default();
        *sum = sum.saturating_add(count);
    }
}
