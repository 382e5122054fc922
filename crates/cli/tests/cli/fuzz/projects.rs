//! Projects as they are: compilers that must be installed, and Medusa's configuration.

use super::{COMPILED, SOURCE, project, write_script};
use crate::support::Project;

/// A project that needs solc 0.8.15, with an npm that installs it and a Node.js that pretends to run it.
fn project_without_compiler() -> (Project, String) {
    let project = Project::new().with("answer.json", COMPILED).with("foundry.toml", "").with(
        "src/Vault.sol",
        &format!("pragma solidity 0.8.15;\n{}", SOURCE.replace("pragma", "//")),
    );
    let npm = "prefix=$6; mkdir -p $prefix/node_modules/solc\n\
               echo '{\"version\": \"0.8.15\"}' > $prefix/node_modules/solc/package.json\n\
               touch $prefix/node_modules/solc/soljson.js";
    write_script(&project, "../bin/npm", npm);
    write_script(&project, "../bin/node", "cat > /dev/null; cat answer.json");
    let path = format!("{}:/usr/bin:/bin", project.root.parent().unwrap().join("bin").display());
    (project, path)
}

#[test]
fn missing_compiler_is_installed_only_if_asked() {
    let (project, path) = project_without_compiler();
    let run = |args: &[&str]| {
        let fixed = ["fuzz", ".", "--plain", "--seed", "1", "--workers", "1", "--test-limit", "10"];
        let output = project.command(&[&fixed, args].concat()).env("PATH", &path).output();
        project.format_output(&output.unwrap())
    };
    let refused = run(&[]);
    assert!(
        refused.contains("run `vouch solc install 0.8.15`, pass `--install-solc`"),
        "{refused}"
    );
    assert!(!project.home.join(".cache/vouch/solc").exists());
    let installed = run(&["--install-solc"]);
    assert!(installed.contains("installed solc 0.8.15 with npm"), "{installed}");
    assert!(installed.contains("fuzzing Vault"), "{installed}");
    assert!(project.home.join(".cache/vouch/solc/0.8.15/node_modules/solc").is_dir());
    let again = run(&[]);
    assert!(again.contains("fuzzing Vault") && !again.contains("installed solc"), "{again}");
    assert!(!project.root.join("out").exists(), "nothing is written to the project");
}

#[test]
fn medusa_json_is_read_beside_the_target() {
    let text = r#"{"fuzzing": {"workers": 1, "testLimit": 300, "corpusDirectory": "corpus", "wrkers": 1,
        "testing": {"stopOnFailedTest": false, "propertyTesting": {"testPrefixes": ["echidna_"]}}}}"#;
    let project = project().with("medusa.json", text).untrusted();
    let run = |args: &[&str]| {
        project.run_text(&[&["fuzz", "Vault.json", "--seed", "1", "--plain"], args].concat())
    };
    let found = run(&[]);
    for part in [
        "left out `fuzzing.corpusDirectory` of medusa.json; run `vouch trust` to use it",
        "unknown key `fuzzing.wrkers`; did you mean `fuzzing.workers`?",
        "assertions are not tested in the same run; pass `--test-mode assertion`",
        "echidna_",
    ] {
        assert!(found.contains(part), "{part}: {found}");
    }
    assert!(!project.root.join("corpus").exists());
    run(&["--config", "medusa.json"]);
    assert!(project.root.join("corpus").is_dir(), "the user named the file");
    project.write("other.json", r#"{"fuzzing": {"workers": 0}}"#);
    let invalid = run(&["--config", "other.json"]);
    assert!(invalid.starts_with("exit: 2"), "{invalid}");
    assert!(invalid.contains("`fuzzing.workers` must be at least 1"), "{invalid}");
    project.write("echidna.yaml", "testLimit: 10\n");
    assert!(!run(&[]).contains("medusa.json"), "echidna.yaml takes precedence");
}

#[test]
fn medusa_json_names_the_source_of_a_plain_folder() {
    let text = r#"{"fuzzing": {"workers": 1, "testLimit": 10, "testing": {"propertyTesting":
        {"testPrefixes": ["echidna_"]}}}, "compilation": {"platformConfig": {"target": "TARGET"}}}"#;
    let (project, path) = project_without_compiler();
    std::fs::remove_file(project.root.join("foundry.toml")).unwrap();
    project.write("plain/answer.json", COMPILED);
    project.write("plain/Vault.sol", SOURCE);
    project.write("plain/package.json", "{}");
    let run = |target: &str| {
        project.write("plain/medusa.json", &text.replace("TARGET", target));
        let args = ["fuzz", "plain", "--plain", "--seed", "1", "--install-solc"];
        let output = project.command(&args).env("PATH", &path).output();
        project.format_output(&output.unwrap())
    };
    write_script(&project, "../bin/solc", "cat > /dev/null; cat answer.json");
    let named = run("Vault.sol");
    assert!(named.contains("fuzzing Vault"), "{named}");
    for outside in ["../src/Vault.sol", "/etc/passwd", "gone.sol"] {
        let refused = run(outside);
        assert!(refused.contains("is neither a Foundry nor a Hardhat project"), "{refused}");
    }
}

