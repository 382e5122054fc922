//! Tests of Medusa's configuration file.

use alloy_json_abi::JsonAbi;
use alloy_primitives::{U256, address};
use fuzz::config::medusa_json::{MedusaConfig, apply_config};
use fuzz::config::{CampaignSettings, FunctionFilter, RpcEndpoint, TestMode};
use proptest::prelude::*;
use solidity::{SolidityBuild, SolidityContract};

/// Returns the warnings or the error as displayed.
#[track_caller]
fn report(text: &str) -> String {
    match apply_config(&mut CampaignSettings::default(), text) {
        Ok((_, warnings)) => warnings.iter().map(|warning| format!("{warning}\n")).collect(),
        Err(error) => format!("error: {error}\n"),
    }
}

/// Reads without a warning.
#[track_caller]
fn parse(text: &str) -> (CampaignSettings, MedusaConfig) {
    let mut settings = CampaignSettings::default();
    let (config, warnings) = apply_config(&mut settings, text).unwrap();
    assert_eq!(warnings, []);
    (settings, config)
}

/// Returns a build with contracts of these functions.
fn build(contracts: &[(&str, &[&str])]) -> SolidityBuild {
    let contracts = contracts.iter().map(|(name, functions)| SolidityContract {
        name: (*name).to_owned(),
        source: "A.sol".to_owned(),
        abi: JsonAbi::parse(functions.iter().copied()).unwrap(),
        creation: Default::default(),
        runtime: Default::default(),
        immutables: Vec::new(),
    });
    SolidityBuild { contracts: contracts.collect(), ..SolidityBuild::default() }
}

#[test]
fn defaults_are_those_of_medusa() {
    let (settings, config) = parse("{}");
    let expected = CampaignSettings {
        workers: std::num::NonZeroUsize::new(10),
        test_limit: u64::MAX,
        stop_on_fail: true,
        sender_balance: U256::from(u128::MAX),
        coverage_formats: settings.coverage_formats.clone(),
        prefix: "property_".to_owned(),
        // The address of the first contract of 0x30000.
        contract_address: address!("0xA647ff3c36cFab592509E13860ab8c4F28781a66"),
        ..CampaignSettings::default()
    };
    assert_eq!(settings, expected);
    assert_eq!(settings.coverage_formats.len(), 2);
    // The file that `medusa init` writes says the same, with tabs.
    assert_eq!(parse(include_str!("config/medusa_idle.json")), (settings, config));
}

#[test]
fn keys_set_the_settings_of_the_same_meaning() {
    let (settings, config) = parse(
        r#"{"fuzzing": {"workers": 3, "timeout": 7, "testLimit": 1000, "shrinkLimit": 9,
            "callSequenceLength": 5, "corpusDirectory": "corpus", "coverageEnabled": false,
            "coverageFormats": ["lcov"], "coverageExclusions": ["lib/**"],
            "targetContracts": ["First", "Second"], "predeployedContracts": {"Pre": "0x1234"},
            "targetContractsBalances": ["0", "1e18"], "deployerAddress": "0x40000",
            "senderAddresses": ["0x50000"], "blockNumberDelayMax": 1, "blockTimestampDelayMax": 2,
            "transactionGasLimit": 3000000,
            "testing": {"stopOnFailedTest": false, "testAllContracts": true, "testViewMethods": false,
              "targetFunctionSignatures": ["Second.f(uint256)"]},
            "chainConfig": {"codeSizeCheckDisabled": false, "forkConfig": {"forkModeEnabled": true,
              "rpcUrl": "http://127.0.0.1/key", "rpcBlock": 12}}},
          "compilation": {"platformConfig": {"target": "src/A.sol"}}}"#,
    );
    assert_eq!(config.target_contracts, ["First", "Second"]);
    assert_eq!(config.compile_target.as_deref(), Some("src/A.sol"));
    assert_eq!(settings.rpc_url, Some(RpcEndpoint("http://127.0.0.1/key".to_owned())));
    insta::assert_debug_snapshot!(settings);
}

