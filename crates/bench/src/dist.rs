//! Builds and finds the binaries that benchmarks measure: those of the profile `dist`, which is what is shipped.

use std::path::PathBuf;
use std::process::Command;

use xtask::command::{command, root};

/// Returns `cargo build` in the profile `dist` for these packages and targets.
pub(crate) fn build_command(selection: &[&str]) -> Command {
    let mut build = command("cargo", &["build", "--profile", "dist"]);
    build.args(selection);
    build
}

/// Returns the path of a built binary, or `examples/NAME` for an example.
pub(crate) fn binary_path(name: &str) -> PathBuf {
    root().join("target/dist").join(name)
}
