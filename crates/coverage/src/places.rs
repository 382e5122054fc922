//! What each instruction of a code belongs to.
//!
//! This takes the source map at its word, up to the habits of code generators. Whether it is to be believed is the
//! business of `tally`.

use std::collections::{HashMap, HashSet};

use crate::code::{Code, Instruction};
use crate::hits::Part;
use crate::tree::{Extent, Id, Place, Role, Tree};

pub(crate) struct Places {
    /// In the order of the instructions.
    pub(crate) of_instructions: Vec<Place>,
    /// Whether the code went through the optimiser of Yul, which takes statements apart into assignments and puts those
    /// together anew. What arranges the stack bears arbitrary spans then.
    pub(crate) rearranged: bool,
}

impl Places {
    pub(crate) fn of(tree: &Tree, code: &Code, part: Part) -> Self {
        let of_instructions = places(tree, code, part);
        let rearranged = is_rearranged(tree, code, &of_instructions, part);
        Self { of_instructions, rearranged }
    }
}

/// The extents of all conditional jumps.
pub(crate) fn conditional_jumps(tree: &Tree, code: &Code) -> HashSet<Extent> {
    let jumps = code.instructions.iter().filter(|instruction| instruction.is_conditional_jump());
    jumps.filter_map(|instruction| tree.extent(instruction.span)).collect()
}

fn places(tree: &Tree, code: &Code, part: Part) -> Vec<Place> {
    let jumps = conditional_jumps(tree, code);
    let mut known = HashMap::new();
    let place = |instruction: &Instruction| {
        let Some(extent) = tree.extent(instruction.span) else { return Place::Nowhere };
        let place = *known.entry(extent).or_insert_with(|| tree.place(extent));
        match place {
            // The getter of a state variable bears the extent of its declaration.
            Place::Unit(id) if part == Part::Runtime && is_construction(tree, id) => Place::Nowhere,
            // The jump of an `if` or a loop is the last instruction of its condition.
            Place::Within(id)
                if instruction.is_conditional_jump()
                    && tree.nodes[id].extent == extent
                    && tree.jumps_by_own_extent(id, &jumps) =>
            {
                tree.head(id).map_or(place, Place::Unit)
            }
            _ => place,
        }
    };
    code.instructions.iter().map(place).collect()
}

fn is_construction(tree: &Tree, id: Id) -> bool {
    tree.routine(id).is_some_and(|routine| routine.role == Role::Construction)
}

/// It shows where work for a contract as a whole shares a block with statements. The first block of a code, which sets
/// up memory, and the end of a constructor do not count.
fn is_rearranged(tree: &Tree, code: &Code, places: &[Place], part: Part) -> bool {
    let is_of_contract = |at: usize| {
        let instruction = &code.instructions[at];
        let extent = tree.extent(instruction.span).filter(|_| instruction.is_work());
        extent.is_some_and(|extent| tree.function_around(extent).is_none())
    };
    code.blocks.iter().any(|block| {
        let mut units = (block.first..block.end).filter(|at| matches!(places[*at], Place::Unit(_)));
        let Some(first) = units.next() else { return false };
        let last = units.next_back().unwrap_or(first);
        let whole = if part == Part::Runtime && block.first > 0 {
            block.first..block.end
        } else {
            first..last
        };
        whole.into_iter().any(is_of_contract)
    })
}
