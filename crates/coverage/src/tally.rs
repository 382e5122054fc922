//! Counts arrivals at each unit from the basic blocks of one bytecode.
//!
//! Each block is read as the sequence of units that have instructions in it. Control *arrives* at a unit in a block if
//! it comes from anything but the unit itself or a function that the unit called. Every such transition is
//! checked against [`ControlFlowRules`]. A unit is *uncertain*, and not counted, in these cases:
//!
//! - The AST does not allow the transition: the block serves several statements, or an instruction was moved. Only
//!   units with significant instructions in the block are affected. Stack shuffling is moved freely.
//! - A jump is misdirected in this way: the statements that it should have reached lost an arrival.
//! - A conditional jump leads to the unit on both sides: its instructions are displaced on one of them.
//! - Its function was merged with another one: an externally callable function has no instructions left, and another
//!   has the same shape.

mod merged_functions;

use std::collections::{HashMap, HashSet};

use crate::bytecode::{BasicBlock, CodeProfile};
use crate::control_flow::ControlFlowRules;
use crate::hits::CodeSection;
use crate::owners::InstructionOwners;
use crate::statement_tree::{InstructionOwner, NodeId, StatementTree};

/// Arrivals at the units of one bytecode.
pub(crate) struct UnitTally {
    /// Arrival counts of the units that could be counted.
    pub(crate) units: HashMap<NodeId, u64>,
    /// Units that have instructions but cannot be counted.
    pub(crate) uncertain: HashSet<NodeId>,
    /// The owner that is running at each instruction, where that is certain.
    pub(crate) current: Vec<InstructionOwner>,
}

/// The first instruction of a unit in a block, or the `JUMPDEST` between parts of a statement that begins the block.
#[derive(Clone, Copy)]
struct UnitStep {
    owner: InstructionOwner,
    at: usize,
    /// True if the unit has an instruction in the block that does more than arrange the stack.
    significant: bool,
}

/// Reads the blocks of a bytecode in order and builds the tally.
struct TallyBuilder<'a> {
    tree: &'a StatementTree,
    code: &'a CodeProfile,
    flow: ControlFlowRules<'a>,
    owners: &'a [InstructionOwner],
    yul_optimized: bool,
    tally: UnitTally,
    /// Transitions between units that were found.
    reached: HashSet<(NodeId, NodeId)>,
    /// Units left by a jump to a unit that cannot follow.
    misdirected: HashSet<NodeId>,
    /// The unit that each block begins with, if control arrives at it there.
    entry_units: Vec<Option<NodeId>>,
}

/// Counts the arrivals at each unit of a bytecode. `bases` are the AST ids of the contract and its base contracts.
pub(crate) fn tally_units(
    tree: &StatementTree,
    code: &CodeProfile,
    owners: &InstructionOwners,
    part: CodeSection,
    bases: &[i64],
) -> UnitTally {
    let mut live = vec![false; tree.nodes.len()];
    for owner in &owners.by_instruction {
        if let InstructionOwner::Unit(id) = owner {
            live[*id] = true;
        }
    }
    let tally = UnitTally {
        units: HashMap::new(),
        uncertain: HashSet::new(),
        current: vec![InstructionOwner::Unattributed; code.instructions.len()],
    };
    let flow = ControlFlowRules::new(tree, &live);
    let mut reader = TallyBuilder {
        tree,
        code,
        flow,
        owners: &owners.by_instruction,
        yul_optimized: owners.yul_optimized,
        tally,
        reached: HashSet::new(),
        misdirected: HashSet::new(),
        entry_units: vec![None; code.blocks.len()],
    };
    reader.read_blocks();
    let mut tally = reader.finish();
    tally.uncertain.extend(merged_functions::find_merged_units(tree, &live, part, bases));
    tally.uncertain.extend((0..live.len()).filter(|id| live[*id] && !tally.units.contains_key(id)));
    tally.units.retain(|id, _| !tally.uncertain.contains(id));
    tally
}

