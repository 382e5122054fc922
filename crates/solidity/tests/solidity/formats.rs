//! Formats of compiler output.

use proptest::prelude::*;
use serde_json::json;
use solidity::SolidityBuild;

use crate::folder::{FEES, TestFolder};
use crate::outputs::{
    COMBINED, CRYTIC_ARCHIVE, CRYTIC_SOLC, CRYTIC_STANDARD, FOUNDRY, failed_output, foundry_output,
    standard_output,
};

/// Loads a file with the given text, without sources beside it.
fn check(text: &str) -> String {
    let folder = TestFolder::new();
    folder.write("out.json", text);
    folder.describe_load("out.json")
}

#[test]
fn loads_build_info() {
    insta::assert_snapshot!(check(FOUNDRY), @"
    compiler 0.8.37+commit.f401782d
    source 0 src/Bank.sol: 740 bytes, tree
    source 1 src/Fees.sol: 289 bytes, tree
    source 2 test/Bank.t.sol: 245 bytes, tree
    contract src/Bank.sol:Bank: pay(uint256) tag()
      creation 1149 bytes, 32 spans in [Some(0)], src/Fees.sol:Fees at 468
      runtime 1096 bytes, 590 spans in [None, Some(0)], src/Fees.sol:Fees at 415
      immutables [215..247]
    contract src/Bank.sol:Teller: pay(uint256)
    contract src/Fees.sol:Fees: 
      creation 683 bytes, 34 spans in [Some(1)]
      runtime 606 bytes, 351 spans in [None, Some(1)]
      immutables []
    contract test/Bank.t.sol:BankTest: test_cap()
      creation 1836 bytes, 20 spans in [Some(2)], src/Fees.sol:Fees at 1102
      runtime 1808 bytes, 388 spans in [None, Some(2)], src/Fees.sol:Fees at 1074
      immutables []
    ");
}

#[test]
fn loads_standard_output_without_texts() {
    insta::assert_snapshot!(check(&standard_output().to_string()), @"
    compiler 0.8.37+commit.f401782d
    source 0 src/Bank.sol: 0 bytes, tree
    source 1 src/Fees.sol: 0 bytes, tree
    source 2 test/Bank.t.sol: 0 bytes, tree
    contract src/Bank.sol:Bank: pay(uint256) tag()
      creation 1149 bytes, 32 spans in [Some(0)], src/Fees.sol:Fees at 468
      runtime 1096 bytes, 590 spans in [None, Some(0)], src/Fees.sol:Fees at 415
      immutables [215..247]
    contract src/Bank.sol:Teller: pay(uint256)
    contract src/Fees.sol:Fees: 
      creation 683 bytes, 34 spans in [Some(1)]
      runtime 606 bytes, 351 spans in [None, Some(1)]
      immutables []
    contract test/Bank.t.sol:BankTest: test_cap()
      creation 1836 bytes, 20 spans in [Some(2)], src/Fees.sol:Fees at 1102
      runtime 1808 bytes, 388 spans in [None, Some(2)], src/Fees.sol:Fees at 1074
      immutables []
    ");
}

#[test]
fn fills_texts_from_sources_on_disk() {
    let folder = TestFolder::with_sources();
    folder.write("build/out.json", &standard_output().to_string());
    let build = folder.load("build/out.json").unwrap();
    assert_eq!(&*build.sources[1].text, FEES);
}

#[test]
fn loads_combined_json() {
    insta::assert_snapshot!(check(COMBINED), @"
    compiler 0.8.37+commit.f401782d.Linux.g++
    source 0 src/Bank.sol: 0 bytes, tree
    source 1 src/Fees.sol: 0 bytes, tree
    contract src/Bank.sol:Bank: pay(uint256) tag()
      creation 1149 bytes, 32 spans in [Some(0)], src/Fees.sol:Fees at 468
      runtime 1096 bytes, 590 spans in [None, Some(0)], src/Fees.sol:Fees at 415
      immutables []
    contract src/Bank.sol:Teller: pay(uint256)
    contract src/Fees.sol:Fees: 
      creation 683 bytes, 34 spans in [Some(1)]
      runtime 606 bytes, 351 spans in [None, Some(1)]
      immutables []
    ");
}

#[test]
fn loads_combined_json_with_string_abi_and_no_sources() {
    let text = json!({
        "contracts": { "a.sol:A": { "abi": "[]", "bin": "6001", "bin-runtime": "00" } },
        "version": "0.4.26",
    });
    insta::assert_snapshot!(check(&text.to_string()), @"
    compiler 0.4.26
    contract a.sol:A: 
      creation 2 bytes, 0 spans in []
      runtime 1 bytes, 0 spans in []
      immutables []
    ");
}

#[test]
fn loads_crytic_solc_export() {
    insta::assert_snapshot!(check(CRYTIC_SOLC), @"
    compiler unknown
    source 0 /project/src/Bank.sol: 0 bytes, tree
    source 1 /project/src/Fees.sol: 0 bytes, tree
    contract /project/src/Bank.sol:Bank: pay(uint256) tag()
      creation 1149 bytes, 32 spans in [Some(0)], /project/src/Fees.sol:Fees at 468
      runtime 1096 bytes, 590 spans in [None, Some(0)], /project/src/Fees.sol:Fees at 415
      immutables []
    contract /project/src/Bank.sol:Teller: pay(uint256)
    contract /project/src/Fees.sol:Fees: 
      creation 683 bytes, 34 spans in [Some(1)]
      runtime 606 bytes, 351 spans in [None, Some(1)]
      immutables []
    ");
    let folder = TestFolder::new();
    folder.write("crytic-export/combined_solc.json", CRYTIC_SOLC);
    assert_eq!(folder.describe_load("crytic-export"), check(CRYTIC_SOLC));
}

#[test]
fn loads_crytic_standard_export() {
    insta::assert_snapshot!(check(CRYTIC_STANDARD), @"
    compiler 0.8.37
    source 0 src/Bank.sol: 0 bytes, tree
    source 1 src/Fees.sol: 0 bytes, tree
    contract src/Bank.sol:Bank: pay(uint256) tag()
      creation 1149 bytes, 32 spans in [Some(0)], src/Fees.sol:Fees at 468
      runtime 1096 bytes, 590 spans in [None, Some(0)], src/Fees.sol:Fees at 415
      immutables []
    contract src/Bank.sol:Teller: pay(uint256)
    contract src/Fees.sol:Fees: 
      creation 683 bytes, 34 spans in [Some(1)]
      runtime 606 bytes, 351 spans in [None, Some(1)]
      immutables []
    ");
}

#[test]
fn loads_texts_of_crytic_archive() {
    let with_texts = check(CRYTIC_ARCHIVE);
    let sources: Vec<_> = with_texts.lines().filter(|line| line.starts_with("source")).collect();
    insta::assert_snapshot!(sources.join("\n"), @"
    source 0 src/Bank.sol: 740 bytes, tree
    source 1 src/Fees.sol: 289 bytes, tree
    ");
}

#[test]
fn resolves_truncated_legacy_placeholders() {
    let path = "contracts/a/long/path/to/a/Library.sol";
    let mark = format!("{:_<40}", format!("__{}", &format!("{path}:Library")[..36]));
    let text = json!({
        "contracts": {
            "User.sol:User": { "bin": format!("73{mark}00"), "bin-runtime": "" },
            format!("{path}:Library"): { "bin": "00" },
        },
        "sourceList": [],
    });
    insta::assert_snapshot!(check(&text.to_string()), @"
    compiler unknown
    contract User.sol:User: 
      creation 22 bytes, 0 spans in [], contracts/a/long/path/to/a/Library.sol:Library at 1
      runtime 0 bytes, 0 spans in []
      immutables []
    contract contracts/a/long/path/to/a/Library.sol:Library: 
      creation 1 bytes, 0 spans in []
      runtime 0 bytes, 0 spans in []
      immutables []
    ");
}

#[test]
fn keeps_bare_name_of_ambiguous_library() {
    let placeholder = "__$0123456789012345678901234567890123$__";
    let user = json!({ "bin": format!("73{placeholder}00"), "libraries": { "L": placeholder } });
    let text = json!({
        "contracts": { "a.sol:L": { "bin": "00" }, "b.sol:L": { "bin": "00" }, "u.sol:U": user },
        "sourceList": [],
    });
    let folder = TestFolder::new();
    folder.write("out.json", &text.to_string());
    let build = folder.load("out.json").unwrap();
    assert_eq!(build.find_contract("U").unwrap().creation.links[0].library, "L");
}

#[test]
fn prefers_source_ids_of_asts_over_source_list() {
    let mut output: serde_json::Value = serde_json::from_str(COMBINED).unwrap();
    output["sourceList"].as_array_mut().unwrap().reverse();
    assert_eq!(check(&output.to_string()), check(COMBINED));
}

#[test]
fn ignores_immutable_ranges_outside_bytecode() {
    let ranges = json!({ "7": [
        { "start": 2, "length": 32 },
        { "start": 1, "length": 1 },
        { "start": usize::MAX, "length": 32 },
    ] });
    let code = json!({ "object": "600100", "immutableReferences": ranges });
    let contract = json!({ "evm": { "bytecode": code, "deployedBytecode": code } });
    let folder = TestFolder::new();
    folder.write("out.json", &json!({ "contracts": { "a": { "A": contract } } }).to_string());
    assert_eq!(folder.load("out.json").unwrap().contracts[0].immutables, vec![1..2]);
}

#[test]
fn ignores_brackets_in_strings_when_measuring_ast_depth() {
    let text = format!(r#"a\"{}"#, "{".repeat(1000));
    let tree = json!({ "src": "0:0:0", "value": text });
    let output = json!({
        "sources": { "a.sol": { "id": 0, "ast": tree } },
        "contracts": { "a.sol": { "A": {} } },
    });
    let folder = TestFolder::new();
    folder.write("out.json", &output.to_string());
    assert!(folder.load("out.json").unwrap().sources[0].ast.is_some());
}

#[test]
fn omits_asts_that_nest_too_deeply() {
    // The root and its list add two levels.
    for (depth, kept) in [(100_000, false), (399, false), (398, true)] {
        let nodes = format!("{}0{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        let tree = format!(r#"{{"src":"0:0:0","nodes":[{nodes}]}}"#);
        let text = format!(
            r#"{{"sources":{{"a.sol":{{"id":0,"ast":{tree}}}}},"contracts":{{"a.sol":{{"A":{{}}}}}}}}"#
        );
        let folder = TestFolder::new();
        folder.write("out.json", &text);
        assert_eq!(folder.load("out.json").unwrap().sources[0].ast.is_some(), kept);
    }
}

#[test]
fn rejects_json_that_is_not_compiler_output() {
    let cases = [
        "{",
        "",
        "[]",
        "12",
        r#"{"name":"x"}"#,
        r#"{"language":"Solidity","sources":{},"settings":{}}"#,
        r#"{"abi":[],"bytecode":{"object":"0x"}}"#,
        r#"{"id":"1","source_id_to_path":{},"language":"Solidity"}"#,
        r#"{"contracts":[]}"#,
        r#"{"contracts":{},"sources":{}}"#,
        r#"{"compilation_units":{"a":{}}}"#,
        r#"{"input":{"sources":{}},"output":{"contracts":{"a.sol":{"A":[]}}}}"#,
    ];
    let answers: Vec<_> = cases.iter().map(|text| format!("{text}\n=> {}", check(text))).collect();
    insta::assert_snapshot!(answers.join("\n\n"), @r#"
    {
    => invalid JSON in `[folder]/out.json`: EOF while parsing an object at line 1 column 1
    hint: compile again; the file may be truncated


    => invalid JSON in `[folder]/out.json`: EOF while parsing a value at line 1 column 0
    hint: compile again; the file may be truncated

    []
    => expected compiler output in `[folder]/out.json`, found unrecognized JSON
    hint: pass standard-JSON or combined-JSON output of solc, a build-info file of Foundry or Hardhat (with `input` and `output`), or an export of crytic-compile

    12
    => expected compiler output in `[folder]/out.json`, found unrecognized JSON
    hint: pass standard-JSON or combined-JSON output of solc, a build-info file of Foundry or Hardhat (with `input` and `output`), or an export of crytic-compile

    {"name":"x"}
    => expected compiler output in `[folder]/out.json`, found unrecognized JSON
    hint: pass standard-JSON or combined-JSON output of solc, a build-info file of Foundry or Hardhat (with `input` and `output`), or an export of crytic-compile

    {"language":"Solidity","sources":{},"settings":{}}
    => expected compiler output in `[folder]/out.json`, found a standard-JSON input
    hint: pass standard-JSON or combined-JSON output of solc, a build-info file of Foundry or Hardhat (with `input` and `output`), or an export of crytic-compile

    {"abi":[],"bytecode":{"object":"0x"}}
    => expected compiler output in `[folder]/out.json`, found the artifact of a single contract
    hint: pass standard-JSON or combined-JSON output of solc, a build-info file of Foundry or Hardhat (with `input` and `output`), or an export of crytic-compile

    {"id":"1","source_id_to_path":{},"language":"Solidity"}
    => expected compiler output in `[folder]/out.json`, found a build-info without code (`forge build` without `--build-info`)
    hint: pass standard-JSON or combined-JSON output of solc, a build-info file of Foundry or Hardhat (with `input` and `output`), or an export of crytic-compile

    {"contracts":[]}
    => failed to parse `[folder]/out.json` as standard-JSON output of solc: invalid type: sequence, expected a map at line 1 column 13
    hint: compile again; if the error persists, the format of this compiler version is not supported

    {"contracts":{},"sources":{}}
    => no contract found in `[folder]/out.json`
    hint: define at least one `contract`, `library` or `interface`

    {"compilation_units":{"a":{}}}
    => failed to parse `[folder]/out.json` as an export of crytic-compile: missing field `source_units` at line 1 column 28
    hint: compile again; if the error persists, the format of this compiler version is not supported

    {"input":{"sources":{}},"output":{"contracts":{"a.sol":{"A":[]}}}}
    => failed to parse `[folder]/out.json` as a build-info file: invalid length 0, expected struct ContractOutput with 3 elements at line 1 column 62
    hint: compile again; if the error persists, the format of this compiler version is not supported
    "#);
}

#[test]
fn rejects_split_build_info_without_output() {
    insta::assert_snapshot!(check(r#"{"input":{"sources":{}}}"#), @"
    expected compiler output in `[folder]/out.json`, found a build-info without its output
    hint: pass standard-JSON or combined-JSON output of solc, a build-info file of Foundry or Hardhat (with `input` and `output`), or an export of crytic-compile
    ");
}

#[test]
fn malformed_bytecode_or_abi_error_names_contract() {
    let with = |key: &str, value: serde_json::Value| {
        let mut output = standard_output();
        let contract = &mut output["contracts"]["src/Fees.sol"]["Fees"];
        match key {
            "abi" => contract["abi"] = value,
            _ => contract["evm"]["bytecode"]["object"] = value,
        }
        check(&output.to_string())
    };
    let answers = [
        with("object", json!("600")),
        with("object", json!("60zz")),
        with("object", json!("60__$tooshort$__")),
        with("abi", json!([{ "type": "function" }])),
        with("abi", json!("no json")),
    ];
    insta::assert_snapshot!(answers.join("\n"), @"
    invalid contract `src/Fees.sol:Fees` in `[folder]/out.json`: bytecode has an odd number of hexadecimal digits
    invalid contract `src/Fees.sol:Fees` in `[folder]/out.json`: bytecode has an invalid hexadecimal digit at position 2
    invalid contract `src/Fees.sol:Fees` in `[folder]/out.json`: bytecode has an invalid hexadecimal digit at position 2
    invalid contract `src/Fees.sol:Fees` in `[folder]/out.json`: invalid ABI: missing field `name` at line 1 column 21
    invalid contract `src/Fees.sol:Fees` in `[folder]/out.json`: invalid ABI: expected ident at line 1 column 2
    ");
}

#[test]
fn rejects_output_of_failed_build() {
    let mut build_info = foundry_output();
    build_info["output"]["errors"] = failed_output()["errors"].take();
    insta::assert_snapshot!(check(&build_info.to_string()), @r#"
    `[folder]/out.json` comes from a failed build
    ParserError: Expected ';' but got '}'
     --> src/Bank.sol:20:5:
       |
    20 |     }
       |     ^

    Source "lib/Gone.sol" not found.
    hint: fix the errors and compile again; outdated bytecode is not used
    "#);
}

#[test]
fn rejects_oversized_files() {
    let folder = TestFolder::new();
    let file = std::fs::File::create(folder.path("out.json")).unwrap();
    // The file is sparse and takes no disk space.
    file.set_len((512 << 20) + 1).unwrap();
    insta::assert_snapshot!(folder.describe_load("out.json"), @"`[folder]/out.json` is larger than 512 MiB");
}

#[test]
fn rejects_files_that_are_not_utf8() {
    let folder = TestFolder::new();
    std::fs::write(folder.path("out.json"), [0xff, 0xfe]).unwrap();
    insta::assert_snapshot!(folder.describe_load("out.json"), @"`[folder]/out.json` is not UTF-8 text");
}

#[test]
fn rejects_output_with_edited_source() {
    let folder = TestFolder::with_sources();
    folder.write("out.json", FOUNDRY);
    folder.load("out.json").unwrap();
    folder.write("src/Fees.sol", &FEES.replace("0x190", "0x191"));
    insta::assert_snapshot!(folder.describe_load("out.json"), @"
    `[folder]/out.json` is out of date: `src/Fees.sol` was edited
    hint: compile again; outdated bytecode is not used
    ");
}

#[test]
fn compares_modification_times_without_texts() {
    let folder = TestFolder::with_sources();
    let output = folder.write("out.json", COMBINED);
    folder.load("out.json").unwrap();
    let hour = std::time::Duration::from_secs(3600);
    let old = std::time::SystemTime::now() - hour;
    std::fs::File::options().append(true).open(output).unwrap().set_modified(old).unwrap();
    insta::assert_snapshot!(folder.describe_load("out.json"), @"
    `[folder]/out.json` is out of date: `src/Bank.sol` is newer, `src/Fees.sol` is newer
    hint: compile again; outdated bytecode is not used
    ");
}

/// Loads a build with one contract whose creation bytecode is `object`.
fn build_of(object: &str) -> SolidityBuild {
    let folder = TestFolder::new();
    let contract = json!({ "evm": { "bytecode": { "object": object } } });
    folder.write("out.json", &json!({ "contracts": { "a": { "A": contract } } }).to_string());
    folder.load("out.json").unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn parses_bytecode_and_placeholders(bytes in prop::collection::vec(any::<u8>(), 0..100), at in 0..100_usize) {
        let digits = |bytes: &[u8]| -> String {
            bytes.iter().map(|byte| format!("{byte:02x}")).collect()
        };
        prop_assert_eq!(&build_of(&digits(&bytes)).contracts[0].creation.bytes, &bytes);
        let (front, back) = bytes.split_at(at.min(bytes.len()));
        let placeholder = "__$0123456789012345678901234567890123$__";
        let code = &build_of(&format!("0x{}{placeholder}{}", digits(front), digits(back))).contracts[0].creation;
        prop_assert_eq!(&code.bytes, &[front, &[0; 20], back].concat());
        prop_assert_eq!((&*code.links[0].library, code.links[0].offset), (placeholder, front.len()));
    }

    #[test]
    fn rejects_truncated_output(at in 0..COMBINED.len() - 2) {
        let folder = TestFolder::new();
        folder.write("out.json", &COMBINED[..at]);
        prop_assert!(folder.load("out.json").is_err());
    }

    #[test]
    fn never_panics_on_changed_character(at in any::<prop::sample::Index>(), letter in "[ -~]") {
        for text in [FOUNDRY, COMBINED, CRYTIC_SOLC, CRYTIC_STANDARD] {
            let at = at.index(text.len());
            let folder = TestFolder::new();
            folder.write("out.json", &format!("{}{letter}{}", &text[..at], &text[at + 1..]));
            drop(folder.load("out.json"));
        }
    }
}
