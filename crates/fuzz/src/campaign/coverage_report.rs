//! Coverage of all workers, by line and branch of the source.
//!
//! A report takes some time to build and depends only on the hits, so callers should cache it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coverage::{CodeHits, CoverageReport, EdgeHit};

use crate::chain::{CodePart, CompiledCode, CoverageHits};
use crate::target::FuzzTarget;

/// Returns the coverage report of these hits; see [`super::CampaignState::hits`].
pub fn build_report(target: &FuzzTarget, hits: &[Arc<CoverageHits>]) -> CoverageReport {
    CoverageReport::new(&target.build, &merge_code_hits(target, hits))
}

/// Returns the number of distinct branch outcomes in bytecode. There are more of them than in source.
pub fn count_branches(hits: &[Arc<CoverageHits>]) -> usize {
    let mut seen = BTreeSet::new();
    for hits in hits {
        for (code, edges) in hits.edges.iter().enumerate() {
            seen.extend(edges.iter().map(|edge| (code, *edge)));
        }
    }
    seen.len()
}

/// Returns the combined counts of all workers, for code that ran or is deployed.
fn merge_code_hits(target: &FuzzTarget, hits: &[Arc<CoverageHits>]) -> Vec<CodeHits> {
    let is_deployed = |known: &CompiledCode| {
        known.part == CodePart::Runtime
            && target.contracts.iter().any(|deployed| deployed.contract == known.contract)
    };
    let known = target.codes.entries().iter().enumerate();
    let counted = known.filter_map(|(code, known)| {
        let blocks = sum_counts(hits.iter().filter_map(|hits| hits.blocks.get(code)));
        (!blocks.is_empty() || is_deployed(known)).then(|| CodeHits {
            contract: known.contract,
            part: match known.part {
                CodePart::Creation => coverage::CodeSection::Creation,
                CodePart::Runtime => coverage::CodeSection::Runtime,
            },
            code: known.bytes.clone(),
            blocks,
            edges: merge_edges(hits, code),
            halts: sum_counts(hits.iter().filter_map(|hits| hits.halts.get(code))),
        })
    });
    counted.collect()
}

fn sum_counts<'a>(counts: impl Iterator<Item = &'a Vec<(usize, u32)>>) -> Vec<(usize, u64)> {
    let mut sums: BTreeMap<usize, u64> = BTreeMap::new();
    for (offset, count) in counts.flatten() {
        *sums.entry(*offset).or_default() += u64::from(*count);
    }
    sums.into_iter().collect()
}

fn merge_edges(hits: &[Arc<CoverageHits>], code: usize) -> Vec<EdgeHit> {
    let edges = hits.iter().filter_map(|hits| hits.edges.get(code)).flatten();
    let edges: BTreeSet<(usize, bool)> = edges.copied().collect();
    edges.into_iter().map(|(offset, taken)| EdgeHit { offset, taken, seen: true }).collect()
}