impl TallyBuilder<'_> {
    fn read_blocks(&mut self) {
        // The origin of a jump is known only after its block was read. The first pass therefore follows the order of
        // the bytecode alone.
        let count = self.code.blocks.len();
        for index in 0..count {
            let before = self.find_fall_through(index);
            self.read_block(index, &before);
        }
        let arrivals = self.find_jump_origins();
        self.tally.units.clear();
        self.tally.uncertain.clear();
        self.reached.clear();
        self.misdirected.clear();
        self.entry_units.fill(None);
        for (index, mut from) in arrivals.into_iter().enumerate() {
            from.extend(self.find_fall_through(index));
            self.read_block(index, &from);
        }
    }

    /// Returns the owner from which control falls through into a block.
    fn find_fall_through(&self, index: usize) -> Vec<InstructionOwner> {
        let before = index.checked_sub(1).and_then(|index| self.code.blocks.get(index));
        let last = before.and_then(|block| block.end.checked_sub(1));
        let Some(last) = last.filter(|last| !self.code.instructions[*last].ends_flow()) else {
            return Vec::new();
        };
        vec![self.tally.current[last]]
    }

    /// Returns, for each block, the owners of the instructions that push its offset.
    fn find_jump_origins(&self) -> Vec<Vec<InstructionOwner>> {
        let mut arrivals: Vec<Vec<InstructionOwner>> =
            self.code.blocks.iter().map(|_| Vec::new()).collect();
        for (index, instruction) in self.code.instructions.iter().enumerate() {
            let Some(block) = instruction.refers_to else { continue };
            let next = self.code.instructions.get(index + 1);
            let jump =
                next.filter(|next| next.is_conditional_jump()).map(|_| self.owners[index + 1]);
            let from = match (jump, self.owners[index]) {
                (Some(owner @ InstructionOwner::Unit(_)), _)
                | (_, owner @ InstructionOwner::Compound(_)) => owner,
                _ => self.tally.current[index],
            };
            arrivals[block].push(from);
        }
        arrivals
    }

    /// Reads the steps of a block; `arrived` are the owners from which control enters it.
    fn read_block(&mut self, index: usize, arrived: &[InstructionOwner]) {
        let block = &self.code.blocks[index];
        let mut accepted: Vec<UnitStep> = Vec::new();
        let mut shared = false;
        for step in self.collect_steps(block) {
            let current = accepted.last().map(|step| step.owner);
            if !shared && self.is_allowed(current, arrived, step) {
                self.accept_step(index, step, current, arrived);
                accepted.push(step);
            } else if step.significant {
                if !arrived.contains(&step.owner) {
                    self.tally.uncertain.extend(owner_unit(step.owner));
                }
                match current {
                    None => {
                        shared = true;
                        self.record_misdirected(arrived, step.owner);
                    }
                    // It is unknown which of the two is displaced.
                    Some(current) if self.yul_optimized => {
                        self.tally.uncertain.extend(owner_unit(current));
                    }
                    Some(_) => {}
                }
            }
        }
        // Several jumps may lead here, as long as they all come from one owner.
        let carried = match arrived {
            [first, others @ ..] if !shared && others.iter().all(|it| it == first) => *first,
            _ => InstructionOwner::Unattributed,
        };
        self.set_current(index, carried, &accepted);
    }

    /// Assigns the running owner to each instruction of a block, also where the optimizer interleaved units.
    fn set_current(&mut self, index: usize, carried: InstructionOwner, accepted: &[UnitStep]) {
        let block = &self.code.blocks[index];
        let mut now = carried;
        for at in block.first..block.end {
            let step = accepted.iter().find(|step| step.owner == self.owners[at]);
            if let Some(step) = step
                && (step.at == at || self.code.instructions[at].is_significant())
            {
                now = step.owner;
            }
            self.tally.current[at] = now;
        }
    }

    fn record_misdirected(&mut self, arrived: &[InstructionOwner], to: InstructionOwner) {
        let misdirected = arrived.iter().filter(|from| !self.flow.can_follow(**from, to));
        self.misdirected.extend(misdirected.filter_map(|from| owner_unit(*from)));
    }

    fn is_allowed(
        &self,
        current: Option<InstructionOwner>,
        arrived: &[InstructionOwner],
        step: UnitStep,
    ) -> bool {
        let from_outside = || arrived.iter().all(|from| self.flow.can_follow(*from, step.owner));
        match (current, step.owner) {
            (None, _) => from_outside(),
            // A constant of an earlier statement, pushed for a later one.
            (Some(InstructionOwner::Unit(from)), InstructionOwner::Unit(to))
                if to < from && !step.significant =>
            {
                false
            }
            (Some(InstructionOwner::Unit(from)), InstructionOwner::Unit(to)) => {
                self.flow.always_runs_after(from, to)
            }
            (Some(from), _) => self.flow.can_follow(from, step.owner) || from_outside(),
        }
    }

    fn accept_step(
        &mut self,
        index: usize,
        step: UnitStep,
        current: Option<InstructionOwner>,
        arrived: &[InstructionOwner],
    ) {
        let InstructionOwner::Unit(id) = step.owner else { return };
        let leads = !matches!(current, Some(InstructionOwner::Unit(_)));
        let again = |from: &InstructionOwner| {
            *from == step.owner || self.flow.is_return_from_call(*from, id)
        };
        let returns_from_call = match current {
            Some(from @ InstructionOwner::Unit(_)) => again(&from),
            _ => arrived.iter().any(again),
        };
        match current {
            Some(InstructionOwner::Unit(from)) => self.reached.extend([(from, id)]),
            _ => self
                .reached
                .extend(arrived.iter().filter_map(|from| Some((owner_unit(*from)?, id)))),
        }
        if returns_from_call {
            return;
        }
        if leads {
            self.entry_units[index] = Some(id);
        }
        let count = self.code.arrival_count(&self.code.blocks[index], step.at);
        let sum = self.tally.units.entry(id).or_default();
        *sum = sum.saturating_add(count);
    }

    /// Returns the first occurrence of each owner in a block, in order.
    fn collect_steps(&self, block: &BasicBlock) -> Vec<UnitStep> {
        let mut steps: Vec<UnitStep> = Vec::new();
        for at in block.first..block.end {
            let instruction = &self.code.instructions[at];
            let owner = self.owners[at];
            let significant = instruction.is_significant();
            let leads = at == block.first && instruction.is_jump_destination();
            let counts = match owner {
                InstructionOwner::Unit(_) => true,
                InstructionOwner::Compound(_) => leads,
                InstructionOwner::Unattributed => false,
            };
            if !counts {
                continue;
            }
            match steps.iter_mut().find(|step| step.owner == owner) {
                Some(step) => step.significant |= significant,
                None => steps.push(UnitStep { owner, at, significant }),
            }
        }
        steps.retain(|step| {
            step.significant || !self.yul_optimized || owner_unit(step.owner).is_none()
        });
        steps
    }

    /// Marks the units that misdirected jumps make uncertain, and returns the tally.
    fn finish(mut self) -> UnitTally {
        for from in &self.misdirected {
            let function = self.tree.nodes[*from].function;
            let inside = function..self.tree.nodes[function].end;
            let missed = self.tree.units_in(inside).filter(|to| {
                to != from
                    && self
                        .flow
                        .can_follow(InstructionOwner::Unit(*from), InstructionOwner::Unit(*to))
                    && !self.reached.contains(&(*from, *to))
            });
            self.tally.uncertain.extend(missed);
        }
        let blocks = 0..self.code.blocks.len();
        let on_both_sides: Vec<NodeId> =
            blocks.filter_map(|index| self.find_unit_on_both_sides(index)).collect();
        self.tally.uncertain.extend(on_both_sides);
        self.tally
    }

    /// Returns the unit that a conditional jump leads to on both sides: on one of them, its instructions are displaced.
    fn find_unit_on_both_sides(&self, index: usize) -> Option<NodeId> {
        let push = self.code.blocks[index].end.checked_sub(2)?;
        self.code.instructions.get(push + 1)?.is_conditional_jump().then_some(())?;
        let target = self.code.instructions[push].refers_to?;
        let entry = *self.entry_units.get(index + 1)?;
        entry.filter(|_| target != index + 1 && self.entry_units[target] == entry)
    }
}

fn owner_unit(owner: InstructionOwner) -> Option<NodeId> {
    match owner {
        InstructionOwner::Unit(id) => Some(id),
        InstructionOwner::Compound(_) | InstructionOwner::Unattributed => None,
    }
}
