//! `vouch fuzz` from the shell: what it prints, keeps and exits with, and what it says of wrong input.

mod replay;
mod screen;

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Project, files_below, send_signal, until, wait};

const SOURCE: &str = include_str!("../../../app/src/campaign/demo/Vault.sol");
const COMPILED: &str = include_str!("../../../app/src/campaign/demo/Vault.json");

/// The vault and what was compiled from it.
fn project() -> Project {
    Project::new().with("Vault.sol", SOURCE).with("Vault.json", COMPILED)
}

/// Few calls, the same in each run.
const FIXED: [&str; 6] = ["--seed", "1", "--workers", "1", "--test-limit", "10000"];

fn fuzz<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&["fuzz"], args, &FIXED].concat()
}

/// A program of a few lines.
fn script(project: &Project, name: &str, text: &str) -> String {
    project.write(name, &format!("#!/bin/sh\n{text}\n"));
    let path = project.root.join(name);
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// What depends on chance is left out: a better fuzzer makes other calls, and finds the same.
fn stable(check: impl FnOnce()) {
    let filters = [
        (r"after \d+ calls?", "after [COUNT] calls"),
        (r"(?m)^\d+ +\d+ +\d+ +\d+ +(\w+\.\w+\()", "[COUNTS] $1"),
        (r"(?m)^(calls|branches|lines|corpus)( +)\S.*$", "$1$2[COUNT]"),
        (r"0x0{35}[123]0000", "[SENDER]"),
        (r"covered\.\d+\.", "covered.[TIME]."),
        (r"\d{9,}\.txt", "[HASH].txt"),
    ];
    insta::with_settings!({filters => filters}, { check() });
}

#[test]
fn what_was_compiled_is_what_is_there() {
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
fn the_demo_as_text() {
    let text = Project::new().check(&fuzz(&["--demo"]));
    stable(|| insta::assert_snapshot!(text));
}

#[test]
fn the_demo_as_json() {
    let project = Project::new();
    let output = project.run(&fuzz(&["--demo", "--json", "--quiet"]));
    assert_eq!((output.status.code(), output.stderr.len()), (Some(1), 0));
    let mut json: Value = serde_json::from_slice(&output.stdout).unwrap();
    for key in ["seconds", "callsPerSecond", "calls", "gas", "branches", "corpusSize"] {
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
    stable(|| insta::assert_json_snapshot!(json));
}

#[test]
fn the_same_seed_prints_the_same_and_no_seed_prints_one() {
    let project = Project::new();
    let run = || project.json(&fuzz(&["--demo", "--json"]))["tests"].clone();
    assert_eq!(run(), run());
    let seeds = [(); 2].map(|()| {
        let json = project.json(&["fuzz", "--demo", "--json", "--test-limit", "10"]);
        json["seed"].as_u64().unwrap()
    });
    assert_ne!(seeds[0], seeds[1]);
}

#[test]
fn nothing_is_printed_or_written_that_nobody_asked_for() {
    let project = Project::new();
    let text = project.check(&fuzz(&["--demo", "--format", "none", "-q"]));
    assert_eq!(text, "exit: 1\n--- out\n--- err\n");
    assert!(files_below(&project.root).is_empty());
}

#[test]
fn exit_codes() {
    let project = project();
    let code = |args: &[&str]| project.run(&fuzz(args)).status.code().unwrap();
    assert_eq!(code(&["Vault.json"]), 1, "a test fails");
    project.write("echidna.yaml", "filterFunctions: [\"Vault.move(address,uint256)\"]\n");
    assert_eq!(code(&["Vault.json"]), 0, "nothing fails without the function that has the mistake");
    assert_eq!(code(&["Vault.json", "--contract", "Nobody"]), 2, "it cannot run");
    assert_eq!(code(&["none.sol"]), 2, "it cannot run");
}

/// Two counters, one of which cannot be deployed, and a lamp without tests.
fn counters() -> Project {
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
fn modes() {
    let project = counters();
    let fixed = |args: &[&'static str]| fuzz(&[&["Counters.json", "-q"], args].concat());
    let text = project.transcript(&[
        &fixed(&["--contract", "Counter", "--config", "three.yaml", "--test-mode", "assertion"]),
        &fixed(&["--contract", "Counter", "--config", "three.yaml", "--test-mode", "optimization"]),
        &fixed(&["--contract", "Lamp", "--test-mode", "exploration"]),
    ]);
    stable(|| insta::assert_snapshot!(text));
}

#[test]
fn contracts_that_cannot_be_fuzzed() {
    let project = counters();
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
    stable(|| insta::assert_snapshot!(text));
}

#[test]
fn wrong_targets() {
    let project = project()
        .with("notes.md", "# Notes\n")
        .with("list.json", "[1, 2]")
        .with("cut.json", "{\"contracts\": {")
        .with("empty/.keep", "");
    script(&project, "bin/broken", "cat > /dev/null; echo sorry; exit 1");
    let error = "{\\\"severity\\\": \\\"error\\\", \\\"formattedMessage\\\": \
                 \\\"ParserError: Expected ';'\\n --> Vault.sol:5:1:\\\"}";
    script(
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
    stable(|| insta::assert_snapshot!(text));
    let none =
        project.command(&["fuzz", "Vault.sol"]).env("PATH", "/nonexistent").output().unwrap();
    stable(|| insta::assert_snapshot!("no_compiler", project.show(&none)));
}

#[test]
fn a_source_is_compiled_by_the_compiler_that_is_named() {
    let project = project();
    let solc = script(&project, "bin/solc", "cat > /dev/null; cat Vault.json");
    let tests = |extra: &[&str], variable: &str| {
        let args = fuzz(&[&["Vault.sol", "--json"], extra].concat());
        let output = project.command(&args).env("SOLC", variable).output().unwrap();
        let json: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{}", project.show(&output)));
        json["tests"].as_array().unwrap().len()
    };
    assert_eq!(tests(&["--solc", &solc], ""), 2);
    assert_eq!(tests(&[], &solc), 2);
}

#[test]
fn a_build_older_than_its_source_is_not_fuzzed() {
    let project = project();
    let file = File::options().append(true).open(project.root.join("Vault.sol")).unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    file.set_modified(later).unwrap();
    let text = project.check(&fuzz(&["Vault.json"]));
    stable(|| insta::assert_snapshot!(text));
}

#[test]
fn wrong_flags() {
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
    stable(|| insta::assert_snapshot!(text));
}

#[test]
fn configuration() {
    let project = project()
        .with("unknown.yaml", "testLimt: 5\nsymExec: true\nmulti-abi: false\ntestLimit: 10\n")
        .with("wrong.yaml", "seqLen: many\n")
        .with("broken.yaml", "seqLen: [1\n")
        .with("big.yaml", "workers: 100000\n");
    let text = project.transcript(&[
        &fuzz(&["Vault.json", "--config", "unknown.yaml", "--format", "none"]),
        &["fuzz", "Vault.json", "--config", "wrong.yaml"],
        &["fuzz", "Vault.json", "--config", "broken.yaml"],
        &["fuzz", "Vault.json", "--config", "big.yaml"],
        &["fuzz", "Vault.json", "--config", "none.yaml"],
    ]);
    stable(|| insta::assert_snapshot!(text));
}

#[test]
fn rare_settings_are_flags_as_well() {
    let project = counters();
    let text = project.check(
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
fn flags_win_over_files_and_a_file_of_echidna_over_ours() {
    let project = project().with("vouch.toml", "[fuzz]\ntest_limit = 40\nseed = 7\n");
    let run = |args: &[&str]| {
        let fixed = ["fuzz", "Vault.json", "--json", "--workers", "1"];
        let json = project.json(&[&fixed, args].concat());
        (json["seed"].as_u64().unwrap(), json["calls"].as_u64().unwrap())
    };
    let (seed, calls) = run(&[]);
    assert!(seed == 7 && (40..200).contains(&calls), "{seed} {calls}");
    assert_eq!(run(&["--seed", "8"]).0, 8);
    project.write("echidna.yml", "seed: 9\ntestLimit: 300\n");
    let (seed, calls) = run(&[]);
    assert!(seed == 9 && calls >= 300, "{seed} {calls}");
    let warned = project.check(&["fuzz", "Vault.json", "--format", "none"]);
    let warning = "the table [fuzz] of vouch.toml is not used, because echidna.yml is";
    assert!(warned.contains(warning), "{warned}");
    project.write("vouch.toml", "[fuzz]\ntest_limt = 40\n");
    let text = project.check(&["fuzz", "Vault.json"]);
    assert!(text.starts_with("exit: 2") && text.contains("did you mean `test_limit`?"), "{text}");
}

#[test]
fn what_is_found_is_kept_used_and_replayed() {
    let project = project();
    let text = project.check(&fuzz(&["Vault.json", "--corpus-dir", "corpus"]));
    assert!(text.starts_with("exit: 1"), "{text}");
    let files = files_below(&project.root.join("corpus"));
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
    stable(|| insta::assert_snapshot!(replayed));
    // Without a single call of its own the next campaign knows the failure.
    let again = project.json(&[
        "fuzz",
        "Vault.json",
        "--corpus-dir",
        "corpus",
        "--json",
        "--test-limit",
        "0",
    ]);
    let failed = |test: &Value| test["status"] == "solved";
    assert!(again["tests"].as_array().unwrap().iter().any(failed), "{again}");
}

#[test]
fn files_of_the_corpus_that_cannot_be_used() {
    let foreign = r#"[{"call":{"tag":"SolCall","contents":["mint",[]]},"src":"0x10000","dst":"0xa329c0648769a73afac7f9381e08fb43dbea72","gas":1,"gasprice":"0x0","value":"0x0","delay":["0x0","0x0"]}]"#;
    let project = project()
        .with("corpus/coverage/1.txt", "[{\"call\":")
        .with("corpus/coverage/2.txt", foreign)
        .with("corpus/reproducers/3.txt", "{}");
    let args = fuzz(&["Vault.json", "--corpus-dir", "corpus", "--format", "none"]);
    let text = project.check(&args);
    stable(|| insta::assert_snapshot!(text));
    let files = files_below(&project.root.join("corpus"));
    for kept in ["coverage/1.txt.corrupt", "coverage/2.txt", "reproducers/3.txt.corrupt"] {
        assert!(files.contains(&kept.to_owned()), "{files:?}");
    }
    let replay = project.transcript(&[
        &["fuzz", "Vault.json", "--replay", "corpus/coverage/1.txt.corrupt"],
        &["fuzz", "Vault.json", "--replay", "corpus/coverage/2.txt"],
    ]);
    stable(|| insta::assert_snapshot!("replay_of_what_cannot_be_used", replay));
}

#[test]
fn a_corpus_folder_has_one_user() {
    let project = project().with("corpus/.vouch-lock", "");
    let lock = File::open(project.root.join("corpus/.vouch-lock")).unwrap();
    lock.lock().unwrap();
    let args = fuzz(&["Vault.json", "--corpus-dir", "corpus", "--format", "none"]);
    let text = project.check(&args);
    stable(|| insta::assert_snapshot!(text));
    drop(lock);
    assert_eq!(project.run(&args).status.code(), Some(1));
}

#[test]
fn what_cannot_be_kept_is_told() {
    // The name that the first file has while it is written is taken by a folder.
    let project = project()
        .with("corpus/coverage/.0.vouch-tmp/full", "")
        .with("echidna.yaml", "filterFunctions: [\"Vault.move(address,uint256)\"]\n");
    let text = project.check(&fuzz(&["Vault.json", "--corpus-dir", "corpus", "--format", "none"]));
    stable(|| insta::assert_snapshot!(text));
}

/// Starts a campaign without an end, and sends a signal once it has found something.
fn interrupted(args: &[&str], signals: usize) -> (Option<i32>, String, String) {
    let project = project();
    let fixed = ["fuzz", "Vault.json", "--corpus-dir", "corpus", "--test-limit", "1000000000"];
    let mut command = project.command(&[&fixed, args].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let folder = project.root.join("corpus/coverage");
    until("it finds something", || folder.is_dir() && !files_below(&folder).is_empty());
    for _ in 0..signals {
        send_signal(&child, Signal::INT);
    }
    wait(&mut child);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn ctrl_c_ends_a_campaign_with_a_report() {
    for signals in [1, 2] {
        let (code, out, err) = interrupted(&["--contract", "Vault"], signals);
        assert!(matches!(code, Some(1 | 130)), "{code:?}\n{out}\n{err}");
        assert!(
            out.contains("echidna_fee_stays_within_its_limit: not broken so far"),
            "{out}\n{err}"
        );
        assert!(out.contains("seed "), "{out}");
        assert!(err.contains("stopping") && err.contains(".lcov"), "{err}");
    }
}

#[test]
fn a_campaign_that_was_given_up_is_no_success() {
    let project = Project::new()
        .with("Shop.sol", include_str!("fuzz/Shop.sol"))
        .with("Shop.json", include_str!("fuzz/Shop.json"));
    let args = fuzz(&["Shop.json", "--contract", "Reader"]);
    let text = project.check(&args);
    stable(|| insta::assert_snapshot!(text));
    let json = project.json(&[&args[..], &["--json"]].concat());
    let cheat = "the cheat code vm.readFile(string) (0x60f9bb11) is not supported";
    assert_eq!((&json["success"], &json["error"]), (&Value::from(false), &Value::from(cheat)));
    assert_eq!(json["tests"][0]["status"], "fuzzing");
}

#[test]
fn the_time_is_a_limit() {
    let began = std::time::Instant::now();
    let project = Project::new();
    let json =
        project.json(&["fuzz", "--demo", "--json", "--timeout", "1", "--test-limit", "1000000000"]);
    assert!(json["ended"].to_string().contains("the time is up"), "{json}");
    assert!(began.elapsed() >= std::time::Duration::from_secs(1));
}

#[test]
fn a_compiler_is_installed_when_somebody_asks() {
    let project = Project::new();
    let npm = "prefix=$6; mkdir -p $prefix/node_modules/solc\n\
               echo '{\"version\": \"0.8.20\"}' > $prefix/node_modules/solc/package.json\n\
               touch $prefix/node_modules/solc/soljson.js";
    script(&project, "bin/npm", npm);
    let run = |args: &[&str], path: &str| {
        let output =
            project.command(&[&["solc", "install"], args].concat()).env("PATH", path).output();
        project.show(&output.unwrap())
    };
    let path = format!("{}:/usr/bin:/bin", project.root.join("bin").display());
    let texts = [
        run(&["0.8.20"], &path),
        run(&["latest"], &path),
        // What npm installs is not what was asked for.
        run(&["0.8.21"], &path),
        run(&[], "/nonexistent"),
    ];
    insta::assert_snapshot!(texts.join("\n"));
    assert!(project.home.join(".cache/vouch/solc/0.8.20/node_modules/solc/soljson.js").is_file());
}
