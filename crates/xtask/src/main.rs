//! `cargo xtask`: what developers and the CI run besides cargo itself.
//!
//! Tasks only start other programs and judge their exit codes; rules of the product do not live here.

#![expect(clippy::print_stdout, reason = "a developer's tool that talks on the terminal")]

mod command;
mod count;
mod install;
mod test;

use clap::Parser;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Tasks of this repository")]
enum Task {
    /// Format, lints, unit, integration and end-to-end tests, in this order, up to the first failure
    Test(test::Args),
}

fn main() -> anyhow::Result<()> {
    match Task::parse() {
        Task::Test(args) => test::run(&args),
    }
}
