//! Coverage counts, copied from the probe for observers.

use super::probe::ExecutionProbe;

/// Block counts and taken branches, by code index.
#[derive(Clone, Debug, Default)]
pub struct CoverageHits {
    pub blocks: Vec<Vec<(usize, u32)>>,
    pub edges: Vec<Vec<(usize, bool)>>,
    /// Frames that ended in the middle of a block.
    pub halts: Vec<Vec<(usize, u32)>>,
}

impl CoverageHits {
    pub fn from_probe(probe: &ExecutionProbe) -> Self {
        let codes = 0..probe.code_count();
        Self {
            blocks: codes.clone().map(|code| probe.block_hits(code).collect()).collect(),
            edges: codes.clone().map(|code| probe.seen_edges(code).collect()).collect(),
            halts: codes.map(|code| probe.halt_counts(code).collect()).collect(),
        }
    }
}
