//! `cargo xtask test`: the one command that tells whether a change is ready, on a developer's machine and in CI.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use xtask::command::{binaries, command, root, run as run_command, run_counting};
use xtask::count::TestCount;
use xtask::expected::ExpectedTests;
use xtask::install;

use crate::arrows::check_arrows;
use crate::fuzz_parsers::run_fuzz_part;

/// Time limit of one end-to-end test. It only stops tests that hang: the whole conformance suite is one test and takes
/// a minute or two.
const TEST_LIMIT_MS: u32 = 600_000;

/// Time for all parser targets together; `cargo xtask fuzz-parsers --seconds` runs them for longer.
const FUZZ_SECONDS: u32 = 120;

#[derive(clap::Args)]
pub(crate) struct TestArgs {
    /// Run only these parts
    #[arg(long, value_delimiter = ',', value_name = "PART,…")]
    only: Vec<TestPart>,
    /// List the parts
    #[arg(long)]
    list: bool,
    /// Record how many tests each part runs, in crates/xtask/expected-tests.json
    #[arg(long)]
    record: bool,
}

/// Parts in the order in which they run: the quickest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TestPart {
    /// Check the format of all code
    Fmt,
    /// Compare the crate dependencies in ARCHITECTURE.md with the manifests
    Arrows,
    /// Check for dependencies that no code uses
    Deps,
    /// Check licenses, bans and sources of dependencies
    Deny,
    /// Check lints of all code
    Clippy,
    /// Check the API documentation: every link resolves
    Doc,
    /// Run unit and integration tests
    Unit,
    /// Run the examples in API documentation
    Doctest,
    /// Compile and test the code for systems other than Linux, on Linux
    Portable,
    /// Try mutants of the changed source files for two minutes, and report those that no test notices
    Mutants,
    /// Run real MCP clients against the built binary, over HTTP and stdio
    E2e,
    /// Run real MCP clients against the reference servers from npm behind `vouch gateway`
    Gateway,
    /// Compare resolved imports with the answers of compilers and interpreters
    Imports,
    /// Check the fuzzer: reproducers under forge, coverage against another EVM and lcov, killed campaigns
    Fuzz,
    /// Fuzz the parsers of everything that comes from outside, for two minutes
    FuzzParsers,
    /// Compare grep with ripgrep, for generated patterns and after random changes
    Search,
    /// Run the official conformance suite against a server built on the same runtime
    Conformance,
    /// Send generated requests to the REST interface and compare the answers with its OpenAPI document
    Schemathesis,
    /// Run a part of the flood and of the soak, for about two minutes
    Load,
}

/// Runs the selected parts. Returns an error if one fails.
pub(crate) fn run_tests(args: &TestArgs) -> Result<()> {
    if args.list {
        list_parts();
        return Ok(());
    }
    let is_selected = |part: &TestPart| args.only.is_empty() || args.only.contains(part);
    let parts: Vec<TestPart> =
        TestPart::value_variants().iter().copied().filter(is_selected).collect();

    let mut expected = ExpectedTests::read()?;
    let failed = run_parts(&parts, args.record, &mut expected, TestPart::run)?;
    if args.record {
        expected.write()?;
    }
    ensure!(failed.is_empty(), "tests failed; repeat them with `{}`", failed.join("`, `"));
    Ok(())
}

/// Runs parts, and checks or records their counts. Returns the commands that repeat the parts with failed tests.
fn run_parts(
    parts: &[TestPart],
    record: bool,
    expected: &mut ExpectedTests,
    run: impl Fn(TestPart) -> Result<TestCount>,
) -> Result<Vec<String>> {
    let mut total = TestCount::default();
    let mut failed = Vec::new();
    let mut notes = Vec::new();
    for &part in parts {
        let name = part.name();
        println!("==> {name}");
        let repeat = format!("cargo xtask test --only {name}");
        let count = run(part)
            .with_context(|| format!("part `{name}` failed; repeat it with `{repeat}`"))?;
        // End-to-end parts all run, even after a failure, so that one run shows every failure.
        if count.failed > 0 {
            failed.push(repeat);
        } else {
            if record {
                expected.record(&name, &count);
            }
            expected.check(&name, &count).with_context(|| format!("part `{name}` failed"))?;
            notes.extend(expected.note_unrecorded(&name, &count));
        }
        total += count;
    }
    notes.iter().for_each(|note| println!("note: {note}"));
    if total != TestCount::default() {
        println!("{total}");
    }
    Ok(failed)
}

