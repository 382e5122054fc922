//! Finds the contracts that calls may create: their creation code is part of the code that runs.

use std::collections::{BTreeSet, HashMap};

use alloy_primitives::Address;

use crate::chain::{CodePart, CompiledCode};
use crate::target::FuzzTarget;

/// Bytes of creation code by which positions are found, before all of it is compared.
const PREFIX: usize = 8;

/// A code, with the positions of prefixes that were searched in it.
struct SearchedCode<'a> {
    bytes: &'a [u8],
    positions: HashMap<&'a [u8], Vec<usize>>,
}

/// Returns the build indices of contracts that the deployed ones can create, also indirectly. The test contract itself is
/// left out: what its invariants create is undone.
///
/// The compiler embeds the creation code of a contract in the code that creates it.
pub(super) fn find_created_contracts(target: &FuzzTarget, test: Address) -> BTreeSet<usize> {
    let codes = target.codes.entries();
    let runs = |contract: usize| {
        codes.iter().filter(move |code| code.contract == contract && code.part == CodePart::Runtime)
    };
    let deployed = target.contracts.iter().filter(|it| it.address != test);
    let mut open: Vec<usize> =
        deployed.map(|it| it.contract).collect::<BTreeSet<_>>().into_iter().collect();
    let mut seen: BTreeSet<usize> = open.iter().copied().collect();
    let mut created = BTreeSet::new();
    while let Some(creator) = open.pop() {
        for code in runs(creator) {
            let mut searched = SearchedCode { bytes: &code.bytes, positions: HashMap::new() };
            for child in codes.iter().filter(|it| it.part == CodePart::Creation) {
                if !created.contains(&child.contract) && searched.contains(child) {
                    created.insert(child.contract);
                    if seen.insert(child.contract) {
                        open.push(child.contract);
                    }
                }
            }
        }
    }
    created
}

impl<'a> SearchedCode<'a> {
    fn contains(&mut self, child: &'a CompiledCode) -> bool {
        let (bytes, wanted) = (self.bytes, child.bytes.as_slice());
        let Some(prefix) = wanted.get(..PREFIX) else { return false };
        if wanted.len() > bytes.len() {
            return false;
        }
        let positions = self.positions.entry(prefix).or_insert_with(|| {
            let windows = bytes.windows(PREFIX).enumerate();
            windows.filter(|(_, window)| *window == prefix).map(|(at, _)| at).collect()
        });
        positions.iter().any(|&at| bytes[at..].starts_with(wanted))
    }
}
