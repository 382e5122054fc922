//! The copy of the workspace in which mutants are compiled. Files that did not change keep their time, so that cargo
//! compiles only what changed.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use xtask::command::{read_stdout, root};

const SWITCH_CRATE: &str = "mutant_switch";
const SWITCH_MANIFEST: &str = "[package]\nname = \"mutant_switch\"\nedition = \"2024\"\n";
const SWITCH_DEPENDENCY: &str = "mutant_switch = { path = \"../mutant_switch\" }";

/// Folders that a run of mutants uses, all below `target`.
#[derive(Clone)]
pub(crate) struct Folders {
    /// Folder of the copied workspace.
    pub(crate) source: PathBuf,
    /// Folder of finished programs.
    pub(crate) programs: PathBuf,
    /// Folder of what cargo compiles. The workspace's own, so that dependencies are compiled once.
    pub(crate) build: PathBuf,
    /// Folder of what a run records.
    pub(crate) state: PathBuf,
}

impl Folders {
    pub(crate) fn new() -> Self {
        let build = root().join("target");
        let state = build.join("mutants");
        Self { source: state.join("source"), programs: state.join("build"), build, state }
    }
}

/// Copies the workspace, with other text for some files.
pub(crate) fn copy_workspace(folders: &Folders, changed: &HashMap<String, String>) -> Result<()> {
    let root = root();
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(&root);
    let listed = read_stdout(git)?;
    let mut kept = HashSet::new();
    for path in listed.split('\0').filter(|path| !path.is_empty()) {
        let from = root.join(path);
        let Ok(metadata) = from.symlink_metadata() else { continue };
        let to = folders.source.join(path);
        kept.insert(to.clone());
        if metadata.is_symlink() {
            copy_link(&from, &to)?;
        } else if let Some(text) = changed.get(path) {
            write_if_changed(&to, text.as_bytes())?;
        } else {
            let bytes = std::fs::read(&from)
                .with_context(|| format!("failed to read {}", from.display()))?;
            write_if_changed(&to, &adapt_file(path, bytes))?;
            std::fs::set_permissions(&to, metadata.permissions())?;
        }
    }
    let switch = folders.source.join("crates").join(SWITCH_CRATE);
    for (name, text) in
        [("Cargo.toml", SWITCH_MANIFEST), ("src/lib.rs", include_str!("../switch.rs"))]
    {
        let path = switch.join(name);
        write_if_changed(&path, text.as_bytes())?;
        kept.insert(path);
    }
    remove_others(&folders.source, &kept)
}

/// Lints of the crates in the copy. The compiler denies these two for code that never runs without a mutant, such as
/// `usize::MAX * 2`, and only when it generates code.
const SWITCH_LINTS: &str =
    "[lints.rust]\narithmetic_overflow = \"allow\"\nunconditional_panic = \"allow\"\n";

/// Returns a file as it is in the copy: every crate may use the switches, and lints do not apply to them.
fn adapt_file(path: &str, bytes: Vec<u8>) -> Vec<u8> {
    let is_crate = path.starts_with("crates/");
    let is_test = path.contains("/tests/") && path.ends_with(".rs");
    if !is_crate || !(path.ends_with("/Cargo.toml") || is_test) {
        return bytes;
    }
    let Ok(text) = String::from_utf8(bytes.clone()) else { return bytes };
    if is_test {
        // A program that a test starts with an environment of its own has the mutant of the test.
        let passed = ".env_clear().envs(::mutant_switch::variables())";
        return text.replace(".env_clear()", passed).into_bytes();
    }
    let text = text.replace("[lints]\nworkspace = true\n", SWITCH_LINTS);
    let dependencies = format!("[dependencies]\n{SWITCH_DEPENDENCY}\n");
    match text.contains("[dependencies]\n") {
        true => text.replace("[dependencies]\n", &dependencies).into_bytes(),
        false => format!("{text}\n{dependencies}").into_bytes(),
    }
}

fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<()> {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let folder = path.parent().expect("a file of the copy is in a folder");
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, bytes))
        .with_context(|| format!("failed to write {}", path.display()))
}

fn copy_link(from: &Path, to: &Path) -> Result<()> {
    let target = std::fs::read_link(from)?;
    if std::fs::read_link(to).is_ok_and(|old| old == target) {
        return Ok(());
    }
    std::fs::create_dir_all(to.parent().expect("a link of the copy is in a folder"))?;
    std::os::unix::fs::symlink(&target, to)
        .with_context(|| format!("failed to create {}", to.display()))
}

/// Removes files that an earlier copy or a test left behind.
fn remove_others(folder: &Path, kept: &HashSet<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.symlink_metadata()?.is_dir() {
            remove_others(&path, kept)?;
        } else if !kept.contains(&path) {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}