fn list_parts() {
    for part in TestPart::value_variants() {
        let value = part.to_possible_value().expect("no part is hidden");
        let help = value.get_help().expect("every part has a description");
        println!("{:13} {help}", value.get_name());
    }
}

impl TestPart {
    fn name(self) -> String {
        self.to_possible_value().expect("no part is hidden").get_name().to_owned()
    }

    /// Runs one part and returns its test counts, which are zero for parts without tests.
    fn run(self) -> Result<TestCount> {
        match self {
            Self::Fmt => run_cargo(&["fmt", "--all", "--check"]),
            Self::Arrows => {
                check_arrows()?;
                Ok(TestCount::default())
            }
            Self::Deps => {
                let machete = install::cargo_tools()?.join("cargo-machete");
                run_uncounted(command(machete, &["--skip-target-dir"]))
            }
            Self::Deny => {
                let deny = install::cargo_tools()?.join("cargo-deny");
                // Advisories need a database from the network that changes daily; docs/releasing.md checks them.
                // Duplicate versions are a warning for people; `cargo deny check bans` lists them.
                let checks = ["check", "--allow", "duplicate", "licenses", "bans", "sources"];
                run_uncounted(command(deny, &checks))
            }
            Self::Clippy => {
                run_cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
            }
            Self::Doc => {
                let mut doc = command("cargo", &["doc", "--workspace", "--no-deps"]);
                // Links to private items are for readers of the source; these crates are not published.
                doc.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private_intra_doc_links");
                run_uncounted(doc)
            }
            Self::Unit => {
                build_workspace()?;
                // All that `cargo test` runs except documentation examples, which are the next part.
                let tests = ["test", "--workspace", "--lib", "--bins", "--tests", "--examples"];
                run_rust_tests(command("cargo", &tests))
            }
            Self::Doctest => run_rust_tests(command("cargo", &["test", "--workspace", "--doc"])),
            Self::Portable => run_portable(),
            // Without an earlier commit, such as in a shallow clone, one crate is tried instead. Survivors are reported and do
            // not fail until the lists of known ones are complete.
            Self::Mutants => {
                run_cargo(&["run", "--quiet", "-p", "mutants", "--", "--changed", "--report"])
            }
            Self::E2e => run_node_and_python("clients"),
            Self::Gateway => run_node_and_python("gateway"),
            Self::Imports => run_node_and_python("imports"),
            Self::Fuzz => {
                build_workspace()?;
                let mut node = node_tests("fuzz")?;
                if let Some(folder) = install::lcov()? {
                    node.env("LCOV_BIN", folder);
                }
                run_counting(node)
            }
            Self::FuzzParsers => run_fuzz_part(FUZZ_SECONDS),
            Self::Search => {
                build_workspace()?;
                // The npm packages are one of the searched trees.
                install::node()?;
                let ripgrep = install::python()?.with_file_name("rg");
                let test = ["test", "--workspace", "--test", "ripgrep", "--", "--ignored"];
                let mut search = command("cargo", &test);
                search.env("RIPGREP_BIN", ripgrep);
                run_rust_tests(search)
            }
            Self::Conformance => {
                build_workspace()?;
                run_counting(node_tests("conformance")?)
            }
            Self::Schemathesis => {
                build_workspace()?;
                run_counting(python_tests("rest")?)
            }
            Self::Load => run_load(),
        }
    }
}

/// Runs the flood and the soak with the binaries of the tests. Latencies are printed; only failures count.
fn run_load() -> Result<TestCount> {
    build_workspace()?;
    let folder = binaries()?;
    let vouch = folder.join("vouch").display().to_string();
    for args in [
        &["flood", "--idle", "2000", "--half-open", "500", "--calls", "3200"][..],
        &["soak", "--minutes", "0.8", "--seed", "7"],
    ] {
        let mut bench = command(folder.join("bench"), args);
        bench.args(["--vouch", &vouch]);
        run_command(bench)?;
    }
    Ok(TestCount::default())
}

fn run_uncounted(command: Command) -> Result<TestCount> {
    run_command(command)?;
    Ok(TestCount::default())
}

fn run_cargo(args: &[&str]) -> Result<TestCount> {
    run_uncounted(command("cargo", args))
}

