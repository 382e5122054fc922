//! The outcomes of decisions, from the conditional jumps that were made for them.
//!
//! A jump belongs to a decision if its span is exactly that of the decision; the compiler's own checks have the spans
//! of the expressions that they guard. Counts need no watching of the jumps: one that was completed and did not go one
//! way went the other.

use std::collections::{HashMap, HashSet};

use crate::code::{Block, Code, Instruction};
use crate::hits::Edge;
use crate::places::conditional_jumps;
use crate::report::Outcome;
use crate::tally::Tally;
use crate::tree::{Decision, DecisionKind, Extent, Place, Tree};

/// What one code tells of decisions, by their index in the tree.
#[derive(Default)]
pub(crate) struct Outcomes {
    /// If it holds, and if it does not.
    pub(crate) told: HashMap<usize, [Outcome; 2]>,
    pub(crate) untold: HashSet<usize>,
}

/// The conditional jumps of a code, with what is needed to read them.
pub(crate) struct Jumps<'a> {
    tree: &'a Tree,
    code: &'a Code,
    tally: &'a Tally,
    rearranged: bool,
    /// Where a jump was, and whether it was taken.
    seen: HashSet<(usize, bool)>,
    /// Loops whose jump has the extent of the condition.
    loops: HashMap<Extent, usize>,
}

impl<'a> Jumps<'a> {
    pub(crate) fn new(
        tree: &'a Tree,
        code: &'a Code,
        tally: &'a Tally,
        rearranged: bool,
        edges: &[Edge],
    ) -> Self {
        let seen = edges.iter().filter(|edge| edge.seen);
        let seen = seen.map(|edge| (edge.offset, edge.taken)).collect();
        Self { tree, code, tally, rearranged, seen, loops: loops_by_condition(tree, code) }
    }

    pub(crate) fn outcomes(&self) -> Outcomes {
        let mut outcomes = Outcomes::default();
        for index in 0..self.code.blocks.len() {
            let Some(found) = self.decision(index) else { continue };
            let Some(pair) = self.pair(index, &self.tree.decisions[found]) else {
                outcomes.untold.insert(found);
                continue;
            };
            let sums = outcomes.told.entry(found).or_insert([Outcome::NEVER; 2]);
            sums.iter_mut().zip(pair).for_each(|(sum, outcome)| sum.add(outcome));
        }
        outcomes.told.retain(|decision, _| !outcomes.untold.contains(decision));
        outcomes
    }

    /// The only decision that the jump at the end of a block can be for.
    fn decision(&self, index: usize) -> Option<usize> {
        let last = self.code.of(&self.code.blocks[index]).last()?;
        let extent = self.tree.extent(last.span).filter(|_| last.is_conditional_jump())?;
        let own = self.tree.decisions_at(extent).iter().filter(|found| {
            let decision = &self.tree.decisions[**found];
            let condition = self.tree.nodes[decision.unit].extent;
            self.loops.get(&condition) != Some(*found)
        });
        let mut candidates = own.chain(self.loops.get(&extent));
        candidates.next().filter(|_| candidates.next().is_none()).copied()
    }

    /// How often it held and how often not; None if the jump does not tell.
    fn pair(&self, index: usize, decision: &Decision) -> Option<[Outcome; 2]> {
        let jump = self.code.blocks[index].end.checked_sub(1)?;
        let certain = self.tally.current[jump] == Place::Unit(decision.unit)
            && self.tally.units.contains_key(&decision.unit);
        if !certain {
            return None;
        }
        let [jumped, stayed] = counts(self.code, index, jump, &self.seen);
        let holds = holds_if_taken(self.tree, self.code, index, decision, self.rearranged)?;
        Some(if holds { [jumped, stayed] } else { [stayed, jumped] })
    }
}

/// The loops whose jump has the extent of the condition.
fn loops_by_condition(tree: &Tree, code: &Code) -> HashMap<Extent, usize> {
    let jumps = conditional_jumps(tree, code);
    let decisions = tree.decisions.iter().enumerate();
    decisions
        .filter(|(_, decision)| decision.kind == DecisionKind::Loop)
        .filter(|(_, decision)| {
            let own = tree.nodes[decision.unit].parent.is_some_and(|compound| {
                jumps.contains(&decision.extent) && tree.jumps_by_own_extent(compound, &jumps)
            });
            !own
        })
        .map(|(index, decision)| (tree.nodes[decision.unit].extent, index))
        .collect()
}

