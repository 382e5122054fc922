//! The programs of this package, for tests of other packages.
//!
//! Cargo names a binary to the tests of its own package only (`CARGO_BIN_EXE_…`), and does not build the binaries of a
//! dev-dependency. So a program is looked for beside the test, and built with Cargo if it is missing or out of date.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// The programs that are built on demand, with the feature that they need.
const PROGRAMS: [&str; 2] = ["adversary", "child_keeper"];
const FEATURE: &str = "supervisor";
/// Everything that the programs are made of but other people's crates.
const SOURCES: [&str; 2] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/src"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../link/src"),
];

/// Returns the path of the supervisor of stdio servers, as a program of its own.
///
/// # Panics
///
/// If the program cannot be built.
pub fn supervisor() -> PathBuf {
    find_program("child_keeper", "CHILD_KEEPER_BIN")
}

/// Returns the path of a program: named by the variable, or beside the test, where it is built if that is necessary.
pub(crate) fn find_program(name: &str, variable: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    if let Some(path) = std::env::var_os(variable) {
        return path.into();
    }
    let folder = program_folder();
    BUILT.get_or_init(|| {
        let programs = PROGRAMS.map(|name| program_in(&folder, name));
        if programs.iter().any(|program| is_outdated(program)) {
            build(&folder);
        }
    });
    let path = program_in(&folder, name);
    assert!(
        path.is_file(),
        "{} is missing: run `cargo build -p testkit --no-default-features --features {FEATURE}`",
        path.display()
    );
    path
}

/// A test is `target/debug/deps/NAME-HASH`, a program one folder higher.
fn program_folder() -> PathBuf {
    let test = std::env::current_exe().expect("a running test has a path");
    let folder = test.ancestors().skip(1).find(|folder| !folder.ends_with("deps"));
    folder.expect("the test is in a folder").to_owned()
}

fn program_in(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Returns whether the program is missing or older than its sources.
fn is_outdated(program: &Path) -> bool {
    match modified(program) {
        Some(built) => SOURCES.iter().any(|folder| newest_below(Path::new(folder)) > Some(built)),
        None => true,
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}

/// Returns the time of the last change to a file below the folder; None if the sources are not there.
fn newest_below(folder: &Path) -> Option<SystemTime> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let times = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => newest_below(&entry.path()),
        _ => modified(&entry.path()),
    });
    times.max().flatten()
}

/// Builds the programs into the folder of the running test. Cargo has released its lock on the folder by the time tests run.
/// Only the features that the programs need are chosen, so that a build takes seconds.
fn build(folder: &Path) {
    // Set by `cargo test`. A test that is started by hand takes what is there.
    let Some(cargo) = std::env::var_os("CARGO") else { return };
    let Some((target, profile)) = folder.parent().zip(folder.file_name()) else { return };
    let profile = if profile == "debug" { OsString::from("dev") } else { profile.to_owned() };
    let mut command = Command::new(cargo);
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--quiet", "-p", "testkit", "--no-default-features", "--features", FEATURE])
        .args(PROGRAMS.into_iter().flat_map(|name| ["--bin", name]))
        .arg("--target-dir")
        .arg(target)
        .arg("--profile")
        .arg(profile);
    // Cargo describes the package under test to it. A build script that reads one of these variables (`ring` does) would make
    // its crate anew, and what was built before would no longer fit.
    for (name, _) in std::env::vars_os() {
        let is_of_package = |name: &str| {
            ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"]
                .iter()
                .any(|start| name.starts_with(start))
        };
        if name.to_str().is_some_and(is_of_package) {
            command.env_remove(name);
        }
    }
    let output = command.output().expect("cargo can be started");
    assert!(
        output.status.success(),
        "the programs of testkit cannot be built:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
