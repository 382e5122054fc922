//! Lists the test contracts of a build, selected as forge does.

use globset::{GlobBuilder, GlobMatcher};
use solidity::{SolidityBuild, SolidityContract};

use super::choose;
use super::foundry::{FoundryFunctionKind, uses_foundry_rules};
use crate::config::CampaignSettings;
use crate::config::foundry::{NameFilter, PatternError};

/// Selects test contracts by name and by file. Tests are selected by the settings.
#[derive(Clone, Debug, Default)]
pub struct TestContractFilter {
    pub names: NameFilter,
    matches_path: Option<GlobMatcher>,
    excludes_path: Option<GlobMatcher>,
}

impl TestContractFilter {
    /// Creates a filter from regular expressions for names, and patterns for paths such as `test/**/*.t.sol`.
    pub fn new(
        names: NameFilter,
        matches_path: Option<&str>,
        excludes_path: Option<&str>,
    ) -> Result<Self, PatternError> {
        Ok(Self {
            names,
            matches_path: matches_path.map(parse_glob).transpose()?,
            excludes_path: excludes_path.map(parse_glob).transpose()?,
        })
    }

    fn allows_contract(&self, contract: &SolidityContract) -> bool {
        let is_match = |glob: &Option<GlobMatcher>| {
            glob.as_ref().map(|glob| glob.is_match(contract.source.trim_start_matches("./")))
        };
        self.names.allows_name(&contract.name)
            && is_match(&self.matches_path).unwrap_or(true)
            && !is_match(&self.excludes_path).unwrap_or(false)
    }
}

/// Parses a pattern as forge does: `*` also matches parts of a path.
fn parse_glob(pattern: &str) -> Result<GlobMatcher, PatternError> {
    let glob = GlobBuilder::new(pattern.trim_start_matches("./"))
        .literal_separator(false)
        .build()
        .map_err(|error| PatternError {
            pattern: pattern.to_owned(),
            reason: error.kind().to_string(),
        })?;
    Ok(glob.compile_matcher())
}

/// Returns the indices of the test contracts that the filter selects, by path and name. Contracts whose constructor takes
/// arguments are left out unless the settings name them.
pub fn list_test_contracts(
    build: &SolidityBuild,
    filter: &TestContractFilter,
    settings: &CampaignSettings,
) -> Vec<usize> {
    let is_selected = |contract: &SolidityContract| {
        contract.is_deployable()
            && has_constructor_arguments(contract, settings)
            && has_selected_tests(contract, settings)
            && filter.allows_contract(contract)
    };
    let mut found: Vec<_> =
        (0..build.contracts.len()).filter(|index| is_selected(&build.contracts[*index])).collect();
    found.sort_by_key(|index| build.contracts[*index].qualified_name());
    found
}

/// Returns true if the arguments of the constructor are known.
fn has_constructor_arguments(contract: &SolidityContract, settings: &CampaignSettings) -> bool {
    let takes_arguments =
        contract.abi.constructor.as_ref().is_some_and(|constructor| !constructor.inputs.is_empty());
    !takes_arguments || settings.constructor_args.named.contains_key(&contract.name)
}

fn has_selected_tests(contract: &SolidityContract, settings: &CampaignSettings) -> bool {
    if !uses_foundry_rules(contract, settings) {
        return choose::has_tests(contract, settings);
    }
    contract.abi.functions().any(|function| {
        FoundryFunctionKind::of(function).is_test()
            && settings.foundry.filter.allows_name(&function.signature())
    })
}
