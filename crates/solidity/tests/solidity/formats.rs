//! Each form of a compiler's output.

use proptest::prelude::*;
use serde_json::json;
use solidity::Build;

use crate::folder::{FEES, Folder};
use crate::outputs::{
    COMBINED, CRYTIC_ARCHIVE, CRYTIC_SOLC, CRYTIC_STANDARD, FOUNDRY, failed, foundry, standard,
};

/// What a file with the given text is, without sources beside it.
fn check(text: &str) -> String {
    let folder = Folder::new();
    folder.write("out.json", text);
    folder.check("out.json")
}

#[test]
fn a_build_info_file_has_everything() {
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
fn an_output_alone_has_no_texts() {
    insta::assert_snapshot!(check(&standard().to_string()), @"
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
fn an_output_takes_texts_from_the_sources_beside_it() {
    let folder = Folder::with_sources();
    folder.write("build/out.json", &standard().to_string());
    let build = folder.load("build/out.json").unwrap();
    assert_eq!(&*build.sources[1].text, FEES);
}

#[test]
fn combined_json() {
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
fn combined_json_with_abis_as_texts_and_nothing_but_code() {
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
fn crytic_compile_in_the_form_of_solc() {
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
    let folder = Folder::new();
    folder.write("crytic-export/combined_solc.json", CRYTIC_SOLC);
    assert_eq!(folder.check("crytic-export"), check(CRYTIC_SOLC));
}

#[test]
fn crytic_compile_in_its_own_form() {
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
fn an_archive_of_crytic_compile_has_texts() {
    let with_texts = check(CRYTIC_ARCHIVE);
    let sources: Vec<_> = with_texts.lines().filter(|line| line.starts_with("source")).collect();
    insta::assert_snapshot!(sources.join("\n"), @"
    source 0 src/Bank.sol: 740 bytes, tree
    source 1 src/Fees.sol: 289 bytes, tree
    ");
}

#[test]
fn old_placeholders_mean_the_library_whose_name_they_cut() {
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
fn a_library_whose_name_two_share_keeps_the_bare_name() {
    let mark = "__$0123456789012345678901234567890123$__";
    let user = json!({ "bin": format!("73{mark}00"), "libraries": { "L": mark } });
    let text = json!({
        "contracts": { "a.sol:L": { "bin": "00" }, "b.sol:L": { "bin": "00" }, "u.sol:U": user },
        "sourceList": [],
    });
    let folder = Folder::new();
    folder.write("out.json", &text.to_string());
    let build = folder.load("out.json").unwrap();
    assert_eq!(build.find("U").unwrap().creation.links[0].library, "L");
}

#[test]
fn trees_tell_the_numbers_of_sources_better_than_the_list() {
    let mut output: serde_json::Value = serde_json::from_str(COMBINED).unwrap();
    output["sourceList"].as_array_mut().unwrap().reverse();
    assert_eq!(check(&output.to_string()), check(COMBINED));
}

#[test]
fn immutable_values_outside_of_the_code_do_not_count() {
    let places = json!({ "7": [
        { "start": 2, "length": 32 },
        { "start": 1, "length": 1 },
        { "start": usize::MAX, "length": 32 },
    ] });
    let code = json!({ "object": "600100", "immutableReferences": places });
    let contract = json!({ "evm": { "bytecode": code, "deployedBytecode": code } });
    let folder = Folder::new();
    folder.write("out.json", &json!({ "contracts": { "a": { "A": contract } } }).to_string());
    assert_eq!(folder.load("out.json").unwrap().contracts[0].immutables, vec![1..2]);
}

#[test]
fn brackets_in_texts_are_no_levels() {
    let text = format!(r#"a\"{}"#, "{".repeat(1000));
    let tree = json!({ "src": "0:0:0", "value": text });
    let output = json!({
        "sources": { "a.sol": { "id": 0, "ast": tree } },
        "contracts": { "a.sol": { "A": {} } },
    });
    let folder = Folder::new();
    folder.write("out.json", &output.to_string());
    assert!(folder.load("out.json").unwrap().sources[0].ast.is_some());
}

#[test]
fn trees_that_nest_too_deep_are_left_out() {
    // The root and its list are two levels.
    for (depth, kept) in [(100_000, false), (399, false), (398, true)] {
        let nodes = format!("{}0{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        let tree = format!(r#"{{"src":"0:0:0","nodes":[{nodes}]}}"#);
        let text = format!(
            r#"{{"sources":{{"a.sol":{{"id":0,"ast":{tree}}}}},"contracts":{{"a.sol":{{"A":{{}}}}}}}}"#
        );
        let folder = Folder::new();
        folder.write("out.json", &text);
        assert_eq!(folder.load("out.json").unwrap().sources[0].ast.is_some(), kept);
    }
}

#[test]
fn what_is_no_output() {
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
    => `[folder]/out.json` is not valid JSON: EOF while parsing an object at line 1 column 1
    hint: Compile again; the file may have been cut short.


    => `[folder]/out.json` is not valid JSON: EOF while parsing a value at line 1 column 0
    hint: Compile again; the file may have been cut short.

    []
    => `[folder]/out.json` is some other JSON, not the output of a compiler
    hint: Expected solc's standard-JSON or combined-JSON output, a build-info file of Foundry or Hardhat (with `input` and `output`), or an export of crytic-compile.

    12
    => `[folder]/out.json` is some other JSON, not the output of a compiler
    hint: Expected solc's standard-JSON or combined-JSON output, a build-info file of Foundry or Hardhat (with `input` and `output`), or an export of crytic-compile.

    {"name":"x"}
    => `[folder]/out.json` is some other JSON, not the output of a compiler
    hint: Expected solc's standard-JSON or combined-JSON output, a build-info file of Foundry or Hardhat (with `input` and `output`), or an export of crytic-compile.

    {"language":"Solidity","sources":{},"settings":{}}
    => `[folder]/out.json` is a standard-JSON input, not the output of a compiler
    hint: Expected solc's standard-JSON or combined-JSON output, a build-info file of Foundry or Hardhat (with `input` and `output`), or an export of crytic-compile.

    {"abi":[],"bytecode":{"object":"0x"}}
    => `[folder]/out.json` is the artefact of a single contract, not the output of a compiler
    hint: Expected solc's standard-JSON or combined-JSON output, a build-info file of Foundry or Hardhat (with `input` and `output`), or an export of crytic-compile.

    {"id":"1","source_id_to_path":{},"language":"Solidity"}
    => `[folder]/out.json` is a build-info without code (`forge build` without `--build-info`), not the output of a compiler
    hint: Expected solc's standard-JSON or combined-JSON output, a build-info file of Foundry or Hardhat (with `input` and `output`), or an export of crytic-compile.

    {"contracts":[]}
    => `[folder]/out.json` looks like solc's standard-JSON output, but does not keep to that format: invalid type: sequence, expected a map at line 1 column 13
    hint: Compile again; if it stays so, the version that wrote it is not known here.

    {"contracts":{},"sources":{}}
    => there is no contract in `[folder]/out.json`
    hint: A target needs at least one `contract`, `library` or `interface`.

    {"compilation_units":{"a":{}}}
    => `[folder]/out.json` looks like an export of crytic-compile, but does not keep to that format: missing field `source_units` at line 1 column 28
    hint: Compile again; if it stays so, the version that wrote it is not known here.

    {"input":{"sources":{}},"output":{"contracts":{"a.sol":{"A":[]}}}}
    => `[folder]/out.json` looks like a build-info file, but does not keep to that format: invalid length 0, expected struct ContractOutput with 3 elements at line 1 column 62
    hint: Compile again; if it stays so, the version that wrote it is not known here.
    "#);
}

#[test]
fn half_a_build_info_names_the_other_half() {
    insta::assert_snapshot!(check(r#"{"input":{"sources":{}}}"#), @"
    `[folder]/out.json` is a build-info without its output, not the output of a compiler
    hint: Expected solc's standard-JSON or combined-JSON output, a build-info file of Foundry or Hardhat (with `input` and `output`), or an export of crytic-compile.
    ");
}

#[test]
fn code_and_abi_that_make_no_sense_name_the_contract() {
    let with = |key: &str, value: serde_json::Value| {
        let mut output = standard();
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
    the contract `src/Fees.sol:Fees` in `[folder]/out.json` cannot be used: its code has an odd number of hexadecimal digits
    the contract `src/Fees.sol:Fees` in `[folder]/out.json` cannot be used: its code is not hexadecimal at digit 2
    the contract `src/Fees.sol:Fees` in `[folder]/out.json` cannot be used: its code is not hexadecimal at digit 2
    the contract `src/Fees.sol:Fees` in `[folder]/out.json` cannot be used: its ABI cannot be understood: missing field `name` at line 1 column 21
    the contract `src/Fees.sol:Fees` in `[folder]/out.json` cannot be used: its ABI cannot be understood: expected ident at line 1 column 2
    ");
}

#[test]
fn a_failed_build_is_not_used() {
    let mut build_info = foundry();
    build_info["output"]["errors"] = failed()["errors"].take();
    insta::assert_snapshot!(check(&build_info.to_string()), @r#"
    `[folder]/out.json` comes from a build that failed
    ParserError: Expected ';' but got '}'
     --> src/Bank.sol:20:5:
       |
    20 |     }
       |     ^

    Source "lib/Gone.sol" not found.
    hint: Mend the errors and compile again; the old code is not used.
    "#);
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let folder = Folder::new();
    let file = std::fs::File::create(folder.path("out.json")).unwrap();
    // The file has a hole, and takes no space.
    file.set_len((512 << 20) + 1).unwrap();
    insta::assert_snapshot!(folder.check("out.json"), @"`[folder]/out.json` is larger than 512 MiB");
}

#[test]
fn bytes_that_are_no_text() {
    let folder = Folder::new();
    std::fs::write(folder.path("out.json"), [0xff, 0xfe]).unwrap();
    insta::assert_snapshot!(folder.check("out.json"), @"`[folder]/out.json` is not UTF-8 text");
}

#[test]
fn sources_that_changed_since_stop_it() {
    let folder = Folder::with_sources();
    folder.write("out.json", FOUNDRY);
    folder.load("out.json").unwrap();
    folder.write("src/Fees.sol", &FEES.replace("0x190", "0x191"));
    insta::assert_snapshot!(folder.check("out.json"), @"
    `[folder]/out.json` is out of date: `src/Fees.sol` was edited
    hint: Compile again; the old code is not used.
    ");
}

#[test]
fn without_texts_the_time_decides() {
    let folder = Folder::with_sources();
    let output = folder.write("out.json", COMBINED);
    folder.load("out.json").unwrap();
    let hour = std::time::Duration::from_secs(3600);
    let old = std::time::SystemTime::now() - hour;
    std::fs::File::options().append(true).open(output).unwrap().set_modified(old).unwrap();
    insta::assert_snapshot!(folder.check("out.json"), @"
    `[folder]/out.json` is out of date: `src/Bank.sol` is newer, `src/Fees.sol` is newer
    hint: Compile again; the old code is not used.
    ");
}

/// The code of a contract whose output has these digits.
fn build_of(object: &str) -> Build {
    let folder = Folder::new();
    let contract = json!({ "evm": { "bytecode": { "object": object } } });
    folder.write("out.json", &json!({ "contracts": { "a": { "A": contract } } }).to_string());
    folder.load("out.json").unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn code_is_read_back(bytes in prop::collection::vec(any::<u8>(), 0..100), at in 0..100_usize) {
        let digits = |bytes: &[u8]| -> String {
            bytes.iter().map(|byte| format!("{byte:02x}")).collect()
        };
        prop_assert_eq!(&build_of(&digits(&bytes)).contracts[0].creation.bytes, &bytes);
        let (front, back) = bytes.split_at(at.min(bytes.len()));
        let mark = "__$0123456789012345678901234567890123$__";
        let code = &build_of(&format!("0x{}{mark}{}", digits(front), digits(back))).contracts[0].creation;
        prop_assert_eq!(&code.bytes, &[front, &[0; 20], back].concat());
        prop_assert_eq!((&*code.links[0].library, code.links[0].offset), (mark, front.len()));
    }

    #[test]
    fn an_output_that_is_cut_short_is_an_error(at in 0..COMBINED.len() - 2) {
        let folder = Folder::new();
        folder.write("out.json", &COMBINED[..at]);
        prop_assert!(folder.load("out.json").is_err());
    }

    #[test]
    fn a_changed_letter_never_panics(at in any::<prop::sample::Index>(), letter in "[ -~]") {
        for text in [FOUNDRY, COMBINED, CRYTIC_SOLC, CRYTIC_STANDARD] {
            let at = at.index(text.len());
            let folder = Folder::new();
            folder.write("out.json", &format!("{}{letter}{}", &text[..at], &text[at + 1..]));
            drop(folder.load("out.json"));
        }
    }
}
