//! `cargo xtask bench` and `cargo xtask echidna`: measurements next to a peer or a limit, all taken in one run on one
//! machine, and Echidna's own tests run by our fuzzer.
//!
//! A crate of its own, because it needs the fuzzer, the index and the embedded model: `cargo xtask test` compiles none
//! of them to check the format. `xtask` starts this binary and passes all arguments through.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer tool that prints to the terminal"
)]

mod calls;
mod campaign;
mod context;
mod dist;
mod echidna;
mod fuzz;
mod gateway;
mod load;
mod peers;
mod process;
mod search;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(
    name = "cargo xtask bench",
    about = "Measure Vouchsafe next to a peer or a limit; see docs/benchmarks.md"
)]
enum Bench {
    /// Measure the cost of a call: Vouchsafe, a bare rmcp server with the same tools, and server-filesystem
    Calls(calls::Args),
    /// Measure campaigns that agents watch and steer: response times, cost of watching, gain from steering
    Campaign(campaign::Args),
    /// Measure the speed of search, grep and reading, next to ripgrep, semble and probe
    Context(context::Args),
    /// Run Echidna's own tests with our fuzzer and compare the outcomes (`cargo xtask echidna`)
    Echidna(echidna::Args),
    /// Measure the fuzzer next to forge, Echidna and bare revm: rates, time to break, bugs, workers, memory
    Fuzz(fuzz::Args),
    /// Measure the time a gateway adds to a call, next to mcp-proxy, supergateway and FastMCP's proxy
    Gateway(gateway::Args),
    /// Measure the quality of search results on data sets and annotated projects, next to semble
    Search(search::Args),
}

fn main() -> ExitCode {
    let result = match Bench::parse() {
        Bench::Calls(args) => calls::run(&args),
        Bench::Campaign(args) => campaign::run(&args),
        Bench::Context(args) => context::run(&args),
        Bench::Echidna(args) => echidna::run(&args),
        Bench::Fuzz(args) => fuzz::run(&args),
        Bench::Gateway(args) => gateway::run(&args),
        Bench::Search(args) => search::run(&args),
    };
    xtask::exit_code(result)
}
