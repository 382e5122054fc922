//! The statements of all sources: what contains what, what has a count of its own, what decides.
//!
//! Read from the compiler's syntax trees, of which only what matters to the flow of control is kept. Expressions are
//! not nodes: each belongs to the *unit* whose evaluation it is part of. Nodes are numbered so that those inside a node
//! follow it directly, in the order in which they run.

mod grow;
mod names;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use solidity::{Build, Span};

pub(crate) use names::Names;

use crate::lines::Lines;

/// The number of a node.
pub(crate) type Id = usize;

/// A half-open range of bytes in one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Extent {
    /// The index in `Build::sources`.
    pub(crate) source: usize,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A function, a modifier, a function of assembly, or all initial values of a contract's state variables.
    Function,
    /// Statements that run one after the other.
    List,
    If,
    Loop,
    /// `try` and `switch`.
    Choice,
    /// What has a count.
    Unit,
}

/// Whether control goes on behind a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    None,
    Return,
    Revert,
}

/// Which part of its parent a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// An item of a list, or the body of a function.
    Item,
    /// What is evaluated first: a condition, or the call of a `try`.
    Head,
    /// The first part in the head of a `for`.
    Start,
    /// The last part in the head of a `for`.
    Step,
    /// A body that runs or does not.
    Body,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) extent: Extent,
    pub(crate) kind: Kind,
    pub(crate) slot: Slot,
    pub(crate) parent: Option<Id>,
    /// The node behind the last one inside this one.
    pub(crate) end: Id,
    pub(crate) function: Id,
    pub(crate) exit: Exit,
    /// Names of functions that this unit mentions.
    pub(crate) mentions: Vec<names::Name>,
    pub(crate) line: u32,
}

/// A function, as reports show it and as calls name it.
#[derive(Debug)]
pub(crate) struct Routine {
    pub(crate) node: Id,
    /// With its contract, such as `Token.transfer`.
    pub(crate) title: String,
    pub(crate) name: names::Name,
    pub(crate) line: u32,
    pub(crate) role: Role,
    /// The compiler's number of its contract.
    pub(crate) contract: Option<i64>,
    /// The outline of its syntax without the names of variables: what compiles to the same code looks the same.
    pub(crate) shape: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It can be called from outside, so the dispatcher leads to it.
    External,
    Internal,
    /// A constructor, or the initial values of state variables: the compiler strings them together.
    Construction,
}

/// Something with two outcomes.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) extent: Extent,
    pub(crate) kind: DecisionKind,
    /// The unit that evaluates it.
    pub(crate) unit: Id,
    /// What runs only if it holds, and what only if it does not.
    pub(crate) yes: Option<Extent>,
    pub(crate) no: Option<Extent>,
    pub(crate) line: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecisionKind {
    If,
    Loop,
    Ternary,
    And,
    Or,
    Require,
}

/// What an instruction belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Unit(Id),
    /// Between the parts of an `if`, a loop or such.
    Within(Id),
    /// Code of a whole function or contract, or the compiler's own.
    Nowhere,
}

#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    pub(crate) routines: Vec<Routine>,
    pub(crate) decisions: Vec<Decision>,
    pub(crate) names: Names,
    by_number: HashMap<u32, usize>,
    /// The functions of each source, by where they begin. Those of assembly lie inside others and are not here.
    outer: Vec<Vec<Id>>,
    routine_of: HashMap<Id, usize>,
    by_extent: HashMap<Extent, Vec<usize>>,
    has_tree: Vec<bool>,
    /// The numbers of a contract and all that it inherits from, by source and name.
    bases: HashMap<(usize, String), Vec<i64>>,
}

impl Tree {
    pub(crate) fn of(build: &Build) -> Self {
        let mut tree = Self::default();
        for (index, source) in build.sources.iter().enumerate() {
            tree.by_number.insert(source.id, index);
            let nodes_before = tree.nodes.len();
            let has_tree = source.ast.as_ref().is_some_and(|ast| ast["nodeType"].is_string());
            if let Some(ast) = source.ast.as_deref().filter(|_| has_tree) {
                grow::source(&mut tree, index, ast, &Lines::of(&source.text));
            }
            tree.has_tree.push(has_tree);
            tree.index_functions(nodes_before);
        }
        for (index, routine) in tree.routines.iter().enumerate() {
            tree.routine_of.insert(routine.node, index);
        }
        for (index, decision) in tree.decisions.iter().enumerate() {
            tree.by_extent.entry(decision.extent).or_default().push(index);
        }
        names::close(&mut tree);
        tree
    }

