//! Functions that were merged because they compile to the same code.

use crate::hits::Part;
use crate::tree::{Id, Role, Routine, Tree};

/// The units of functions that also stand for another one. Merged functions that are called from inside are noticed by
/// the name that the caller uses; the dispatcher names nothing, so here the syntax has to show it.
pub(super) fn merged(tree: &Tree, live: &[bool], part: Part, bases: &[i64]) -> Vec<Id> {
    if part == Part::Creation {
        return Vec::new();
    }
    let inside = |routine: &Routine| routine.node..tree.nodes[routine.node].end;
    let is_live = |routine: &Routine| live.get(inside(routine)).is_some_and(|l| l.contains(&true));
    let vanished: Vec<&Routine> = tree
        .routines
        .iter()
        .filter(|routine| routine.role == Role::External && !is_live(routine))
        .filter(|routine| routine.contract.is_some_and(|id| bases.contains(&id)))
        .filter(|routine| tree.units(inside(routine)).next().is_some())
        .collect();
    let stands_for_another = |routine: &&Routine| {
        is_live(routine)
            && vanished
                .iter()
                .any(|other| other.shape == routine.shape && other.name != routine.name)
    };
    let merged = tree.routines.iter().filter(stands_for_another);
    merged.flat_map(|routine| tree.units(inside(routine)).collect::<Vec<_>>()).collect()
}
