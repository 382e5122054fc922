//! How often each unit was come to, as far as one code can tell.
//!
//! Each block is read as the sequence of units that it has instructions of. A unit is *come to* in a block if control
//! gets there from another place than the unit itself or a function that it called. Every such passage is held against
//! [`Flow`]:
//!
//! - One that the syntax tree does not allow means that the block serves several statements or that an instruction was
//!   moved. Units with real work in it (not just shuffling of the stack, which is moved freely) are not told.
//! - Where a jump goes astray like this, the statements that it should have led to have lost an arrival: not told.
//! - What a conditional jump leads to on both sides is astray on one of them: not told.
//! - If a function that can be called from outside has no instructions left and another looks the same, the two were
//!   merged: not told.

mod twins;

use std::collections::{HashMap, HashSet};

use crate::code::{Block, Code};
use crate::flow::Flow;
use crate::hits::Part;
use crate::places::Places;
use crate::tree::{Id, Place, Tree};

/// What one code tells.
pub(crate) struct Tally {
    /// The units that are told, with how often control came to them.
    pub(crate) units: HashMap<Id, u64>,
    /// The units that have instructions but cannot be told.
    pub(crate) untold: HashSet<Id>,
    /// For each instruction the place in whose course it runs, where that is certain.
    pub(crate) current: Vec<Place>,
}

/// The first instruction of a unit in a block, or the `JUMPDEST` between parts of a statement that begins the block.
#[derive(Clone, Copy)]
struct Step {
    place: Place,
    at: usize,
    /// Whether the unit has an instruction in the block that does more than arrange the stack.
    strong: bool,
}

struct Reader<'a> {
    tree: &'a Tree,
    code: &'a Code,
    flow: Flow<'a>,
    places: &'a [Place],
    rearranged: bool,
    tally: Tally,
    /// From which unit control gets to which other.
    reached: HashSet<(Id, Id)>,
    /// Units that a jump leads away from to where it cannot lead.
    astray: HashSet<Id>,
    /// The unit that each block begins with, if control comes to it there.
    led_to: Vec<Option<Id>>,
}

/// Reads a code. `bases` are the compiler's numbers of the contract and all that it inherits from.
pub(crate) fn tally(tree: &Tree, code: &Code, places: &Places, part: Part, bases: &[i64]) -> Tally {
    let mut live = vec![false; tree.nodes.len()];
    for place in &places.of_instructions {
        if let Place::Unit(id) = place {
            live[*id] = true;
        }
    }
    let tally = Tally {
        units: HashMap::new(),
        untold: HashSet::new(),
        current: vec![Place::Nowhere; code.instructions.len()],
    };
    let flow = Flow::new(tree, &live);
    let mut reader = Reader {
        tree,
        code,
        flow,
        places: &places.of_instructions,
        rearranged: places.rearranged,
        tally,
        reached: HashSet::new(),
        astray: HashSet::new(),
        led_to: vec![None; code.blocks.len()],
    };
    reader.read();
    let mut tally = reader.finish();
    tally.untold.extend(twins::merged(tree, &live, part, bases));
    tally.untold.extend((0..live.len()).filter(|id| live[*id] && !tally.units.contains_key(id)));
    tally.units.retain(|id, _| !tally.untold.contains(id));
    tally
}

