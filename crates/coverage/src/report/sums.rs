//! Counts of units and decisions, added up over codes.
//!
//! What cannot be told in one code that has it cannot be told in a sum over codes either.

use std::collections::{BTreeMap, BTreeSet};

use solidity::{Build, Contract};

use super::{Branch, FileReport, Function, Outcome};
use crate::branches;
use crate::code::Code;
use crate::hits::{CodeHits, Part};
use crate::lines::Lines;
use crate::places::Places;
use crate::tally;
use crate::tree::{Id, Kind, Role, Routine, Slot, Tree};

#[derive(Default)]
pub(super) struct Sums {
    units: BTreeMap<Id, u64>,
    untold: BTreeSet<Id>,
    decisions: BTreeMap<usize, [Outcome; 2]>,
    undecided: BTreeSet<usize>,
    /// Lines of sources without a syntax tree: by index of the source and number of the line.
    plain: BTreeMap<(usize, u32), u64>,
}

impl Sums {
    /// Adds what one code tells.
    pub(super) fn take(&mut self, build: &Build, tree: &Tree, hits: &CodeHits) {
        let Some(contract) = build.contracts.get(hits.contract) else { return };
        let map = match hits.part {
            Part::Creation => &contract.creation.source_map,
            Part::Runtime => &contract.runtime.source_map,
        };
        let source = build.sources.iter().position(|source| source.path == contract.source);
        let bases = source.map(|source| tree.bases(source, &contract.name)).unwrap_or_default();
        let code = Code::new(map, hits);
        let mut places = Places::of(tree, &code, hits.part);
        // A constructor may be too short to show how it was made.
        places.rearranged |= is_runtime_rearranged(tree, contract);
        let tally = tally::tally(tree, &code, &places, hits.part, bases);
        let outcomes =
            branches::Jumps::new(tree, &code, &tally, places.rearranged, &hits.edges).outcomes();
        let plain = plain_lines(build, tree, &code);
        self.add(Self {
            units: tally.units.into_iter().collect(),
            untold: tally.untold.into_iter().collect(),
            decisions: outcomes.told.into_iter().collect(),
            undecided: outcomes.untold.into_iter().collect(),
            plain,
        });
    }

    pub(super) fn add(&mut self, other: Self) {
        add_counts(&mut self.units, other.units);
        add_counts(&mut self.plain, other.plain);
        self.untold.extend(other.untold);
        self.undecided.extend(other.undecided);
        for (decision, outcomes) in other.decisions {
            let sums = self.decisions.entry(decision).or_insert([Outcome::NEVER; 2]);
            sums.iter_mut().zip(outcomes).for_each(|(sum, outcome)| sum.add(outcome));
        }
    }

    /// The files that something is told of.
    pub(super) fn files(&self, build: &Build, tree: &Tree) -> Vec<FileReport> {
        let mut files: Vec<FileReport> = build
            .sources
            .iter()
            .map(|source| FileReport { path: source.path.clone(), ..FileReport::default() })
            .collect();
        for ((source, line), count) in &self.plain {
            files[*source].lines.insert(*line, *count);
        }
        for ((source, line), count) in self.lines(tree) {
            files[source].lines.insert(line, count);
        }
        for (index, outcomes) in &self.decisions {
            let decision = &tree.decisions[*index];
            if self.undecided.contains(index) || self.untold.contains(&decision.unit) {
                continue;
            }
            let (line, start) = (decision.line, decision.extent.start);
            let branch = Branch { line, start, outcomes: *outcomes };
            files[decision.extent.source].branches.push(branch);
        }
        for routine in &tree.routines {
            if let Some(count) = self.entries(tree, routine) {
                let (name, line) = (routine.title.clone(), routine.line);
                let source = tree.nodes[routine.node].extent.source;
                files[source].functions.push(Function { name, line, count });
            }
        }
        files.retain(|file| !file.lines.is_empty());
        for file in &mut files {
            file.branches.sort_by_key(|branch| (branch.line, branch.start));
            file.functions.sort_by_key(|function| function.line);
        }
        files
    }

