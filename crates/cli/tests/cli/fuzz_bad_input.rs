//! What `vouch fuzz` says of contracts, properties, folders and disks that are not as they should be: one test for each.
//!
//! Files, flags and configuration that are wrong are in [`crate::fuzz`]; here is what only shows once there is a contract.

use std::process::{Child, Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Project, VOUCH, files_below, send_signal, until, wait};

/// What was compiled from the fuzzer's own targets.
const TARGETS: &str = include_str!("../../../fuzz/tests/targets.json");
const BAD: &str = include_str!("../../../fuzz/tests/targets/Bad.sol");
const ENDLESS: &str = include_str!("../../../fuzz/tests/targets/Endless.sol");
const REVERTING: &str = include_str!("../../../fuzz/tests/targets/Reverting.sol");

/// A project with one source and its part of the compiler's output, as `spoil` leaves it.
fn project(name: &str, source: &str, spoil: impl FnOnce(&mut Value)) -> Project {
    let all: Value = serde_json::from_str(TARGETS).unwrap();
    let file = format!("{name}.sol");
    let mut contracts = all["contracts"][&file].clone();
    spoil(&mut contracts);
    let output = json!({
        "contracts": { &file: contracts },
        "sources": { &file: all["sources"][&file] },
    });
    Project::new().with(&file, source).with("out.json", &output.to_string())
}

fn on<'a>(contract: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["--seed", "1", "--workers", "1"];
    [&["fuzz", "out.json", "--contract", contract], &fixed[..], more].concat()
}

#[test]
fn a_library_that_is_not_there() {
    let project = project("Bad", BAD, |contracts| {
        contracts.as_object_mut().unwrap().remove("Far").unwrap();
    });
    insta::assert_snapshot!(project.check(&on("NeedsLibrary", &[])), @r"
    exit: 2
    --- out
    --- err
    error: `NeedsLibrary` needs a library that is not part of the build: Bad.sol:Far
    hint: compile the library together with the contract
    ");
}

#[test]
fn an_abi_that_is_not_of_this_code() {
    let project = project("Bad", BAD, |contracts| {
        contracts["Untested"]["abi"] = contracts["NeedsLibrary"]["abi"].clone();
    });
    insta::assert_snapshot!(project.check(&on("Untested", &[])), @r"
    exit: 2
    --- out
    --- err
    error: `Untested`: the ABI names 2 functions that are not in its code, `echidna_even()` for one; ABI and code are of different builds
    hint: compile again, so that ABI and code belong together
    ");
}

#[test]
fn a_set_up_that_reverts() {
    let project = project("Bad", BAD, |_| {});
    insta::assert_snapshot!(project.check(&on("RefusesSetUp", &[])), @r"
    exit: 2
    --- out
    --- err
    error: setUp() of `RefusesSetUp` failed: reverted: no set-up
    hint: see what setUp() needs; it is called once by the deployer, without value
    ");
}

/// The outcome of each property, with the calls that it takes.
fn outcomes(project: &Project, contract: &str, calls: &str) -> String {
    let json = project.json(&on(contract, &["--json", "--test-limit", calls]));
    let lines = json["tests"].as_array().unwrap().iter().map(|test| {
        let calls = test["transactions"].as_array().map_or_else(String::new, |calls| {
            let names = calls.iter().map(|call| call["function"].as_str().unwrap());
            format!(" after [{}]", names.collect::<Vec<_>>().join(", "))
        });
        format!("{}: {}{calls}", test["name"].as_str().unwrap(), test["status"].as_str().unwrap())
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_property_that_reverts() {
    let project = project("Reverting", REVERTING, |_| {});
    insta::assert_snapshot!(outcomes(&project, "Reverting", "20000"), @r"
    echidna_divides: solved after [divide]
    echidna_has_first: solved after []
    echidna_queue_counts: passed
    echidna_revert_on_empty_queue: passed
    echidna_revert_while_locked: solved after [unlock]
    ");
}

/// It uses up its gas, and the campaign goes on.
#[test]
fn a_property_that_loops_for_ever() {
    let project = project("Endless", ENDLESS, |_| {});
    insta::assert_snapshot!(outcomes(&project, "Endless", "100"), @r"
    echidna_burning_leaves_nothing: passed
    echidna_ends: solved after [spin]
    ");
}

/// A campaign without an end does not outlive its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn two_campaigns_on_one_corpus_folder() {
    let project = project("Endless", ENDLESS, |_| {});
    let endless = on("Endless", &["--corpus-dir", "corpus", "--test-limit", "1000000000"]);
    let mut command = project.command(&endless);
    let mut first = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let folder = project.root.join("corpus/coverage");
    until("the first has found something", || folder.is_dir() && !files_below(&folder).is_empty());
    let second = project.check(&on("Endless", &["--corpus-dir", "corpus"]));
    insta::assert_snapshot!(second, @r"
    exit: 3
    --- out
    --- err
    error: another campaign uses the corpus folder corpus: wait for it, or choose another folder
    hint: give this campaign a folder of its own: --corpus-dir DIR
    ");
    // The first does not notice.
    assert_eq!(first.0.try_wait().unwrap(), None);
    send_signal(&first.0, Signal::INT);
    let code = wait(&mut first.0).code();
    assert!(matches!(code, Some(1 | 130)), "{code:?}");
}

/// No file may grow beyond a block of the disk, so that each is cut off while it is written.
#[test]
fn a_full_disk() {
    let project = project("Reverting", REVERTING, |_| {});
    let args = on("Reverting", &["--corpus-dir", "corpus", "--test-limit", "500", "--json"]);
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    let mut limited = Command::new("sh");
    limited.args(["-c", script, VOUCH]).args(&args).current_dir(&project.root);
    limited.env_clear().env("HOME", &project.home).env("PATH", "/usr/bin:/bin");
    let output = limited.stdin(Stdio::null()).output().unwrap();
    let text = project.show(&output);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{text}"));
    // What was found is printed all the same, with the reason why it was not kept.
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(json["tests"].to_string().contains("echidna_has_first"), "{text}");
    assert!(json["error"].as_str().unwrap().contains("File too large"), "{text}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("not all that was found could be kept"), "{text}");
    for file in files_below(&project.root.join("corpus")) {
        assert!(!file.ends_with(".vouch-tmp"), "{file} is half written");
        let size = project.root.join("corpus").join(&file).metadata().unwrap().len();
        assert!(size <= 512, "{file} is whole, or not there");
    }
}
