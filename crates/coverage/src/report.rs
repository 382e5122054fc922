//! Coverage reports: hit counts of lines, branches and functions, by file and by smart contract.

mod sums;

use std::collections::BTreeMap;

use serde::Serialize;
use solidity::SolidityBuild;

use crate::hits::CodeHits;
use crate::statement_tree::StatementTree;
use sums::CoverageSums;

/// Coverage of the executed smart contracts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CoverageReport {
    /// Files with at least one reported line, in the order of the build.
    pub files: Vec<FileReport>,
    /// Smart contracts for which hits were passed.
    pub contracts: Vec<ContractReport>,
}

/// Coverage of one source file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FileReport {
    /// Path as known to the compiler.
    pub path: String,
    /// Hit counts of the executable lines, by line number.
    pub lines: BTreeMap<u32, u64>,
    /// Branches, sorted by position.
    pub branches: Vec<BranchCoverage>,
    pub functions: Vec<FunctionCoverage>,
}

/// Coverage of a decision with its two outcomes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BranchCoverage {
    pub line: u32,
    /// Byte offset in the source; distinguishes several decisions on one line.
    pub start: u32,
    /// Outcomes if the condition holds, and if it does not.
    pub outcomes: [BranchOutcome; 2],
}

/// One outcome of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BranchOutcome {
    /// `None` if the count cannot be derived from the bytecode.
    pub count: Option<u64>,
    pub seen: bool,
}

/// Coverage of a function, a modifier or a constructor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionCoverage {
    /// Name qualified with its contract, such as `Token.transfer`.
    pub name: String,
    pub line: u32,
    /// Number of arrivals at its first statement.
    pub count: u64,
}

/// Coverage of one smart contract, including inherited code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContractReport {
    pub name: String,
    /// Path of its source file.
    pub source: String,
    pub lines: CoverageRatio,
    pub branches: CoverageRatio,
}

/// Number of items, and number of those that were hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CoverageRatio {
    pub found: usize,
    pub hit: usize,
}

impl CoverageReport {
    /// Creates a report from hits. Hits of contracts that are not in the build are ignored; several hits of one
    /// bytecode are summed.
    pub fn new(build: &SolidityBuild, hits: &[CodeHits]) -> Self {
        let tree = StatementTree::from_build(build);
        let mut by_contract: BTreeMap<usize, CoverageSums> = BTreeMap::new();
        for hits in hits.iter().filter(|hits| hits.contract < build.contracts.len()) {
            by_contract.entry(hits.contract).or_default().add_code(build, &tree, hits);
        }
        let contracts = by_contract.iter().map(|(index, sums)| {
            let contract = &build.contracts[*index];
            let (lines, branches) = sum_ratios(&sums.file_reports(build, &tree));
            let (name, source) = (contract.name.clone(), contract.source.clone());
            ContractReport { name, source, lines, branches }
        });
        let contracts = contracts.collect();
        let mut all = CoverageSums::default();
        by_contract.into_values().for_each(|sums| all.merge(sums));
        Self { files: all.file_reports(build, &tree), contracts }
    }

    /// Returns the ratios of all lines and of all branch outcomes.
    pub fn totals(&self) -> (CoverageRatio, CoverageRatio) {
        sum_ratios(&self.files)
    }
}

impl FileReport {
    pub(crate) fn line_ratio(&self) -> CoverageRatio {
        CoverageRatio::from_hits(self.lines.values().map(|count| *count > 0))
    }

    /// Returns the ratio of branch outcomes; each outcome counts as one.
    pub(crate) fn branch_ratio(&self) -> CoverageRatio {
        let outcomes = self.branches.iter().flat_map(|branch| branch.outcomes);
        CoverageRatio::from_hits(outcomes.map(|outcome| outcome.seen))
    }

    /// Returns the branches that begin on a line.
    pub fn branches_on(&self, line: u32) -> impl Iterator<Item = &BranchCoverage> {
        self.branches.iter().filter(move |branch| branch.line == line)
    }
}

impl BranchCoverage {
    /// Returns true if it was reached, but always had the same outcome.
    pub fn is_half_taken(&self) -> bool {
        self.outcomes[0].seen != self.outcomes[1].seen
    }

    pub(crate) fn was_reached(&self) -> bool {
        self.outcomes.iter().any(|outcome| outcome.seen)
    }
}

impl BranchOutcome {
    pub(crate) const NEVER: Self = Self { count: Some(0), seen: false };

    pub(crate) fn add(&mut self, other: Self) {
        self.count = self.count.zip(other.count).map(|(count, more)| count.saturating_add(more));
        self.seen |= other.seen;
    }
}

impl CoverageRatio {
    fn from_hits(hits: impl Iterator<Item = bool>) -> Self {
        hits.fold(Self::default(), |ratio, hit| Self {
            found: ratio.found + 1,
            hit: ratio.hit + usize::from(hit),
        })
    }

    fn combine(self, other: Self) -> Self {
        Self { found: self.found + other.found, hit: self.hit + other.hit }
    }

    /// Returns the percentage, rounded to one decimal but never up to 100. Returns `None` if there are no items.
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

fn sum_ratios(files: &[FileReport]) -> (CoverageRatio, CoverageRatio) {
    files.iter().fold(<(CoverageRatio, CoverageRatio)>::default(), |(lines, branches), file| {
        (lines.combine(file.line_ratio()), branches.combine(file.branch_ratio()))
    })
}