    /// The lines of which the highest count is known: a unit of the line that is not told must be bounded by one that
    /// is.
    fn lines(&self, tree: &Tree) -> BTreeMap<(usize, u32), u64> {
        let mut by_line: BTreeMap<(usize, u32), Vec<Id>> = BTreeMap::new();
        for id in tree.units(0..tree.nodes.len()) {
            let node = &tree.nodes[id];
            by_line.entry((node.extent.source, node.line)).or_default().push(id);
        }
        let highest = by_line.into_iter().filter_map(|(line, units)| {
            let (told, rest): (Vec<Id>, Vec<Id>) =
                units.into_iter().partition(|id| self.is_told(*id));
            let bounded = rest.iter().all(|id| told.iter().any(|by| tree.is_bounded(*id, *by)));
            let count = told.iter().filter_map(|id| self.units.get(id).copied()).max()?;
            bounded.then_some((line, count))
        });
        highest.collect()
    }

    fn is_told(&self, id: Id) -> bool {
        self.units.contains_key(&id) && !self.untold.contains(&id)
    }

    /// How often control came to a function: to its first unit, if that is run once whenever the function is.
    fn entries(&self, tree: &Tree, routine: &Routine) -> Option<u64> {
        if routine.role == Role::Construction && !routine.title.ends_with(".constructor") {
            return None;
        }
        let inside = routine.node..tree.nodes[routine.node].end;
        // A later one would do only if nothing before it can leave the function.
        let first = tree.units(inside).next()?;
        let told = self.is_told(first) && runs_once(tree, first, routine.node);
        told.then(|| self.units.get(&first).copied())?
    }
}

fn is_runtime_rearranged(tree: &Tree, contract: &Contract) -> bool {
    let code = Code::not_run(&contract.runtime.source_map, &contract.runtime.bytes);
    Places::of(tree, &code, Part::Runtime).rearranged
}

fn runs_once(tree: &Tree, unit: Id, function: Id) -> bool {
    let mut id = unit;
    while let Some(parent) = tree.nodes[id].parent.filter(|_| id != function) {
        let once = match tree.nodes[parent].kind {
            Kind::Loop => tree.nodes[id].slot == Slot::Start,
            Kind::If | Kind::Choice => tree.nodes[id].slot == Slot::Head,
            Kind::Function | Kind::List | Kind::Unit => true,
        };
        if !once {
            return false;
        }
        id = parent;
    }
    true
}

/// Without a syntax tree, what begins and ends on one line counts for it, at the highest count of its blocks.
fn plain_lines(build: &Build, tree: &Tree, code: &Code) -> BTreeMap<(usize, u32), u64> {
    let lines: Vec<Option<Lines>> = build
        .sources
        .iter()
        .enumerate()
        .map(|(index, source)| (!tree.has_tree(index)).then(|| Lines::of(&source.text)))
        .collect();
    let mut counts = BTreeMap::new();
    for block in &code.blocks {
        for (index, instruction) in (block.first..).zip(code.of(block)) {
            let Some(extent) = tree.extent(instruction.span) else { continue };
            let Some(lines) = lines.get(extent.source).and_then(Option::as_ref) else { continue };
            let line = lines.at(extent.start);
            if extent.start < extent.end && lines.at(extent.end - 1) == line {
                let count = counts.entry((extent.source, line)).or_default();
                *count = code.came_to(block, index).max(*count);
            }
        }
    }
    counts
}

fn add_counts<K: Ord>(sums: &mut BTreeMap<K, u64>, counts: BTreeMap<K, u64>) {
    for (key, count) in counts {
        let sum = sums.entry(key).or_default();
        *sum = sum.saturating_add(count);
    }
}
