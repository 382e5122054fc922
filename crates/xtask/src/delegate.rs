//! Passes `cargo xtask bench` and `cargo xtask echidna` on to the crate `bench`, and `cargo xtask mutants` to `mutants`.
//!
//! Processes, not dependencies: `bench` needs the fuzzer, the index and the embedded model, and the other tasks of
//! `xtask` would compile them before they start.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::Context;
use xtask::command::{bench_state_home, command};
use xtask::exit_code;

#[derive(clap::Args)]
pub(crate) struct BenchArgs {
    /// Arguments that are passed through; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    args: Vec<OsString>,
}

/// Runs a benchmark in the profile that is shipped.
pub(crate) fn run_benchmark(args: &BenchArgs) -> ExitCode {
    run_bench_crate("dist", None, args)
}

/// Runs the soak, in the profile that is shipped.
pub(crate) fn run_soak(args: &BenchArgs) -> ExitCode {
    run_bench_crate("dist", Some("soak"), args)
}

/// Runs Echidna's tests. Only their outcomes matter, so the profile is the one that builds faster.
pub(crate) fn run_echidna(args: &BenchArgs) -> ExitCode {
    run_bench_crate("release", Some("echidna"), args)
}

/// Runs the crate `bench` and returns its exit code. `bench` prints its errors itself.
fn run_bench_crate(profile: &str, subcommand: Option<&str>, args: &BenchArgs) -> ExitCode {
    let mut bench =
        command("cargo", &["run", "--quiet", "--profile", profile, "-p", "bench", "--"]);
    bench.args(subcommand).args(&args.args);
    // Relative paths among the arguments are relative to the caller's folder.
    bench.current_dir(".").env("XDG_STATE_HOME", bench_state_home());
    // The benchmarks write the configuration of their projects themselves.
    bench.env("VOUCH_TRUST", "1");
    wait_for_exit(bench, "bench")
}

/// Runs the crate `mutants` and returns its exit code.
pub(crate) fn run_mutants(args: &BenchArgs) -> ExitCode {
    let mut mutants = command("cargo", &["run", "--quiet", "-p", "mutants", "--"]);
    mutants.args(&args.args);
    wait_for_exit(mutants, "mutants")
}

fn wait_for_exit(mut command: Command, name: &str) -> ExitCode {
    match command.status().with_context(|| format!("failed to start `cargo run -p {name}`")) {
        Ok(status) => status.code().map_or(ExitCode::FAILURE, |code| ExitCode::from(code as u8)),
        Err(error) => exit_code(Err(error)),
    }
}
