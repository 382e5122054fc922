//! What all workers ran, by line and branch of the source.
//!
//! A report takes some time to make, and depends on nothing but the hits: whoever asks often keeps it by them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use coverage::{CodeHits, Edge, Report};

use crate::chain::{Hits, Known, Part};
use crate::target::Target;

/// The report of what was hit; see [`super::Shared::hits`].
pub fn report(target: &Target, hits: &[Arc<Hits>]) -> Report {
    Report::new(&target.build, &code_hits(target, hits))
}

/// Outcomes of branches in code that any worker saw; there are more of them than in source.
pub fn branches(hits: &[Arc<Hits>]) -> usize {
    let mut seen = BTreeSet::new();
    for hits in hits {
        for (code, edges) in hits.edges.iter().enumerate() {
            seen.extend(edges.iter().map(|edge| (code, *edge)));
        }
    }
    seen.len()
}

/// The counts of all workers together, of code that ran or lies on the chain.
fn code_hits(target: &Target, hits: &[Arc<Hits>]) -> Vec<CodeHits> {
    let is_deployed = |known: &Known| {
        known.part == Part::Runtime
            && target.contracts.iter().any(|deployed| deployed.contract == known.contract)
    };
    let known = target.codes.known().iter().enumerate();
    let counted = known.filter_map(|(code, known)| {
        let blocks = sum(hits.iter().filter_map(|hits| hits.blocks.get(code)));
        (!blocks.is_empty() || is_deployed(known)).then(|| CodeHits {
            contract: known.contract,
            part: match known.part {
                Part::Creation => coverage::Part::Creation,
                Part::Runtime => coverage::Part::Runtime,
            },
            code: known.bytes.clone(),
            blocks,
            edges: edges(hits, code),
            halts: sum(hits.iter().filter_map(|hits| hits.halts.get(code))),
        })
    });
    counted.collect()
}

fn sum<'a>(counts: impl Iterator<Item = &'a Vec<(usize, u32)>>) -> Vec<(usize, u64)> {
    let mut sums: BTreeMap<usize, u64> = BTreeMap::new();
    for (offset, count) in counts.flatten() {
        *sums.entry(*offset).or_default() += u64::from(*count);
    }
    sums.into_iter().collect()
}

fn edges(hits: &[Arc<Hits>], code: usize) -> Vec<Edge> {
    let edges = hits.iter().filter_map(|hits| hits.edges.get(code)).flatten();
    let edges: BTreeSet<(usize, bool)> = edges.copied().collect();
    edges.into_iter().map(|(offset, taken)| Edge { offset, taken, seen: true }).collect()
}
