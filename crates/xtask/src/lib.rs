//! Parts of `cargo xtask` that the crate `bench` uses too: starting programs, and installing what tests need.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer tool that prints to the terminal"
)]

pub mod command;
pub mod count;
pub mod expected;
pub mod install;

use std::process::ExitCode;

/// Prints an error with its causes and returns the exit code of the process.
pub fn exit_code(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The chain says what to do; a stack trace of this program would only push it off the screen.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
