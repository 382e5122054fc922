//! Control-flow rules derived from the AST: which statement can run after which.
//!
//! Instructions are checked against these rules. If control passes from one statement to another that cannot follow it,
//! the optimizer has merged or moved instructions, and the source map is unreliable there. In doubt, the rules reject:
//! omitting a statement does less harm than reporting a wrong count.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::statement_tree::{
    InstructionOwner, NodeId, NodeSlot, RoutineRole, SourceRoutine, StatementKind, StatementNode,
    StatementTree, UnitExit,
};

/// Decides if control can pass from one node of the tree to another.
pub(crate) struct ControlFlowRules<'a> {
    tree: &'a StatementTree,
    /// By node, true for units that have instructions. Units without instructions are skipped.
    live: &'a [bool],
    /// Cached results of `are_called_in_sequence`, which scans every function.
    called_in_sequence: RefCell<HashMap<(NodeId, NodeId), bool>>,
}

/// A rule that decides if control can pass between two nodes of one function.
type FollowRule<'a> = fn(&ControlFlowRules<'a>, NodeId, NodeId) -> bool;

impl<'a> ControlFlowRules<'a> {
    pub(crate) fn new(tree: &'a StatementTree, live: &'a [bool]) -> Self {
        Self { tree, live, called_in_sequence: RefCell::default() }
    }

    /// Returns true if control can pass from one owner to the other by a jump or by falling through.
    pub(crate) fn can_follow(&self, from: InstructionOwner, to: InstructionOwner) -> bool {
        let (Some(from), Some(to)) = (owner_node(from), owner_node(to)) else { return true };
        if self.node(from).function == self.node(to).function {
            self.can_follow_in_function(from, to)
        } else {
            self.can_cross_functions(from, to, Self::can_follow_in_function)
        }
    }

    /// Returns true if `to` runs whenever `from` does, so that no jump is needed between them.
    pub(crate) fn always_runs_after(&self, from: NodeId, to: NodeId) -> bool {
        if self.node(from).function != self.node(to).function {
            return self.can_cross_functions(from, to, Self::always_runs_after);
        }
        let Some((common, from_part, to_part)) = self.find_fork(from, to) else {
            return from == to;
        };
        match self.node(common).kind {
            StatementKind::List | StatementKind::Function => {
                let siblings = from_part == from && to_part == to;
                let next = || self.is_next(from_part, to_part, to) && self.always_runs(to_part, to);
                siblings || (self.node(from_part).kind != StatementKind::Loop && next())
            }
            StatementKind::Loop => {
                self.node(from_part).slot != NodeSlot::Head
                    && self.is_next(from_part, to_part, to)
                    && self.always_runs(to_part, to)
            }
            StatementKind::If | StatementKind::Choice | StatementKind::Unit => false,
        }
    }

    /// Returns true if control returns to the unit `to` from a call that it made, rather than arriving at it.
    pub(crate) fn is_return_from_call(&self, from: InstructionOwner, to: NodeId) -> bool {
        let Some(from) = owner_node(from) else { return false };
        let Some(callee) = self.tree.enclosing_routine(from) else { return false };
        self.node(from).function != self.node(to).function
            && self.tree.names.can_reach(&self.node(to).mentions, callee.name)
    }

    fn node(&self, id: NodeId) -> &StatementNode {
        &self.tree.nodes[id]
    }

    fn can_follow_in_function(&self, from: NodeId, to: NodeId) -> bool {
        if self.contains(to, from) {
            return true;
        }
        if self.contains(from, to) {
            return self.child_towards(from, to).is_some_and(|part| self.is_entry(part, to));
        }
        let Some((common, from_part, to_part)) = self.find_fork(from, to) else { return false };
        // An `if` begins with its condition; code between its parts is reached from inside.
        if self.node(from).exit != UnitExit::None || self.node(to).kind == StatementKind::If {
            return false;
        }
        match self.node(common).kind {
            StatementKind::List | StatementKind::Function => self.is_next(from_part, to_part, to),
            StatementKind::If | StatementKind::Choice => {
                self.node(from_part).slot == NodeSlot::Head && self.is_entry(to_part, to)
            }
            StatementKind::Loop if from_part < to_part => self.is_next(from_part, to_part, to),
            StatementKind::Loop => {
                self.node(to_part).slot != NodeSlot::Start && self.is_entry(to_part, to)
            }
            StatementKind::Unit => false,
        }
    }

