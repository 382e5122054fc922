//! Finds the binaries of this package for the tests of other packages.
//!
//! Cargo passes the path of a binary only to tests of the same package (`CARGO_BIN_EXE_…`), and does not build the
//! binaries of a dev-dependency. So this module looks beside the test executable and builds a program that is missing or
//! out of date.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// The programs that are built on demand.
const ON_DEMAND_PROGRAMS: [&str; 2] = ["adversary", "child_keeper"];
/// The Cargo feature that these programs need.
const FEATURE: &str = "supervisor";
/// The source folders of the programs, without external crates.
const SOURCE_FOLDERS: [&str; 2] = [
    concat!(env!("CARGO_MANIFEST_DIR"), "/src"),
    concat!(env!("CARGO_MANIFEST_DIR"), "/../link/src"),
];

/// Returns the path of the standalone supervisor of stdio servers.
///
/// # Panics
///
/// If the program cannot be built.
pub fn find_supervisor() -> PathBuf {
    find_program("child_keeper", "CHILD_KEEPER_BIN")
}

/// Returns the path of a program: the value of the environment variable, or the file beside the test executable. Builds
/// the file first if it is out of date.
pub(crate) fn find_program(name: &str, variable: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    if let Some(path) = std::env::var_os(variable) {
        return path.into();
    }
    let folder = program_folder();
    BUILT.get_or_init(|| {
        let programs = ON_DEMAND_PROGRAMS.map(|name| program_path(&folder, name));
        if programs.iter().any(|program| is_outdated(program)) {
            build_programs(&folder);
        }
    });
    let path = program_path(&folder, name);
    assert!(
        path.is_file(),
        "{} is missing: run `cargo build -p testkit --no-default-features --features {FEATURE}`",
        path.display()
    );
    path
}

/// Returns the folder of the programs. A test is `target/debug/deps/NAME-HASH`; programs are one folder higher.
fn program_folder() -> PathBuf {
    let test = std::env::current_exe().expect("a running test has a path");
    let folder = test.ancestors().skip(1).find(|folder| !folder.ends_with("deps"));
    folder.expect("the test is in a folder").to_owned()
}

fn program_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// Returns whether the program is missing or older than its sources.
fn is_outdated(program: &Path) -> bool {
    match modified_time(program) {
        Some(built) => {
            SOURCE_FOLDERS.iter().any(|folder| newest_change_below(Path::new(folder)) > Some(built))
        }
        None => true,
    }
}

fn modified_time(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}

/// Returns the time of the last change to a file below the folder, or `None` if the folder has no files.
fn newest_change_below(folder: &Path) -> Option<SystemTime> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let times = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => newest_change_below(&entry.path()),
        _ => modified_time(&entry.path()),
    });
    times.max().flatten()
}

/// Builds the programs into the folder of the running test. Cargo releases its lock on that folder before tests run.
/// Only the features that the programs need are enabled, so a build takes seconds.
fn build_programs(folder: &Path) {
    // Set by `cargo test`. A test that is started by hand uses the existing program.
    let Some(cargo) = std::env::var_os("CARGO") else { return };
    let Some((target, profile)) = folder.parent().zip(folder.file_name()) else { return };
    let profile = if profile == "debug" { OsString::from("dev") } else { profile.to_owned() };
    let mut command = Command::new(cargo);
    command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--quiet", "-p", "testkit", "--no-default-features", "--features", FEATURE])
        .args(ON_DEMAND_PROGRAMS.into_iter().flat_map(|name| ["--bin", name]))
        .arg("--target-dir")
        .arg(target)
        .arg("--profile")
        .arg(profile);
    // Cargo sets variables that describe the package under test. A build script that reads one of them (`ring` does)
    // would rebuild its crate, and earlier build results would no longer match.
    for (name, _) in std::env::vars_os() {
        let is_package_variable = |name: &str| {
            ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"]
                .iter()
                .any(|prefix| name.starts_with(prefix))
        };
        if name.to_str().is_some_and(is_package_variable) {
            command.env_remove(name);
        }
    }
    let output = command.output().expect("cargo can be started");
    assert!(
        output.status.success(),
        "failed to build the programs of testkit:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
