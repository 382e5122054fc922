//! The report: counts of lines, branches and functions, by file and by contract.

mod sums;

use std::collections::BTreeMap;

use serde::Serialize;
use solidity::Build;

use crate::hits::CodeHits;
use crate::tree::Tree;
use sums::Sums;

/// What ran, and what could have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The files that something is told of, in the order of the build.
    pub files: Vec<FileReport>,
    /// The contracts that hits were handed in for.
    pub contracts: Vec<ContractReport>,
}

/// One source file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileReport {
    /// The path as the compiler knows it.
    pub path: String,
    /// The lines that can run, each with how often control came to it.
    pub lines: BTreeMap<u32, u64>,
    /// By where they begin.
    pub branches: Vec<Branch>,
    pub functions: Vec<Function>,
}

/// A decision with its two outcomes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Branch {
    pub line: u32,
    /// Offset in bytes, which tells apart the decisions of a line.
    pub start: u32,
    /// If it holds, and if it does not.
    pub outcomes: [Outcome; 2],
}

/// One way that a decision can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// None if the code does not tell.
    pub count: Option<u64>,
    pub seen: bool,
}

/// A function, a modifier or a constructor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Function {
    /// With its contract, such as `Token.transfer`.
    pub name: String,
    pub line: u32,
    /// How often control came to its first statement.
    pub count: u64,
}

/// One contract, with what it inherits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContractReport {
    pub name: String,
    /// The path of its source.
    pub source: String,
    pub lines: Ratio,
    pub branches: Ratio,
}

/// How many there are, and how many of them ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ratio {
    pub found: usize,
    pub hit: usize,
}

impl Report {
    /// Brings hits together with source. Hits of a contract that the build does not have are passed over; several of
    /// one code are added up.
    pub fn new(build: &Build, hits: &[CodeHits]) -> Self {
        let tree = Tree::of(build);
        let mut by_contract: BTreeMap<usize, Sums> = BTreeMap::new();
        for hits in hits.iter().filter(|hits| hits.contract < build.contracts.len()) {
            by_contract.entry(hits.contract).or_default().take(build, &tree, hits);
        }
        let contracts = by_contract.iter().map(|(index, sums)| {
            let contract = &build.contracts[*index];
            let (lines, branches) = ratios(&sums.files(build, &tree));
            let (name, source) = (contract.name.clone(), contract.source.clone());
            ContractReport { name, source, lines, branches }
        });
        let contracts = contracts.collect();
        let mut all = Sums::default();
        by_contract.into_values().for_each(|sums| all.add(sums));
        Self { files: all.files(build, &tree), contracts }
    }

    /// All lines, and all outcomes of branches.
    pub fn totals(&self) -> (Ratio, Ratio) {
        ratios(&self.files)
    }
}

impl FileReport {
    pub(crate) fn line_ratio(&self) -> Ratio {
        Ratio::of(self.lines.values().map(|count| *count > 0))
    }

    /// Each outcome counts as one.
    pub(crate) fn branch_ratio(&self) -> Ratio {
        let outcomes = self.branches.iter().flat_map(|branch| branch.outcomes);
        Ratio::of(outcomes.map(|outcome| outcome.seen))
    }

    /// The branches that begin on a line.
    pub fn branches_on(&self, line: u32) -> impl Iterator<Item = &Branch> {
        self.branches.iter().filter(move |branch| branch.line == line)
    }
}

impl Branch {
    /// True if it was decided, but always in the same way.
    pub fn is_half_taken(&self) -> bool {
        self.outcomes[0].seen != self.outcomes[1].seen
    }

    pub(crate) fn was_reached(&self) -> bool {
        self.outcomes.iter().any(|outcome| outcome.seen)
    }
}

impl Outcome {
    pub(crate) const NEVER: Self = Self { count: Some(0), seen: false };

    pub(crate) fn add(&mut self, other: Self) {
        self.count = self.count.zip(other.count).map(|(count, more)| count.saturating_add(more));
        self.seen |= other.seen;
    }
}

impl Ratio {
    fn of(hits: impl Iterator<Item = bool>) -> Self {
        hits.fold(Self::default(), |ratio, hit| Self {
            found: ratio.found + 1,
            hit: ratio.hit + usize::from(hit),
        })
    }

    fn and(self, other: Self) -> Self {
        Self { found: self.found + other.found, hit: self.hit + other.hit }
    }

    /// In percent, rounded to one decimal but never up to 100. None if there is nothing to hit.
    pub fn percent(self) -> Option<f64> {
        let per_mille = |ratio: Self| (ratio.hit * 1000 + ratio.found / 2) / ratio.found;
        let tenths = match self {
            Self { found: 0, .. } => return None,
            Self { found, hit } if hit < found => per_mille(self).min(999),
            _ => 1000,
        };
        u32::try_from(tenths).ok().map(|tenths| f64::from(tenths) / 10.0)
    }
}

fn ratios(files: &[FileReport]) -> (Ratio, Ratio) {
    files.iter().fold(<(Ratio, Ratio)>::default(), |(lines, branches), file| {
        (lines.and(file.line_ratio()), branches.and(file.branch_ratio()))
    })
}
