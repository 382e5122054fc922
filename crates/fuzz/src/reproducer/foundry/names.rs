//! Unique, valid Solidity names for the generated file.

use super::{DeploymentCode, FoundryTestError, SceneDeployment};
use crate::abi::text;
use crate::target::TargetTest;

/// Names reserved by the generated file.
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

/// Maximum characters of a test name in the contract name, which is also the file name.
const LONGEST: usize = 64;

/// Import names of the deployed contracts.
pub(super) struct ImportNames {
    /// One entry per deployment; None for those without source.
    all: Vec<Option<ContractImport>>,
}

struct ContractImport {
    path: String,
    name: String,
    local: String,
}

impl ImportNames {
    pub(super) fn new(deployments: &[SceneDeployment]) -> Result<Self, FoundryTestError> {
        let mut all: Vec<Option<ContractImport>> = Vec::new();
        for deployment in deployments {
            let DeploymentCode::Source { import, name } = &deployment.code else {
                all.push(None);
                continue;
            };
            // The name comes from an untrusted source file, and goes into code that is run.
            if !is_identifier(name) {
                return Err(FoundryTestError::InvalidName(name.clone()));
            }
            let local = choose_local_name(import, name, &all);
            all.push(Some(ContractImport { path: import.clone(), name: name.clone(), local }));
        }
        Ok(Self { all })
    }

    /// Returns the imported name of a deployment's contract; empty if it has no source.
    pub(super) fn imported_name(&self, index: usize) -> &str {
        self.all[index].as_ref().map_or("", |import| &import.local)
    }

    /// Returns the import statements without duplicates.
    pub(super) fn import_statements(&self) -> Vec<String> {
        let mut statements = Vec::new();
        for import in self.all.iter().flatten() {
            let ContractImport { path, name, local } = import;
            let what = if name == local { name.clone() } else { format!("{name} as {local}") };
            let mut statement = format!("import {{{what}}} from ");
            text::write_string_literal(&mut statement, path.as_bytes());
            statement.push(';');
            if !statements.contains(&statement) {
                statements.push(statement);
            }
        }
        statements
    }
}

/// Returns the contract's own name, with underscores appended if it is taken.
fn choose_local_name(path: &str, name: &str, all: &[Option<ContractImport>]) -> String {
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

/// Returns the name of the contract that replays a finding.
pub(super) fn test_contract_name(test: &TargetTest, digest: &str) -> String {
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
