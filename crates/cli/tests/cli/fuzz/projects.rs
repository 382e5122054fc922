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

/// Sources of some of these contracts.
const RULES: &str = include_str!("../../../../fuzz/tests/targets/ForgeRules.sol");
const TARGETING: &str = include_str!("../../../../fuzz/tests/targets/Targeting.sol");

/// Returns an unbuilt Foundry project with three test contracts, and the search path of a compiler that has their output.
fn foundry_project(foundry_toml: &str) -> (Project, String) {
    let mut output: serde_json::Value = serde_json::from_str(TARGETS).unwrap();
    let kept = ["HasDepths", "SendsNoValue", "RevertsInSetUp", "Steps", "Till"];
    for key in ["contracts", "sources"] {
        let sources = output[key].as_object_mut().unwrap();
        sources.retain(|name, _| ["ForgeRules.sol", "Targeting.sol"].contains(&name.as_str()));
    }
    for contracts in output["contracts"].as_object_mut().unwrap().values_mut() {
        contracts.as_object_mut().unwrap().retain(|name, _| kept.contains(&name.as_str()));
    }
    let project = Project::new()
        .with("foundry.toml", foundry_toml)
        .with("ForgeRules.sol", RULES)
        .with("Targeting.sol", TARGETING)
        .with("../answer.json", &output.to_string());
    let solc = "case $* in *--version*) echo 'Version: 0.8.30';; *) cat > /dev/null; cat ../answer.json;; esac";
    project.write_script("../bin/solc", solc);
    let bin = project.root.with_file_name("bin");
    (project, format!("{}:/usr/bin:/bin", bin.display()))
}

fn fuzz_folder(project: &Project, path: &str, args: &[&str]) -> std::process::Output {
    let fixed = ["fuzz", ".", "--seed", "1", "--workers", "1"];
    project.command(&[&fixed, args].concat()).env("PATH", path).output().unwrap()
}

#[test]
fn all_test_contracts_of_a_folder_are_run_and_reported() {
    let (project, path) = foundry_project("[profile.default]\nsrc = '.'\n");
    let run = |args: &[&str]| {
        let fixed = ["--plain", "--test-limit", "300", "--junit", "report.xml"];
        let output = fuzz_folder(&project, &path, &[&fixed, args].concat());
        (project.format_output(&output), project.read("report.xml"))
    };
    let (text, report) = run(&[]);
    assert!(text.starts_with("exit: 1"), "{text}");
    for part in [
        "invariant_long: FAILED",
        "invariant_nothing_received: not broken in",
        "these contracts were not tested: Targeting.sol:RevertsInSetUp",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for suite in ["HasDepths", "SendsNoValue", "RevertsInSetUp"] {
        assert!(report.contains(&format!("<testsuite name=\"{suite}\"")), "{report}");
    }

    let (text, report) = run(&["--stop-on-fail"]);
    assert!(text.starts_with("exit: 1"), "{text}");
    let case = "<testcase name=\"all tests\" classname=\"SendsNoValue\">";
    let skipped =
        "<skipped message=\"another test failed, and the run stops then\" type=\"not-run\"/>";
    assert!(report.contains(case) && report.contains(skipped), "{report}");

    // A contract that cannot be deployed does not keep the others from being tested.
    project.write("ForgeRules.sol", &RULES.replace("invariant.depth = 3", "invariant.depth = 0"));
    let (text, report) = run(&[]);
    assert!(text.starts_with("exit: 3"), "{text}");
    assert!(text.contains("invariant_nothing_received: not broken in"), "{text}");
    let case = "<testcase name=\"all tests\" classname=\"HasDepths\">";
    assert!(report.contains(case) && report.contains("type=\"refused\""), "{report}");
    let (text, report) = run(&["--contract", "HasDepths"]);
    assert!(text.contains("expected a positive integer, not 0"), "{text}");
    assert!(report.contains("expected a positive integer, not 0"), "{report}");
}

#[test]
fn settings_of_the_selected_profile_apply() {
    let (project, path) = foundry_project(
        "[profile.default]\nsrc = '.'\n[profile.default.invariant]\nruns = 2\ndepth = 10\nshrink_run_limit = 9\n\
         [profile.ci.invariant]\nruns = 6\nrnus = 7\n",
    );
    let run = |profile: &[&str], variable: Option<&str>| {
        let args = ["--json", "--mc", "^SendsNoValue$"];
        let mut command = project.command(&[&["fuzz", "."], &args[..], profile].concat());
        command.args(["--seed", "1", "--workers", "1"]).env("PATH", &path);
        command.envs(variable.map(|name| ("FOUNDRY_PROFILE", name)));
        let output = command.output().unwrap();
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let calls = document["contracts"][0]["calls"].as_u64().unwrap();
        (calls, String::from_utf8(output.stderr).unwrap())
    };
    let (calls, notes) = run(&[], None);
    assert_eq!(calls, 20, "{notes}");
    assert!(notes.contains("`invariant.shrink_run_limit` has no effect"), "{notes}");
    assert!(!notes.contains("rnus"), "{notes}");
    let (calls, notes) = run(&["--profile", "ci"], None);
    assert_eq!(calls, 60, "{notes}");
    assert!(
        notes.contains("unknown key `invariant.rnus`; did you mean `invariant.runs`?"),
        "{notes}"
    );
    assert_eq!(run(&[], Some("ci")).0, 60);
    assert_eq!(run(&["--profile", "default"], Some("ci")).0, 20, "a flag overrides the variable");
    let (calls, notes) = run(&["--profile", "fast"], None);
    assert_eq!(calls, 20);
    assert!(notes.contains("no profile `fast`; the default one applies"), "{notes}");
}
