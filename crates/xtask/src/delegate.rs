//! Passes `cargo xtask bench` and `cargo xtask echidna` on to the crate `bench`.
//!
//! A process, not a dependency: `bench` needs the fuzzer, the index and the embedded model, and the other tasks of
//! `xtask` would compile them before they start.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Context;
use xtask::command::command;
use xtask::exit_code;

#[derive(clap::Args)]
pub(crate) struct BenchArgs {
    /// Arguments of the crate `bench`, passed through; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    args: Vec<OsString>,
}

pub(crate) fn run_bench(args: &BenchArgs) -> ExitCode {
    run(None, args)
}

pub(crate) fn run_echidna(args: &BenchArgs) -> ExitCode {
    run(Some("echidna"), args)
}

/// Runs `bench` and returns its exit code. `bench` has printed its error already.
fn run(subcommand: Option<&str>, args: &BenchArgs) -> ExitCode {
    let mut bench = command("cargo", &["run", "--quiet", "--release", "-p", "bench", "--"]);
    bench.args(subcommand).args(&args.args);
    // Relative paths among the arguments are relative to the caller's folder.
    bench.current_dir(".");
    match bench.status().context("failed to start `cargo run -p bench`") {
        Ok(status) => status.code().map_or(ExitCode::FAILURE, |code| ExitCode::from(code as u8)),
        Err(error) => exit_code(Err(error)),
    }
}
