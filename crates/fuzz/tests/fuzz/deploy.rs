//! Targets that cannot be fuzzed: each says why.

use alloy_primitives::address;
use fuzz::chain::Part;
use fuzz::config::{Settings, TestMode};
use solidity::Build;

use crate::suite::{BAD, build, deployed, subject};

/// The message for a contract of `targets/Bad.sol`, or for what `spoil` makes of it.
fn message(contract: &str, settings: &Settings, spoil: impl FnOnce(&mut Build)) -> String {
    let mut build = build(BAD);
    spoil(&mut build);
    message_of(build, contract, settings)
}

fn message_of(build: Build, contract: &str, settings: &Settings) -> String {
    match deployed(build, contract, settings) {
        Ok(_) => format!("{contract}: deployed"),
        Err(error) => format!("{contract}: {error}"),
    }
}

#[test]
fn a_contract_that_cannot_be_fuzzed_says_why() {
    let settings = Settings::default();
    let names = [
        "Refuses",
        "Panics",
        "TakesArguments",
        "RefusesSetUp",
        "Untested",
        "TestTakesArguments",
        "TestSaysNothing",
        "Unfinished",
        "Promise",
    ];
    let messages = names.map(|name| message(name, &settings, |_| {}));
    insta::assert_snapshot!(messages.join("\n"), @r"
    Refuses: the constructor of `Refuses` failed: reverted: not today
    Panics: the constructor of `Panics` failed: panicked with code 0x32
    TakesArguments: the constructor of `TakesArguments` takes 2 arguments, not 0; set them with constructorArgs
    RefusesSetUp: setUp() of `RefusesSetUp` failed: reverted: no set-up
    Untested: `Untested` has no test: write a function echidna_*() returns (bool), or choose another test mode
    TestTakesArguments: `TestTakesArguments`: `echidna_of(uint256)` cannot be a test: it takes arguments, which nobody could choose
    TestSaysNothing: `TestSaysNothing`: `echidna_silent()` cannot be a test: it must return (bool)
    Unfinished: `Unfinished` cannot be deployed: it is an interface, or abstract
    Promise: `Promise` cannot be deployed: it is an interface, or abstract
    ");
}

#[test]
fn a_contract_of_tests_alone_is_run() {
    let message = message("Untouchable", &Settings::default(), |_| {});
    assert_eq!(message, "Untouchable: deployed");
}

#[test]
fn of_two_contracts_with_the_same_code_the_one_that_was_meant_is_there() {
    for name in ["Twin", "OtherTwin"] {
        let target = deployed(build(BAD), name, &Settings::default()).unwrap();
        assert_eq!(target.contracts[0].name, name);
        let code = &target.codes.known()[target.codes.find(Part::Runtime, &runtime(name)).unwrap()];
        assert_eq!(target.build.contracts[code.contract].name, name);
    }
}

fn runtime(name: &str) -> Vec<u8> {
    let build = build(BAD);
    let contract = build.contracts.iter().find(|contract| contract.name == name).unwrap();
    contract.runtime.bytes.clone()
}

#[test]
fn a_contract_over_the_limit_says_both_sizes() {
    let address = address!("0x00000000000000000000000000000000000f0000");
    let settings = Settings {
        code_size: 10,
        deploy_contracts: vec![(address, "Untouchable".to_owned())],
        ..Settings::default()
    };
    let message = message_of(build(BAD), "Twin", &settings);
    insta::assert_snapshot!(message, @"Twin: `Untouchable` has 75 bytes of code; the limit is 10");
}

#[test]
fn a_test_over_the_limit_is_run_and_its_owner_told() {
    let settings = Settings { code_size: 100, ..Settings::default() };
    let target = deployed(build("Underflow"), "Underflow", &settings).unwrap();
    insta::assert_snapshot!(target.warnings.join("\n"), @"`Underflow` has 335 bytes of code; the limit is 100, which is not applied to the contract under test");
}

#[test]
fn what_a_test_deploys_is_limited_all_the_same() {
    let settings = Settings { code_size: 10, ..subject("FoundryStyle").settings };
    let message = message_of(build("FoundryStyle"), "FoundryStyle", &settings);
    insta::assert_snapshot!(message, @"FoundryStyle: setUp() of `FoundryStyle` failed: reverted without a reason");
}

#[test]
fn constructors_are_counted() {
    let name = "FoundryStyle";
    let target = deployed(build(name), name, &subject(name).settings).unwrap();
    let ran = target.codes.known().iter().zip(&target.hits.blocks);
    let created = ran.filter(|(known, blocks)| known.part == Part::Creation && !blocks.is_empty());
    let created: Vec<_> =
        created.map(|(known, _)| &target.build.contracts[known.contract].name).collect();
    assert_eq!(created, ["FoundryStyle", "Vault"]);
}

#[test]
fn a_library_that_is_missing_is_named() {
    let without = |build: &mut Build| build.contracts.retain(|contract| contract.name != "Far");
    let message = message("NeedsLibrary", &Settings::default(), without);
    insta::assert_snapshot!(message, @"NeedsLibrary: `NeedsLibrary` needs a library that is not part of the build: Bad.sol:Far");
}

#[test]
fn an_abi_of_another_contract_is_noticed() {
    let swap = |build: &mut Build| {
        let find = |name| build.contracts.iter().position(|contract| contract.name == name);
        let (to, from) = (find("Untested").unwrap(), find("NeedsLibrary").unwrap());
        build.contracts[to].abi = build.contracts[from].abi.clone();
    };
    let message = message("Untested", &Settings::default(), swap);
    insta::assert_snapshot!(message, @"Untested: `Untested`: the ABI names 2 functions that are not in its code, `echidna_even()` for one; ABI and code are of different builds");
}

#[test]
fn what_is_no_test_in_one_mode_is_one_in_another() {
    let in_mode = |test_mode| {
        let settings = Settings { test_mode, ..Settings::default() };
        format!("{test_mode}: {}", message("Untested", &settings, |_| {}))
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
    property: Untested: `Untested` has no test: write a function echidna_*() returns (bool), or choose another test mode
    assertion: Untested: deployed
    overflow: Untested: deployed
    optimization: Untested: `Untested` has no test: write a function echidna_opt_*() returns (int256), or choose another test mode
    foundry: Untested: `Untested` has no test: write a function echidna_*() returns (bool), or choose another test mode
    exploration: Untested: deployed
    ");
}

#[test]
fn a_library_that_the_contract_does_not_need_does_not_matter() {
    let settings =
        Settings { code_size: 24_576, test_mode: TestMode::Assertion, ..Settings::default() };
    let grow = |build: &mut Build| {
        let far = build.contracts.iter_mut().find(|contract| contract.name == "Far").unwrap();
        far.runtime.bytes.resize(24_577, 0);
    };
    assert_eq!(message("Untested", &settings, grow), "Untested: deployed");
}