/// Runs tests by cargo. Returns an error if one fails, because cargo stops there too.
fn run_rust_tests(mut cargo: Command) -> Result<TestCount> {
    // Tests that could not run, or only in part, add themselves; see the crate `test-rights`.
    let list = root().join("target/skipped-tests");
    let _ = std::fs::remove_file(&list);
    cargo.env("VOUCH_SKIP_LIST", &list);
    let mut count = run_counting(cargo)?;
    ensure!(count.failed == 0, "{} tests failed", count.failed);
    for line in std::fs::read_to_string(&list).unwrap_or_default().lines() {
        count.parse_line(line);
        count.skipped += 1;
    }
    Ok(count)
}

/// Builds everything that any part runs, in one profile and with one set of features. Separate builds of tests and
/// binaries would compile dependencies twice.
fn build_workspace() -> Result<()> {
    run_command(command("cargo", &["build", "--workspace", "--all-targets"]))
}

/// Compiles the workspace, and tests the crates that have code for other systems, with `--cfg vouch_portable`.
///
/// A wrapper passes the flag to crates of the workspace only, so that dependencies are compiled once for this part and
/// the others. `RUSTFLAGS` would compile all of them again.
fn run_portable() -> Result<TestCount> {
    let wrapper = root().join("crates/xtask/portable-rustc");
    let portable_cargo = |args: &[&str]| {
        let mut cargo = command("cargo", args);
        cargo.env("RUSTC_WORKSPACE_WRAPPER", &wrapper);
        cargo
    };
    run_command(portable_cargo(&["check", "--workspace"]))?;
    let tests = ["test", "-p", "guard", "-p", "tree", "-p", "pack-repo", "--lib", "--tests"];
    run_rust_tests(portable_cargo(&tests))
}

/// Runs the end-to-end tests of one folder below `e2e/`, those for Node.js and those for Python.
fn run_node_and_python(folder: &str) -> Result<TestCount> {
    build_workspace()?;
    let mut count = run_counting(node_tests(folder)?)?;
    count += run_counting(python_tests(folder)?)?;
    Ok(count)
}

fn node_tests(folder: &str) -> Result<Command> {
    let limit = format!("--test-timeout={TEST_LIMIT_MS}");
    let files = format!("e2e/{folder}/*.test.mjs");
    let mut node = command(install::node()?, &["--test", "--test-concurrency=2", &limit, &files]);
    set_binary_paths(&mut node)?;
    Ok(node)
}

fn python_tests(folder: &str) -> Result<Command> {
    let mut python = command(install::python()?, &["e2e/support/run_python.py", folder]);
    set_binary_paths(&mut python)?;
    Ok(python)
}

/// Tells end-to-end tests where the binaries of this build are.
fn set_binary_paths(command: &mut Command) -> Result<()> {
    let folder = binaries()?;
    command.env("VOUCH_BIN", folder.join("vouch"));
    command.env("CONFORMANCE_SERVER_BIN", folder.join("conformance_server"));
    command.env("CONFORMANCE_CLIENT_BIN", folder.join("conformance_client"));
    command.env("IMPORTS_BIN", folder.join("examples/imports"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty folder of end-to-end tests looks like success to the runners.
    #[test]
    fn part_whose_tests_are_gone_fails() {
        let mut expected = ExpectedTests::read().expect("a valid file");
        let mut run = |part, record| {
            run_parts(&[part], record, &mut expected, |_| Ok(TestCount::default()))
                .map_err(|error| format!("{error:#}"))
        };
        for part in [TestPart::E2e, TestPart::Gateway, TestPart::Imports, TestPart::Schemathesis] {
            for record in [false, true] {
                let error = run(part, record).expect_err("too few tests");
                let (name, what) = (part.name(), "failed: 0 tests ran, ");
                assert!(error.starts_with(&format!("part `{name}` {what}")), "{error}");
            }
        }
        assert_eq!(run(TestPart::Fmt, false), Ok(vec![]), "a part without tests");
    }

    #[test]
    fn part_with_failed_tests_is_repeated_by_its_command() {
        let mut expected = ExpectedTests::read().expect("a valid file");
        let count = TestCount { failed: 1, ..TestCount::default() };
        let parts = [TestPart::E2e, TestPart::Gateway];
        let failed = run_parts(&parts, false, &mut expected, |_| Ok(count.clone()));
        let commands = ["cargo xtask test --only e2e", "cargo xtask test --only gateway"];
        assert_eq!(failed.expect("no part was stopped"), commands);
    }
}
