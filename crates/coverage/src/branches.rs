//! Counts branch outcomes from the conditional jumps generated for each decision.
//!
//! A jump belongs to a decision if its span is exactly that of the decision. Checks inserted by the compiler have the
//! spans of the expressions that they guard. Counting does not require recording each jump: a completed jump that did
//! not go one way went the other.

use std::collections::{HashMap, HashSet};

use crate::bytecode::{BasicBlock, CodeProfile, MappedInstruction};
use crate::hits::EdgeHit;
use crate::owners::collect_conditional_jumps;
use crate::report::BranchOutcome;
use crate::statement_tree::{
    BranchDecision, DecisionKind, InstructionOwner, SourceExtent, StatementTree,
};
use crate::tally::UnitTally;

/// Branch outcomes found in one bytecode, by index of the decision in the tree.
#[derive(Default)]
pub(crate) struct DecisionOutcomes {
    /// Outcomes if the condition holds, and if it does not.
    pub(crate) counted: HashMap<usize, [BranchOutcome; 2]>,
    /// Decisions whose outcomes cannot be derived from their jumps.
    pub(crate) uncertain: HashSet<usize>,
}

/// The conditional jumps of a bytecode, with the context needed to interpret them.
pub(crate) struct DecisionJumps<'a> {
    tree: &'a StatementTree,
    code: &'a CodeProfile,
    tally: &'a UnitTally,
    yul_optimized: bool,
    /// Offset and direction of the recorded jumps.
    seen: HashSet<(usize, bool)>,
    /// Loops whose jump has the extent of the condition, by that extent.
    loops: HashMap<SourceExtent, usize>,
}

impl<'a> DecisionJumps<'a> {
    pub(crate) fn new(
        tree: &'a StatementTree,
        code: &'a CodeProfile,
        tally: &'a UnitTally,
        yul_optimized: bool,
        edges: &[EdgeHit],
    ) -> Self {
        let seen = edges.iter().filter(|edge| edge.seen);
        let seen = seen.map(|edge| (edge.offset, edge.taken)).collect();
        Self { tree, code, tally, yul_optimized, seen, loops: loops_by_condition(tree, code) }
    }

    /// Returns the outcomes of all decisions that have a jump.
    pub(crate) fn count_outcomes(&self) -> DecisionOutcomes {
        let mut outcomes = DecisionOutcomes::default();
        for index in 0..self.code.blocks.len() {
            let Some(found) = self.find_decision(index) else { continue };
            let Some(pair) = self.count_decision(index, &self.tree.decisions[found]) else {
                outcomes.uncertain.insert(found);
                continue;
            };
            let sums = outcomes.counted.entry(found).or_insert([BranchOutcome::NEVER; 2]);
            sums.iter_mut().zip(pair).for_each(|(sum, outcome)| sum.add(outcome));
        }
        outcomes.counted.retain(|decision, _| !outcomes.uncertain.contains(decision));
        outcomes
    }

    /// Returns the decision of the jump at the end of a block, if exactly one matches.
    fn find_decision(&self, index: usize) -> Option<usize> {
        let last = self.code.instructions_in(&self.code.blocks[index]).last()?;
        let extent = self.tree.resolve_span(last.span).filter(|_| last.is_conditional_jump())?;
        let own = self.tree.decisions_at(extent).iter().filter(|found| {
            let decision = &self.tree.decisions[**found];
            let condition = self.tree.nodes[decision.unit].extent;
            self.loops.get(&condition) != Some(*found)
        });
        let mut candidates = own.chain(self.loops.get(&extent));
        candidates.next().filter(|_| candidates.next().is_none()).copied()
    }

    /// Returns the counts of both outcomes, or `None` if the jump is no reliable evidence.
    fn count_decision(
        &self,
        index: usize,
        decision: &BranchDecision,
    ) -> Option<[BranchOutcome; 2]> {
        let jump = self.code.blocks[index].end.checked_sub(1)?;
        let certain = self.tally.current[jump] == InstructionOwner::Unit(decision.unit)
            && self.tally.units.contains_key(&decision.unit);
        if !certain {
            return None;
        }
        let [jumped, stayed] = count_jump(self.code, index, jump, &self.seen);
        let holds = holds_if_taken(self.tree, self.code, index, decision, self.yul_optimized)?;
        Some(if holds { [jumped, stayed] } else { [stayed, jumped] })
    }
}

/// Returns the loops whose jump has the extent of the condition, by that extent.
fn loops_by_condition(tree: &StatementTree, code: &CodeProfile) -> HashMap<SourceExtent, usize> {
    let jumps = collect_conditional_jumps(tree, code);
    let decisions = tree.decisions.iter().enumerate();
    decisions
        .filter(|(_, decision)| decision.kind == DecisionKind::Loop)
        .filter(|(_, decision)| {
            let own = tree.nodes[decision.unit].parent.is_some_and(|compound| {
                jumps.contains(&decision.extent)
                    && tree.has_condition_jump_at_own_extent(compound, &jumps)
            });
            !own
        })
        .map(|(index, decision)| (tree.nodes[decision.unit].extent, index))
        .collect()
}

