//! Compiling a file with fake compilers.

use std::fs;

use serde_json::{Value, json};

use solidity::ProjectPrograms;

use crate::folder::TestFolder;
use crate::outputs::{failed_output, standard_output};

/// Creates a folder with sources and a compiler that prints `answer`.
fn with_answer(answer: &str) -> TestFolder {
    with_compiler(answer, "echo \"$@\" > args; cat > input; cat answer")
}

fn with_compiler(answer: &str, script: &str) -> TestFolder {
    let mut folder = TestFolder::with_sources();
    folder.write("package.json", "{}");
    folder.write("answer", answer);
    folder.write_program("bin/solc", script);
    folder.toolchain.path = vec![folder.path("bin")];
    // The compiler runs in the folder, where it finds its answer.
    folder.toolchain.project = ProjectPrograms::All;
    folder
}

fn input(folder: &TestFolder) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.path("input")).unwrap()).unwrap()
}

#[test]
fn compiles_a_file() {
    let folder = with_answer(&standard_output().to_string());
    insta::assert_snapshot!(folder.describe_load("src/Bank.sol"), @"
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
    let input = input(&folder);
    assert_eq!(input["sources"]["src/Bank.sol"]["content"], crate::folder::BANK);
    insta::assert_snapshot!(input["settings"], @r#"{"remappings":[],"outputSelection":{"*":{"":["ast"],"*":["abi","metadata","evm.bytecode.object","evm.bytecode.sourceMap","evm.bytecode.linkReferences","evm.deployedBytecode.object","evm.deployedBytecode.sourceMap","evm.deployedBytecode.linkReferences","evm.deployedBytecode.immutableReferences"]}}}"#);
    let args = fs::read_to_string(folder.path("args")).unwrap();
    insta::assert_snapshot!(folder.mask_path(&args), @"--standard-json --allow-paths [folder] --base-path [folder] --include-path [folder]/src");
}

#[test]
fn passes_options_as_settings() {
    let mut folder = with_answer(&standard_output().to_string());
    let args =
        "--optimize --evm-version=london --via-ir --base-path . @a/=lib/a/ --optimize-runs 9";
    folder.toolchain.options.add_args(args.split(' ')).unwrap();
    assert_eq!(folder.toolchain.options.base_path.take(), Some(".".into()));
    folder.load("src/Bank.sol").unwrap();
    let mut settings = input(&folder)["settings"].take();
    settings.as_object_mut().unwrap().remove("outputSelection");
    insta::assert_snapshot!(settings, @r#"{"remappings":["@a/=lib/a/"],"viaIR":true,"optimizer":{"enabled":true,"runs":9},"evmVersion":"london"}"#);
    for wrong in ["--optimise", "--optimize-runs", "--optimize-runs=many", "-o", "file.sol"] {
        let error = folder.toolchain.options.add_args([wrong]).unwrap_err();
        assert!(error.to_string().contains(wrong), "{error}");
    }
}

#[test]
fn uses_remappings_of_the_project() {
    let folder = with_answer(&standard_output().to_string());
    folder.write("remappings.txt", "# a note\n@b/=vendor/b/\n\nforge-std/=my/own/\n");
    folder
        .write("foundry.toml", "[profile.default]\nremappings = ['c/=vendor/c/', '@b/=other/']\n");
    for library in ["lib/forge-std/src", "lib/oz/contracts", "lib/plain"] {
        folder.write(&format!("{library}/A.sol"), "");
    }
    folder.load("src/Bank.sol").unwrap();
    insta::assert_snapshot!(input(&folder)["settings"]["remappings"], @r#"["@b/=vendor/b/","forge-std/=my/own/","c/=vendor/c/","oz/=lib/oz/contracts/","plain/=lib/plain/"]"#);
}

#[test]
fn includes_node_modules_in_search_path() {
    let folder = with_answer(&standard_output().to_string());
    folder.write("node_modules/@oz/A.sol", "");
    folder.load("src/Bank.sol").unwrap();
    let args = fs::read_to_string(folder.path("args")).unwrap();
    assert!(folder.mask_path(&args).ends_with("--include-path [folder]/node_modules\n"), "{args}");
}

#[test]
fn uses_given_base_path() {
    let mut folder = with_answer(&standard_output().to_string());
    folder.toolchain.options.base_path = Some(folder.path("src"));
    folder.load("src/Bank.sol").unwrap_err();
    fs::copy(folder.path("answer"), folder.path("src/answer")).unwrap();
    folder.load("src/Bank.sol").unwrap();
    let args = fs::read_to_string(folder.path("src/args")).unwrap();
    insta::assert_snapshot!(folder.mask_path(&args), @"--standard-json --allow-paths [folder]/src --base-path [folder]/src");
    folder.toolchain.options.base_path = Some(folder.path("gone"));
    insta::assert_snapshot!(folder.describe_load("src/Bank.sol"), @"failed to read `[folder]/gone`: No such file or directory (os error 2)");
}

#[test]
fn drops_options_that_old_compilers_reject() {
    let script = "cat > input; echo \"$@\" > args\n\
        for arg in \"$@\"; do case $arg in --include-path|--base-path)\n\
        echo \"unrecognised option '$arg'\" >&2; exit 1;; esac; done; cat answer";
    let folder = with_compiler(&standard_output().to_string(), script);
    folder.write("node_modules/a/A.sol", "");
    folder.load("src/Bank.sol").unwrap();
    let args = fs::read_to_string(folder.path("args")).unwrap();
    insta::assert_snapshot!(folder.mask_path(&args), @"--standard-json --allow-paths [folder]");
}

/// The compiler on the path may be that of a version manager, which starts what a file in the current folder names.
#[test]
fn compiler_of_an_untrusted_folder_runs_elsewhere() {
    for options in ["", "--include-path", "--base-path"] {
        let mut folder = with_answer(&standard_output().to_string());
        folder.write("node_modules/a/A.sol", "");
        let place = folder.path("").canonicalize().unwrap().display().to_string();
        let reject = match options {
            "" => String::new(),
            option => format!(
                "case \"$*\" in *{option}*) echo \"unrecognised option '{option}'\" >&2; exit 1;; esac;"
            ),
        };
        let script = format!("pwd >> {place}/where; {reject} cat > /dev/null; cat {place}/answer");
        folder.write_program("bin/solc", &script);
        let whole = folder.path("bin/solc");
        for named in [None, Some(whole)] {
            folder.toolchain.solc = named;
            for (project, expected) in
                [(ProjectPrograms::None, "/"), (ProjectPrograms::All, place.as_str())]
            {
                folder.toolchain.project = project;
                folder.load("src/Bank.sol").unwrap();
                let places = fs::read_to_string(folder.path("where")).unwrap();
                assert!(places.lines().all(|line| line == expected), "{options}: {places}");
                fs::remove_file(folder.path("where")).unwrap();
            }
        }
    }
}

#[test]
fn shows_compiler_errors_verbatim() {
    insta::assert_snapshot!(with_answer(&failed_output().to_string()).describe_load("src/Bank.sol"), @r#"
    failed to compile `[folder]/src/Bank.sol`
    ParserError: Expected ';' but got '}'
     --> src/Bank.sol:20:5:
       |
    20 |     }
       |     ^

    Source "lib/Gone.sol" not found.
    "#);
}

#[test]
fn limits_number_of_compiler_errors() {
    let error = json!({ "severity": "error", "formattedMessage": "Error: again\n" });
    let errors = json!({ "errors": vec![error; 3000] });
    let text = with_answer(&errors.to_string()).describe_load("src/Bank.sol");
    assert_eq!(text.matches("Error: again").count(), 50);
    assert!(text.ends_with("… and 2950 more"), "{text}");
}

#[test]
fn reports_failing_compilers() {
    let folder = |script| with_compiler("", script).describe_load("src/Bank.sol");
    let answers = [
        folder("exit 0"),
        folder("echo hello"),
        folder("echo 'out of memory' >&2; exit 3"),
        folder("kill -9 $$"),
        folder("cat > /dev/null; printf '{\"contracts\":'"),
    ];
    insta::assert_snapshot!(answers.join("\n\n"), @r#"
    `[folder]/bin/solc` did not write standard JSON and printed nothing
    hint: check that it is a Solidity compiler for this machine

    `[folder]/bin/solc` did not write standard JSON and printed:
    hello
    hint: check that it is a Solidity compiler for this machine

    `[folder]/bin/solc` failed with exit status: 3 and printed:
    out of memory

    `[folder]/bin/solc` failed with signal: 9 (SIGKILL) and printed nothing

    `[folder]/bin/solc` did not write standard JSON and printed:
    {"contracts":
    hint: check that it is a Solidity compiler for this machine
    "#);
}

#[test]
fn reports_compiler_that_cannot_start() {
    let folder = with_answer("");
    folder.write_executable("bin/solc", "#!/no/such/interpreter\n");
    insta::assert_snapshot!(folder.describe_load("src/Bank.sol"), @"
    failed to start `[folder]/bin/solc`: No such file or directory (os error 2)
    hint: check that it is a Solidity compiler for this machine
    ");
}

#[test]
fn rejects_file_without_contracts() {
    let answer = json!({ "sources": { "src/Bank.sol": { "id": 0 } } });
    insta::assert_snapshot!(with_answer(&answer.to_string()).describe_load("src/Bank.sol"), @"
    no contract found in `[folder]/src/Bank.sol`
    hint: define at least one `contract`, `library` or `interface`
    ");
}

#[test]
fn accepts_output_of_compiler_that_ignores_stdin() {
    let folder = with_compiler(&standard_output().to_string(), "cat answer");
    folder.write("src/Bank.sol", &"// padding\n".repeat(100_000));
    folder.load("src/Bank.sol").unwrap();
}

#[test]
fn rejects_oversized_sources() {
    let folder = with_answer("");
    let file = fs::File::create(folder.path("src/Large.sol")).unwrap();
    file.set_len((16 << 20) + 1).unwrap();
    insta::assert_snapshot!(folder.describe_load("src/Large.sol"), @"`[folder]/src/Large.sol` is larger than 16 MiB");
}
