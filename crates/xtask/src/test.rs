//! `cargo xtask test`: the one command that says whether a change is good.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use xtask::command::{binaries, command, run as run_command, run_counting};
use xtask::count::Count;
use xtask::install;

/// Against hanging only: a run of the whole conformance suite is one test, and takes a minute or two.
const TEST_LIMIT_MS: u32 = 600_000;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only these parts
    #[arg(long, value_delimiter = ',', value_name = "PART,…")]
    only: Vec<Part>,
    /// Say which parts there are
    #[arg(long)]
    list: bool,
}

/// In the order in which they run: what is quick to tell comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// All code is formatted
    Fmt,
    /// No lint has anything to say
    Clippy,
    /// Unit and integration tests
    Unit,
    /// Real MCP clients against the built binary, over HTTP and stdio
    E2e,
    /// The reference servers from npm behind `vouch gateway`, used by real MCP clients
    Gateway,
    /// Where imports lead, against what the compilers and interpreters say
    Imports,
    /// The fuzzer: reproducers under forge, coverage against another EVM and lcov, campaigns that are killed
    Fuzz,
    /// What grep finds, against ripgrep, for generated patterns and after random changes
    Search,
    /// The official conformance suite against a server built on the same runtime
    Conformance,
    /// Generated requests against the REST interface and its OpenAPI document
    Schemathesis,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.list {
        for part in Part::value_variants() {
            let value = part.to_possible_value().expect("no part is hidden");
            println!(
                "{:13} {}",
                value.get_name(),
                value.get_help().expect("every part is described")
            );
        }
        return Ok(());
    }
    let wanted = |part: &Part| args.only.is_empty() || args.only.contains(part);
    let parts: Vec<Part> = Part::value_variants().iter().copied().filter(wanted).collect();

    let mut total = Count::default();
    let mut broken = Vec::new();
    for part in &parts {
        let name = part.name();
        println!("==> {name}");
        let repeat = format!("cargo xtask test --only {name}");
        let count =
            part.run().with_context(|| format!("part `{name}`, repeat it with `{repeat}`"))?;
        // The parts that count run all, even after a failure: one look should show everything.
        if count.failed > 0 {
            broken.push(repeat);
        }
        total += count;
    }
    if total != Count::default() {
        println!("{total}");
    }
    ensure!(broken.is_empty(), "tests failed, repeat them with `{}`", broken.join("`, `"));
    Ok(())
}

impl Part {
    fn name(self) -> String {
        self.to_possible_value().expect("no part is hidden").get_name().to_owned()
    }

    /// What cargo runs fails as a whole; the end-to-end tests are counted.
    fn run(self) -> Result<Count> {
        match self {
            Self::Fmt => cargo(&["fmt", "--all", "--check"]),
            Self::Clippy => {
                cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
            }
            Self::Unit => {
                build()?;
                cargo(&["test", "--workspace"])
            }
            Self::E2e => {
                build()?;
                let mut count = run_counting(node_tests("e2e/clients/*.test.mjs")?)?;
                count += run_counting(python_tests("clients")?)?;
                Ok(count)
            }
            Self::Gateway => {
                build()?;
                let mut count = run_counting(node_tests("e2e/gateway/*.test.mjs")?)?;
                count += run_counting(python_tests("gateway")?)?;
                Ok(count)
            }
            Self::Imports => {
                build()?;
                let mut count = run_counting(node_tests("e2e/imports/*.test.mjs")?)?;
                count += run_counting(python_tests("imports")?)?;
                Ok(count)
            }
            Self::Fuzz => {
                build()?;
                let mut node = node_tests("e2e/fuzz/*.test.mjs")?;
                if let Some(folder) = install::lcov()? {
                    node.env("LCOV_BIN", folder);
                }
                run_counting(node)
            }
            Self::Search => {
                build()?;
                // The packages are trees to search, too.
                install::node()?;
                let ripgrep = install::python()?.with_file_name("rg");
                let test = ["test", "--workspace", "--test", "ripgrep", "--", "--ignored"];
                let mut search = command("cargo", &test);
                search.env("RIPGREP_BIN", ripgrep);
                run_command(search)?;
                Ok(Count::default())
            }
            Self::Conformance => {
                build()?;
                run_counting(node_tests("e2e/conformance/*.test.mjs")?)
            }
            Self::Schemathesis => {
                build()?;
                run_counting(python_tests("rest")?)
            }
        }
    }
}

fn cargo(args: &[&str]) -> Result<Count> {
    run_command(command("cargo", args))?;
    Ok(Count::default())
}

/// Everything that any part runs, in one profile and with one set of features: tests and binaries built apart would
/// compile their dependencies twice. Once it is built, this is quick.
fn build() -> Result<Count> {
    cargo(&["build", "--workspace", "--all-targets"])
}

fn node_tests(files: &str) -> Result<Command> {
    let limit = format!("--test-timeout={TEST_LIMIT_MS}");
    let mut node = command(install::node()?, &["--test", "--test-concurrency=2", &limit, files]);
    with_binaries(&mut node)?;
    Ok(node)
}

fn python_tests(folder: &str) -> Result<Command> {
    let mut python = command(install::python()?, &["e2e/support/run_python.py", folder]);
    with_binaries(&mut python)?;
    Ok(python)
}

fn with_binaries(command: &mut Command) -> Result<()> {
    let folder = binaries()?;
    command.env("VOUCH_BIN", folder.join("vouch"));
    command.env("CONFORMANCE_SERVER_BIN", folder.join("conformance_server"));
    command.env("CONFORMANCE_CLIENT_BIN", folder.join("conformance_client"));
    command.env("IMPORTS_BIN", folder.join("examples/imports"));
    Ok(())
}