/// Returns the counts of taking the jump and of falling through. They are known if the block on one of the two sides
/// has no other predecessor; otherwise only `seen` is set.
fn count_jump(
    code: &CodeProfile,
    index: usize,
    jump: usize,
    seen: &HashSet<(usize, bool)>,
) -> [BranchOutcome; 2] {
    let completed = code.completion_count(&code.blocks[index], jump);
    let entered = |block: &BasicBlock| code.arrival_count(block, block.first);
    let next = code.blocks.get(index + 1);
    let stayed = match next {
        Some(next) => (next.references == 0).then(|| entered(next)),
        None => Some(0),
    };
    let jumped = jump_target(code, index)
        .filter(|target| target.references == 1 && !has_fall_through(code, target))
        .map(entered);
    let (jumped, stayed) = match (jumped, stayed) {
        (_, Some(stayed)) => (Some(completed.saturating_sub(stayed)), Some(stayed)),
        (Some(jumped), None) => (Some(jumped), Some(completed.saturating_sub(jumped))),
        (None, None) if completed == 0 => (Some(0), Some(0)),
        (None, None) => (None, None),
    };
    let offset = code.instructions[jump].offset;
    [(jumped, true), (stayed, false)].map(|(count, taken)| BranchOutcome {
        count,
        seen: count.is_some_and(|count| count > 0) || seen.contains(&(offset, taken)),
    })
}

/// Returns the target block of the jump at the end of a block.
fn jump_target(code: &CodeProfile, index: usize) -> Option<&BasicBlock> {
    let push = code.blocks[index].end.checked_sub(2)?;
    code.blocks.get(code.instructions[push].refers_to?)
}

/// Returns true if control can fall through into the block.
fn has_fall_through(code: &CodeProfile, block: &BasicBlock) -> bool {
    let before = block.first.checked_sub(1).and_then(|index| code.instructions.get(index));
    before.is_some_and(|before| !before.ends_flow())
}

/// Returns true if the decision holds when the jump is taken, judged by the code on either side. If neither side is
/// conclusive, the convention of the legacy code generator applies, unless the bytecode was Yul-optimized.
fn holds_if_taken(
    tree: &StatementTree,
    code: &CodeProfile,
    index: usize,
    decision: &BranchDecision,
    yul_optimized: bool,
) -> Option<bool> {
    let block = &code.blocks[index];
    let target = jump_target(code, index);
    // If a jump out of the body was fused with the jump around it, the pushed offset has a span in the body.
    let push = block.end.checked_sub(2).map(|push| &code.instructions[push]);
    let pushed = push.and_then(|push| find_instruction_side(tree, decision, push));
    // Several statements may end at the target, so only significant instructions count there.
    let stays = || find_block_side(tree, code, code.blocks.get(index + 1)?, decision, |_| true);
    let jumps =
        || find_block_side(tree, code, target?, decision, MappedInstruction::is_significant);
    let by_sides = pushed.or_else(|| stays().map(|holds| !holds)).or_else(jumps);
    if yul_optimized {
        let contradicted = stays().is_some()
            && stays()
                == target
                    .and_then(|target| find_block_side(tree, code, target, decision, |_| true));
        return by_sides.filter(|_| !contradicted);
    }
    if by_sides.is_some() {
        return by_sides;
    }
    Some(match decision.kind {
        DecisionKind::If | DecisionKind::Loop | DecisionKind::And => false,
        DecisionKind::Or | DecisionKind::Ternary => true,
        DecisionKind::Require => !target.is_some_and(|target| ends_in_failure(code, target)),
    })
}

/// Returns true if a block runs when the decision holds, false if it runs when the decision does not hold. Only
/// instructions accepted by `counts` are considered.
fn find_block_side(
    tree: &StatementTree,
    code: &CodeProfile,
    block: &BasicBlock,
    decision: &BranchDecision,
    counts: impl Fn(&MappedInstruction) -> bool,
) -> Option<bool> {
    let instructions = || {
        code.instructions_in(block).iter().filter(|instruction| !instruction.is_jump_destination())
    };
    let mut counting = instructions().filter(|instruction| counts(instruction));
    let inside =
        counting.find_map(|instruction| find_instruction_side(tree, decision, instruction));
    let skips = || {
        let first = instructions().find(|instruction| instruction.is_significant())?;
        let alone = decision.kind == DecisionKind::If && decision.no.is_none();
        (alone && is_after_decision(tree, decision, first)).then_some(false)
    };
    inside.or_else(skips)
}

/// Returns true if an instruction belongs to code after the decision in the same function.
fn is_after_decision(
    tree: &StatementTree,
    decision: &BranchDecision,
    instruction: &MappedInstruction,
) -> bool {
    let Some(extent) = tree.resolve_span(instruction.span) else { return false };
    let function = tree.function_around(extent);
    decision.extent.end <= extent.start
        && function.is_some()
        && function == tree.function_around(decision.extent)
}

/// Returns true or false if the instruction lies in the source that runs only if the decision holds, or does not hold.
fn find_instruction_side(
    tree: &StatementTree,
    decision: &BranchDecision,
    instruction: &MappedInstruction,
) -> Option<bool> {
    let extent = tree.resolve_span(instruction.span)?;
    let inside = |part: Option<SourceExtent>| part.is_some_and(|part| part.contains(extent));
    match (inside(decision.yes), inside(decision.no)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

fn ends_in_failure(code: &CodeProfile, block: &BasicBlock) -> bool {
    code.instructions_in(block).last().is_some_and(|last| last.is_failure())
}
