//! Installing a compiler atomically.

use std::fs;
use std::path::PathBuf;

use solidity::install_solc;

use crate::folder::TestFolder;

/// Fake npm: creates a package with the version in `made` below the prefix.
const NPM: &str = "echo \"$@\" | sed 's/prefix [^ ]*/prefix FOLDER/' >> ../../../calls
mkdir -p node_modules/solc; touch node_modules/solc/soljson.js
printf '{\"version\":\"%s\"}' \"$(cat ../../../made)\" > node_modules/solc/package.json";

fn check(folder: &TestFolder, version: &str, script: &str) -> String {
    folder.write("made", "0.8.37");
    let npm = folder.write_program("npm", script);
    let outcome = match install_solc(version, &folder.path("cache"), &npm, &[]) {
        Ok(package) => package.display().to_string(),
        Err(error) => crate::format_causes(&error),
    };
    let left = fs::read_dir(folder.path("cache/solc")).into_iter().flatten();
    let mut left: Vec<PathBuf> = left.map(|entry| entry.unwrap().file_name().into()).collect();
    left.sort();
    folder.mask_path(&format!("{outcome}\ncache: {left:?}"))
}

#[test]
fn installs_a_version_once() {
    let folder = TestFolder::new();
    insta::assert_snapshot!(check(&folder, "0.8.37", NPM), @r#"
    [folder]/cache/solc/0.8.37/node_modules/solc
    cache: ["0.8.37"]
    "#);
    insta::assert_snapshot!(check(&folder, "0.8.37", "exit 1"), @r#"
    [folder]/cache/solc/0.8.37/node_modules/solc
    cache: ["0.8.37"]
    "#);
    insta::assert_snapshot!(fs::read_to_string(folder.path("calls")).unwrap(), @"install --ignore-scripts --no-audit --no-fund --prefix FOLDER solc@0.8.37");
}

#[test]
fn failed_installation_leaves_no_files() {
    let folder = TestFolder::new();
    let answers = [
        check(&folder, "0.8.37", "mkdir -p node_modules/solc; echo 'no network' >&2; exit 1"),
        check(&folder, "0.8.37", "true"),
        check(&folder, "0.8.36", NPM),
    ];
    insta::assert_snapshot!(answers.join("\n"), @"
    npm failed to install solc 0.8.37: `[folder]/npm` failed with exit status: 1 and printed:
    no network
    cache: []
    npm installed a package other than solc 0.8.37
    cache: []
    npm installed a package other than solc 0.8.36
    cache: []
    ");
}

#[test]
fn rejects_invalid_versions() {
    let folder = TestFolder::new();
    for version in ["latest", "", "0.8", "../0.8.1", "--global", "0.8.37 left-pad", "0.8.+37"] {
        let answer = check(&folder, version, NPM);
        assert!(answer.contains("invalid solc version"), "{answer}");
    }
    assert!(!folder.path("calls").exists());
}

#[test]
fn reports_unwritable_cache() {
    let folder = TestFolder::new();
    folder.write("cache", "a file");
    insta::assert_snapshot!(check(&folder, "0.8.37", NPM), @"
    failed to write to the cache `[folder]/cache/solc`: Not a directory (os error 20)
    cache: []
    ");
}

#[test]
fn packages_that_contain_another_compiler_are_replaced() {
    let folder = TestFolder::new();
    let broken = "cache/solc/0.8.7/node_modules/solc";
    folder.write(&format!("{broken}/package.json"), r#"{"version":"0.8.7"}"#);
    folder.write(&format!("{broken}/soljson.js"), "");
    let npm = folder.write_program("npm", &NPM.replace("$(cat ../../../made)", "0.8.7-fixed"));
    let package = install_solc("0.8.7", &folder.path("cache"), &npm, &[]).unwrap();
    assert_eq!(package, folder.path(broken));
    let manifest = fs::read_to_string(folder.path(broken).join("package.json")).unwrap();
    assert_eq!(manifest, r#"{"version":"0.8.7-fixed"}"#);
    let calls = fs::read_to_string(folder.path("calls")).unwrap();
    assert!(calls.ends_with("solc@0.8.7-fixed\n"), "{calls}");
}
