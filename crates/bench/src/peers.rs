//! Installs the peers of the search benchmarks from their registry packages into `target/bench/peers`.
//!
//! Deleting that folder is always safe.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use xtask::command::{command, root, run};

const REQUIREMENTS: &str = "crates/bench/src/peers/requirements.txt";
const SEMBLE_MODEL: &str = "crates/bench/src/peers/semble_model.py";
/// The package's installer needs a dependency from a git host; the binary inside does not.
const PROBE: (&str, &str) = ("@probelabs/probe", "0.6.0-rc325");

pub(crate) struct SearchPeers {
    folder: PathBuf,
}

impl SearchPeers {
    pub(crate) fn install() -> Result<Self> {
        let folder = root().join("target/bench/peers");
        fs::create_dir_all(&folder)?;
        let peers = Self { folder };
        peers.install_python()?;
        Ok(peers)
    }

    pub(crate) fn ripgrep(&self) -> PathBuf {
        self.folder.join("venv/bin/rg")
    }

    /// Returns the Python interpreter that has semble.
    pub(crate) fn python(&self) -> PathBuf {
        self.folder.join("venv/bin/python")
    }

    /// Returns the folder of the static model that semble loads instead of downloading its own.
    pub(crate) fn semble_model(&self) -> Result<PathBuf> {
        let model = self.folder.join("wordllama");
        if !model.join("config.json").exists() {
            let mut make = command(self.python(), &[SEMBLE_MODEL]);
            make.arg(&model);
            run(make)?;
        }
        Ok(model)
    }

    pub(crate) fn probe(&self) -> Result<PathBuf> {
        let (package, version) = PROBE;
        let name = format!("probe-v{version}-{}-unknown-linux-musl", std::env::consts::ARCH);
        let binary = self.folder.join(&name).join("probe");
        if !binary.exists() {
            let folder = self.folder.to_string_lossy();
            let wanted = format!("{package}@{version}");
            run(command("npm", &["pack", "--silent", "--pack-destination", &folder, &wanted]))?;
            let inner = format!("package/bin/binaries/{name}.tar.gz");
            let archive = self.folder.join(format!("probelabs-probe-{version}.tgz"));
            unpack_archive(&archive, &self.folder, Some(&inner))?;
            unpack_archive(&self.folder.join(inner), &self.folder, None)?;
        }
        Ok(binary)
    }

    fn install_python(&self) -> Result<()> {
        let wanted = fs::read(root().join(REQUIREMENTS))?;
        let stamp = self.folder.join("venv/.installed");
        if fs::read(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(());
        }
        let mut venv = command("python3", &["-m", "venv", "--clear"]);
        venv.arg(self.folder.join("venv"));
        run(venv)?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"];
        let mut install = command(self.python(), &pip);
        install.args(["-r", REQUIREMENTS]);
        run(install)?;
        fs::write(stamp, wanted)?;
        Ok(())
    }
}

/// Unpacks an archive, or one file of it.
pub(crate) fn unpack_archive(archive: &Path, into: &Path, member: Option<&str>) -> Result<()> {
    ensure!(archive.exists(), "{} is missing", archive.display());
    let mut tar = command("tar", &["xzf"]);
    tar.arg(archive).arg("-C").arg(into).args(member);
    run(tar)
}
