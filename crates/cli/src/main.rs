//! The binary `vouch`: flags, prompts, printing, the terminal screen and exit codes. Configuration, assembly and serving
//! are in `app`; only `app` and this crate read the environment, and only this crate prints.
//!
//! Start at [`commands::run`]; there is one file for each command.

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
use crate::exit::Exit;
use crate::ui::Ui;

/// A call makes some hundred small allocations, most of them in the SDK; the system's allocator took a fifth of its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before anything else: the keeper of a child reads no configuration, prints nothing and starts no thread.
    if std::env::args_os().nth(1).is_some_and(|word| word == app::upstreams::KEEPER) {
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
        Err(failure) if report::is_broken_pipe(&failure) => Exit::Success.into(),
        Err(failure) => {
            report::print_failure(ui, &failure);
            Exit::from(failure.kind()).into()
        }
    }
}
