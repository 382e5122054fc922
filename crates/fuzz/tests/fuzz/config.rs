//! Tests of Echidna's configuration file.

use alloy_primitives::{Address, U256, address};
use fuzz::config::echidna_yaml::parse_config;
use fuzz::config::{CampaignSettings, CoverageFormat, OutputFormat, TestMode};
use proptest::prelude::*;

/// Returns the warnings or the error as displayed.
#[track_caller]
fn report(text: &str) -> String {
    match parse_config(text) {
        Ok((_, warnings)) => {
            warnings.iter().map(|warning| format!("{warning}\n")).collect::<String>()
        }
        Err(error) => format!("error: {error}\n"),
    }
}

/// Reads without a warning.
#[track_caller]
fn parse_without_warnings(text: &str) -> CampaignSettings {
    let (settings, warnings) = parse_config(text).unwrap();
    assert_eq!(warnings, []);
    settings
}

#[test]
fn empty_config_keeps_echidna_defaults() {
    let defaults = CampaignSettings::default();
    insta::assert_debug_snapshot!(defaults);
    for text in ["", "# nothing\n", "---\n", "null", "testLimit:\nsender: null\nprefix: ~"] {
        assert_eq!(parse_without_warnings(text), defaults, "{text}");
    }
}

#[test]
fn reads_every_key() {
    let text = include_str!("config/every_key.yaml");
    let read = parse_without_warnings(text);
    insta::assert_debug_snapshot!(read);
}

#[test]
fn neutral_values_of_unsupported_keys_do_not_warn() {
    let text = include_str!("config/idle.yaml");
    assert_eq!(parse_without_warnings(text), CampaignSettings::default());
}

#[test]
fn parses_separators_hex_and_exponents() {
    let read = parse_without_warnings(
        "maxValue: 1e18\nbalanceAddr: \"0xff\"\ntestLimit: 1_000_000\nseed: '7'",
    );
    assert_eq!(read.max_value, U256::from(1_000_000_000_000_000_000_u64));
    assert_eq!(read.sender_balance, U256::from(255));
    assert_eq!((read.test_limit, read.seed), (1_000_000, Some(7)));
}

#[test]
fn pads_short_addresses_and_removes_duplicate_senders() {
    let read =
        parse_without_warnings("sender: [\"0x42\", 0x1, \"0x042\", \"42\"]\ncontractAddr: 0x12342");
    let (first, second) = (Address::with_last_byte(0x42), Address::with_last_byte(1));
    assert_eq!(read.senders, [first, second]);
    assert_eq!(read.contract_address, address!("0x0000000000000000000000000000000000012342"));
}

#[test]
fn old_key_names_apply_unless_the_new_one_is_set() {
    let (read_old, warnings) = parse_config("multi-abi: true\ndashboard: false").unwrap();
    assert!(read_old.all_contracts);
    assert_eq!(read_old.format, Some(OutputFormat::Text));
    assert_eq!(warnings.len(), 2);
    let (read_both, _) =
        parse_config("allContracts: false\nmulti-abi: true\nformat: json\ndashboard: false")
            .unwrap();
    assert!(!read_both.all_contracts);
    assert_eq!(read_both.format, Some(OutputFormat::Json));
    assert_eq!(parse_without_warnings("testMode: dapptest").test_mode, TestMode::Foundry);
    assert_eq!(
        parse_without_warnings("coverageFormats: [Txt]").coverage_formats,
        [CoverageFormat::Text]
    );
}

#[test]
fn zero_workers_means_default() {
    assert_eq!(parse_without_warnings("workers: 0").workers, None);
}

#[test]
fn reads_constructor_arguments_as_list_or_by_name() {
    let read = parse_without_warnings("constructorArgs: [100, \"0x1\", \"[1, 2]\"]");
    assert_eq!(read.constructor_args.main, ["100", "0x1", "[1, 2]"]);
    let read = parse_without_warnings("constructorArgs:\n  Token: [1]\n  Vault: []");
    assert_eq!(read.constructor_args.named["Token"], ["1"]);
    assert!(read.constructor_args.named["Vault"].is_empty());
}

#[test]
fn warns_about_keys_without_effect() {
    insta::assert_snapshot!(report(
        "testlimit: 5\nseqlength: 3\nfrobnicate: 1\nsymExec: true\netherscanApiKey: x\ncryticArgs: [--foo]\n\
         mutConsts: [1, 1, 1, 2]\nallowFFI: true\ncheckAsserts: true\nmulti-abi: false"
    ), @r"
    line 1: unknown key `testlimit`; did you mean `testLimit`?
    line 2: unknown key `seqlength`; did you mean `seqLen`?
    line 3: unknown key `frobnicate`
    line 4: `symExec` has no effect: symbolic execution is not supported
    line 5: `etherscanApiKey` has no effect: sources of contracts are not fetched
    line 6: `cryticArgs` has no effect: crytic-compile is not used
    line 7: `mutConsts` has no effect: mutations are weighted by their results
    line 8: `allowFFI` has no effect: a configuration file cannot allow programs; pass `--allow-ffi`
    line 9: `checkAsserts` has no effect: set `testMode: assertion` instead
    line 10: `multi-abi` was renamed to `allContracts`
    ");
}

#[test]
fn reports_invalid_values_with_line_and_rule() {
    let cases = [
        "testLimit: many",
        "seqLen: 10\ntestLimit: -1",
        "testLimit: 1.5",
        "testLimit: [1]",
        "testLimit: 18446744073709551616",
        "seqLen: 0",
        "stopOnFail: \"true\"",
        "stopOnFail: maybe",
        "sender: 0x10000",
        "sender: []",
        "sender:\n  - 0x10000\n  - 65536",
        "psender: 0x11111111111111111111111111111111111111111",
        "contractAddr: 0x4",
        "deployContracts: [[0x42]]",
        "deployContracts: [[0xa, A]]",
        "deployBytecodes: [[0x42, 0xabc]]",
        "dictFreq: 1.5",
        "dictFreq: NaN",
        "testMode: fuzz",
        "format: xml",
        "coverageFormats: [pdf]",
        "maxGasprice: 1e40",
        "constructorArgs: [[1, 2]]",
        "prefix: {a: b}",
        "- a list",
        "seed: 1\nseed: 2",
        "a: [",
        "a: &x 1\nb: *x",
        "a: 1\n---\nb: 2",
    ];
    let said: String = cases.iter().map(|case| report(case)).collect();
    insta::assert_snapshot!(said);
}

#[test]
fn rejects_hostile_files() {
    let deep = format!("a: {}", "[".repeat(10_000));
    assert!(report(&deep).starts_with("error: "));
    let long = format!("sender: [{}]", "1,".repeat(200_000));
    assert!(report(&long).starts_with("error: "));
    assert!(report(&" ".repeat(5 << 20)).contains("larger than"));
}

proptest! {
    #[test]
    fn parsing_arbitrary_text_never_panics(text: String) {
        let _ = parse_config(&text);
    }

    #[test]
    fn parsing_arbitrary_values_never_panics(key in 0..KEYS.len(), value in r#"[-\[\]{}"'0-9a-fx, :_.]{0,12}"#) {
        let _ = parse_config(&format!("{}: {value}", KEYS[key]));
    }
}

const KEYS: [&str; 8] = [
    "testLimit",
    "sender",
    "deployContracts",
    "constructorArgs",
    "dictFreq",
    "maxValue",
    "seed",
    "coverageFormats",
];
