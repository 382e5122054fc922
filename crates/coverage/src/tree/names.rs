//! Which functions a unit can lead to, judged by name.
//!
//! By name, not by declaration: it is right for overrides and overloads, and errs only on the side of believing a call.

use std::collections::{HashMap, HashSet};

use super::{Id, Tree};

/// A name of a function, as a number.
pub(crate) type Name = usize;

#[derive(Default)]
pub(crate) struct Names {
    numbers: HashMap<String, Name>,
    /// What each function mentions, and what those mention, and so on.
    reach: HashMap<Name, HashSet<Name>>,
    /// The modifiers of each function, in order.
    pub(super) modifiers: HashMap<Name, HashSet<Name>>,
    /// Units that are the `_` of a modifier.
    pub(super) placeholders: Vec<Id>,
}

impl Names {
    pub(super) fn number(&mut self, name: &str) -> Name {
        let next = self.numbers.len();
        *self.numbers.entry(name.to_owned()).or_insert(next)
    }

    /// Whether something that mentions these names can lead into that function.
    pub(crate) fn lead_to(&self, mentions: &[Name], function: Name) -> bool {
        mentions.iter().any(|name| {
            *name == function || self.reach.get(name).is_some_and(|set| set.contains(&function))
        })
    }
}

/// Keeps only names of functions, lets `_` stand for the functions that use its modifier, and follows calls of calls.
pub(super) fn close(tree: &mut Tree) {
    let functions: HashSet<Name> = tree.routines.iter().map(|routine| routine.name).collect();
    for node in &mut tree.nodes {
        node.mentions.retain(|name| functions.contains(name));
    }
    for placeholder in std::mem::take(&mut tree.names.placeholders) {
        let Some(modifier) = tree.routine(placeholder).map(|routine| routine.name) else {
            continue;
        };
        let users = tree.names.modifiers.iter().filter(|(_, used)| used.contains(&modifier));
        let wrapped: HashSet<Name> =
            users.flat_map(|(user, used)| used.iter().copied().chain([*user])).collect();
        tree.nodes[placeholder].mentions = wrapped.into_iter().collect();
    }
    let mut direct: HashMap<Name, HashSet<Name>> = tree.names.modifiers.clone();
    for routine in &tree.routines {
        let inside = routine.node..tree.nodes[routine.node].end;
        let mentions = tree.units(inside).flat_map(|id| tree.nodes[id].mentions.iter().copied());
        direct.entry(routine.name).or_default().extend(mentions);
    }
    tree.names.reach = functions.iter().map(|name| (*name, reachable(*name, &direct))).collect();
}

fn reachable(from: Name, direct: &HashMap<Name, HashSet<Name>>) -> HashSet<Name> {
    let mut reached = HashSet::new();
    let mut open = vec![from];
    while let Some(name) = open.pop() {
        let next = direct.get(&name).into_iter().flatten();
        open.extend(next.filter(|name| reached.insert(**name)));
    }
    reached
}
