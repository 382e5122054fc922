//! How often code ran, copied from the probe for those who watch.

use super::probe::Probe;

/// How often blocks ran and which branches were taken, by code.
#[derive(Clone, Debug, Default)]
pub struct Hits {
    pub blocks: Vec<Vec<(usize, u32)>>,
    pub edges: Vec<Vec<(usize, bool)>>,
    /// Frames that ended in the middle of a block.
    pub halts: Vec<Vec<(usize, u32)>>,
}

impl Hits {
    pub fn of(probe: &Probe) -> Self {
        let codes = 0..probe.codes();
        Self {
            blocks: codes.clone().map(|code| probe.hits(code).collect()).collect(),
            edges: codes.clone().map(|code| probe.edges(code).collect()).collect(),
            halts: codes.map(|code| probe.halts(code).collect()).collect(),
        }
    }
}
