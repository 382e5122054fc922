//! Several compilations as one build: sources get numbers that mean the same everywhere, libraries get their names.

use std::collections::BTreeMap;

use alloy_primitives::{hex, keccak256};

use crate::{Build, Contract, Source, SourceMap};

/// Puts builds together; of two that have the same contract the first counts.
pub(crate) fn merge(units: Vec<Build>) -> Build {
    let mut merged = Merged::default();
    for unit in units {
        merged.add(unit);
    }
    let names = Names::of(merged.contracts.values());
    let mut contracts: Vec<_> = merged.contracts.into_values().collect();
    for link in contracts
        .iter_mut()
        .flat_map(|contract| contract.creation.links.iter_mut().chain(&mut contract.runtime.links))
    {
        if let Some(name) = names.resolve(&link.library) {
            link.library = name;
        }
    }
    let mut sources: Vec<_> = merged.sources.into_values().collect();
    sources.sort_by_key(|source| source.id);
    Build { compiler: merged.compiler, sources, contracts }
}

#[derive(Default)]
struct Merged {
    compiler: Option<String>,
    sources: BTreeMap<String, Source>,
    contracts: BTreeMap<(String, String), Contract>,
}

impl Merged {
    fn add(&mut self, unit: Build) {
        self.compiler = self.compiler.take().or(unit.compiler);
        let mut numbers = BTreeMap::new();
        // The first compilation keeps its numbers, so that those of a single one are the compiler's.
        let is_first = self.sources.is_empty();
        let mut next =
            self.sources.values().map(|source| source.id.saturating_add(1)).max().unwrap_or(0);
        for mut source in unit.sources {
            let own = source.id;
            if let Some(known) = self.sources.get_mut(&source.path) {
                numbers.insert(own, known.id);
                if known.ast.is_none() && known.text == source.text {
                    known.ast = source.ast;
                }
                continue;
            }
            if !is_first {
                source.id = next;
                next = next.saturating_add(1);
            }
            numbers.insert(own, source.id);
            self.sources.insert(source.path.clone(), source);
        }
        for contract in unit.contracts {
            self.add_contract(contract, &numbers);
        }
    }

    fn add_contract(&mut self, mut contract: Contract, numbers: &BTreeMap<u32, u32>) {
        renumber(&mut contract.creation.source_map, numbers);
        renumber(&mut contract.runtime.source_map, numbers);
        let key = (contract.source.clone(), contract.name.clone());
        // A later compilation of other files may name a contract without making its code.
        let keeps = self
            .contracts
            .get(&key)
            .is_some_and(|known| known.is_deployable() || !contract.is_deployable());
        if !keeps {
            self.contracts.insert(key, contract);
        }
    }
}

/// Numbers that belong to no source are the compiler's own helper code.
fn renumber(map: &mut SourceMap, numbers: &BTreeMap<u32, u32>) {
    for span in &mut map.spans {
        span.source = span.source.and_then(|own| numbers.get(&own).copied());
    }
}

/// Which library a link means.
struct Names {
    /// Hash placeholders, old placeholders and bare names, as far as each means one contract only.
    by_mark: BTreeMap<String, Option<String>>,
}

impl Names {
    fn of<'a>(contracts: impl Iterator<Item = &'a Contract>) -> Self {
        let mut by_mark = BTreeMap::new();
        for contract in contracts {
            let name = contract.qualified_name();
            for mark in [hash_mark(&name), old_mark(&name), contract.name.clone()] {
                by_mark
                    .entry(mark)
                    .and_modify(|known| *known = None)
                    .or_insert_with(|| Some(name.clone()));
            }
        }
        Self { by_mark }
    }

    fn resolve(&self, library: &str) -> Option<String> {
        self.by_mark.get(library)?.clone()
    }
}

/// The placeholder since solc 0.5.
fn hash_mark(name: &str) -> String {
    let digits = hex::encode(keccak256(name));
    format!("__${}$__", &digits[..34])
}

/// The placeholder before solc 0.5: the name, cut or filled up to the 40 digits of an address.
fn old_mark(name: &str) -> String {
    let cut: String = name.chars().take(36).collect();
    format!("{:_<40}", format!("__{cut}"))
}
