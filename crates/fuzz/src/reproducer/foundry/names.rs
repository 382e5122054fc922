//! Names that are valid in Solidity and mean one thing in the file.

use super::{Code, Deployment, NoTest};
use crate::abi::text;
use crate::target::Test;

/// Names that the file itself uses.
const TAKEN: [&str; 14] = [
    "ReproducerVm",
    "vm",
    "DEPLOYER",
    "TARGET",
    "CALL_GAS",
    "setUp",
    "deploy",
    "step",
    "elapse",
    "panicked",
    "assertionFailed",
    "isFailure",
    "holds",
    "test_replay",
];

/// The longest part of a test's name that goes into the name of a contract, and so of a file.
const LONGEST: usize = 64;

/// What the contracts of the scene are called in the file.
pub(super) struct Names {
    /// For each deployment; None for those that have no source.
    all: Vec<Option<Import>>,
}

struct Import {
    path: String,
    name: String,
    local: String,
}

impl Names {
    pub(super) fn new(deployments: &[Deployment]) -> Result<Self, NoTest> {
        let mut all: Vec<Option<Import>> = Vec::new();
        for deployment in deployments {
            let Code::Source { import, name } = &deployment.code else {
                all.push(None);
                continue;
            };
            // The name comes from a file that anybody may have written, and goes into code that is run.
            if !is_identifier(name) {
                return Err(NoTest::Name(name.clone()));
            }
            let local = local_name(import, name, &all);
            all.push(Some(Import { path: import.clone(), name: name.clone(), local }));
        }
        Ok(Self { all })
    }

    /// The name of the contract of a deployment; empty where it has no source.
    pub(super) fn local(&self, index: usize) -> &str {
        self.all[index].as_ref().map_or("", |import| &import.local)
    }

    /// The statements, each once.
    pub(super) fn imports(&self) -> Vec<String> {
        let mut statements = Vec::new();
        for import in self.all.iter().flatten() {
            let Import { path, name, local } = import;
            let what = if name == local { name.clone() } else { format!("{name} as {local}") };
            let mut statement = format!("import {{{what}}} from ");
            text::quote(&mut statement, path.as_bytes());
            statement.push(';');
            if !statements.contains(&statement) {
                statements.push(statement);
            }
        }
        statements
    }
}

/// The contract's own name, unless something else has it.
fn local_name(path: &str, name: &str, all: &[Option<Import>]) -> String {
    let known = all.iter().flatten();
    if let Some(same) = known.clone().find(|known| known.path == path && known.name == name) {
        return same.local.clone();
    }
    let mut local = name.to_owned();
    while TAKEN.contains(&local.as_str()) || known.clone().any(|known| known.local == local) {
        local.push('_');
    }
    local
}

/// A name for the contract that replays a finding.
pub(super) fn test_contract(test: &Test, digest: &str) -> String {
    let about = format!("{}_{}", test.contract, test.name);
    let plain = |character: char| if character.is_ascii_alphanumeric() { character } else { '_' };
    let about: String = about.chars().take(LONGEST).map(plain).collect();
    format!("Reproducer_{}_{digest}", about.trim_end_matches('_'))
}

fn is_identifier(name: &str) -> bool {
    let is_first = |character: char| character.is_ascii_alphabetic() || "_$".contains(character);
    let is_next = |character: char| is_first(character) || character.is_ascii_digit();
    name.chars().next().is_some_and(is_first) && name.chars().all(is_next)
}
