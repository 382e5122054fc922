//! Finds functions that the compiler merged because they compile to the same bytecode.

use crate::hits::CodeSection;
use crate::statement_tree::{NodeId, RoutineRole, SourceRoutine, StatementTree};

/// Returns the units of functions that also serve as another function. Merged internal functions are detected by the
/// name at the call site. The dispatcher has no names, so merged external functions are detected by their shape.
pub(super) fn find_merged_units(
    tree: &StatementTree,
    live: &[bool],
    part: CodeSection,
    bases: &[i64],
) -> Vec<NodeId> {
    if part == CodeSection::Creation {
        return Vec::new();
    }
    let inside = |routine: &SourceRoutine| routine.node..tree.nodes[routine.node].end;
    let is_live =
        |routine: &SourceRoutine| live.get(inside(routine)).is_some_and(|l| l.contains(&true));
    let vanished: Vec<&SourceRoutine> = tree
        .routines
        .iter()
        .filter(|routine| routine.role == RoutineRole::External && !is_live(routine))
        .filter(|routine| routine.contract.is_some_and(|id| bases.contains(&id)))
        .filter(|routine| tree.units_in(inside(routine)).next().is_some())
        .collect();
    let stands_for_another = |routine: &&SourceRoutine| {
        is_live(routine)
            && vanished
                .iter()
                .any(|other| other.shape == routine.shape && other.name != routine.name)
    };
    let merged = tree.routines.iter().filter(stands_for_another);
    merged.flat_map(|routine| tree.units_in(inside(routine)).collect::<Vec<_>>()).collect()
}
