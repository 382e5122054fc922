//! Installs the compiler and the peers from their registry packages, each into a folder under `target/bench/peers`.
//!
//! The compiler is required. An unavailable peer is left out, and the report gives the reason. Deleting the folder is
//! always safe.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::prepare::run_quietly;
use xtask::command::{command, root};

const SOLC: (&str, &str) = ("solc", "0.8.37");
const FORGE: (&str, &str) = ("@foundry-rs/forge", "1.7.1");
/// The package's version; the program in it is 2.0.2.
const ECHIDNA: (&str, &str) = ("@crytic/echidna", "0.0.6");
const ECHIDNA_PROGRAM: &str = "@crytic/echidna/bin/echidna/2.0.2/Ubuntu-18.04/echidna-test";
const REQUIREMENTS: &str = "crates/bench/src/fuzz/peers/requirements.txt";

/// Our own programs that peers find on their path, by name.
const PROGRAMS: [(&str, &str); 2] =
    [("solc", include_str!("peers/solc.js")), ("slither", include_str!("peers/slither.py"))];

/// Path of a peer, or the reason why it is missing.
pub(crate) type PeerProgram = Result<PathBuf, String>;

pub(crate) struct FuzzPeers {
    /// The folder of the npm package `solc`.
    package: PathBuf,
    /// The folder of our programs.
    programs: PathBuf,
    /// The folder with the programs `crytic-compile` and `python3`, which has slither.
    crytic: PathBuf,
    pub(crate) forge: PeerProgram,
    pub(crate) echidna: PeerProgram,
}

impl FuzzPeers {
    pub(crate) fn install() -> Result<Self> {
        let folder = root().join("target/bench/peers");
        let package = install_npm_package(&folder, SOLC, "solc")
            .context("failed to install the Solidity compiler, which every measurement needs")?;
        let programs = folder.join("fuzz-programs");
        write_programs(&programs)?;
        let crytic = folder.join("crytic");
        let echidna = install_npm_package(&folder, ECHIDNA, ECHIDNA_PROGRAM)
            .and_then(|program| install_crytic(&crytic).map(|()| program));
        Ok(Self {
            package,
            programs,
            crytic: crytic.join("bin"),
            forge: install_forge(&folder).map_err(|error| format!("{error:#}")),
            echidna: echidna.map_err(|error| format!("{error:#}")),
        })
    }

    /// Returns the path of the compiler.
    pub(crate) fn solc(&self) -> PathBuf {
        self.programs.join("solc")
    }

    /// Returns a command that finds the compiler and the other programs on its path.
    pub(crate) fn command(&self, program: &Path) -> Result<Command> {
        let mut path = vec![self.programs.clone(), self.crytic.clone()];
        path.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
        let path: OsString = env::join_paths(path).context("a folder cannot be part of PATH")?;
        let mut command = Command::new(program);
        command.env("PATH", path).env("BENCH_SOLC", &self.package);
        Ok(command)
    }
}

fn install_forge(folder: &Path) -> Result<PathBuf> {
    let arch = match env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    install_npm_package(folder, FORGE, &format!("{}-linux-{arch}/bin/forge", FORGE.0))
}

/// Installs a package into its own folder. Returns the path of `inner` below its modules.
fn install_npm_package(
    folder: &Path,
    (name, version): (&str, &str),
    inner: &str,
) -> Result<PathBuf> {
    let short = name.rsplit('/').next().unwrap_or(name);
    let folder = folder.join(format!("{short}-{version}"));
    let wanted = folder.join("node_modules").join(inner);
    if !wanted.exists() {
        fs::create_dir_all(&folder)?;
        let flags = ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"];
        let mut npm = command("npm", &flags);
        npm.args(["--loglevel=error", &format!("{name}@{version}"), "--prefix"]).arg(&folder);
        run_quietly(npm)?;
    }
    ensure!(wanted.exists(), "the package {name} {version} has no `{inner}` for this machine");
    Ok(wanted)
}

fn install_crytic(folder: &Path) -> Result<()> {
    let wanted = fs::read(root().join(REQUIREMENTS))?;
    let stamp = folder.join(".installed");
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let mut venv = command("python3", &["-m", "venv", "--clear"]);
    venv.arg(folder);
    run_quietly(venv)?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"];
    let mut install = command(folder.join("bin/python"), &pip);
    install.args(["-r", REQUIREMENTS]);
    run_quietly(install)?;
    fs::write(stamp, wanted)?;
    Ok(())
}

fn write_programs(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for (name, text) in PROGRAMS {
        let path = folder.join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}