#[test]
fn endpoint_applies_only_in_fork_mode() {
    let fork = |keys: &str| {
        let text = format!(r#"{{"fuzzing": {{"chainConfig": {{"forkConfig": {{{keys}}}}}}}}}"#);
        let (settings, _) = parse(&text);
        (settings.rpc_url.map(|RpcEndpoint(url)| url), settings.rpc_block)
    };
    let url = r#""rpcUrl": "http://127.0.0.1""#;
    assert_eq!(fork(url), (None, None));
    // Medusa's default block is 1.
    let enabled = format!(r#"{url}, "forkModeEnabled": true"#);
    assert_eq!(fork(&enabled), (Some("http://127.0.0.1".to_owned()), Some(1)));
}

#[test]
fn named_arguments_are_written_in_the_order_of_the_constructor() {
    let (mut settings, config) = parse(
        r#"{"fuzzing": {"targetContracts": ["Token", "Test"], "constructorArgs": {"Test": {
            "_names": ["a", "b\"\\"], "_token": "DeployedContract:Token", "_data": "0xff00",
            "_pair": {"y": [1, 2], "x": true}, "_count": 7}}}}"#,
    );
    // The parser of signatures knows no names within a tuple.
    let constructor = r#"[{"type": "constructor", "stateMutability": "nonpayable", "inputs": [
        {"name": "_count", "type": "uint256"}, {"name": "_token", "type": "address"},
        {"name": "_names", "type": "string[]"},
        {"name": "_pair", "type": "tuple", "components": [
            {"name": "x", "type": "bool"}, {"name": "y", "type": "uint8[]"}]},
        {"name": "_data", "type": "bytes"}]}]"#;
    let mut build = build(&[("Token", &[]), ("Test", &[])]);
    build.contracts[1].abi = serde_json::from_str(constructor).unwrap();
    let remarks = config.adapt_to(&build, 1, &mut settings).unwrap();
    let token = settings.deploy_contracts[0].0;
    assert_eq!(
        settings.constructor_args.named["Test"],
        ["7", &token.to_string(), r#"["a", "b\"\\"]"#, "(true, [1, 2])", "0xff00"]
    );
    assert_eq!(remarks, ["tests are those of Test; the functions of Token are called too"]);
    let contract = &build.contracts[1];
    fuzz::deploy::encode_constructor_arguments(contract, &settings.constructor_args.named["Test"])
        .unwrap();
}

