//! Echidna's configuration file.

use alloy_primitives::{Address, U256, address};
use fuzz::config::echidna_yaml::read;
use fuzz::config::{CoverageFormat, Format, Settings, TestMode};
use proptest::prelude::*;

/// The settings that are read and the warnings, or the error, as people see them.
#[track_caller]
fn said(text: &str) -> String {
    match read(text) {
        Ok((_, warnings)) => {
            warnings.iter().map(|warning| format!("{warning}\n")).collect::<String>()
        }
        Err(error) => format!("error: {error}\n"),
    }
}

/// Reads without a warning.
#[track_caller]
fn settings(text: &str) -> Settings {
    let (settings, warnings) = read(text).unwrap();
    assert_eq!(warnings, []);
    settings
}

#[test]
fn nothing_said_leaves_the_defaults_of_echidna() {
    let defaults = Settings::default();
    insta::assert_debug_snapshot!(defaults);
    for text in ["", "# nothing\n", "---\n", "null", "testLimit:\nsender: null\nprefix: ~"] {
        assert_eq!(settings(text), defaults, "{text}");
    }
}

#[test]
fn every_key_is_read() {
    let text = include_str!("config/every_key.yaml");
    let read = settings(text);
    insta::assert_debug_snapshot!(read);
}

#[test]
fn keys_that_ask_for_what_is_so_anyway_do_not_warn() {
    let text = include_str!("config/idle.yaml");
    assert_eq!(settings(text), Settings::default());
}

#[test]
fn numbers_are_read_as_people_write_them() {
    let read = settings("maxValue: 1e18\nbalanceAddr: \"0xff\"\ntestLimit: 1_000_000\nseed: '7'");
    assert_eq!(read.max_value, U256::from(1_000_000_000_000_000_000_u64));
    assert_eq!(read.sender_balance, U256::from(255));
    assert_eq!((read.test_limit, read.seed), (1_000_000, Some(7)));
}

#[test]
fn addresses_may_be_short_and_senders_come_once() {
    let read = settings("sender: [\"0x42\", 0x1, \"0x042\", \"42\"]\ncontractAddr: 0x12342");
    let (first, second) = (Address::with_last_byte(0x42), Address::with_last_byte(1));
    assert_eq!(read.senders, [first, second]);
    assert_eq!(read.contract_address, address!("0x0000000000000000000000000000000000012342"));
}

#[test]
fn old_names_are_read_unless_the_new_one_is_there() {
    let (read_old, warnings) = read("multi-abi: true\ndashboard: false").unwrap();
    assert!(read_old.all_contracts);
    assert_eq!(read_old.format, Some(Format::Text));
    assert_eq!(warnings.len(), 2);
    let (read_both, _) =
        read("allContracts: false\nmulti-abi: true\nformat: json\ndashboard: false").unwrap();
    assert!(!read_both.all_contracts);
    assert_eq!(read_both.format, Some(Format::Json));
    assert_eq!(settings("testMode: dapptest").test_mode, TestMode::Foundry);
    assert_eq!(settings("coverageFormats: [Txt]").coverage_formats, [CoverageFormat::Text]);
}

#[test]
fn no_workers_are_as_many_as_usual() {
    assert_eq!(settings("workers: 0").workers, None);
}

#[test]
fn constructors_get_arguments_by_place_or_by_name() {
    let read = settings("constructorArgs: [100, \"0x1\", \"[1, 2]\"]");
    assert_eq!(read.constructor_args.main, ["100", "0x1", "[1, 2]"]);
    let read = settings("constructorArgs:\n  Token: [1]\n  Vault: []");
    assert_eq!(read.constructor_args.named["Token"], ["1"]);
    assert!(read.constructor_args.named["Vault"].is_empty());
}

#[test]
fn keys_without_effect_are_named() {
    insta::assert_snapshot!(said(
        "testlimit: 5\nseqlength: 3\nfrobnicate: 1\nsymExec: true\nrpcUrl: http://x\ncryticArgs: [--foo]\n\
         mutConsts: [1, 1, 1, 2]\nallowFFI: true\ncheckAsserts: true\nmulti-abi: false"
    ), @r"
    line 1: unknown key `testlimit`; did you mean `testLimit`?
    line 2: unknown key `seqlength`; did you mean `seqLen`?
    line 3: unknown key `frobnicate`
    line 4: `symExec` has no effect: there is no symbolic execution
    line 5: `rpcUrl` has no effect: nothing is fetched from a network
    line 6: `cryticArgs` has no effect: crytic-compile is not used
    line 7: `mutConsts` has no effect: mutations are weighed by what they find
    line 8: `allowFFI` has no effect: a file cannot allow programs to be run; --allow-ffi can
    line 9: `checkAsserts` has no effect: set `testMode: assertion` instead
    line 10: `multi-abi` is now called `allContracts`
    ");
}

#[test]
fn wrong_values_are_named_with_line_and_rule() {
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
        "deployContracts: [[0x100, A]]",
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
    let said: String = cases.iter().map(|case| said(case)).collect();
    insta::assert_snapshot!(said);
}

#[test]
fn hostile_files_are_refused() {
    let deep = format!("a: {}", "[".repeat(10_000));
    assert!(said(&deep).starts_with("error: "));
    let long = format!("sender: [{}]", "1,".repeat(200_000));
    assert!(said(&long).starts_with("error: "));
    assert!(said(&" ".repeat(5 << 20)).contains("larger than"));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text: String) {
        let _ = read(&text);
    }

    #[test]
    fn any_value_is_read_or_refused(key in 0..KEYS.len(), value in r#"[-\[\]{}"'0-9a-fx, :_.]{0,12}"#) {
        let _ = read(&format!("{}: {value}", KEYS[key]));
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
