//! Chooses the contract under test from a build.

use std::ffi::OsStr;
use std::path::Path;

use solidity::{SolidityBuild, SolidityContract};

use crate::config::{CampaignSettings, TestMode};

/// The reason why no contract could be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChooseError {
    /// No contract has this name; `known` lists the names of the build.
    #[error("unknown contract `{name}`")]
    Unknown { name: String, known: Vec<String> },
    /// Several contracts have this name; `choices` lists them with their files.
    #[error("ambiguous contract name `{name}`: {} matches", choices.len())]
    Ambiguous { name: String, choices: Vec<String> },
    /// Every contract is an interface or abstract.
    #[error("no deployable contract found")]
    NotDeployable,
    /// Several contracts could be meant; `choices` lists them with their files.
    #[error("ambiguous target: {} contracts found", choices.len())]
    Unclear { choices: Vec<String> },
}

/// Returns the index of the contract of this name, which may include its file: `src/Token.sol:Token`.
pub fn find_contract(build: &SolidityBuild, name: &str) -> Result<usize, ChooseError> {
    let is_meant =
        |contract: &SolidityContract| contract.name == name || contract.qualified_name() == name;
    let found: Vec<_> = indices(build, is_meant).collect();
    match found[..] {
        [only] => Ok(only),
        [] => {
            let known = build.contracts.iter().map(|contract| contract.name.clone()).collect();
            Err(ChooseError::Unknown { name: name.to_owned(), known })
        }
        _ => {
            let choices = qualified_names(build, &found);
            Err(ChooseError::Ambiguous { name: name.to_owned(), choices })
        }
    }
}

/// Returns the index of the contract that is meant if none is named.
///
/// That is the only contract with tests, else the one named as its file, else the only one. `path` is what was compiled;
/// of a Solidity file only its own contracts count, not those that it imports.
pub fn choose_contract(
    build: &SolidityBuild,
    path: Option<&Path>,
    settings: &CampaignSettings,
) -> Result<usize, ChooseError> {
    let file = path.filter(|path| path.extension() == Some(OsStr::new("sol")));
    let is_own = |contract: &SolidityContract| {
        let name = |path: &Path| path.file_name().map(OsStr::to_owned);
        contract.is_deployable()
            && file.is_none_or(|file| name(file) == name(Path::new(&contract.source)))
    };
    let all: Vec<_> = indices(build, is_own).collect();
    let is_tested = |index: &usize| has_tests(&build.contracts[*index], settings);
    let tested: Vec<_> = all.iter().copied().filter(is_tested).collect();
    let stem = file.and_then(Path::file_stem);
    let same = all.iter().find(|index| stem == Some(OsStr::new(&build.contracts[**index].name)));
    match (&tested[..], same, &all[..]) {
        ([only], _, _) | ([], _, [only]) => Ok(*only),
        (_, Some(same), _) => Ok(*same),
        (_, _, []) => Err(ChooseError::NotDeployable),
        (tested, _, all) => {
            let choices = if tested.is_empty() { all } else { tested };
            Err(ChooseError::Unclear { choices: qualified_names(build, choices) })
        }
    }
}

fn indices<'a>(
    build: &'a SolidityBuild,
    is_meant: impl Fn(&SolidityContract) -> bool + 'a,
) -> impl Iterator<Item = usize> + 'a {
    (0..build.contracts.len()).filter(move |index| is_meant(&build.contracts[*index]))
}

fn qualified_names(build: &SolidityBuild, indices: &[usize]) -> Vec<String> {
    indices.iter().map(|index| build.contracts[*index].qualified_name()).collect()
}

/// Returns true if the name of a function marks it as a test. Assertions can be anywhere, so names say nothing of them.
pub(super) fn has_tests(contract: &SolidityContract, settings: &CampaignSettings) -> bool {
    let prefixes: &[&str] = match settings.test_mode {
        TestMode::Property => &[&settings.prefix, "invariant", "statefulFuzz"],
        TestMode::Foundry => &[&settings.prefix, "invariant", "statefulFuzz", "test", "table"],
        TestMode::Optimization => &[&settings.prefix],
        TestMode::Assertion | TestMode::Overflow | TestMode::Exploration => return false,
    };
    contract.abi.functions().any(|it| prefixes.iter().any(|prefix| it.name.starts_with(prefix)))
}