/// Compiled test contracts of several sources.
const TARGETS: &str = include_str!("../../../../fuzz/tests/targets.json");

#[test]
fn patterns_select_test_contracts_and_tests() {
    let project = Project::new().with("targets.json", TARGETS);
    let run = |args: &[&str]| {
        let fixed =
            ["fuzz", "targets.json", "--seed", "1", "--workers", "1", "--test-limit", "300"];
        project.run_text(&[&fixed, args].concat())
    };
    let names = |text: &str| {
        let all = ["HasDepths", "SendsNoValue", "RevertsInSetUp", "FailsOnRevert", "ForgeRules"];
        let found = all.into_iter().filter(|name| text.contains(&format!(".sol:{name}")));
        found.collect::<Vec<_>>().join(" ")
    };
    let two = "^(HasDepths|SendsNoValue|RevertsInSetUp)$";
    let found = run(&["--plain", "--match-contract", two, "--no-match-contract", "^Reverts"]);
    assert!(found.starts_with("exit: 1"), "{found}");
    assert_eq!(names(&found), "HasDepths SendsNoValue", "{found}");
    assert!(found.contains("invariant_long: FAILED"), "{found}");
    assert!(found.contains("invariant_nothing_received: not broken in"), "{found}");

    let by_path = run(&["--plain", "--match-path", "Forge*.sol", "--match-test", "nothing|long"]);
    assert_eq!(names(&by_path), "HasDepths SendsNoValue", "{by_path}");
    assert!(!by_path.contains("invariant_short"), "{by_path}");
    let units = run(&["--plain", "--mc", "^ForgeRules$", "--nmt", "finds|reports"]);
    assert!(units.starts_with("exit: 0"), "{units}");
    assert!(units.contains("test_prank_goes_on(): not broken in 1 call"), "{units}");

    let untested = run(&["--plain", "--mc", "^(SendsNoValue|RevertsInSetUp)$"]);
    assert!(untested.starts_with("exit: 3"), "{untested}");
    assert!(untested.contains("not tested: Targeting.sol:RevertsInSetUp"), "{untested}");

    for (args, message) in [
        (["--match-contract", "Nowhere"], "no test contract matches the patterns"),
        (["--match-test", "["], "invalid pattern `[`: unclosed character class"),
        (["--no-match-path", "a[b"], "invalid pattern `a[b`"),
    ] {
        let refused = run(&args);
        assert!(refused.starts_with("exit: 2") && refused.contains(message), "{refused}");
    }
}

#[test]
fn several_test_contracts_share_reports_and_have_their_own_folders() {
    let project = Project::new().with("targets.json", TARGETS);
    let both = "^(HasDepths|SendsNoValue)$";
    let fixed = ["fuzz", "targets.json", "--seed", "1", "--workers", "1", "--mc", both];
    let more = ["--json", "--junit", "report.xml", "--corpus-dir", "corpus", "--seq-len", "20"];
    let output = project.command(&[&fixed[..], &more].concat()).output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let contracts = document["contracts"].as_array().unwrap();
    let summary: Vec<_> = contracts
        .iter()
        .map(|it| format!("{} {}", it["contract"].as_str().unwrap(), it["success"]))
        .collect();
    assert_eq!(summary, ["ForgeRules.sol:HasDepths false", "ForgeRules.sol:SendsNoValue true"]);
    assert_eq!(document["success"], false);
    // With a length of sequences that the user gave, both invariants break.
    let failed = contracts[0]["tests"].as_array().unwrap().iter();
    let failed = failed.filter(|test| test["verdict"] == "failed").count();
    assert_eq!(failed, 2, "{document:#}");
    let report = std::fs::read_to_string(project.root.join("report.xml")).unwrap();
    for suite in ["testsuite name=\"HasDepths\"", "testsuite name=\"SendsNoValue\""] {
        assert!(report.contains(suite), "{report}");
    }
    assert!(project.root.join("corpus/HasDepths/reproducers").is_dir());
    assert!(project.root.join("corpus/SendsNoValue").is_dir());
}
