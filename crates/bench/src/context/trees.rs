//! Fetches the two trees to search from registry packages into `target/bench/trees`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::folder_mb;
use crate::peers::unpack_archive;
use xtask::command::{command, root, run};

/// Approximate number of chunks per megabyte of vendored crates.
const CHUNKS_PER_MB: f64 = 630.0;

/// A tree, with one question whose answer is known.
pub(crate) struct SearchTree {
    pub(crate) name: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) question: &'static str,
    /// The file that answers it.
    pub(crate) answer: &'static str,
    /// A file with imports, for `read_file`.
    pub(crate) file: &'static str,
    pub(crate) is_big: bool,
}

impl SearchTree {
    /// Returns the folders to exclude so that about `chunks` chunks remain.
    pub(crate) fn folders_beyond(&self, chunks: usize) -> Result<Vec<String>> {
        let mut folders = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_dir() && !name.starts_with('.') {
                folders.push((folder_mb(&entry.path()), name));
            }
        }
        // An order that is independent of size and topic.
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

/// Fetches Django's source package: about 7,000 files.
pub(crate) fn fetch_middle() -> Result<SearchTree> {
    const VERSION: &str = "5.2.19";
    let name = format!("django-{VERSION}");
    let path = tree_path("")?.join(&name);
    if !path.join(".git").exists() {
        let into = tree_path("")?;
        let folder = into.to_string_lossy();
        let wanted = format!("django=={VERSION}");
        let pip =
            ["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest"];
        let mut download = command("python3", &pip);
        download.args([folder.as_ref(), &wanted]);
        run(download)?;
        unpack_archive(&into.join(format!("{name}.tar.gz")), &into, None)?;
        init_repository(&path)?;
    }
    Ok(SearchTree {
        name: "django",
        path,
        question: "how does the csrf middleware validate the token of a request",
        answer: "django/middleware/csrf.py",
        file: "django/contrib/auth/forms.py",
        is_big: false,
    })
}

/// Fetches the sources of all dependencies of this workspace: over 10,000 files in several hundred crates.
pub(crate) fn fetch_big() -> Result<SearchTree> {
    let path = tree_path("vendor")?;
    if !path.join(".git").exists() {
        let mut vendor = command("cargo", &["vendor", "--quiet", "--versioned-dirs"]);
        vendor.arg(&path).stdout(std::process::Stdio::null());
        run(vendor)?;
        init_repository(&path)?;
    }
    Ok(SearchTree {
        name: "vendored crates",
        path,
        question: "how does the walker decide that a gitignore glob matches a path",
        answer: "ignore-0.4.34/src/gitignore.rs",
        file: "ignore-0.4.34/src/walk.rs",
        is_big: true,
    })
}

fn tree_path(name: &str) -> Result<PathBuf> {
    let trees = root().join("target/bench/trees");
    fs::create_dir_all(&trees).context("failed to create the folder of the trees")?;
    Ok(trees.join(name))
}

/// Makes the tree a repository, so that the ignore rules of this one do not apply to it.
fn init_repository(path: &Path) -> Result<()> {
    let mut init = command("git", &["init", "--quiet"]);
    init.arg(path);
    run(init)
}
