//! The two trees that are searched, from registry packages, under `target/bench/trees`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::folder_mb;
use crate::peers::unpack;
use xtask::command::{command, root, run};

/// What vendored crates come to, about.
const CHUNKS_PER_MB: f64 = 630.0;

/// A tree with one question whose answer is known.
pub(crate) struct Tree {
    pub(crate) name: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) question: &'static str,
    /// The file that answers it.
    pub(crate) answer: &'static str,
    /// A file with imports, for `read_file`.
    pub(crate) file: &'static str,
    pub(crate) is_big: bool,
}

impl Tree {
    /// The folders to leave out so that about so many chunks remain.
    pub(crate) fn all_but(&self, chunks: usize) -> Result<Vec<String>> {
        let mut folders = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_dir() && !name.starts_with('.') {
                folders.push((folder_mb(&entry.path()), name));
            }
        }
        // In an order that has nothing to do with size or with what the folders are about.
        folders.sort_by(|one, other| one.1.chars().rev().cmp(other.1.chars().rev()));
        let mut left = chunks as f64 / CHUNKS_PER_MB;
        Ok(folders
            .into_iter()
            .filter(|(size, _)| {
                let fits = *size <= left;
                left -= if fits { *size } else { 0.0 };
                !fits
            })
            .map(|(_, name)| name)
            .collect())
    }
}

/// Django's source package: some 7,000 files.
pub(crate) fn middle() -> Result<Tree> {
    const VERSION: &str = "5.2.19";
    let name = format!("django-{VERSION}");
    let path = place("")?.join(&name);
    if !path.join(".git").exists() {
        let into = place("")?;
        let folder = into.to_string_lossy();
        let wanted = format!("django=={VERSION}");
        let pip =
            ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest"];
        let mut download = command("python3", &pip);
        download.args([folder.as_ref(), &wanted]);
        run(download)?;
        unpack(&into.join(format!("{name}.tar.gz")), &into, None)?;
        as_repository(&path)?;
    }
    Ok(Tree {
        name: "django",
        path,
        question: "how does the csrf middleware validate the token of a request",
        answer: "django/middleware/csrf.py",
        file: "django/contrib/auth/forms.py",
        is_big: false,
    })
}

/// The sources of all our own dependencies: over 10,000 files in several hundred crates.
pub(crate) fn big() -> Result<Tree> {
    let path = place("vendor")?;
    if !path.join(".git").exists() {
        let mut vendor = command("cargo", &["vendor", "--quiet", "--versioned-dirs"]);
        vendor.arg(&path).stdout(std::process::Stdio::null());
        run(vendor)?;
        as_repository(&path)?;
    }
    Ok(Tree {
        name: "vendored crates",
        path,
        question: "how does the walker decide that a gitignore glob matches a path",
        answer: "ignore-0.4.34/src/gitignore.rs",
        file: "ignore-0.4.34/src/walk.rs",
        is_big: true,
    })
}

fn place(name: &str) -> Result<PathBuf> {
    let trees = root().join("target/bench/trees");
    fs::create_dir_all(&trees).context("making the folder for the trees")?;
    Ok(trees.join(name))
}

/// A repository of its own, so that the ignore rules of this one do not reach into it.
fn as_repository(path: &Path) -> Result<()> {
    let mut init = command("git", &["init", "--quiet"]);
    init.arg(path);
    run(init)
}
