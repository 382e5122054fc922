//! Where control can come from, as the syntax tree has it.
//!
//! This is what instructions are held against: if control passes from the code of one statement into the code of
//! another one that cannot follow it, the optimiser has merged or moved something, and the source map tells less than
//! it seems to. All rules lean towards disbelief, for a statement that is left out does less harm than a wrong count.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::tree::{Exit, Id, Kind, Node, Place, Role, Routine, Slot, Tree};

pub(crate) struct Flow<'a> {
    tree: &'a Tree,
    /// Whether the code has an instruction of a unit. What vanished is stepped over.
    live: &'a [bool],
    /// Answers of `are_called_in_turn`, which looks at every function.
    in_turn: RefCell<HashMap<(Id, Id), bool>>,
}

/// Whether control can pass between two nodes of one function.
type Rule<'a> = fn(&Flow<'a>, Id, Id) -> bool;

impl<'a> Flow<'a> {
    pub(crate) fn new(tree: &'a Tree, live: &'a [bool]) -> Self {
        Self { tree, live, in_turn: RefCell::default() }
    }

    /// Whether control can pass from one place to another over a jump, or by not jumping.
    pub(crate) fn can_follow(&self, from: Place, to: Place) -> bool {
        let (Some(from), Some(to)) = (id(from), id(to)) else { return true };
        if self.node(from).function == self.node(to).function {
            self.follows(from, to)
        } else {
            self.crosses(from, to, Self::follows)
        }
    }

    /// Whether the second unit runs whenever the first one does, so that no jump has to lie between them.
    pub(crate) fn runs_with(&self, from: Id, to: Id) -> bool {
        if self.node(from).function != self.node(to).function {
            return self.crosses(from, to, Self::runs_with);
        }
        let Some((common, from_part, to_part)) = self.fork(from, to) else { return from == to };
        match self.node(common).kind {
            Kind::List | Kind::Function => {
                let siblings = from_part == from && to_part == to;
                let next = || self.is_next(from_part, to_part, to) && self.always(to_part, to);
                siblings || (self.node(from_part).kind != Kind::Loop && next())
            }
            Kind::Loop => {
                self.node(from_part).slot != Slot::Head
                    && self.is_next(from_part, to_part, to)
                    && self.always(to_part, to)
            }
            Kind::If | Kind::Choice | Kind::Unit => false,
        }
    }

    /// Whether a unit comes back from a call that it made, rather than being come to.
    pub(crate) fn returns(&self, from: Place, to: Id) -> bool {
        let Some(from) = id(from) else { return false };
        let Some(callee) = self.tree.routine(from) else { return false };
        self.node(from).function != self.node(to).function
            && self.tree.names.lead_to(&self.node(to).mentions, callee.name)
    }

    fn node(&self, id: Id) -> &Node {
        &self.tree.nodes[id]
    }

    fn follows(&self, from: Id, to: Id) -> bool {
        if self.contains(to, from) {
            return true;
        }
        if self.contains(from, to) {
            return self.child_towards(from, to).is_some_and(|part| self.is_entry(part, to));
        }
        let Some((common, from_part, to_part)) = self.fork(from, to) else { return false };
        // An `if` begins with its condition; a place between its parts is reached from inside.
        if self.node(from).exit != Exit::None || self.node(to).kind == Kind::If {
            return false;
        }
        match self.node(common).kind {
            Kind::List | Kind::Function => self.is_next(from_part, to_part, to),
            Kind::If | Kind::Choice => {
                self.node(from_part).slot == Slot::Head && self.is_entry(to_part, to)
            }
            Kind::Loop if from_part < to_part => self.is_next(from_part, to_part, to),
            Kind::Loop => self.node(to_part).slot != Slot::Start && self.is_entry(to_part, to),
            Kind::Unit => false,
        }
    }

