//! The contract under test: by name, or the obvious one.

use std::path::Path;

use alloy_json_abi::JsonAbi;
use fuzz::config::{BoundError, CampaignSettings, MAX_WORKERS, TestMode};
use fuzz::corpus::format::MAX_CALLS;
use fuzz::deploy::{ChooseError, choose_contract, find_contract};
use solidity::{ContractBytecode, SolidityBuild, SolidityContract};

/// A contract with these functions; an abstract one has no code.
fn contract(source: &str, name: &str, functions: &[&str], is_abstract: bool) -> SolidityContract {
    let bytes = if is_abstract { Vec::new() } else { vec![0] };
    SolidityContract {
        name: name.to_owned(),
        source: source.to_owned(),
        abi: JsonAbi::parse(functions.iter().copied()).unwrap(),
        creation: ContractBytecode { bytes, ..ContractBytecode::default() },
        runtime: ContractBytecode::default(),
        immutables: Vec::new(),
    }
}

fn plain(source: &str, name: &str) -> SolidityContract {
    contract(source, name, &["function f()"], false)
}

fn tested(source: &str, name: &str) -> SolidityContract {
    contract(source, name, &["function echidna_x() returns (bool)"], false)
}

fn build(contracts: Vec<SolidityContract>) -> SolidityBuild {
    SolidityBuild { compiler: None, sources: Vec::new(), contracts }
}

fn choose(path: &str, contracts: Vec<SolidityContract>) -> Result<usize, ChooseError> {
    choose_contract(&build(contracts), Some(Path::new(path)), &CampaignSettings::default())
}

#[test]
fn chooses_the_only_contract_with_tests() {
    let contracts = vec![plain("A.sol", "A"), tested("A.sol", "B"), plain("A.sol", "C")];
    assert_eq!(choose("src/A.sol", contracts), Ok(1));
}

#[test]
fn chooses_the_contract_named_as_its_file() {
    let contracts = vec![tested("A.sol", "B"), tested("A.sol", "A")];
    assert_eq!(choose("src/A.sol", contracts), Ok(1));
    let contracts = vec![plain("A.sol", "B"), plain("A.sol", "A")];
    assert_eq!(choose("src/A.sol", contracts), Ok(1));
}

#[test]
fn ignores_imported_and_abstract_contracts() {
    let imported = tested("lib/Test.sol", "Test");
    let is_abstract = contract("A.sol", "Base", &["function echidna_x() returns (bool)"], true);
    assert_eq!(
        choose("src/A.sol", vec![imported.clone(), is_abstract, plain("A.sol", "Z")]),
        Ok(2)
    );
    // A project is about all of its files.
    assert_eq!(choose("project", vec![plain("A.sol", "Z"), imported]), Ok(1));
}

#[test]
fn lists_choices_when_several_contracts_could_be_meant() {
    let contracts = vec![tested("A.sol", "B"), plain("A.sol", "C"), tested("A.sol", "D")];
    let choices = ["A.sol:B", "A.sol:D"].map(str::to_owned).to_vec();
    assert_eq!(choose("src/A.sol", contracts), Err(ChooseError::Unclear { choices }));
    assert_eq!(choose("src/A.sol", Vec::new()), Err(ChooseError::NotDeployable));
}

#[test]
fn test_names_depend_on_the_mode() {
    let contracts =
        || vec![plain("A.sol", "B"), contract("A.sol", "C", &["function test_unit()"], false)];
    let choose = |test_mode| {
        let settings = CampaignSettings { test_mode, ..CampaignSettings::default() };
        choose_contract(&build(contracts()), None, &settings)
    };
    assert_eq!(choose(TestMode::Foundry), Ok(1));
    assert!(matches!(choose(TestMode::Property), Err(ChooseError::Unclear { .. })));
    assert!(matches!(choose(TestMode::Assertion), Err(ChooseError::Unclear { .. })));
}

#[test]
fn finds_a_contract_by_name_or_file_and_name() {
    let build = build(vec![plain("A.sol", "A"), plain("A.sol", "T"), plain("B.sol", "T")]);
    assert_eq!(find_contract(&build, "A"), Ok(0));
    assert_eq!(find_contract(&build, "B.sol:T"), Ok(2));
    let choices = ["A.sol:T", "B.sol:T"].map(str::to_owned).to_vec();
    assert_eq!(
        find_contract(&build, "T"),
        Err(ChooseError::Ambiguous { name: "T".to_owned(), choices })
    );
    let known = ["A", "T", "T"].map(str::to_owned).to_vec();
    assert_eq!(
        find_contract(&build, "X"),
        Err(ChooseError::Unknown { name: "X".to_owned(), known })
    );
}

#[test]
fn rejects_numbers_above_their_bounds() {
    let mut settings = CampaignSettings::default();
    assert_eq!(settings.check_bounds(), Ok(()));
    settings.workers = std::num::NonZeroUsize::new(MAX_WORKERS + 1);
    let (value, most) = (MAX_WORKERS + 1, MAX_WORKERS);
    assert_eq!(settings.check_bounds(), Err(BoundError { key: "workers", value, most }));
    settings.workers = None;
    settings.sequence_length = std::num::NonZeroUsize::new(MAX_CALLS + 1).unwrap();
    assert!(settings.check_bounds().is_err());
}

#[test]
fn names_settings_without_effect() {
    let settings = CampaignSettings { all_events: true, ..CampaignSettings::default() };
    assert_eq!(settings.ineffective().len(), 1);
    assert!(CampaignSettings::default().ineffective().is_empty());
}
