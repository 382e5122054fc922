//! Foundry and Hardhat projects, and what is no target at all.

use std::fs;

use serde_json::{Value, json};

use crate::folder::{FEES, Folder};
use crate::outputs::{FOUNDRY, failed, foundry};

/// A Foundry project that was built.
fn foundry_project() -> Folder {
    let folder = Folder::with_sources();
    folder.write("foundry.toml", "");
    folder.write("out/build-info/1.json", FOUNDRY);
    folder
}

/// A Hardhat project; the fixture's sources lie in other folders, so they are renamed.
fn hardhat(mut build_info: Value) -> String {
    build_info =
        serde_json::from_str(&build_info.to_string().replace("src/", "contracts/")).unwrap();
    build_info["_format"] = json!("hh-sol-build-info-1");
    build_info.to_string()
}

fn hardhat_project() -> Folder {
    let folder = Folder::new();
    folder.write("hardhat.config.ts", "");
    folder.write("contracts/Bank.sol", crate::folder::BANK);
    folder.write("contracts/Fees.sol", FEES);
    folder
}

#[test]
fn foundry_reads_what_was_built() {
    insta::assert_snapshot!(foundry_project().check(""), @"
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
fn foundry_looks_where_its_configuration_says() {
    let folder = foundry_project();
    folder.write("foundry.toml", "[profile.default]\nout = 'made'\n");
    insta::assert_snapshot!(folder.check(""), @"
    the project `[folder]` is not built: there is no usable build-info in `[folder]/made/build-info`
    hint: Run `forge build --build-info --ast --force` in the project.
    ");
    fs::rename(folder.path("out"), folder.path("made")).unwrap();
    folder.load("").unwrap();
    folder.write("foundry.toml", "[profile.default]\nout = 7\n");
    insta::assert_snapshot!(folder.check(""), @"
    cannot understand the configuration `[folder]/foundry.toml`: TOML parse error at line 2, column 7
      |
    2 | out = 7
      |       ^
    invalid type: integer `7`, expected a string
    ");
}

#[test]
fn foundry_without_code_in_its_build_info_is_not_built() {
    let folder = foundry_project();
    folder.write("out/build-info/1.json", r#"{"id":"1","source_id_to_path":{}}"#);
    insta::assert_snapshot!(folder.check(""), @"
    the project `[folder]` is not built: there is no usable build-info in `[folder]/out/build-info`
    hint: Run `forge build --build-info --ast --force` in the project.
    ");
}

#[test]
fn sources_that_were_edited_removed_or_added_stop_it() {
    let folder = foundry_project();
    folder.write("src/Fees.sol", &FEES.replace("0x190", "0x191"));
    fs::remove_file(folder.path("test/Bank.t.sol")).unwrap();
    folder.write("src/deep/New.sol", "abstract contract New {}\n");
    folder.write("src/Errors.sol", "// a contract may use these\nerror Gone();\n");
    insta::assert_snapshot!(folder.check(""), @"
    `[folder]/out/build-info` is out of date: `src/Fees.sol` was edited, `src/deep/New.sol` was not built, `test/Bank.t.sol` was removed
    hint: Run `forge build --build-info --ast --force`; the old code is not used.
    ");
}

#[test]
fn a_new_source_alone_stops_it_unless_some_are_skipped() {
    let folder = foundry_project();
    folder.write("src/New.sol", "library New {}\n");
    insta::assert_snapshot!(folder.check(""), @"
    `[folder]/out/build-info` is out of date: `src/New.sol` was not built
    hint: Run `forge build --build-info --ast --force`; the old code is not used.
    ");
    folder.write("foundry.toml", "[profile.default]\nskip = ['src/New.sol']\n");
    folder.load("").unwrap();
}

#[test]
fn line_ends_do_not_make_a_source_stale() {
    let folder = foundry_project();
    folder.write("src/Fees.sol", &FEES.replace('\n', "\r\n"));
    folder.load("").unwrap();
}

#[test]
fn files_that_older_builds_left_do_not_count() {
    let folder = foundry_project();
    let mut old = foundry();
    old["input"]["sources"]["src/Fees.sol"]["content"] = json!("library Fees {}");
    old["output"]["contracts"]["src/Gone.sol"] = json!({ "Gone": {} });
    folder.write("out/build-info/0.json", &old.to_string());
    folder.write("out/build-info/2.json", "{ cut sho");
    assert_eq!(folder.check(""), foundry_project().check(""));
}

#[test]
fn several_builds_become_one_with_numbers_of_its_own() {
    let folder = Folder::new();
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
    // The newest comes first, and keeps its numbers.
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
        let map = &build.find(name).unwrap().creation.source_map;
        map.spans.iter().map(|span| (span.start, span.source)).collect()
    };
    assert_eq!(spans("A"), [(1, Some(5))]);
    assert_eq!(spans("B"), [(1, Some(6)), (2, Some(5)), (3, None)]);
}

#[test]
fn where_some_are_skipped_what_was_built_before_must_still_fit() {
    let folder = foundry_project();
    folder.write("foundry.toml", "[profile.default]\nskip = ['script']\n");
    let mut only_test = foundry();
    for path in ["src/Bank.sol", "src/Fees.sol"] {
        only_test["output"]["contracts"].as_object_mut().unwrap().remove(path);
        only_test["output"]["sources"].as_object_mut().unwrap().remove(path);
    }
    folder.write("out/build-info/2.json", &only_test.to_string());
    folder.load("").unwrap();
    folder.write("src/Fees.sol", &FEES.replace("0x190", "0x191"));
    insta::assert_snapshot!(folder.check(""), @"
    `[folder]/out/build-info` is out of date: `src/Fees.sol` was edited
    hint: Run `forge build --build-info --ast --force`; the old code is not used.
    ");
}

#[test]
fn forge_builds_what_is_missing_or_stale() {
    let mut folder = foundry_project();
    fs::rename(folder.path("out/build-info/1.json"), folder.path("ready.json")).unwrap();
    folder.program("bin/forge", "echo \"$@\" > args; cp ready.json out/build-info/2.json");
    folder.toolchain.path = vec![folder.path("bin")];
    folder.write("src/New.sol", "library Skipped {}\n");
    folder.load("").unwrap();
    let args = fs::read_to_string(folder.path("args")).unwrap();
    insta::assert_snapshot!(args, @"build --build-info --ast --force --color never");
}

#[test]
fn forge_uses_the_compiler_that_was_named() {
    let mut folder = foundry_project();
    fs::rename(folder.path("out/build-info/1.json"), folder.path("ready.json")).unwrap();
    folder.program("bin/forge", "echo \"$@\" > args; cp ready.json out/build-info/2.json");
    folder.toolchain.path = vec![folder.path("bin")];
    folder.toolchain.solc = Some(folder.program("my solc", ""));
    folder.load("").unwrap();
    let args = fs::read_to_string(folder.path("args")).unwrap();
    assert!(folder.masked(&args).ends_with("--use [folder]/my solc\n"), "{args}");
}

#[test]
fn what_forge_builds_must_fit_the_sources_too() {
    let mut folder = foundry_project();
    folder.program("bin/forge", "true");
    folder.toolchain.path = vec![folder.path("bin")];
    folder.write("src/Fees.sol", &FEES.replace("0x190", "0x191"));
    insta::assert_snapshot!(folder.check(""), @"
    `[folder]/out/build-info` is out of date: `src/Fees.sol` was edited
    hint: Run `forge build --build-info --ast --force`; the old code is not used.
    ");
}

#[test]
fn forge_may_fail() {
    let mut folder = foundry_project();
    folder.write("src/Fees.sol", "library {");
    folder.toolchain.path = vec![folder.path("bin")];
    let report = "Error: Compiler run failed:\nError (2314): Expected identifier\n --> src/Fees.sol:1:9:\n\nError: more\n";
    folder.program("bin/forge", &format!("printf '{report}' >&2; exit 1"));
    insta::assert_snapshot!(folder.check(""), @"
    the compiler rejects `[folder]`
    Error (2314): Expected identifier
     --> src/Fees.sol:1:9:

    Error: more
    ");
    folder.program("bin/forge", "echo 'Error: no such option' >&2; exit 2");
    insta::assert_snapshot!(folder.check(""), @"
    `[folder]/bin/forge` ended with exit status: 2 and said:
    Error: no such option
    ");
}

#[test]
fn hardhat_2_keeps_one_file() {
    let folder = hardhat_project();
    insta::assert_snapshot!(folder.check(""), @"
    the project `[folder]` is not built: there is no usable build-info in `[folder]/artifacts/build-info`
    hint: Run `npx hardhat compile --force` in the project.
    ");
    folder.write("artifacts/build-info/1.json", &hardhat(foundry()));
    insta::assert_snapshot!(folder.check(""), @"
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
fn hardhat_3_keeps_input_and_output_apart() {
    let folder = hardhat_project();
    let text = hardhat(foundry()).replace("\"contracts/", "\"project/contracts/");
    let mut whole: Value = serde_json::from_str(&text).unwrap();
    let output =
        json!({ "_format": "hh3-sol-build-info-output-1", "output": whole["output"].take() });
    whole.as_object_mut().unwrap().remove("output");
    folder.write("artifacts/build-info/solc-1.json", &whole.to_string());
    insta::assert_snapshot!(folder.check(""), @"
    the project `[folder]` is not built: there is no usable build-info in `[folder]/artifacts/build-info`
    hint: Run `npx hardhat compile --force` in the project.
    ");
    folder.write("artifacts/build-info/solc-1.output.json", &output.to_string());
    let build = folder.load("").unwrap();
    assert!(build.find("project/contracts/Bank.sol:Bank").is_ok());
    assert_eq!(&*build.sources[1].text, FEES);
    let half = folder.load("artifacts/build-info/solc-1.output.json").unwrap();
    assert_eq!(half.contracts.len(), build.contracts.len());
    folder.write("contracts/Fees.sol", "library Fees {}");
    insta::assert_snapshot!(folder.check(""), @"
    `[folder]/artifacts/build-info` is out of date: `contracts/Fees.sol` was edited
    hint: Run `npx hardhat compile --force`; the old code is not used.
    ");
}

#[test]
fn hardhat_after_a_build_that_failed() {
    let folder = hardhat_project();
    let mut build_info = foundry();
    build_info["output"] = failed();
    folder.write("artifacts/build-info/1.json", &hardhat(build_info));
    insta::assert_snapshot!(folder.check(""), @r#"
    `[folder]/artifacts/build-info/1.json` comes from a build that failed
    ParserError: Expected ';' but got '}'
     --> contracts/Bank.sol:20:5:
       |
    20 |     }
       |     ^

    Source "lib/Gone.sol" not found.
    hint: Mend the errors and compile again; the old code is not used.
    "#);
}

#[test]
fn a_project_of_both_uses_what_was_built() {
    let folder = hardhat_project();
    folder.write("foundry.toml", "[profile.default]\nsrc = 'contracts'\n");
    folder.write("artifacts/build-info/1.json", &hardhat(foundry()));
    folder.load("").unwrap();
}

#[test]
fn what_is_no_target() {
    let folder = Folder::new();
    folder.write("notes.txt", "contract A {}");
    let answers = ["gone.sol", "gone", "notes.txt", ""].map(|name| folder.check(name));
    insta::assert_snapshot!(answers.join("\n"), @"
    there is no file or folder `[folder]/gone.sol`
    there is no file or folder `[folder]/gone`
    `[folder]/notes.txt` is neither a Solidity file (`.sol`) nor a compiler's output (`.json`)
    hint: Point at a `.sol` file, at a folder with `foundry.toml` or a `hardhat.config` file, or at the JSON that solc or crytic-compile wrote.
    the folder `[folder]` is neither a Foundry nor a Hardhat project
    hint: Point at a `.sol` file, at a folder with `foundry.toml` or a `hardhat.config` file, or at the JSON that solc or crytic-compile wrote.
    ");
}