    /// From one function to another: by a call, by coming back from one, or from one inlined call to the next.
    fn crosses(&self, from: Id, to: Id, rule: Rule<'a>) -> bool {
        let (Some(left), Some(entered)) = (self.tree.routine(from), self.tree.routine(to)) else {
            return false;
        };
        if self.node(from).exit == Exit::Revert {
            return false;
        }
        if left.role == Role::Construction || entered.role == Role::Construction {
            return true;
        }
        let enters = self.is_entry(entered.node, to);
        let calls = || {
            self.callers(left.node, entered.name)
                .any(|caller| caller == from || rule(self, from, caller))
        };
        let comes_back = || {
            self.callers(entered.node, left.name)
                .any(|caller| caller == to || rule(self, caller, to))
        };
        (enters && calls()) || comes_back() || (enters && self.are_called_in_turn(left, entered))
    }

    /// Whether some function calls both, itself, the one and then the other.
    fn are_called_in_turn(&self, left: &Routine, entered: &Routine) -> bool {
        *self.in_turn.borrow_mut().entry((left.node, entered.node)).or_insert_with(|| {
            let mentioning = |id: &Id, name| self.node(*id).mentions.contains(&name);
            self.tree.routines.iter().any(|caller| {
                let inside = caller.node..self.node(caller.node).end;
                let firsts = self.tree.units(inside.clone());
                firsts.filter(|id| mentioning(id, left.name)).any(|first| {
                    let seconds = self.tree.units(inside.clone());
                    seconds
                        .filter(|id| mentioning(id, entered.name))
                        .any(|second| first == second || self.follows(first, second))
                })
            })
        })
    }

    /// The units of a function that can lead into the one of that name.
    fn callers(&self, function: Id, name: usize) -> impl Iterator<Item = Id> + '_ {
        let inside = function..self.node(function).end;
        self.tree
            .units(inside)
            .filter(move |id| self.tree.names.lead_to(&self.node(*id).mentions, name))
    }

    /// Whether the second part comes next, and `to` is where it begins.
    fn is_next(&self, from_part: Id, to_part: Id, to: Id) -> bool {
        from_part < to_part
            && !self.any_live(self.node(from_part).end, to_part)
            && self.is_entry(to_part, to)
    }

    /// Whether nothing in `part` runs before `to`.
    fn is_entry(&self, part: Id, to: Id) -> bool {
        !self.any_live(part, to)
    }

    fn any_live(&self, from: Id, to: Id) -> bool {
        self.live.get(from..to).is_some_and(|range| range.contains(&true))
    }

    /// Whether `to` runs whenever `part`, which begins with it, does.
    fn always(&self, part: Id, to: Id) -> bool {
        let mut id = to;
        while id != part {
            let node = self.node(id);
            let Some(parent) = node.parent else { return false };
            let in_turn = matches!(self.node(parent).kind, Kind::List | Kind::Function);
            if !in_turn && !matches!(node.slot, Slot::Head | Slot::Start) {
                return false;
            }
            id = parent;
        }
        true
    }

    fn contains(&self, outer: Id, inner: Id) -> bool {
        (outer..self.node(outer).end).contains(&inner)
    }

    /// The smallest node around both, and the parts of it that hold each. None if one holds the other.
    fn fork(&self, from: Id, to: Id) -> Option<(Id, Id, Id)> {
        let mut from_part = from;
        while !self.contains(self.node(from_part).parent?, to) {
            from_part = self.node(from_part).parent?;
        }
        let common = self.node(from_part).parent?;
        let to_part = self.child_towards(common, to)?;
        (from_part != to_part && to_part != common).then_some((common, from_part, to_part))
    }

    fn child_towards(&self, outer: Id, inner: Id) -> Option<Id> {
        let mut id = inner;
        while self.node(id).parent? != outer {
            id = self.node(id).parent?;
        }
        Some(id)
    }
}

fn id(place: Place) -> Option<Id> {
    match place {
        Place::Unit(id) | Place::Within(id) => Some(id),
        Place::Nowhere => None,
    }
}