/// How often it jumped, and how often it did not. The block on one of the two sides must have no other way into it;
/// else only what was seen is known.
fn counts(code: &Code, index: usize, jump: usize, seen: &HashSet<(usize, bool)>) -> [Outcome; 2] {
    let completed = code.completed(&code.blocks[index], jump);
    let entered = |block: &Block| code.came_to(block, block.first);
    let next = code.blocks.get(index + 1);
    let stayed = match next {
        Some(next) => (next.references == 0).then(|| entered(next)),
        None => Some(0),
    };
    let jumped = target(code, index)
        .filter(|target| target.references == 1 && !is_run_into(code, target))
        .map(entered);
    let (jumped, stayed) = match (jumped, stayed) {
        (_, Some(stayed)) => (Some(completed.saturating_sub(stayed)), Some(stayed)),
        (Some(jumped), None) => (Some(jumped), Some(completed.saturating_sub(jumped))),
        (None, None) if completed == 0 => (Some(0), Some(0)),
        (None, None) => (None, None),
    };
    let offset = code.instructions[jump].offset;
    [(jumped, true), (stayed, false)].map(|(count, taken)| Outcome {
        count,
        seen: count.is_some_and(|count| count > 0) || seen.contains(&(offset, taken)),
    })
}

/// The block that the jump at the end of a block leads to.
fn target(code: &Code, index: usize) -> Option<&Block> {
    let push = code.blocks[index].end.checked_sub(2)?;
    code.blocks.get(code.instructions[push].refers_to?)
}

fn is_run_into(code: &Code, block: &Block) -> bool {
    let before = block.first.checked_sub(1).and_then(|index| code.instructions.get(index));
    before.is_some_and(|before| !before.ends_flow())
}

/// Whether the decision holds if the jump is taken. What runs on either side tells; else it is as the code generator
/// does it that emits statements in order, unless that was not the one.
fn holds_if_taken(
    tree: &Tree,
    code: &Code,
    index: usize,
    decision: &Decision,
    rearranged: bool,
) -> Option<bool> {
    let block = &code.blocks[index];
    let target = target(code, index);
    // A jump out of the body that was drawn into the jump around it pushes an offset for the body.
    let push = block.end.checked_sub(2).map(|push| &code.instructions[push]);
    let pushed = push.and_then(|push| side_of(tree, decision, push));
    // The target may be where several statements end, so there only real work tells.
    let stays = || side(tree, code, code.blocks.get(index + 1)?, decision, |_| true);
    let jumps = || side(tree, code, target?, decision, Instruction::is_strong);
    let by_sides = pushed.or_else(|| stays().map(|holds| !holds)).or_else(jumps);
    if rearranged {
        let contradicted = stays().is_some()
            && stays() == target.and_then(|target| side(tree, code, target, decision, |_| true));
        return by_sides.filter(|_| !contradicted);
    }
    if by_sides.is_some() {
        return by_sides;
    }
    Some(match decision.kind {
        DecisionKind::If | DecisionKind::Loop | DecisionKind::And => false,
        DecisionKind::Or | DecisionKind::Ternary => true,
        DecisionKind::Require => !target.is_some_and(|target| fails(code, target)),
    })
}

/// Whether a block is what runs if the decision holds, or if it does not, by the instructions that count.
fn side(
    tree: &Tree,
    code: &Code,
    block: &Block,
    decision: &Decision,
    counts: impl Fn(&Instruction) -> bool,
) -> Option<bool> {
    let instructions =
        || code.of(block).iter().filter(|instruction| !instruction.is_jump_destination());
    let mut counting = instructions().filter(|instruction| counts(instruction));
    let inside = counting.find_map(|instruction| side_of(tree, decision, instruction));
    let skips = || {
        let first = instructions().find(|instruction| instruction.is_strong())?;
        let alone = decision.kind == DecisionKind::If && decision.no.is_none();
        (alone && is_behind(tree, decision, first)).then_some(false)
    };
    inside.or_else(skips)
}

/// Whether an instruction belongs to what follows the decision in the same function.
fn is_behind(tree: &Tree, decision: &Decision, instruction: &Instruction) -> bool {
    let Some(extent) = tree.extent(instruction.span) else { return false };
    let function = tree.function_around(extent);
    decision.extent.end <= extent.start
        && function.is_some()
        && function == tree.function_around(decision.extent)
}

fn side_of(tree: &Tree, decision: &Decision, instruction: &Instruction) -> Option<bool> {
    let extent = tree.extent(instruction.span)?;
    let inside = |part: Option<Extent>| part.is_some_and(|part| part.contains(extent));
    match (inside(decision.yes), inside(decision.no)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

fn fails(code: &Code, block: &Block) -> bool {
    code.of(block).last().is_some_and(|last| last.fails())
}
