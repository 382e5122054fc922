//! Tests of deployment errors and warnings.

use alloy_primitives::{Address, Bytes, U256, address, hex};
use fuzz::chain::{CallLimits, CodePart, EvmMachine, EvmTransaction};
use fuzz::config::{CampaignSettings, TestMode};
use fuzz::target::FuzzTarget;
use solidity::SolidityBuild;

use crate::suite::{BAD, build, deploy_contract, subject};

/// Returns the deployment message for a contract of `targets/Bad.sol`, modified by `spoil`.
fn deployment_message(
    contract: &str,
    settings: &CampaignSettings,
    spoil: impl FnOnce(&mut SolidityBuild),
) -> String {
    let mut build = build(BAD);
    spoil(&mut build);
    message_of(build, contract, settings)
}

fn message_of(build: SolidityBuild, contract: &str, settings: &CampaignSettings) -> String {
    match deploy_contract(build, contract, settings) {
        Ok(target) => match target.tests.first().and_then(|test| test.not_run.as_ref()) {
            Some(reason) => format!("{contract}: not run: {reason}"),
            None => format!("{contract}: deployed"),
        },
        Err(error) => format!("{contract}: {error}"),
    }
}

#[test]
fn reports_why_a_contract_cannot_be_fuzzed() {
    let settings = CampaignSettings::default();
    let names = [
        "Refuses",
        "Panics",
        "TakesArguments",
        "Untested",
        "TestTakesArguments",
        "TestSaysNothing",
        "Unfinished",
        "Promise",
    ];
    let messages = names.map(|name| deployment_message(name, &settings, |_| {}));
    insta::assert_snapshot!(messages.join("\n"), @r"
    Refuses: the constructor of `Refuses` failed: reverted: not today
    Panics: the constructor of `Panics` failed: panicked with code 0x32
    TakesArguments: the constructor of `TakesArguments` takes 2 arguments, not 0; set them with constructorArgs
    Untested: `Untested` has no tests: add a function echidna_*() returns (bool), or choose another test mode
    TestTakesArguments: `TestTakesArguments`: `echidna_of(uint256)` cannot be a test: it must take no arguments
    TestSaysNothing: `TestSaysNothing`: `echidna_silent()` cannot be a test: it must return (bool)
    Unfinished: `Unfinished` cannot be deployed: it is abstract or an interface
    Promise: `Promise` cannot be deployed: it is abstract or an interface
    ");
}

#[test]
fn deploys_a_contract_with_only_tests() {
    let message = deployment_message("Untouchable", &CampaignSettings::default(), |_| {});
    assert_eq!(message, "Untouchable: deployed");
}

#[test]
fn resolves_identical_code_to_the_selected_contract() {
    for name in ["Twin", "OtherTwin"] {
        let target = deploy_contract(build(BAD), name, &CampaignSettings::default()).unwrap();
        assert_eq!(target.contracts[0].name, name);
        let code = &target.codes.entries()
            [target.codes.find_code(CodePart::Runtime, &runtime(name)).unwrap()];
        assert_eq!(target.build.contracts[code.contract].name, name);
    }
}

fn runtime(name: &str) -> Vec<u8> {
    let build = build(BAD);
    let contract = build.contracts.iter().find(|contract| contract.name == name).unwrap();
    contract.runtime.bytes.clone()
}

#[test]
fn oversized_contract_error_names_both_sizes() {
    let address = address!("0x00000000000000000000000000000000000f0000");
    let settings = CampaignSettings {
        code_size: 10,
        deploy_contracts: vec![(address, "Untouchable".to_owned())],
        ..CampaignSettings::default()
    };
    let message = message_of(build(BAD), "Twin", &settings);
    insta::assert_snapshot!(message, @"Twin: `Untouchable` has 75 bytes of code; the limit is 10");
}

#[test]
fn oversized_target_deploys_with_a_warning() {
    let settings = CampaignSettings { code_size: 100, ..CampaignSettings::default() };
    let target = deploy_contract(build("Underflow"), "Underflow", &settings).unwrap();
    insta::assert_snapshot!(target.warnings.join("\n"), @"`Underflow` has 335 bytes of code; the limit is 100, which is not applied to the contract under test");
}

#[test]
fn code_size_limit_applies_to_contracts_deployed_by_a_test() {
    let settings = CampaignSettings { code_size: 10, ..subject("FoundryStyle").settings };
    let message = message_of(build("FoundryStyle"), "FoundryStyle", &settings);
    insta::assert_snapshot!(message, @"FoundryStyle: not run: setUp() failed: reverted without a reason");
}

#[test]
fn coverage_includes_constructors() {
    let name = "FoundryStyle";
    let target = deploy_contract(build(name), name, &subject(name).settings).unwrap();
    let ran = target.codes.entries().iter().zip(&target.hits.blocks);
    let created =
        ran.filter(|(known, blocks)| known.part == CodePart::Creation && !blocks.is_empty());
    let created: Vec<_> =
        created.map(|(known, _)| &target.build.contracts[known.contract].name).collect();
    assert_eq!(created, ["FoundryStyle", "Counter", "Vault"]);
}

#[test]
fn reports_a_missing_library() {
    let without =
        |build: &mut SolidityBuild| build.contracts.retain(|contract| contract.name != "Far");
    let message = deployment_message("NeedsLibrary", &CampaignSettings::default(), without);
    insta::assert_snapshot!(message, @"NeedsLibrary: `NeedsLibrary` needs a library that is not part of the build: Bad.sol:Far");
}

#[test]
fn detects_an_abi_of_another_contract() {
    let swap = |build: &mut SolidityBuild| {
        let find = |name| build.contracts.iter().position(|contract| contract.name == name);
        let (to, from) = (find("Untested").unwrap(), find("NeedsLibrary").unwrap());
        build.contracts[to].abi = build.contracts[from].abi.clone();
    };
    let message = deployment_message("Untested", &CampaignSettings::default(), swap);
    insta::assert_snapshot!(message, @"Untested: `Untested`: the ABI lists 2 functions that are missing from the bytecode, such as `echidna_even()`; the ABI and the bytecode come from different builds");
}

#[test]
fn test_mode_determines_which_functions_are_tests() {
    let in_mode = |test_mode| {
        let settings = CampaignSettings { test_mode, ..CampaignSettings::default() };
        format!("{test_mode}: {}", deployment_message("Untested", &settings, |_| {}))
    };
    let modes = [
        TestMode::Property,
        TestMode::Assertion,
        TestMode::Overflow,
        TestMode::Optimization,
        TestMode::Foundry,
        TestMode::Exploration,
    ];
    insta::assert_snapshot!(modes.map(in_mode).join("\n"), @r"
    property: Untested: `Untested` has no tests: add a function echidna_*() returns (bool), or choose another test mode
    assertion: Untested: deployed
    overflow: Untested: deployed
    optimization: Untested: `Untested` has no tests: add a function echidna_opt_*() returns (int256), or choose another test mode
    foundry: Untested: `Untested` has no tests: add a function echidna_*() returns (bool), or choose another test mode
    exploration: Untested: deployed
    ");
}

#[test]
fn ignores_an_oversized_library_that_is_not_linked() {
    let settings = CampaignSettings {
        code_size: 24_576,
        test_mode: TestMode::Assertion,
        ..CampaignSettings::default()
    };
    let grow = |build: &mut SolidityBuild| {
        let far = build.contracts.iter_mut().find(|contract| contract.name == "Far").unwrap();
        far.runtime.bytes.resize(24_577, 0);
    };
    assert_eq!(deployment_message("Untested", &settings, grow), "Untested: deployed");
}

#[test]
fn harness_may_be_its_own_deployer() {
    let own = CampaignSettings::default().contract_address;
    let settings = CampaignSettings { deployer: own, ..CampaignSettings::default() };
    let target = deploy_contract(build(BAD), "Untouchable", &settings).unwrap();
    let mut machine = machine_of(&target);
    assert!(!machine.code(own).is_empty());
    let refused = deployment_message("Refuses", &settings, |_| {});
    assert_eq!(refused, "Refuses: the constructor of `Refuses` failed: reverted: not today");
}

#[test]
fn contract_at_address_of_later_precompile_is_called() {
    // Returns 42. The precompile, a mapping to a curve, refuses an empty input.
    let runtime = hex!("602a60005260206000f3");
    let creation = hex!("69602a60005260206000f3600052600a6016f3").to_vec();
    let place = Address::with_last_byte(0x10);
    let call = |deploy_bytecodes| {
        let settings = CampaignSettings { deploy_bytecodes, ..CampaignSettings::default() };
        let target = deploy_contract(build(BAD), "Untouchable", &settings).unwrap();
        let mut machine = machine_of(&target);
        let outcome = machine.call(&EvmTransaction {
            from: settings.deployer,
            to: place,
            value: U256::ZERO,
            gas_price: 0,
            data: Bytes::new(),
        });
        (machine.code(place), outcome)
    };
    let (code, outcome) = call(vec![(place, creation)]);
    assert_eq!(code.as_ref(), runtime);
    assert!(outcome.is_success());
    assert_eq!(U256::from_be_slice(&outcome.output), U256::from(42));
    let (_, outcome) = call(Vec::new());
    assert!(!outcome.is_success(), "without a contract, the precompile is called");
}

fn machine_of(target: &FuzzTarget) -> EvmMachine {
    let limits = CallLimits { gas: 1_000_000, time: std::time::Duration::from_secs(60) };
    EvmMachine::new(target.state.clone(), target.codes.clone(), Vec::new(), limits)
}
