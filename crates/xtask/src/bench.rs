//! `cargo xtask bench`: figures beside a peer or a limit, all taken in one run on one machine.

mod calls;
mod campaign;
mod context;
mod fuzz;
mod gateway;
mod load;
mod peers;
mod process;
mod search;

use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum Bench {
    /// Cost of a call: Vouchsafe, a bare rmcp server with the same tools, and server-filesystem
    Calls(calls::Args),
    /// Campaigns that agents watch and steer: how quickly tools answer, what watching costs, what steering brings
    Campaign(campaign::Args),
    /// How quick search, grep and reading are, beside ripgrep, semble and probe
    Context(context::Args),
    /// The fuzzer beside forge, Echidna and bare revm: rates, time to break, bugs, workers, memory
    Fuzz(fuzz::Args),
    /// What a gateway adds to a call, beside mcp-proxy, supergateway and FastMCP's proxy
    Gateway(gateway::Args),
    /// How good the answers of a search are, on data sets and annotated projects, beside semble
    Search(search::Args),
}

pub(crate) fn run(bench: &Bench) -> anyhow::Result<()> {
    match bench {
        Bench::Calls(args) => calls::run(args),
        Bench::Campaign(args) => campaign::run(args),
        Bench::Context(args) => context::run(args),
        Bench::Fuzz(args) => fuzz::run(args),
        Bench::Gateway(args) => gateway::run(args),
        Bench::Search(args) => search::run(args),
    }
}
