//! The binary `vouch`: flags, configuration, environment, printing and exit codes. Everything else is in the crates
//! below, which read no environment and print nothing.
//!
//! Start at [`commands::run`]; there is one file for each command.

mod args;
mod campaign;
mod clients;
mod commands;
mod config;
mod env;
mod exit;
mod files;
mod logging;
mod project;
mod prompt;
mod report;
mod serving;
mod telemetry;
mod traces;
mod ui;
mod upstreams;

use std::process::ExitCode;

use clap::FromArgMatches;

use crate::args::Cli;
use crate::exit::Exit;
use crate::ui::Ui;

/// A call makes some hundred small allocations, most of them in the SDK; the system's allocator took a fifth of its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before anything else: the keeper of a child reads no configuration, prints nothing and starts no thread.
    if std::env::args_os().nth(1).is_some_and(|word| word == upstreams::KEEPER) {
        return link::keeper::main();
    }
    let matches = args::command().get_matches();
    let Cli { globals, command } = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let ui = Ui::new(globals.color, globals.quiet);
    match commands::run(ui, globals, command) {
        Ok(exit) => exit.into(),
        Err(failure) if failure.is_broken_pipe() => Exit::Success.into(),
        Err(failure) => {
            failure.print(&ui);
            failure.exit().into()
        }
    }
}
