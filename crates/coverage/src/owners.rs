//! Assigns each instruction to its owner: a unit, or a compound statement.
//!
//! This module trusts the source map, apart from known conventions of code generators. `tally` checks if the result is
//! plausible.

use std::collections::{HashMap, HashSet};

use crate::bytecode::{CodeProfile, MappedInstruction};
use crate::hits::CodeSection;
use crate::statement_tree::{InstructionOwner, NodeId, RoutineRole, SourceExtent, StatementTree};

/// The owner of each instruction of a bytecode.
pub(crate) struct InstructionOwners {
    /// Owners in instruction order.
    pub(crate) by_instruction: Vec<InstructionOwner>,
    /// True if the bytecode went through the Yul optimizer, which splits statements into assignments and recombines
    /// them. Instructions that only arrange the stack then have arbitrary spans.
    pub(crate) yul_optimized: bool,
}

impl InstructionOwners {
    pub(crate) fn resolve(tree: &StatementTree, code: &CodeProfile, part: CodeSection) -> Self {
        let by_instruction = find_owners(tree, code, part);
        let yul_optimized = is_yul_optimized(tree, code, &by_instruction, part);
        Self { by_instruction, yul_optimized }
    }
}

/// Returns the extents of all conditional jumps.
pub(crate) fn collect_conditional_jumps(
    tree: &StatementTree,
    code: &CodeProfile,
) -> HashSet<SourceExtent> {
    let jumps = code.instructions.iter().filter(|instruction| instruction.is_conditional_jump());
    jumps.filter_map(|instruction| tree.resolve_span(instruction.span)).collect()
}

fn find_owners(
    tree: &StatementTree,
    code: &CodeProfile,
    part: CodeSection,
) -> Vec<InstructionOwner> {
    let jumps = collect_conditional_jumps(tree, code);
    let mut cache = HashMap::new();
    let owner = |instruction: &MappedInstruction| {
        let Some(extent) = tree.resolve_span(instruction.span) else {
            return InstructionOwner::Unattributed;
        };
        let owner = *cache.entry(extent).or_insert_with(|| tree.find_owner(extent));
        match owner {
            // The getter of a state variable has the extent of its declaration.
            InstructionOwner::Unit(id)
                if part == CodeSection::Runtime && is_construction(tree, id) =>
            {
                InstructionOwner::Unattributed
            }
            // The jump of an `if` or a loop is the last instruction of its condition.
            InstructionOwner::Compound(id)
                if instruction.is_conditional_jump()
                    && tree.nodes[id].extent == extent
                    && tree.has_condition_jump_at_own_extent(id, &jumps) =>
            {
                tree.condition_unit(id).map_or(owner, InstructionOwner::Unit)
            }
            _ => owner,
        }
    };
    code.instructions.iter().map(owner).collect()
}

fn is_construction(tree: &StatementTree, id: NodeId) -> bool {
    tree.enclosing_routine(id).is_some_and(|routine| routine.role == RoutineRole::Construction)
}

/// Returns true if computations for the contract as a whole share a basic block with statements, which only the Yul
/// optimizer does. The first block, which sets up memory, and the end of a constructor are not considered.
fn is_yul_optimized(
    tree: &StatementTree,
    code: &CodeProfile,
    owners: &[InstructionOwner],
    part: CodeSection,
) -> bool {
    let is_of_contract = |at: usize| {
        let instruction = &code.instructions[at];
        let extent = tree.resolve_span(instruction.span).filter(|_| instruction.is_computation());
        extent.is_some_and(|extent| tree.function_around(extent).is_none())
    };
    code.blocks.iter().any(|block| {
        let mut units =
            (block.first..block.end).filter(|at| matches!(owners[*at], InstructionOwner::Unit(_)));
        let Some(first) = units.next() else { return false };
        let last = units.next_back().unwrap_or(first);
        let whole = if part == CodeSection::Runtime && block.first > 0 {
            block.first..block.end
        } else {
            first..last
        };
        whole.into_iter().any(is_of_contract)
    })
}
