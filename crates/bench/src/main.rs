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
mod flood;
mod fuzz;
mod gateway;
mod load;
mod peers;
mod process;
mod search;
mod soak;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(
    name = "cargo xtask bench",
    about = "Measure Vouchsafe next to a peer or a limit; see docs/benchmarks.md"
)]
enum BenchCommand {
    /// Measure the cost of a call: Vouchsafe, a bare rmcp server with the same tools, and server-filesystem
    Calls(calls::CallsArgs),
    /// Measure campaigns that agents watch and steer: response times, cost of watching, gain from steering
    Campaign(campaign::CampaignArgs),
    /// Measure the speed of search, grep and reading, next to ripgrep, semble and probe
    Context(context::ContextArgs),
    /// Run Echidna's own tests with our fuzzer and compare the outcomes (`cargo xtask echidna`)
    Echidna(echidna::EchidnaArgs),
    /// Measure clients at work while strangers hold connections and open sessions, next to the same without them
    Flood(flood::FloodArgs),
    /// Measure the fuzzer next to forge, Echidna and bare revm: rates, time to break, bugs, workers, memory
    Fuzz(fuzz::FuzzArgs),
    /// Measure the time a gateway adds to a call, next to mcp-proxy, supergateway and FastMCP's proxy
    Gateway(gateway::GatewayArgs),
    /// Measure the quality of search results on data sets and annotated projects, next to semble
    Search(search::SearchArgs),
    /// Run a gateway under reloads, upstream restarts and a full disk (`cargo xtask soak`)
    Soak(soak::SoakArgs),
}

fn main() -> ExitCode {
    let result = match BenchCommand::parse() {
        BenchCommand::Calls(args) => calls::run_calls_bench(&args),
        BenchCommand::Campaign(args) => campaign::run_campaign_bench(&args),
        BenchCommand::Context(args) => context::run_context_bench(&args),
        BenchCommand::Echidna(args) => echidna::run_echidna_suite(&args),
        BenchCommand::Flood(args) => flood::run_flood_bench(&args),
        BenchCommand::Fuzz(args) => fuzz::run_fuzz_bench(&args),
        BenchCommand::Gateway(args) => gateway::run_gateway_bench(&args),
        BenchCommand::Search(args) => search::run_search_bench(&args),
        BenchCommand::Soak(args) => soak::run_soak(&args),
    };
    xtask::exit_code(result)
}