#[test]
fn wrong_arguments_are_named() {
    let build = build(&[("Test", &["constructor(uint256 a, address b)"])]);
    let check = |values: &str| {
        let text = format!(r#"{{"fuzzing": {{"constructorArgs": {{"Test": {values}}}}}}}"#);
        let (mut settings, config) = parse(&text);
        config.adapt_to(&build, 0, &mut settings).unwrap_err().to_string()
    };
    insta::assert_snapshot!(check(r#"{"a": 1}"#), @"the constructor of `Test` takes 2 arguments, not 1; set them with constructorArgs");
    insta::assert_snapshot!(check(r#"{"a": 1, "c": 2}"#), @"the constructor of `Test`: invalid address for argument `b`: it is missing in `constructorArgs`");
    insta::assert_snapshot!(check(r#"{"a": [1], "b": "0x1"}"#), @"the constructor of `Test`: invalid uint256 for argument `a`: expected a single value");
    insta::assert_snapshot!(check(r#"{"a": 1, "b": "DeployedContract:X"}"#), @"the constructor of `Test`: invalid address for argument `b`: contract `X` is not deployed");
}

#[test]
fn tests_are_of_the_first_kind_that_the_contract_has() {
    let check = |text: &str, functions: &[&str]| {
        let (mut settings, config) = parse(text);
        let remarks = config.adapt_to(&build(&[("Test", functions)]), 0, &mut settings).unwrap();
        let CampaignSettings { test_mode, prefix, .. } = settings;
        format!("{test_mode} {prefix} | {}", remarks.join(" | "))
    };
    let property = "function property_a() returns (bool)";
    let optimization = "function optimize_b() returns (int256)";
    let echidna = "function echidna_c() returns (bool)";
    insta::assert_snapshot!(check("{}", &[property, optimization]), @"property property_ | 1 optimization tests `optimize_*` are not run in the same run; pass `--test-mode optimization --prefix optimize_` | assertions are not tested in the same run; pass `--test-mode assertion`");
    insta::assert_snapshot!(check("{}", &[optimization]), @"optimization optimize_ | assertions are not tested in the same run; pass `--test-mode assertion`");
    insta::assert_snapshot!(check("{}", &["function property_x(uint256) returns (bool)"]), @"assertion property_ | ");
    let prefixes = r#"{"fuzzing": {"testing": {"assertionTesting": {"enabled": false},
        "propertyTesting": {"testPrefixes": ["property_", "echidna_"]}}}}"#;
    insta::assert_snapshot!(check(prefixes, &[echidna]), @"property echidna_ | ");
    let none = r#"{"fuzzing": {"testing": {"assertionTesting": {"enabled": false},
        "propertyTesting": {"enabled": false}, "optimizationTesting": {"enabled": false}}}}"#;
    insta::assert_snapshot!(check(none, &[property]), @"property property_ | ");
}

#[test]
fn nothing_in_the_file_grants_power() {
    let text = r#"{"fuzzing": {"chainConfig": {"cheatCodes": {"enableFFI": true}}},
        "compilation": {"platform": "truffle", "platformConfig": {"args": ["--foundry-compile-all"],
        "solcVersion": "0.8.15"}}}"#;
    let mut settings = CampaignSettings::default();
    apply_config(&mut settings, text).unwrap();
    assert!(!settings.allow_ffi);
    assert_eq!(settings.solc_args, "");
    insta::assert_snapshot!(report(text), @"
    line 1: `fuzzing.chainConfig.cheatCodes.enableFFI` has no effect: a configuration file cannot allow programs; pass `--allow-ffi`
    line 2: `compilation.platform` has no effect: crytic-compile is not used; pragmas and `--solc` choose the compiler
    line 2: `compilation.platformConfig.args` has no effect: crytic-compile is not used; pragmas and `--solc` choose the compiler
    line 3: `compilation.platformConfig.solcVersion` has no effect: crytic-compile is not used; pragmas and `--solc` choose the compiler
    ");
}

#[test]
fn unknown_keys_get_the_nearest_one() {
    insta::assert_snapshot!(report(
        "{\"fuzing\": {}, \"fuzzing\": {\"worker\": 1,\n\"stopOnFailedTest\": true, \"zzz\": 1,\n\
         \"testing\": {\"propertyTesting\": {\"testPrefix\": []}}}}"
    ), @"
    line 1: unknown key `fuzing`; did you mean `fuzzing`?
    line 1: unknown key `fuzzing.worker`; did you mean `fuzzing.workers`?
    line 2: unknown key `fuzzing.stopOnFailedTest`; did you mean `fuzzing.testing.stopOnFailedTest`?
    line 2: unknown key `fuzzing.zzz`
    line 3: unknown key `fuzzing.testing.propertyTesting.testPrefix`; did you mean `fuzzing.testing.propertyTesting.testPrefixes`?
    ");
}

#[test]
fn invalid_values_name_key_and_rule() {
    let inputs = [
        r#"{"fuzzing": {"workers": 0}}"#,
        r#"{"fuzzing": {"testLimit": -1}}"#,
        r#"{"fuzzing": {"testing": []}}"#,
        r#"{"fuzzing": {"senderAddresses": []}}"#,
        r#"{"fuzzing": {"predeployedContracts": {"A": "0x1"}}}"#,
        r#"{"fuzzing": {"constructorArgs": {"A": [1]}}}"#,
        r#"{"fuzzing": {"workers": 1, "workers": 2}}"#,
        r#"{"fuzzing": {"testing": {"propertyTesting": {"testPrefixes": []}}}}"#,
        r#"{"fuzzing": {"testing": {"propertyTesting": {"testPrefixes": ["optimize_"]}}}}"#,
        r#"{"fuzzing": {"testing": {"targetFunctionSignatures": ["A.f()"], "excludeFunctionSignatures": ["A.g()"]}}}"#,
        "[]",
        "{\"fuzzing\":\n{",
    ];
    insta::assert_snapshot!(inputs.map(report).concat());
}

#[test]
fn exclusion_is_a_filter() {
    let (settings, _) =
        parse(r#"{"fuzzing": {"testing": {"excludeFunctionSignatures": ["A.f()"]}}}"#);
    let expected = FunctionFilter { functions: vec!["A.f()".to_owned()], excludes: true };
    assert_eq!((settings.filter, settings.test_mode), (expected, TestMode::Property));
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text: String, value in r#"[-\[\]{}"'0-9a-fx, :_.]{0,12}"#) {
        report(&text);
        for key in ["workers", "constructorArgs", "targetContractsBalances", "testing"] {
            report(&format!("{{\"fuzzing\": {{\"{key}\": {value}}}}}"));
        }
    }
}
