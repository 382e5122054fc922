//! Compiles the copy with cargo. Switches that do not compile are left out.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::copy::{Folders, copy_workspace};
use crate::crate_source::SourceFile;

/// Most rounds of leaving switches out; each crate needs a few, because errors come from several passes of the compiler.
const MAX_ROUNDS: usize = 60;

/// A program that runs tests.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TestProgram {
    pub(crate) crate_name: String,
    pub(crate) path: PathBuf,
    /// Folder in which tests run.
    pub(crate) folder: PathBuf,
}

#[derive(Deserialize)]
struct CargoMessage {
    reason: String,
    message: Option<Diagnostic>,
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
    profile: Option<CargoProfile>,
}

#[derive(Deserialize)]
struct CargoProfile {
    test: bool,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    rendered: Option<String>,
    spans: Vec<CodeSpan>,
    children: Vec<Diagnostic>,
}

#[derive(Deserialize)]
struct CodeSpan {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
}

/// Writes the copy and checks it until it compiles. Returns the mutants without a switch.
pub(crate) fn settle(
    folders: &Folders,
    files: &[&SourceFile],
    crates: &BTreeSet<String>,
    mut rejected: HashSet<u64>,
) -> Result<HashSet<u64>> {
    for _ in 0..MAX_ROUNDS {
        let switched: HashMap<&str, _> = files
            .iter()
            .map(|file| (&*file.path, file.edits.render(&file.text, &rejected)))
            .collect();
        let texts =
            switched.iter().map(|(path, file)| ((*path).to_owned(), file.text.clone())).collect();
        copy_workspace(folders, &texts)?;

        let mut check = cargo(folders, &["check", "--keep-going", "--message-format=json"]);
        check.args(crates.iter().flat_map(|name| ["-p", name]));
        let (messages, success) = read_messages(check)?;
        if success {
            return Ok(rejected);
        }
        let errors: Vec<Diagnostic> = messages
            .into_iter()
            .filter_map(|message| message.message)
            .filter(|message| message.level == "error" && !message.spans.is_empty())
            .collect();
        let before = rejected.len();
        for error in &errors {
            reject_suspects(error, files, &switched, &mut rejected);
        }
        if rejected.len() == before {
            let shown = errors.iter().filter_map(|error| error.rendered.clone()).take(3);
            bail!("failed to compile the copy:\n{}", shown.collect::<Vec<_>>().join("\n"));
        }
        println!("    left out {} switches", rejected.len());
    }
    bail!("the copy does not compile after {MAX_ROUNDS} rounds")
}

fn reject_suspects(
    error: &Diagnostic,
    files: &[&SourceFile],
    switched: &HashMap<&str, crate::edit::SwitchedFile>,
    rejected: &mut HashSet<u64>,
) {
    let mut spans: Vec<&CodeSpan> = error.spans.iter().collect();
    spans.sort_by_key(|span| !span.is_primary);
    spans.extend(error.children.iter().flat_map(|child| &child.spans));
    for span in spans {
        let Some(file) = files.iter().find(|file| file.path == span.file_name) else { continue };
        let range = span.byte_start..span.byte_end;
        let suspects = file.edits.suspects(&switched[&*file.path], &range, rejected);
        if !suspects.is_empty() {
            rejected.extend(suspects);
            return;
        }
    }
}

/// Compiles the tests of some crates and the programs that they start.
pub(crate) fn build_tests(
    folders: &Folders,
    crates: &BTreeSet<String>,
) -> Result<Vec<TestProgram>> {
    if crates.iter().any(|name| ["cli", "gateway", "testkit"].contains(&&**name)) {
        let helpers = ["--no-default-features", "--features", "supervisor", "-p", "testkit"];
        let mut build = cargo(folders, &["build", "--quiet", "--bin", "adversary"]);
        build.args(["--bin", "child_keeper"]).args(helpers);
        xtask::command::run(build)?;
    }
    let mut test = cargo(folders, &["test", "--no-run", "--message-format=json"]);
    test.args(["--lib", "--bins", "--tests"]);
    test.args(crates.iter().flat_map(|name| ["-p", name]));
    let (messages, success) = read_messages(test)?;
    let errors = messages.iter().filter_map(|message| message.message.as_ref()?.rendered.clone());
    ensure!(success, "failed to compile tests:\n{}", errors.collect::<Vec<_>>().join("\n"));
    let programs = messages.into_iter().filter_map(|message| {
        let is_test = message.reason == "compiler-artifact" && message.profile?.test;
        let folder = message.manifest_path?.parent()?.to_owned();
        let crate_name = folder.file_name()?.to_str()?.to_owned();
        is_test.then_some(TestProgram { crate_name, path: message.executable?, folder })
    });
    let programs: Vec<TestProgram> = programs.collect();
    write_json(&folders.state.join("programs.json"), &programs)?;
    Ok(programs)
}

/// Returns the test programs of the last build.
pub(crate) fn read_programs(folders: &Folders) -> Result<Vec<TestProgram>> {
    let programs = read_json(&folders.state.join("programs.json"));
    programs.context("no earlier build; run without `--as-built`")
}

/// Returns where tests find the programs that they start.
pub(crate) fn program_variables(folders: &Folders) -> Vec<(&'static str, PathBuf)> {
    let folder = folders.programs.join("debug");
    vec![
        ("ADVERSARY_BIN", folder.join("adversary")),
        ("CHILD_KEEPER_BIN", folder.join("child_keeper")),
    ]
}

fn cargo(folders: &Folders, args: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(args).current_dir(&folders.source);
    cargo.env("CARGO_BUILD_BUILD_DIR", &folders.build);
    cargo.env("CARGO_TARGET_DIR", &folders.programs);
    // Set by the cargo that started this program, and different from what its own build used.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&*name);
        }
    }
    cargo
}

fn read_messages(mut command: Command) -> Result<(Vec<CargoMessage>, bool)> {
    let output = command
        .stderr(Stdio::inherit())
        .arg("--quiet")
        .output()
        .context("failed to start cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    Ok((messages, output.status.success()))
}

/// Reads mutants that did not compile in an earlier run.
pub(crate) fn read_rejected(folders: &Folders) -> HashSet<u64> {
    read_json(&folders.state.join("rejected.json")).unwrap_or_default()
}

pub(crate) fn write_rejected(folders: &Folders, rejected: &HashSet<u64>) -> Result<()> {
    write_json(&folders.state.join("rejected.json"), rejected)
}

pub(crate) fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

pub(crate) fn write_json<T: serde::Serialize>(path: &Path, value: &T) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, serde_json::to_vec(value)?))
        .with_context(|| format!("failed to write {}", path.display()))
}