impl Reader<'_> {
    fn read(&mut self) {
        // Where a jump comes from is known only once the block that it leaves was read, so the first round goes by
        // the order of the code alone.
        let count = self.code.blocks.len();
        for index in 0..count {
            let before = self.fallen_through(index);
            self.block(index, &before);
        }
        let arrivals = self.arrivals_by_jump();
        self.tally.units.clear();
        self.tally.untold.clear();
        self.reached.clear();
        self.astray.clear();
        self.led_to.fill(None);
        for (index, mut from) in arrivals.into_iter().enumerate() {
            from.extend(self.fallen_through(index));
            self.block(index, &from);
        }
    }

    /// The place that control leaves when it runs into a block from the one before.
    fn fallen_through(&self, index: usize) -> Vec<Place> {
        let before = index.checked_sub(1).and_then(|index| self.code.blocks.get(index));
        let last = before.and_then(|block| block.end.checked_sub(1));
        let Some(last) = last.filter(|last| !self.code.instructions[*last].ends_flow()) else {
            return Vec::new();
        };
        vec![self.tally.current[last]]
    }

    /// For each block the places from where its offset is pushed.
    fn arrivals_by_jump(&self) -> Vec<Vec<Place>> {
        let mut arrivals: Vec<Vec<Place>> = self.code.blocks.iter().map(|_| Vec::new()).collect();
        for (index, instruction) in self.code.instructions.iter().enumerate() {
            let Some(block) = instruction.refers_to else { continue };
            let next = self.code.instructions.get(index + 1);
            let jump =
                next.filter(|next| next.is_conditional_jump()).map(|_| self.places[index + 1]);
            let from = match (jump, self.places[index]) {
                (Some(place @ Place::Unit(_)), _) | (_, place @ Place::Within(_)) => place,
                _ => self.tally.current[index],
            };
            arrivals[block].push(from);
        }
        arrivals
    }

    fn block(&mut self, index: usize, arrived: &[Place]) {
        let block = &self.code.blocks[index];
        let mut accepted: Vec<Step> = Vec::new();
        let mut shared = false;
        for step in self.steps(block) {
            let current = accepted.last().map(|step| step.place);
            if !shared && self.is_allowed(current, arrived, step) {
                self.accept(index, step, current, arrived);
                accepted.push(step);
            } else if step.strong {
                if !arrived.contains(&step.place) {
                    self.tally.untold.extend(unit(step.place));
                }
                match current {
                    None => {
                        shared = true;
                        self.note_astray(arrived, step.place);
                    }
                    // Which of the two does not belong here is open.
                    Some(current) if self.rearranged => {
                        self.tally.untold.extend(unit(current));
                    }
                    Some(_) => {}
                }
            }
        }
        // Several ways may lead here, as long as they all come from one place.
        let carried = match arrived {
            [first, others @ ..] if !shared && others.iter().all(|it| it == first) => *first,
            _ => Place::Nowhere,
        };
        self.set_current(index, carried, &accepted);
    }

    /// Follows the accepted units through a block, back and forth where the optimiser has mixed them.
    fn set_current(&mut self, index: usize, carried: Place, accepted: &[Step]) {
        let block = &self.code.blocks[index];
        let mut now = carried;
        for at in block.first..block.end {
            let step = accepted.iter().find(|step| step.place == self.places[at]);
            if let Some(step) = step
                && (step.at == at || self.code.instructions[at].is_strong())
            {
                now = step.place;
            }
            self.tally.current[at] = now;
        }
    }

    fn note_astray(&mut self, arrived: &[Place], to: Place) {
        let astray = arrived.iter().filter(|from| !self.flow.can_follow(**from, to));
        self.astray.extend(astray.filter_map(|from| unit(*from)));
    }

    fn is_allowed(&self, current: Option<Place>, arrived: &[Place], step: Step) -> bool {
        let from_outside = || arrived.iter().all(|from| self.flow.can_follow(*from, step.place));
        match (current, step.place) {
            (None, _) => from_outside(),
            // A constant of an earlier statement that is pushed for a later one.
            (Some(Place::Unit(from)), Place::Unit(to)) if to < from && !step.strong => false,
            (Some(Place::Unit(from)), Place::Unit(to)) => self.flow.runs_with(from, to),
            (Some(from), _) => self.flow.can_follow(from, step.place) || from_outside(),
        }
    }

    fn accept(&mut self, index: usize, step: Step, current: Option<Place>, arrived: &[Place]) {
        let Place::Unit(id) = step.place else { return };
        let leads = !matches!(current, Some(Place::Unit(_)));
        let again = |from: &Place| *from == step.place || self.flow.returns(*from, id);
        let comes_back = match current {
            Some(from @ Place::Unit(_)) => again(&from),
            _ => arrived.iter().any(again),
        };
        match current {
            Some(Place::Unit(from)) => self.reached.extend([(from, id)]),
            _ => self.reached.extend(arrived.iter().filter_map(|from| Some((unit(*from)?, id)))),
        }
        if comes_back {
            return;
        }
        if leads {
            self.led_to[index] = Some(id);
        }
        let count = self.code.came_to(&self.code.blocks[index], step.at);
        let sum = self.tally.units.entry(id).or_default();
        *sum = sum.saturating_add(count);
    }

    fn steps(&self, block: &Block) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for at in block.first..block.end {
            let instruction = &self.code.instructions[at];
            let place = self.places[at];
            let strong = instruction.is_strong();
            let leads = at == block.first && instruction.is_jump_destination();
            let counts = match place {
                Place::Unit(_) => true,
                Place::Within(_) => leads,
                Place::Nowhere => false,
            };
            if !counts {
                continue;
            }
            match steps.iter_mut().find(|step| step.place == place) {
                Some(step) => step.strong |= strong,
                None => steps.push(Step { place, at, strong }),
            }
        }
        steps.retain(|step| step.strong || !self.rearranged || unit(step.place).is_none());
        steps
    }

    /// Takes back what jumps that went astray make doubtful.
    fn finish(mut self) -> Tally {
        for from in &self.astray {
            let function = self.tree.nodes[*from].function;
            let inside = function..self.tree.nodes[function].end;
            let missed = self.tree.units(inside).filter(|to| {
                to != from
                    && self.flow.can_follow(Place::Unit(*from), Place::Unit(*to))
                    && !self.reached.contains(&(*from, *to))
            });
            self.tally.untold.extend(missed);
        }
        let blocks = 0..self.code.blocks.len();
        let torn: Vec<Id> = blocks.filter_map(|index| self.led_both_ways(index)).collect();
        self.tally.untold.extend(torn);
        self.tally
    }

    /// The unit that a conditional jump leads to in two different blocks: on one side, its instructions are astray.
    fn led_both_ways(&self, index: usize) -> Option<Id> {
        let push = self.code.blocks[index].end.checked_sub(2)?;
        self.code.instructions.get(push + 1)?.is_conditional_jump().then_some(())?;
        let target = self.code.instructions[push].refers_to?;
        let led_to = *self.led_to.get(index + 1)?;
        led_to.filter(|_| target != index + 1 && self.led_to[target] == led_to)
    }
}

fn unit(place: Place) -> Option<Id> {
    match place {
        Place::Unit(id) => Some(id),
        Place::Within(_) | Place::Nowhere => None,
    }
}
