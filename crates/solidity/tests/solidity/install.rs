//! Installing a compiler: all of it or nothing.

use std::fs;
use std::path::PathBuf;

use solidity::install;

use crate::folder::Folder;

/// Stands in for npm: makes the package of the version in `made` below the prefix.
const NPM: &str = "echo \"$@\" | sed 's/prefix [^ ]*/prefix FOLDER/' >> ../../../calls
mkdir -p node_modules/solc; touch node_modules/solc/soljson.js
printf '{\"version\":\"%s\"}' \"$(cat ../../../made)\" > node_modules/solc/package.json";

fn check(folder: &Folder, version: &str, script: &str) -> String {
    folder.write("made", "0.8.37");
    let npm = folder.program("npm", script);
    let outcome = match install(version, &folder.path("cache"), &npm) {
        Ok(package) => package.display().to_string(),
        Err(error) => crate::causes(&error),
    };
    let left = fs::read_dir(folder.path("cache/solc")).into_iter().flatten();
    let mut left: Vec<PathBuf> = left.map(|entry| entry.unwrap().file_name().into()).collect();
    left.sort();
    folder.masked(&format!("{outcome}\ncache: {left:?}"))
}

#[test]
fn a_version_is_installed_once() {
    let folder = Folder::new();
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
fn nothing_is_left_of_what_failed() {
    let folder = Folder::new();
    let answers = [
        check(&folder, "0.8.37", "mkdir -p node_modules/solc; echo 'no network' >&2; exit 1"),
        check(&folder, "0.8.37", "true"),
        check(&folder, "0.8.36", NPM),
    ];
    insta::assert_snapshot!(answers.join("\n"), @"
    npm did not install solc 0.8.37: `[folder]/npm` ended with exit status: 1 and said:
    no network
    cache: []
    npm installed something else than solc 0.8.37
    cache: []
    npm installed something else than solc 0.8.36
    cache: []
    ");
}

#[test]
fn only_numbers_are_versions() {
    let folder = Folder::new();
    for version in ["latest", "", "0.8", "../0.8.1", "--global", "0.8.37 left-pad", "0.8.+37"] {
        let answer = check(&folder, version, NPM);
        assert!(answer.contains("is not a version of solc"), "{answer}");
    }
    assert!(!folder.path("calls").exists());
}

#[test]
fn a_cache_that_cannot_be_written() {
    let folder = Folder::new();
    folder.write("cache", "a file");
    insta::assert_snapshot!(check(&folder, "0.8.37", NPM), @"
    cannot write to the cache `[folder]/cache/solc`: Not a directory (os error 20)
    cache: []
    ");
}
