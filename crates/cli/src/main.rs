//! The binary `vouch`: flags, prompts, printing, the terminal screen and exit codes. Configuration, assembly and
//! serving are in `app`; only `app` and this crate read the environment, and only this crate prints.
//!
//! Start at [`commands::run_command`]; there is one file for each command.

mod args;
mod commands;
mod exit;
mod logging;
mod prompt;
mod report;
mod serving;
mod ui;
mod values;

use std::process::ExitCode;

use clap::FromArgMatches;

use crate::args::Cli;
use crate::exit::ExitStatus;
use crate::ui::Ui;

/// A call makes about a hundred small allocations, most of them in the SDK. The system allocator took a fifth of the
/// time of a call.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // First of all: the child supervisor reads no configuration, prints nothing and starts no thread.
    if std::env::args_os().nth(1).is_some_and(|word| word == app::upstreams::SUPERVISOR_ARG) {
        return link::supervisor::main();
    }
    let matches = args::build_command().get_matches();
    let Cli { globals, command } = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let ui = Ui::new(globals.color, globals.quiet);
    match commands::run_command(ui, globals, command) {
        Ok(exit) => exit.into(),
        Err(failure) if report::is_broken_pipe(&failure) => ExitStatus::Success.into(),
        Err(failure) => {
            report::print_failure(ui, &failure);
            ExitStatus::from(failure.kind()).into()
        }
    }
}
