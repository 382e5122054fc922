//! Errors of `vouch fuzz` about smart contracts, properties, corpus folders and full disks.
//!
//! Invalid files, flags and configuration are tested in [`crate::fuzz`].

use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Project, VOUCH, list_files, send_signal, wait_for_exit, wait_until};

/// Compiler output for the targets of the fuzzer's own tests.
const TARGETS: &str = include_str!("../../../fuzz/tests/targets.json");
const BAD: &str = include_str!("../../../fuzz/tests/targets/Bad.sol");
const ENDLESS: &str = include_str!("../../../fuzz/tests/targets/Endless.sol");
const REVERTING: &str = include_str!("../../../fuzz/tests/targets/Reverting.sol");

/// Returns a project with one source and its part of the compiler output, modified by `modify`.
fn project(name: &str, source: &str, modify: impl FnOnce(&mut Value)) -> Project {
    let all: Value = serde_json::from_str(TARGETS).unwrap();
    let file = format!("{name}.sol");
    let mut contracts = all["contracts"][&file].clone();
    modify(&mut contracts);
    let output = json!({
        "contracts": { &file: contracts },
        "sources": { &file: all["sources"][&file] },
    });
    Project::new().with(&file, source).with("out.json", &output.to_string())
}

fn fuzz_args<'a>(contract: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["--seed", "1", "--workers", "1"];
    [&["fuzz", "out.json", "--contract", contract], &fixed[..], more].concat()
}

#[test]
fn rejects_missing_library() {
    let project = project("Bad", BAD, |contracts| {
        contracts.as_object_mut().unwrap().remove("Far").unwrap();
    });
    insta::assert_snapshot!(project.run_text(&fuzz_args("NeedsLibrary", &[])), @r"
    exit: 2
    --- out
    --- err
    error: `NeedsLibrary` needs a library that is not part of the build: Bad.sol:Far
    hint: compile the library together with the contract
    ");
}

#[test]
fn rejects_abi_of_another_build() {
    let project = project("Bad", BAD, |contracts| {
        contracts["Untested"]["abi"] = contracts["NeedsLibrary"]["abi"].clone();
    });
    insta::assert_snapshot!(project.run_text(&fuzz_args("Untested", &[])), @r"
    exit: 2
    --- out
    --- err
    error: `Untested`: the ABI lists 2 functions that are missing from the bytecode, such as `echidna_even()`; the ABI and the bytecode come from different builds
    hint: compile again, so that the ABI matches the code
    ");
}

#[test]
fn reports_reverting_set_up() {
    let project = project("Bad", BAD, |_| {});
    let text = project.run_text(&fuzz_args("RefusesSetUp", &[]));
    assert!(text.starts_with("exit: 3\n"), "{text}");
    for part in [
        ": NOT RUN: setUp() failed: reverted: no set-up\n",
        "ended      because no call is left that could change the result of a test\n",
        "error: no test was exercised, so the run says nothing about the smart contracts\n",
        "hint: check what setUp() requires; the deployer calls it once, without value\n",
    ] {
        assert!(text.contains(part), "{part}{text}");
    }
}

/// Returns the verdict on each property, with the functions called to reach it.
fn test_outcomes(project: &Project, contract: &str, calls: &str) -> String {
    let json = project.run_json(&fuzz_args(contract, &["--json", "--test-limit", calls]));
    let lines = json["tests"].as_array().unwrap().iter().map(|test| {
        let calls = test["transactions"].as_array().map_or_else(String::new, |calls| {
            let names = calls.iter().map(|call| call["function"].as_str().unwrap());
            format!(" after [{}]", names.collect::<Vec<_>>().join(", "))
        });
        format!("{}: {}{calls}", test["name"].as_str().unwrap(), test["verdict"].as_str().unwrap())
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn reverting_property_fails() {
    let project = project("Reverting", REVERTING, |_| {});
    insta::assert_snapshot!(test_outcomes(&project, "Reverting", "20000"), @r"
    echidna_divides: failed after [divide]
    echidna_has_first: failed after []
    echidna_queue_counts: not-broken
    echidna_revert_on_empty_queue: not-broken
    echidna_revert_while_locked: failed after [unlock]
    ");
}

/// The property runs out of gas, and the campaign continues.
#[test]
fn endless_property_runs_out_of_gas() {
    let project = project("Endless", ENDLESS, |_| {});
    insta::assert_snapshot!(test_outcomes(&project, "Endless", "100"), @r"
    echidna_burning_leaves_nothing: not-broken
    echidna_ends: failed after [spin]
    ");
}

/// An endless campaign; killed when dropped.
struct CampaignProcess(Child);

impl Drop for CampaignProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn second_campaign_on_same_corpus_folder_fails() {
    let project = project("Endless", ENDLESS, |_| {});
    let endless = fuzz_args("Endless", &["--corpus-dir", "corpus", "--test-limit", "1000000000"]);
    let mut command = project.command(&endless);
    let mut first =
        CampaignProcess(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let folder = project.root.join("corpus/coverage");
    wait_until("the first has found something", || {
        folder.is_dir() && !list_files(&folder).is_empty()
    });
    let second = project.run_text(&fuzz_args("Endless", &["--corpus-dir", "corpus"]));
    insta::assert_snapshot!(second, @r"
    exit: 3
    --- out
    --- err
    error: corpus folder corpus is in use by another campaign; wait for it to end or choose another folder
    hint: choose another corpus folder: --corpus-dir DIR
    ");
    // The first campaign is not affected.
    assert_eq!(first.0.try_wait().unwrap(), None);
    send_signal(&first.0, Signal::INT);
    let code = wait_for_exit(&mut first.0).code();
    assert!(matches!(code, Some(1 | 130)), "{code:?}");
}

/// Limits the file size to one disk block, so that writes fail midway.
#[test]
fn full_disk_is_reported_with_results() {
    let project = project("Reverting", REVERTING, |_| {});
    let args = fuzz_args("Reverting", &["--corpus-dir", "corpus", "--test-limit", "500", "--json"]);
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    let mut limited = Command::new("sh");
    limited.args(["-c", script, VOUCH]).args(&args).current_dir(&project.root);
    limited.env_clear().env("HOME", &project.home).env("PATH", "/usr/bin:/bin");
    let output = limited.stdin(Stdio::null()).output().unwrap();
    let text = project.format_output(&output);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{text}"));
    // The results are printed nevertheless, with the reason why they could not be saved.
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(json["tests"].to_string().contains("echidna_has_first"), "{text}");
    assert!(json["error"].as_str().unwrap().contains("File too large"), "{text}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("failed to save some results"), "{text}");
    for file in list_files(&project.root.join("corpus")) {
        assert!(!file.ends_with(".vouch-tmp"), "{file} is a leftover temporary file");
        let size = project.root.join("corpus").join(&file).metadata().unwrap().len();
        assert!(size <= 512, "{file} exceeds the limit");
    }
}