    fn index_functions(&mut self, from: Id) {
        let mut outer: Vec<Id> =
            (from..self.nodes.len()).filter(|id| self.nodes[*id].parent.is_none()).collect();
        outer.sort_by_key(|id| self.nodes[*id].extent.start);
        self.outer.push(outer);
    }

    /// The index in `Build::sources` and the bytes that a span means.
    pub(crate) fn extent(&self, span: Span) -> Option<Extent> {
        let source = *self.by_number.get(&span.source?)?;
        Some(Extent { source, start: span.start, end: span.start.saturating_add(span.length) })
    }

    pub(crate) fn has_tree(&self, source: usize) -> bool {
        self.has_tree.get(source).copied().unwrap_or_default()
    }

    /// The function that an extent lies in.
    pub(crate) fn function_around(&self, extent: Extent) -> Option<Id> {
        let outer = self.outer.get(extent.source)?;
        let behind = outer.partition_point(|id| self.nodes[*id].extent.start <= extent.start);
        let last = *outer.get(behind.checked_sub(1)?)?;
        self.nodes[last].extent.contains(extent).then_some(last)
    }

    pub(crate) fn place(&self, extent: Extent) -> Place {
        let function = self.function_around(extent);
        let Some(id) = function.and_then(|id| self.innermost(id, extent)) else {
            return Place::Nowhere;
        };
        match self.nodes[id].kind {
            Kind::Unit => Place::Unit(id),
            Kind::If | Kind::Loop | Kind::Choice => Place::Within(id),
            Kind::Function | Kind::List => Place::Nowhere,
        }
    }

    fn innermost(&self, outer: Id, extent: Extent) -> Option<Id> {
        let mut found = outer;
        let mut id = found + 1;
        while id < self.nodes[found].end {
            if self.nodes[id].extent.contains(extent) {
                found = id;
                id += 1;
            } else {
                id = self.nodes[id].end;
            }
        }
        (found != outer || self.nodes[outer].extent != extent).then_some(found)
    }

    pub(crate) fn routine(&self, node: Id) -> Option<&Routine> {
        self.routine_of.get(&self.nodes.get(node)?.function).map(|index| &self.routines[*index])
    }

    /// The units inside a node.
    pub(crate) fn units(&self, inside: Range<Id>) -> impl Iterator<Item = Id> + '_ {
        inside.filter(|id| self.nodes[*id].kind == Kind::Unit)
    }

    pub(crate) fn decisions_at(&self, extent: Extent) -> &[usize] {
        self.by_extent.get(&extent).map(Vec::as_slice).unwrap_or_default()
    }

    /// The numbers of a contract and of those that it inherits from.
    pub(crate) fn bases(&self, source: usize, contract: &str) -> &[i64] {
        let key = (source, contract.to_owned());
        self.bases.get(&key).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a unit runs at most as often as another one of the same function, wherever control leaves early.
    pub(crate) fn is_bounded(&self, id: Id, by: Id) -> bool {
        if self.nodes[id].function != self.nodes[by].function {
            return false;
        }
        let mut part = id;
        while let Some(parent) = self.nodes[part].parent {
            if (parent..self.nodes[parent].end).contains(&by) {
                // Behind it in a list, in what it is the condition of, or the start of a loop that it governs.
                let starts = self.nodes[part].slot == Slot::Start;
                return self.nodes[by].parent == Some(parent) && (by < id || starts);
            }
            if self.nodes[parent].kind == Kind::Loop {
                return false;
            }
            part = parent;
        }
        false
    }

    /// The unit that evaluates the condition of an `if` or a loop.
    pub(crate) fn head(&self, compound: Id) -> Option<Id> {
        let node = self.nodes.get(compound)?;
        (compound + 1..node.end).find(|id| {
            self.nodes[*id].parent == Some(compound) && self.nodes[*id].slot == Slot::Head
        })
    }

    /// Whether a conditional jump with the extent of an `if` or a loop is the one of its condition, given the extents
    /// of all conditional jumps of a code.
    ///
    /// The code generator that goes through Yul gives the jump of a loop the extent of the condition instead, and a
    /// jump of another purpose in a `do` loop that of the loop.
    pub(crate) fn jumps_by_own_extent(&self, compound: Id, jumps: &HashSet<Extent>) -> bool {
        let Some(head) = self.head(compound) else { return false };
        let condition = self.nodes[head].extent;
        let is_do = self.nodes.get(compound + 1).is_some_and(|first| first.slot == Slot::Body);
        !jumps.contains(&condition) || (!is_do && !self.decisions_at(condition).is_empty())
    }
}

impl Extent {
    pub(crate) fn contains(self, other: Self) -> bool {
        self.source == other.source && self.start <= other.start && other.end <= self.end
    }
}
