//! `vouch fuzz` from the shell: output, saved files, exit codes and errors about invalid input.

mod projects;
mod replay;
mod screen;

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Project, list_files, send_signal, wait_for_exit, wait_until};

const SOURCE: &str = include_str!("../../../app/src/campaign/demo/Vault.sol");
const COMPILED: &str = include_str!("../../../app/src/campaign/demo/Vault.json");

/// Returns a project with the vault's source and its compiled JSON.
fn project() -> Project {
    Project::new().with("Vault.sol", SOURCE).with("Vault.json", COMPILED)
}

/// Flags for a short reproducible run.
const FIXED: [&str; 6] = ["--seed", "1", "--workers", "1", "--test-limit", "10000"];

fn fuzz_args<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&["fuzz"], args, &FIXED].concat()
}

/// Writes an executable shell script and returns its path.
fn write_script(project: &Project, name: &str, text: &str) -> String {
    project.write(name, &format!("#!/bin/sh\n{text}\n"));
    let path = project.root.join(name);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// Redacts numbers that change whenever the fuzzer generates other calls, as well as hashes and times.
fn with_stable_output(check: impl FnOnce()) {
    let filters = [
        (r"after \d+ calls?", "after [COUNT] calls"),
        (r"(?m)^\d+ +\d+ +\d+ +\d+ +(\w+\.\w+\()", "[COUNTS] $1"),
        (r"(?m)^(calls|branches|lines|corpus)( +)\S.*$", "$1$2[COUNT]"),
        (r"in \d+ calls?, evaluated \d+ times?", "in [COUNT] calls, evaluated [COUNT] times"),
        (r"(broken|reverted) in \d+ calls?", "$1 in [COUNT] calls"),
        (r"(?m)^  \d+× ", "  [COUNT]× "),
        (r"0x0{35}[123]0000", "[SENDER]"),
        (r"covered\.\d+\.", "covered.[TIME]."),
        (r"\d{9,}\.txt", "[HASH].txt"),
    ];
    insta::with_settings!({filters => filters}, { check() });
}

#[test]
fn compiled_json_matches_sources() {
    for (name, source, compiled) in [
        ("Counters.sol", include_str!("fuzz/Counters.sol"), include_str!("fuzz/Counters.json")),
        ("Shop.sol", include_str!("fuzz/Shop.sol"), include_str!("fuzz/Shop.json")),
    ] {
        let compiled: Value = serde_json::from_str(compiled).unwrap();
        let hash = alloy_primitives::hex::encode(alloy_primitives::keccak256(source));
        let command = "run crates/app/src/campaign/demo/compile.mjs, as it says at its top";
        assert_eq!(compiled["sources"][name]["keccak256"], hash, "{command}");
    }
}

#[test]
fn demo_prints_text() {
    let text = Project::new().run_text(&fuzz_args(&["--demo"]));
    with_stable_output(|| insta::assert_snapshot!(text));
}

#[test]
fn demo_prints_json() {
    let project = Project::new();
    let output = project.run(&fuzz_args(&["--demo", "--json", "--quiet"]));
    assert_eq!((output.status.code(), output.stderr.len()), (Some(1), 0));
    let mut json: Value = serde_json::from_slice(&output.stdout).unwrap();
    for test in json["tests"].as_array_mut().unwrap() {
        if test["verdict"] == "not-broken" {
            for key in ["calls", "evaluations"] {
                assert!(test[key].as_u64().is_some_and(|number| number > 0), "{key}: {test}");
                test[key] = Value::from("[NUMBER]");
            }
        }
    }
    for key in
        ["seconds", "callsPerSecond", "calls", "gas", "branches", "corpusSize", "corpusSequences"]
    {
        assert!(json[key].as_f64().is_some_and(|number| number > 0.0), "{key}");
        json[key] = Value::from("[NUMBER]");
    }
    for function in json["gas_info"].as_array_mut().unwrap() {
        for key in ["calls", "reverts", "gas", "maxGas"] {
            assert!(function[key].is_u64(), "{key}");
            function[key] = Value::from("[NUMBER]");
        }
    }
    json["coverage"]["Vault.sol:Vault"]["branches"]["hit"] = Value::from("[NUMBER]");
    with_stable_output(|| insta::assert_json_snapshot!(json));
}

#[test]
fn same_seed_reproduces_results() {
    let project = Project::new();
    let run = || project.run_json(&fuzz_args(&["--demo", "--json"]))["tests"].clone();
    assert_eq!(run(), run());
    let seeds = [(); 2].map(|()| {
        let json = project.run_json(&["fuzz", "--demo", "--json", "--test-limit", "10"]);
        json["seed"].as_u64().unwrap()
    });
    assert_ne!(seeds[0], seeds[1]);
}

#[test]
fn format_none_prints_and_writes_nothing() {
    let project = Project::new();
    let text = project.run_text(&fuzz_args(&["--demo", "--format", "none", "-q"]));
    assert_eq!(text, "exit: 1\n--- out\n--- err\n");
    assert!(list_files(&project.root).is_empty());
}

#[test]
fn exit_code_reflects_outcome() {
    let project = project();
    let code = |args: &[&str]| project.run(&fuzz_args(args)).status.code().unwrap();
    assert_eq!(code(&["Vault.json"]), 1, "a test fails");
    project.write("echidna.yaml", "filterFunctions: [\"Vault.move(address,uint256)\"]\n");
    assert_eq!(code(&["Vault.json"]), 0, "no test fails without the buggy function");
    assert_eq!(code(&["Vault.json", "--contract", "Nobody"]), 2, "it cannot run");
    assert_eq!(code(&["none.sol"]), 2, "it cannot run");
}

/// Returns a project with two counters, one of which cannot be deployed, and a lamp without tests.
fn counters_project() -> Project {
    Project::new()
        .with("Counters.sol", include_str!("fuzz/Counters.sol"))
        .with("Counters.json", include_str!("fuzz/Counters.json"))
        .with("three.yaml", "constructorArgs: [\"3\"]\n")
        .with("ten.yaml", "constructorArgs: [\"10\"]\n")
        .with("word.yaml", "constructorArgs: [\"ten\"]\n")
        .with("small.yaml", "codeSize: 20\ndeployContracts: [[0xf001, Lamp]]\n")
        .with("filtered.yaml", "filterFunctions: []\nfilterBlacklist: false\n")
}

#[test]
fn runs_each_test_mode() {
    let project = counters_project();
    let fixed = |args: &[&'static str]| fuzz_args(&[&["Counters.json", "-q"], args].concat());
    let text = project.transcript(&[
        &fixed(&["--contract", "Counter", "--config", "three.yaml", "--test-mode", "assertion"]),
        &fixed(&["--contract", "Counter", "--config", "three.yaml", "--test-mode", "optimization"]),
        &fixed(&["--contract", "Lamp", "--test-mode", "exploration"]),
    ]);
    with_stable_output(|| insta::assert_snapshot!(text));
}

#[test]
fn rejects_contracts_that_cannot_be_fuzzed() {
    let project = counters_project();
    let on = |args: &[&'static str]| [&["fuzz", "Counters.json"], args].concat();
    let text = project.transcript(&[
        &on(&[]),
        &on(&["--contract", "Counters.sol:Countre"]),
        &on(&["--contract", "Counter"]),
        &on(&["--contract", "Counter", "--config", "ten.yaml"]),
        &on(&["--contract", "Counter", "--config", "word.yaml"]),
        &on(&["--contract", "Broken"]),
        &on(&["--contract", "Lamp"]),
        &on(&["--contract", "Lamp", "--config", "small.yaml"]),
        &on(&["--contract", "Lamp", "--config", "filtered.yaml"]),
    ]);
    with_stable_output(|| insta::assert_snapshot!(text));
}

#[test]
fn rejects_invalid_targets() {
    let project = project()
        .with("notes.md", "# Notes\n")
        .with("list.json", "[1, 2]")
        .with("cut.json", "{\"contracts\": {")
        .with("empty/.keep", "");
    write_script(&project, "bin/broken", "cat > /dev/null; echo sorry; exit 1");
    let error = "{\\\"severity\\\": \\\"error\\\", \\\"formattedMessage\\\": \
                 \\\"ParserError: Expected ';'\\n --> Vault.sol:5:1:\\\"}";
    write_script(
        &project,
        "bin/rejecting",
        &format!("cat > /dev/null; printf '%s' \"{{\\\"errors\\\": [{error}]}}\""),
    );
    let text = project.transcript(&[
        &["fuzz", "none.sol"],
        &["fuzz", "notes.md"],
        &["fuzz", "empty"],
        &["fuzz", "list.json"],
        &["fuzz", "cut.json"],
        &["fuzz", "Vault.json", "--contract", "Vautl"],
        &["fuzz", "Vault.json", "--solc-args", "--fast"],
        &["fuzz", "Vault.sol", "--solc", "bin/broken"],
        &["fuzz", "Vault.sol", "--solc", "bin/rejecting"],
        &["fuzz", "Vault.sol", "--solc", "nowhere/solc"],
    ]);
    with_stable_output(|| insta::assert_snapshot!(text));
    let none =
        project.command(&["fuzz", "Vault.sol"]).env("PATH", "/nonexistent").output().unwrap();
    with_stable_output(|| insta::assert_snapshot!("no_compiler", project.format_output(&none)));
}

#[test]
fn compiles_with_configured_compiler() {
    let project = project();
    let solc = write_script(&project, "bin/solc", "cat > /dev/null; cat Vault.json");
    let tests = |extra: &[&str], variable: &str| {
        let args = fuzz_args(&[&["Vault.sol", "--json"], extra].concat());
        let output = project.command(&args).env("SOLC", variable).output().unwrap();
        let json: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", project.format_output(&output)));
        json["tests"].as_array().unwrap().len()
    };
    assert_eq!(tests(&["--solc", &solc], ""), 2);
    assert_eq!(tests(&[], &solc), 2);
}

#[test]
fn rejects_outdated_build() {
    let project = project();
    let file = File::options().append(true).open(project.root.join("Vault.sol")).unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    file.set_modified(later).unwrap();
    let text = project.run_text(&fuzz_args(&["Vault.json"]));
    with_stable_output(|| insta::assert_snapshot!(text));
}

#[test]
fn rejects_invalid_flags() {
    let project = project();
    let text = project.transcript(&[
        &["fuzz", "Vault.json", "--test-mode", "fast"],
        &["fuzz", "Vault.json", "--test-limit", "-5"],
        &["fuzz", "Vault.json", "--seq-len", "0"],
        &["fuzz", "Vault.json", "--seq-len", "1000000"],
        &["fuzz", "Vault.json", "--workers", "0"],
        &["fuzz", "Vault.json", "--workers", "5000"],
        &["fuzz", "Vault.json", "--seed", "x"],
        &["fuzz", "Vault.json", "--sender", "alice"],
        &["fuzz", "Vault.json", "--contract-addr", "0x1"],
        &["fuzz", "Vault.json", "--format", "xml"],
        &["fuzz", "Vault.json", "--code-size", "big"],
        &["fuzz", "Vault.json", "--coverage-formats", "pdf"],
        &["fuzz", "Vault.json", "--deploy-contracts", "Token"],
        &["fuzz", "Vault.json", "--json", "--format", "text"],
        &["fuzz", "Vault.json", "--demo"],
        &["fuzz", "Vault.json", "--replay", "none.txt"],
    ]);
    with_stable_output(|| insta::assert_snapshot!(text));
}

#[test]
fn reports_configuration_problems() {
    let project = project()
        .with("unknown.yaml", "testLimt: 5\nsymExec: true\nmulti-abi: false\ntestLimit: 10\n")
        .with("wrong.yaml", "seqLen: many\n")
        .with("broken.yaml", "seqLen: [1\n")
        .with("big.yaml", "workers: 100000\n");
    let text = project.transcript(&[
        &fuzz_args(&["Vault.json", "--config", "unknown.yaml", "--format", "none"]),
        &["fuzz", "Vault.json", "--config", "wrong.yaml"],
        &["fuzz", "Vault.json", "--config", "broken.yaml"],
        &["fuzz", "Vault.json", "--config", "big.yaml"],
        &["fuzz", "Vault.json", "--config", "none.yaml"],
    ]);
    with_stable_output(|| insta::assert_snapshot!(text));
}

#[test]
fn accepts_echidna_settings_as_flags() {
    let project = counters_project();
    let text = project.run_text(
        &[
            &["fuzz", "Counters.json", "--contract", "Counter", "--test-mode", "exploration"][..],
            &["--constructor-args", "3", "--deploy-contracts", "0xf001=Lamp", "--json"],
            &[
                "--filter-functions",
                "Counter.reset()",
                "--max-value",
                "1e18",
                "--coverage",
                "false",
            ],
            &["--code-size", "0x400", "--seed", "1", "--workers", "1", "--test-limit", "20"],
        ]
        .concat(),
    );
    assert!(text.starts_with("exit: 0"), "{text}");
    assert!(text.contains("the limit is 1024, which is not applied"), "{text}");
    assert!(text.contains("add(uint256)") && !text.contains("reset()"), "{text}");
}

#[test]
fn flags_override_echidna_yaml_and_vouch_toml() {
    let project = project().with("vouch.toml", "[fuzz]\ntest_limit = 40\nseed = 7\n");
    let run = |args: &[&str]| {
        let fixed = ["fuzz", "Vault.json", "--json", "--workers", "1"];
        let json = project.run_json(&[&fixed, args].concat());
        (json["seed"].as_u64().unwrap(), json["calls"].as_u64().unwrap())
    };
    let (seed, calls) = run(&[]);
    assert!(seed == 7 && (40..200).contains(&calls), "{seed} {calls}");
    assert_eq!(run(&["--seed", "8"]).0, 8);
    project.write("echidna.yml", "seed: 9\ntestLimit: 300\n");
    let (seed, calls) = run(&[]);
    assert!(seed == 9 && calls >= 300, "{seed} {calls}");
    let warned = project.run_text(&["fuzz", "Vault.json", "--format", "none"]);
    let warning = "ignoring [fuzz] in vouch.toml: echidna.yml takes precedence";
    assert!(warned.contains(warning), "{warned}");
    project.write("vouch.toml", "[fuzz]\ntest_limt = 40\n");
    let text = project.run_text(&["fuzz", "Vault.json"]);
    assert!(text.starts_with("exit: 2") && text.contains("did you mean `test_limit`?"), "{text}");
}

#[test]
fn saves_reuses_and_replays_corpus() {
    let project = project();
    let text = project.run_text(&fuzz_args(&["Vault.json", "--corpus-dir", "corpus"]));
    assert!(text.starts_with("exit: 1"), "{text}");
    let files = list_files(&project.root.join("corpus"));
    let with = |start: &str, end: &str| {
        let mut files = files.iter().filter(|it| it.starts_with(start) && it.ends_with(end));
        files.next().unwrap_or_else(|| panic!("{start}…{end}: {files:?}")).clone()
    };
    for (start, end) in [
        ("coverage/", ".txt"),
        ("reproducers-unshrunk/", ".txt"),
        ("foundry/", ".t.sol"),
        ("covered.", ".txt"),
        ("covered.", ".html"),
    ] {
        with(start, end);
    }
    let lcov = project.read(&format!("corpus/{}", with("covered.", ".lcov")));
    assert!(lcov.contains("SF:Vault.sol\n") && lcov.contains("BRDA:"), "{lcov}");
    let reproducer = format!("corpus/{}", with("reproducers/", ".txt"));
    let replayed = project.transcript(&[
        &["fuzz", "Vault.json", "--replay", &reproducer],
        &["fuzz", "Vault.json", "--replay", &reproducer, "--json"],
    ]);
    with_stable_output(|| insta::assert_snapshot!(replayed));
    // With a call limit of 0, the next campaign finds the failure in the corpus.
    let again = project.run_json(&[
        "fuzz",
        "Vault.json",
        "--corpus-dir",
        "corpus",
        "--json",
        "--test-limit",
        "0",
    ]);
    let failed = |test: &Value| test["status"] == "solved" && test["verdict"] == "failed";
    assert!(again["tests"].as_array().unwrap().iter().any(failed), "{again}");
}

#[test]
fn sets_aside_unusable_corpus_files() {
    let foreign = r#"[{"call":{"tag":"SolCall","contents":["mint",[]]},"src":"0x10000","dst":"0xa329c0648769a73afac7f9381e08fb43dbea72","gas":1,"gasprice":"0x0","value":"0x0","delay":["0x0","0x0"]}]"#;
    let project = project()
        .with("corpus/coverage/1.txt", "[{\"call\":")
        .with("corpus/coverage/2.txt", foreign)
        .with("corpus/reproducers/3.txt", "{}");
    let args = fuzz_args(&["Vault.json", "--corpus-dir", "corpus", "--format", "none"]);
    let text = project.run_text(&args);
    with_stable_output(|| insta::assert_snapshot!(text));
    let files = list_files(&project.root.join("corpus"));
    for kept in ["coverage/1.txt.corrupt", "coverage/2.txt", "reproducers/3.txt.corrupt"] {
        assert!(files.contains(&kept.to_owned()), "{files:?}");
    }
    let replay = project.transcript(&[
        &["fuzz", "Vault.json", "--replay", "corpus/coverage/1.txt.corrupt"],
        &["fuzz", "Vault.json", "--replay", "corpus/coverage/2.txt"],
    ]);
    with_stable_output(|| insta::assert_snapshot!("replay_of_unusable_files", replay));
}

#[test]
fn rejects_corpus_folder_in_use() {
    let project = project().with("corpus/.vouch-lock", "");
    let lock = File::open(project.root.join("corpus/.vouch-lock")).unwrap();
    lock.lock().unwrap();
    let args = fuzz_args(&["Vault.json", "--corpus-dir", "corpus", "--format", "none"]);
    let text = project.run_text(&args);
    with_stable_output(|| insta::assert_snapshot!(text));
    drop(lock);
    assert_eq!(project.run(&args).status.code(), Some(1));
}

#[test]
fn reports_results_that_cannot_be_saved() {
    // A folder has the name of the temporary file that the first write needs.
    let project = project()
        .with("corpus/coverage/.0.vouch-tmp/full", "")
        .with("echidna.yaml", "filterFunctions: [\"Vault.move(address,uint256)\"]\n");
    let text =
        project.run_text(&fuzz_args(&["Vault.json", "--corpus-dir", "corpus", "--format", "none"]));
    with_stable_output(|| insta::assert_snapshot!(text));
}

/// Starts an endless campaign and sends SIGINT once a test has failed. Returns exit code, stdout and stderr.
fn run_and_interrupt(args: &[&str], signals: usize) -> (Option<i32>, String, String) {
    let project = project();
    let fixed = ["fuzz", "Vault.json", "--corpus-dir", "corpus", "--test-limit", "1000000000"];
    let mut command = project.command(&[&fixed, args].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let folder = project.root.join("corpus/reproducers-unshrunk");
    wait_until("a test fails", || folder.is_dir() && !list_files(&folder).is_empty());
    for _ in 0..signals {
        send_signal(&child, Signal::INT);
    }
    wait_for_exit(&mut child);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn ctrl_c_prints_results() {
    for signals in [1, 2] {
        let (code, out, err) = run_and_interrupt(&["--contract", "Vault"], signals);
        assert!(matches!(code, Some(1 | 130)), "{code:?}\n{out}\n{err}");
        // The calls that broke the other property exercised this one.
        let verdict = "echidna_fee_stays_within_its_limit: not broken in ";
        assert!(out.contains(verdict), "{out}\n{err}");
        assert!(out.contains("seed "), "{out}");
        assert!(err.contains("stopping") && err.contains(".lcov"), "{err}");
    }
}

/// Returns a project with contracts whose tests are not all exercised.
fn unexercised_project() -> Project {
    Project::new()
        .with("Shop.sol", include_str!("fuzz/Shop.sol"))
        .with("Shop.json", include_str!("fuzz/Shop.json"))
        .with("verdicts.json", include_str!("../../../fuzz/tests/verdicts.json"))
}

fn verdict_args<'a>(contract: &'a str, mode: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let args = ["verdicts.json", "--contract", contract, "--test-mode", mode];
    fuzz_args(&[&args[..], more].concat())
}

#[test]
fn run_that_exercised_no_test_is_not_a_success() {
    let project = unexercised_project();
    let reader = fuzz_args(&["Shop.json", "--contract", "Reader"]);
    let text = project.transcript(&[
        &reader,
        &verdict_args("OnlyReverts", "property", &[]),
        &verdict_args("UnsupportedSetUp", "property", &[]),
        &verdict_args("FailingSetUp", "property", &["--strict"]),
    ]);
    with_stable_output(|| insta::assert_snapshot!(text));
}

#[test]
fn strict_run_fails_if_a_test_was_not_exercised() {
    let project = unexercised_project();
    let text = project.transcript(&[
        &verdict_args("OnlyReverts", "assertion", &["-q"]),
        &verdict_args("OnlyReverts", "assertion", &["-q", "--strict"]),
    ]);
    with_stable_output(|| insta::assert_snapshot!(text));
}

#[test]
fn json_distinguishes_verdicts() {
    let project = unexercised_project();
    let mut tests = Vec::new();
    for (contract, mode) in [("SomeTests", "foundry"), ("OnlyReverts", "assertion")] {
        let json = project.run_json(&verdict_args(contract, mode, &["--json"]));
        assert_eq!(json["endReason"], "the call limit was reached");
        for test in json["tests"].as_array().unwrap() {
            let keys = ["name", "verdict", "status", "error", "notRun", "reverts"];
            let parts = keys.map(|key| test[key].to_string());
            tests.push(parts.join(" "));
        }
        assert!(!json.to_string().contains("passed"), "{json}");
    }
    with_stable_output(|| {
        insta::with_settings!({filters => [
        (r"in \d+ calls", "in [COUNT] calls"),
        (r#""calls":\d+"#, r#""calls":[COUNT]"#),
    ]}, { insta::assert_snapshot!(tests.join("\n")) })
    });
}

#[test]
fn junit_report_does_not_call_unexercised_tests_a_success() {
    let project = unexercised_project();
    for (file, strict) in [("plain.xml", &[][..]), ("strict.xml", &["--strict"])] {
        let more = [&["-q", "--format", "none", "--junit", file], strict].concat();
        let output = project.run(&verdict_args("SomeTests", "foundry", &more));
        assert_eq!(output.status.code(), Some(1), "a test fails");
        let filters = [
            (r#" time="[0-9.]+""#, r#" time="[TIME]""#),
            (r"in \d+ calls?", "in [COUNT] calls"),
            (r"\d+×", "[COUNT]×"),
            (r"0x0{35}[123]0000", "[SENDER]"),
            (r"(from: (?:\[SENDER\]|0x[0-9A-Fa-f]{40}))[^<\n]*", "$1"),
        ];
        insta::with_settings!({filters => filters}, {
            insta::assert_snapshot!(file, project.read(file));
        });
    }
    let text = project.run_text(&verdict_args("SomeTests", "foundry", &["--junit", "none/a.xml"]));
    assert!(text.contains("failed to write none/a.xml"), "{text}");
}

#[test]
fn timeout_ends_campaign() {
    let began = std::time::Instant::now();
    let project = Project::new();
    let json = project.run_json(&[
        "fuzz",
        "--demo",
        "--json",
        "--timeout",
        "1",
        "--test-limit",
        "1000000000",
    ]);
    assert!(json["ended"].to_string().contains("the time limit was reached"), "{json}");
    assert!(began.elapsed() >= std::time::Duration::from_secs(1));
}

#[test]
fn solc_install_installs_compiler() {
    let project = Project::new();
    let npm = "prefix=$6; mkdir -p $prefix/node_modules/solc\n\
               echo '{\"version\": \"0.8.20\"}' > $prefix/node_modules/solc/package.json\n\
               touch $prefix/node_modules/solc/soljson.js";
    write_script(&project, "bin/npm", npm);
    let run = |args: &[&str], path: &str| {
        let output =
            project.command(&[&["solc", "install"], args].concat()).env("PATH", path).output();
        project.format_output(&output.unwrap())
    };
    let path = format!("{}:/usr/bin:/bin", project.root.join("bin").display());
    let texts = [
        run(&["0.8.20"], &path),
        run(&["latest"], &path),
        // npm installs another version than requested.
        run(&["0.8.21"], &path),
        run(&[], "/nonexistent"),
    ];
    insta::assert_snapshot!(texts.join("\n"));
    assert!(project.home.join(".cache/vouch/solc/0.8.20/node_modules/solc/soljson.js").is_file());
}