    /// Returns true if control can pass from one function to another: by a call, by a return, or from one inlined call
    /// to the next.
    fn can_cross_functions(&self, from: NodeId, to: NodeId, rule: FollowRule<'a>) -> bool {
        let (Some(left), Some(entered)) =
            (self.tree.enclosing_routine(from), self.tree.enclosing_routine(to))
        else {
            return false;
        };
        if self.node(from).exit == UnitExit::Revert {
            return false;
        }
        if left.role == RoutineRole::Construction || entered.role == RoutineRole::Construction {
            return true;
        }
        let enters = self.is_entry(entered.node, to);
        let calls = || {
            self.find_call_sites(left.node, entered.name)
                .any(|caller| caller == from || rule(self, from, caller))
        };
        let returns_to_caller = || {
            self.find_call_sites(entered.node, left.name)
                .any(|caller| caller == to || rule(self, caller, to))
        };
        (enters && calls())
            || returns_to_caller()
            || (enters && self.are_called_in_sequence(left, entered))
    }

    /// Returns true if some function directly calls first `left`, then `entered`.
    fn are_called_in_sequence(&self, left: &SourceRoutine, entered: &SourceRoutine) -> bool {
        *self.called_in_sequence.borrow_mut().entry((left.node, entered.node)).or_insert_with(
            || {
                let mentioning = |id: &NodeId, name| self.node(*id).mentions.contains(&name);
                self.tree.routines.iter().any(|caller| {
                    let inside = caller.node..self.node(caller.node).end;
                    let firsts = self.tree.units_in(inside.clone());
                    firsts.filter(|id| mentioning(id, left.name)).any(|first| {
                        let seconds = self.tree.units_in(inside.clone());
                        seconds.filter(|id| mentioning(id, entered.name)).any(|second| {
                            first == second || self.can_follow_in_function(first, second)
                        })
                    })
                })
            },
        )
    }

    /// Returns the units of a function from which calls can reach the function called `name`.
    fn find_call_sites(&self, function: NodeId, name: usize) -> impl Iterator<Item = NodeId> + '_ {
        let inside = function..self.node(function).end;
        self.tree
            .units_in(inside)
            .filter(move |id| self.tree.names.can_reach(&self.node(*id).mentions, name))
    }

    /// Returns true if `to_part` is the next live part after `from_part`, and begins with `to`.
    fn is_next(&self, from_part: NodeId, to_part: NodeId, to: NodeId) -> bool {
        from_part < to_part
            && !self.has_live_node(self.node(from_part).end, to_part)
            && self.is_entry(to_part, to)
    }

    /// Returns true if no unit of `part` runs before `to`.
    fn is_entry(&self, part: NodeId, to: NodeId) -> bool {
        !self.has_live_node(part, to)
    }

    fn has_live_node(&self, from: NodeId, to: NodeId) -> bool {
        self.live.get(from..to).is_some_and(|range| range.contains(&true))
    }

    /// Returns true if `to` runs whenever `part` does. `part` must begin with `to`.
    fn always_runs(&self, part: NodeId, to: NodeId) -> bool {
        let mut id = to;
        while id != part {
            let node = self.node(id);
            let Some(parent) = node.parent else { return false };
            let in_turn =
                matches!(self.node(parent).kind, StatementKind::List | StatementKind::Function);
            if !in_turn && !matches!(node.slot, NodeSlot::Head | NodeSlot::Start) {
                return false;
            }
            id = parent;
        }
        true
    }

    fn contains(&self, outer: NodeId, inner: NodeId) -> bool {
        (outer..self.node(outer).end).contains(&inner)
    }

    /// Returns the smallest node that contains both, and its children that contain each of them. Returns `None` if one
    /// contains the other.
    fn find_fork(&self, from: NodeId, to: NodeId) -> Option<(NodeId, NodeId, NodeId)> {
        let mut from_part = from;
        while !self.contains(self.node(from_part).parent?, to) {
            from_part = self.node(from_part).parent?;
        }
        let common = self.node(from_part).parent?;
        let to_part = self.child_towards(common, to)?;
        (from_part != to_part && to_part != common).then_some((common, from_part, to_part))
    }

    fn child_towards(&self, outer: NodeId, inner: NodeId) -> Option<NodeId> {
        let mut id = inner;
        while self.node(id).parent? != outer {
            id = self.node(id).parent?;
        }
        Some(id)
    }
}

fn owner_node(owner: InstructionOwner) -> Option<NodeId> {
    match owner {
        InstructionOwner::Unit(id) | InstructionOwner::Compound(id) => Some(id),
        InstructionOwner::Unattributed => None,
    }
}
