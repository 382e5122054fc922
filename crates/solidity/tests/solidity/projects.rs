//! Foundry and Hardhat projects, and invalid targets.

use std::fs;

use serde_json::{Value, json};

use crate::folder::{FEES, TestFolder};
use crate::outputs::{FOUNDRY, failed_output, foundry_output};

/// Creates a Foundry project with build artifacts.
fn foundry_project() -> TestFolder {
    let folder = TestFolder::with_sources();
    folder.write("foundry.toml", "");
    folder.write("out/build-info/1.json", FOUNDRY);
    folder
}

/// Converts build-info of the fixture to Hardhat, whose sources are in another folder.
fn to_hardhat_build_info(mut build_info: Value) -> String {
    build_info =
        serde_json::from_str(&build_info.to_string().replace("src/", "contracts/")).unwrap();
    build_info["_format"] = json!("hh-sol-build-info-1");
    build_info.to_string()
}

fn hardhat_project() -> TestFolder {
    let folder = TestFolder::new();
    folder.write("hardhat.config.ts", "");
    folder.write("contracts/Bank.sol", crate::folder::BANK);
    folder.write("contracts/Fees.sol", FEES);
    folder
}

#[test]
fn foundry_loads_build_info() {
    insta::assert_snapshot!(foundry_project().describe_load(""), @"
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
fn foundry_reads_output_folder_from_config() {
    let folder = foundry_project();
    folder.write("foundry.toml", "[profile.default]\nout = 'made'\n");
    insta::assert_snapshot!(folder.describe_load(""), @"
    project `[folder]` is not built: no usable build-info in `[folder]/made/build-info`; no Solidity compiler found
    hint: run `vouch solc install`, pass `--install-solc`, or run `forge build --build-info --ast --force` in the project
    ");
    fs::rename(folder.path("out"), folder.path("made")).unwrap();
    folder.load("").unwrap();
    folder.write("foundry.toml", "[profile.default]\nout = 7\n");
    insta::assert_snapshot!(folder.describe_load(""), @"invalid configuration file `[folder]/foundry.toml`: invalid type: integer `7`, expected a string in line 2");
    // A line may contain a secret.
    folder.write("foundry.toml", "[rpc_endpoints]\na = 'https://node.example/s3cr3t\n");
    let text = folder.describe_load("");
    assert!(text.contains("in line 2") && !text.contains("s3cr3t"), "{text}");
}

#[test]
fn foundry_ignores_build_info_without_bytecode() {
    let folder = foundry_project();
    folder.write("out/build-info/1.json", r#"{"id":"1","source_id_to_path":{}}"#);
    insta::assert_snapshot!(folder.describe_load(""), @"
    project `[folder]` is not built: no usable build-info in `[folder]/out/build-info`; no Solidity compiler found
    hint: run `vouch solc install`, pass `--install-solc`, or run `forge build --build-info --ast --force` in the project
    ");
}

#[test]
fn rejects_edited_removed_and_added_sources() {
    let folder = foundry_project();
    folder.write("src/Fees.sol", &FEES.replace("0x190", "0x191"));
    fs::remove_file(folder.path("test/Bank.t.sol")).unwrap();
    folder.write("src/deep/New.sol", "abstract contract New {}\n");
    folder.write("src/Errors.sol", "// a contract may use these\nerror Gone();\n");
    insta::assert_snapshot!(folder.describe_load(""), @"
    `[folder]/out/build-info` is out of date: `src/Fees.sol` was edited, `src/deep/New.sol` was not built, `test/Bank.t.sol` was removed; no Solidity compiler found
    hint: run `vouch solc install`, pass `--install-solc`, or run `forge build --build-info --ast --force` in the project
    ");
}

#[test]
fn rejects_new_source_unless_skip_is_configured() {
    let folder = foundry_project();
    folder.write("src/New.sol", "library New {}\n");
    insta::assert_snapshot!(folder.describe_load(""), @"
    `[folder]/out/build-info` is out of date: `src/New.sol` was not built; no Solidity compiler found
    hint: run `vouch solc install`, pass `--install-solc`, or run `forge build --build-info --ast --force` in the project
    ");
    folder.write("foundry.toml", "[profile.default]\nskip = ['src/New.sol']\n");
    folder.load("").unwrap();
}

#[test]
fn ignores_changed_line_endings() {
    let folder = foundry_project();
    folder.write("src/Fees.sol", &FEES.replace('\n', "\r\n"));
    folder.load("").unwrap();
}

#[test]
fn ignores_stale_build_info_if_a_fresh_one_exists() {
    let folder = foundry_project();
    let mut old = foundry_output();
    old["input"]["sources"]["src/Fees.sol"]["content"] = json!("library Fees {}");
    old["output"]["contracts"]["src/Gone.sol"] = json!({ "Gone": {} });
    folder.write("out/build-info/0.json", &old.to_string());
    folder.write("out/build-info/2.json", "{ cut sho");
    assert_eq!(folder.describe_load(""), foundry_project().describe_load(""));
}

#[test]
fn merges_builds_and_renumbers_sources() {
    let folder = TestFolder::new();
    folder.write("foundry.toml", "");
    for name in ["A", "B"] {
        folder.write(&format!("src/{name}.sol"), &format!("contract {name} {{}}\n"));
    }
    let unit = |name: &str, ids: [(&str, u32); 2], map: &str| {
        let path = |name: &str| format!("src/{name}.sol");
        let code = json!({ "object": "000000", "sourceMap": map });
        let [(one, one_id), (other, other_id)] = ids;
        json!({
            "input": { "sources": {
                path("A"): { "content": "contract A {}\n" },
                path("B"): { "content": "contract B {}\n" },
            } },
            "output": {
                "sources": { path(one): { "id": one_id }, path(other): { "id": other_id } },
                "contracts": { path(name): { name: { "evm": { "bytecode": code } } } },
            },
        })
    };
    folder.write("out/build-info/1.json", &unit("A", [("A", 5), ("A", 5)], "1:1:5").to_string());
    let other = unit("B", [("A", 1), ("B", 0)], "1:1:0;2:1:1;3:1:7");
    folder.write("out/build-info/2.json", &other.to_string());
    // The newest file comes first and keeps its source ids.
    let now = std::time::SystemTime::now();
    for (name, age) in [("1", 0), ("2", 60)] {
        let path = folder.path(&format!("out/build-info/{name}.json"));
        let file = fs::File::options().append(true).open(path).unwrap();
        file.set_modified(now - std::time::Duration::from_secs(age)).unwrap();
    }
    let build = folder.load("").unwrap();
    let ids: Vec<_> = build.sources.iter().map(|one| (one.id, one.path.as_str())).collect();
    assert_eq!(ids, [(5, "src/A.sol"), (6, "src/B.sol")]);
    let spans = |name: &str| -> Vec<_> {
        let map = &build.find_contract(name).unwrap().creation.source_map;
        map.spans.iter().map(|span| (span.start, span.source)).collect()
    };
    assert_eq!(spans("A"), [(1, Some(5))]);
    assert_eq!(spans("B"), [(1, Some(6)), (2, Some(5)), (3, None)]);
}

#[test]
fn rejects_edited_source_if_skip_is_configured() {
    let folder = foundry_project();
    folder.write("foundry.toml", "[profile.default]\nskip = ['script']\n");
    let mut only_test = foundry_output();
    for path in ["src/Bank.sol", "src/Fees.sol"] {
        only_test["output"]["contracts"].as_object_mut().unwrap().remove(path);
        only_test["output"]["sources"].as_object_mut().unwrap().remove(path);
    }
    folder.write("out/build-info/2.json", &only_test.to_string());
    folder.load("").unwrap();
    folder.write("src/Fees.sol", &FEES.replace("0x190", "0x191"));
    insta::assert_snapshot!(folder.describe_load(""), @"
    `[folder]/out/build-info` is out of date: `src/Fees.sol` was edited; no Solidity compiler found
    hint: run `vouch solc install`, pass `--install-solc`, or run `forge build --build-info --ast --force` in the project
    ");
}

#[test]
fn forge_rebuilds_missing_artifacts() {
    let mut folder = foundry_project();
    fs::rename(folder.path("out/build-info/1.json"), folder.path("ready.json")).unwrap();
    folder.write_program("bin/forge", "echo \"$@\" > args; cp ready.json out/build-info/2.json");
    folder.toolchain.path = vec![folder.path("bin")];
    folder.write("src/New.sol", "library Skipped {}\n");
    folder.load("").unwrap();
    let args = fs::read_to_string(folder.path("args")).unwrap();
    insta::assert_snapshot!(args, @"build --build-info --ast --force --offline --color never");
}

#[test]
fn forge_uses_named_compiler() {
    let mut folder = foundry_project();
    fs::rename(folder.path("out/build-info/1.json"), folder.path("ready.json")).unwrap();
    folder.write_program("bin/forge", "echo \"$@\" > args; cp ready.json out/build-info/2.json");
    folder.toolchain.path = vec![folder.path("bin")];
    folder.toolchain.solc = Some(folder.write_program("my solc", ""));
    folder.load("").unwrap();
    let args = fs::read_to_string(folder.path("args")).unwrap();
    assert!(folder.mask_path(&args).ends_with("--use [folder]/my solc\n"), "{args}");
}

#[test]
fn rejects_stale_artifacts_after_forge_build() {
    let mut folder = foundry_project();
    folder.write_program("bin/forge", "true");
    folder.toolchain.path = vec![folder.path("bin")];
    folder.write("src/Fees.sol", &FEES.replace("0x190", "0x191"));
    insta::assert_snapshot!(folder.describe_load(""), @"
    `[folder]/out/build-info` is out of date: `src/Fees.sol` was edited
    hint: run `forge build --build-info --ast --force`; outdated bytecode is not used
    ");
}

#[test]
fn reports_forge_failures() {
    let mut folder = foundry_project();
    folder.write("src/Fees.sol", "library {");
    folder.toolchain.path = vec![folder.path("bin")];
    let report = "Error: Compiler run failed:\nError (2314): Expected identifier\n --> src/Fees.sol:1:9:\n\nError: more\n";
    folder.write_program("bin/forge", &format!("printf '{report}' >&2; exit 1"));
    insta::assert_snapshot!(folder.describe_load(""), @"
    failed to compile `[folder]`
    Error (2314): Expected identifier
     --> src/Fees.sol:1:9:

    Error: more
    ");
    folder.write_program("bin/forge", "echo 'Error: no such option' >&2; exit 2");
    insta::assert_snapshot!(folder.describe_load(""), @"
    `[folder]/bin/forge` failed with exit status: 2 and printed:
    Error: no such option
    ");
}

#[test]
fn loads_hardhat_2_build_info() {
    let folder = hardhat_project();
    insta::assert_snapshot!(folder.describe_load(""), @"
    project `[folder]` is not built: no usable build-info in `[folder]/artifacts/build-info`; no Solidity compiler found
    hint: run `vouch solc install`, pass `--install-solc`, or run `npx hardhat compile --force` in the project
    ");
    folder.write("artifacts/build-info/1.json", &to_hardhat_build_info(foundry_output()));
    insta::assert_snapshot!(folder.describe_load(""), @"
    compiler 0.8.37+commit.f401782d
    source 0 contracts/Bank.sol: 740 bytes, tree
    source 1 contracts/Fees.sol: 289 bytes, tree
    source 2 test/Bank.t.sol: 251 bytes, tree
    contract contracts/Bank.sol:Bank: pay(uint256) tag()
      creation 1149 bytes, 32 spans in [Some(0)], contracts/Fees.sol:Fees at 468
      runtime 1096 bytes, 590 spans in [None, Some(0)], contracts/Fees.sol:Fees at 415
      immutables [215..247]
    contract contracts/Bank.sol:Teller: pay(uint256)
    contract contracts/Fees.sol:Fees: 
      creation 683 bytes, 34 spans in [Some(1)]
      runtime 606 bytes, 351 spans in [None, Some(1)]
      immutables []
    contract test/Bank.t.sol:BankTest: test_cap()
      creation 1836 bytes, 20 spans in [Some(2)], contracts/Fees.sol:Fees at 1102
      runtime 1808 bytes, 388 spans in [None, Some(2)], contracts/Fees.sol:Fees at 1074
      immutables []
    ");
}

#[test]
fn loads_hardhat_3_split_build_info() {
    let folder = hardhat_project();
    let text =
        to_hardhat_build_info(foundry_output()).replace("\"contracts/", "\"project/contracts/");
    let mut whole: Value = serde_json::from_str(&text).unwrap();
    let output =
        json!({ "_format": "hh3-sol-build-info-output-1", "output": whole["output"].take() });
    whole.as_object_mut().unwrap().remove("output");
    folder.write("artifacts/build-info/solc-1.json", &whole.to_string());
    insta::assert_snapshot!(folder.describe_load(""), @"
    project `[folder]` is not built: no usable build-info in `[folder]/artifacts/build-info`; no Solidity compiler found
    hint: run `vouch solc install`, pass `--install-solc`, or run `npx hardhat compile --force` in the project
    ");
    folder.write("artifacts/build-info/solc-1.output.json", &output.to_string());
    let build = folder.load("").unwrap();
    assert!(build.find_contract("project/contracts/Bank.sol:Bank").is_ok());
    assert_eq!(&*build.sources[1].text, FEES);
    let half = folder.load("artifacts/build-info/solc-1.output.json").unwrap();
    assert_eq!(half.contracts.len(), build.contracts.len());
    folder.write("contracts/Fees.sol", "library Fees {}");
    insta::assert_snapshot!(folder.describe_load(""), @"
    `[folder]/artifacts/build-info` is out of date: `contracts/Fees.sol` was edited; no Solidity compiler found
    hint: run `vouch solc install`, pass `--install-solc`, or run `npx hardhat compile --force` in the project
    ");
}

#[test]
fn rejects_failed_hardhat_build() {
    let folder = hardhat_project();
    let mut build_info = foundry_output();
    build_info["output"] = failed_output();
    folder.write("artifacts/build-info/1.json", &to_hardhat_build_info(build_info));
    insta::assert_snapshot!(folder.describe_load(""), @r#"
    `[folder]/artifacts/build-info/1.json` comes from a failed build
    ParserError: Expected ';' but got '}'
     --> contracts/Bank.sol:20:5:
       |
    20 |     }
       |     ^

    Source "lib/Gone.sol" not found.
    hint: fix the errors and compile again; outdated bytecode is not used
    "#);
}

#[test]
fn loads_hardhat_artifacts_in_combined_project() {
    let folder = hardhat_project();
    folder.write("foundry.toml", "[profile.default]\nsrc = 'contracts'\n");
    folder.write("artifacts/build-info/1.json", &to_hardhat_build_info(foundry_output()));
    folder.load("").unwrap();
}

#[test]
fn rejects_invalid_targets() {
    let folder = TestFolder::new();
    folder.write("notes.txt", "contract A {}");
    let answers = ["gone.sol", "gone", "notes.txt", ""].map(|name| folder.describe_load(name));
    insta::assert_snapshot!(answers.join("\n"), @"
    no such file or folder: `[folder]/gone.sol`
    no such file or folder: `[folder]/gone`
    `[folder]/notes.txt` is neither a Solidity file (`.sol`) nor compiler output (`.json`)
    hint: pass a `.sol` file, a folder with `foundry.toml` or a `hardhat.config` file, or the JSON output of solc or crytic-compile
    the folder `[folder]` is neither a Foundry nor a Hardhat project
    hint: pass a `.sol` file, a folder with `foundry.toml` or a `hardhat.config` file, or the JSON output of solc or crytic-compile
    ");
}

/// Returns build-info of the fixture in which only the contracts of `kept` were compiled.
fn partial_output(kept: &[&str]) -> Value {
    let mut output = foundry_output();
    for part in ["contracts", "sources"] {
        output["output"][part]
            .as_object_mut()
            .unwrap()
            .retain(|path, _| kept.contains(&path.as_str()));
    }
    output
}

#[test]
fn partial_build_is_accepted_for_the_contract_that_it_contains() {
    let folder = foundry_project();
    let part = partial_output(&["src/Bank.sol", "src/Fees.sol"]);
    folder.write("out/build-info/1.json", &part.to_string());
    let load = |name: Option<&str>| match solidity::load_contract_build(
        &folder.path(""),
        name,
        &folder.toolchain,
    ) {
        Ok(loaded) => folder.mask_path(&loaded.notes.join("\n")),
        Err(error) => folder.mask_path(&crate::format_load_error(&error)),
    };
    insta::assert_snapshot!(load(Some("Bank")), @"[folder]/out/build-info does not match all sources (1 not built, 0 changed), but those of the target");
    assert!(load(None).contains("`test/Bank.t.sol` was not built"), "{}", load(None));
    assert!(load(Some("BankTest")).contains("`test/Bank.t.sol` was not built"));
    folder.write("test/Other.t.sol", "contract Bank {}");
    assert!(load(Some("Bank")).contains("is out of date"), "another contract may be meant");
    assert!(load(Some("src/Bank.sol:Bank")).contains("(2 not built"));
    fs::remove_file(folder.path("test/Other.t.sol")).unwrap();
    folder.write("src/Fees.sol", &FEES.replace("0x190", "0x191"));
    assert!(load(Some("Bank")).contains("`src/Fees.sol` was edited"), "a dependency changed");
}

#[test]
fn change_that_the_contract_does_not_import_is_accepted() {
    let folder = foundry_project();
    let load =
        |name| solidity::load_contract_build(&folder.path(""), Some(name), &folder.toolchain);
    folder.write("test/Bank.t.sol", "contract BankTest { uint x; }");
    let loaded = load("Bank").unwrap();
    assert!(loaded.build.find_contract("BankTest").is_err(), "outdated bytecode is not used");
    load("BankTest").unwrap_err();
    // Without ASTs, imports are unknown.
    let mut output = foundry_output();
    for source in output["output"]["sources"].as_object_mut().unwrap().values_mut() {
        source.as_object_mut().unwrap().remove("ast");
    }
    folder.write("out/build-info/1.json", &output.to_string());
    load("Bank").unwrap_err();
}

#[test]
fn file_of_a_built_project_needs_no_compiler() {
    let folder = foundry_project();
    let part = partial_output(&["src/Fees.sol"]);
    folder.write("out/build-info/1.json", &part.to_string());
    folder.load("src/Fees.sol").unwrap().find_contract("Fees").unwrap();
    let error = folder.describe_load("src/Bank.sol");
    assert!(error.starts_with("no Solidity compiler found"), "{error}");
}
