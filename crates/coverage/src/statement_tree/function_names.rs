//! The call graph by function name: which functions a unit can reach.
//!
//! Calls are resolved by name, not by declaration. This is correct for overrides and overloads. Errors are
//! one-sided: a call may be assumed that does not exist, but none is missed.

use std::collections::{HashMap, HashSet};

use super::{NodeId, StatementTree};

/// An interned function name.
pub(crate) type NameId = usize;

/// Interned function names and the calls between them.
#[derive(Default)]
pub(crate) struct FunctionNames {
    ids: HashMap<String, NameId>,
    /// Functions that each function mentions, transitively.
    reach: HashMap<NameId, HashSet<NameId>>,
    /// Modifiers of each function.
    pub(super) modifiers: HashMap<NameId, HashSet<NameId>>,
    /// Units that are the `_` placeholder of a modifier.
    pub(super) placeholders: Vec<NodeId>,
}

impl FunctionNames {
    /// Returns the id of a name, adding it if it is new.
    pub(super) fn intern(&mut self, name: &str) -> NameId {
        let next = self.ids.len();
        *self.ids.entry(name.to_owned()).or_insert(next)
    }

    /// Returns true if a unit that mentions these names can reach the function.
    pub(crate) fn can_reach(&self, mentions: &[NameId], function: NameId) -> bool {
        mentions.iter().any(|name| {
            *name == function || self.reach.get(name).is_some_and(|set| set.contains(&function))
        })
    }
}

/// Drops mentions that are not functions, resolves `_` to the functions that use its modifier, and computes the
/// transitive closure of calls.
pub(super) fn resolve_calls(tree: &mut StatementTree) {
    let functions: HashSet<NameId> = tree.routines.iter().map(|routine| routine.name).collect();
    for node in &mut tree.nodes {
        node.mentions.retain(|name| functions.contains(name));
    }
    for placeholder in std::mem::take(&mut tree.names.placeholders) {
        let Some(modifier) = tree.enclosing_routine(placeholder).map(|routine| routine.name) else {
            continue;
        };
        let users = tree.names.modifiers.iter().filter(|(_, used)| used.contains(&modifier));
        let wrapped: HashSet<NameId> =
            users.flat_map(|(user, used)| used.iter().copied().chain([*user])).collect();
        tree.nodes[placeholder].mentions = wrapped.into_iter().collect();
    }
    let mut direct: HashMap<NameId, HashSet<NameId>> = tree.names.modifiers.clone();
    for routine in &tree.routines {
        let inside = routine.node..tree.nodes[routine.node].end;
        let mentions = tree.units_in(inside).flat_map(|id| tree.nodes[id].mentions.iter().copied());
        direct.entry(routine.name).or_default().extend(mentions);
    }
    tree.names.reach =
        functions.iter().map(|name| (*name, collect_reachable(*name, &direct))).collect();
}

fn collect_reachable(from: NameId, direct: &HashMap<NameId, HashSet<NameId>>) -> HashSet<NameId> {
    let mut reached = HashSet::new();
    let mut pending = vec![from];
    while let Some(name) = pending.pop() {
        let next = direct.get(&name).into_iter().flatten();
        pending.extend(next.filter(|name| reached.insert(**name)));
    }
    reached
}
