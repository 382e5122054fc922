//! The public targets: where their harness is, what was published about them, and which of them a folder holds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

/// Name of the harness contract, which all targets share.
pub(super) const HARNESS: &str = "CryticTester";
/// Settings of the harness, in the folder of the target.
pub(super) const SETTINGS: &str = "echidna.yaml";

/// Folders that tools write into a project.
const GENERATED: [&str; 6] = [".git", "broadcast", "cache", "corpus", "node_modules", "out"];
/// Digits of a hash that are shown.
const SHOWN_DIGITS: usize = 12;

/// A target of scfuzzbench.
#[derive(Debug)]
pub(super) struct PublicTarget {
    pub(super) name: &'static str,
    /// Names of its folder, in lower case and without `-scfuzzbench`.
    folders: &'static [&'static str],
    /// Repository and commit that are pinned by scfuzzbench.
    pub(super) repository: &'static str,
    pub(super) commit: &'static str,
    /// Path of the harness.
    pub(super) file: &'static str,
    /// Version of the compiler that `foundry.toml` names.
    pub(super) solc: &'static str,
    /// Published medians of failing tests after 4 hours on 16 cores: Echidna, Foundry, Medusa, Recon.
    pub(super) published: [u32; 4],
}

/// All targets. The figures are those of scfuzzbench's first report (July 2026, two runs for each tool), which counts
/// canaries as failing tests.
pub(super) const TARGETS: [PublicTarget; 5] = [
    PublicTarget {
        name: "aave-v4",
        folders: &["aave-v4"],
        repository: "scfuzzbench/aave-v4-scfuzzbench",
        commit: "459b020",
        file: "tests/recon/CryticTester.sol",
        solc: "0.8.28",
        published: [10, 6, 7, 12],
    },
    PublicTarget {
        name: "drips",
        folders: &["drips", "drips-fuzzing"],
        repository: "scfuzzbench/drips-fuzzing-scfuzzbench",
        commit: "c50d160",
        file: "test/recon/CryticTester.sol",
        solc: "0.8.20",
        published: [13, 14, 14, 15],
    },
    PublicTarget {
        name: "liquity",
        folders: &["liquity", "liquity-v2-gov", "liquity-v2-governance"],
        repository: "scfuzzbench/liquity-V2-gov-scfuzzbench",
        commit: "5610870",
        file: "test/recon/CryticTester.sol",
        solc: "0.8.24",
        published: [5, 5, 5, 5],
    },
    PublicTarget {
        name: "origin-dollar",
        folders: &["origin-dollar"],
        repository: "scfuzzbench/origin-dollar-scfuzzbench",
        commit: "299ec6b",
        file: "test/recon/CryticTester.sol",
        solc: "0.8.28",
        published: [14, 14, 15, 15],
    },
    PublicTarget {
        name: "superform",
        folders: &["superform", "superform-v2-periphery"],
        repository: "scfuzzbench/superform-v2-periphery-scfuzzbench",
        commit: "102eeaf",
        file: "test/recon/CryticTester.sol",
        solc: "0.8.30",
        published: [3, 4, 8, 12],
    },
];

/// Returns the names that `--target` accepts.
pub(crate) fn target_names() -> [&'static str; TARGETS.len()] {
    TARGETS.each_ref().map(|target| target.name)
}

/// A target and its folder, or the reason why it cannot be run.
#[derive(Debug)]
pub(super) struct FoundTarget {
    pub(super) target: &'static PublicTarget,
    pub(super) folder: Result<PathBuf, String>,
}

/// Content of the folder that the user names.
#[derive(Debug)]
pub(super) struct FoundTargets {
    /// All wanted targets, also those that are missing.
    pub(super) targets: Vec<FoundTarget>,
    /// Names of projects that are not public targets.
    pub(super) unknown: Vec<String>,
}

/// Returns the wanted targets below a folder; all if none is named. Errors if none is there.
pub(super) fn find_targets(folder: &Path, wanted: &[String]) -> Result<FoundTargets> {
    let read =
        fs::read_dir(folder).with_context(|| format!("failed to list {}", folder.display()))?;
    let mut projects = Vec::new();
    for entry in read {
        let entry = entry.with_context(|| format!("failed to list {}", folder.display()))?;
        if entry.path().is_dir() {
            projects.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
        }
    }
    projects.sort();
    let is_wanted = |target: &&'static PublicTarget| {
        wanted.is_empty() || wanted.iter().any(|name| name == target.name)
    };
    let mut targets = Vec::new();
    for target in TARGETS.iter().filter(is_wanted) {
        let own: Vec<_> = projects.iter().filter(|(name, _)| target.is_named(name)).collect();
        let folder = match own.as_slice() {
            [] => {
                Err(format!("no folder {}; it is {}", target.folders.join(" or "), target.origin()))
            }
            [(_, path)] => check_folder(target, path).map(|()| path.clone()),
            [(first, _), (second, _), ..] => {
                bail!("{first} and {second} are both {}; remove one", target.name)
            }
        };
        targets.push(FoundTarget { target, folder });
    }
    ensure!(
        projects.iter().any(|(name, _)| TARGETS.iter().any(|target| target.is_named(name))),
        "no public target in {}; expected folders such as {}",
        folder.display(),
        target_names().join(", ")
    );
    let is_unknown = |(name, path): &(String, PathBuf)| {
        path.join("foundry.toml").is_file() && !TARGETS.iter().any(|target| target.is_named(name))
    };
    let unknown = projects.into_iter().filter(is_unknown).map(|(name, _)| name).collect();
    Ok(FoundTargets { targets, unknown })
}

impl PublicTarget {
    /// Returns true if this is the name of its folder.
    fn is_named(&self, folder: &str) -> bool {
        let name = folder.to_lowercase();
        self.folders.contains(&name.strip_suffix("-scfuzzbench").unwrap_or(&name))
    }

    fn origin(&self) -> String {
        format!("{} at {}", self.repository, self.commit)
    }
}

/// Checks that the files are there that a run needs.
fn check_folder(target: &PublicTarget, folder: &Path) -> Result<(), String> {
    let needed = ["foundry.toml", SETTINGS, target.file];
    match needed.iter().find(|file| !folder.join(file).is_file()) {
        Some(file) => Err(format!("incomplete: no {file}; check out {}", target.origin())),
        None => Ok(()),
    }
}

/// Returns the commit of an unmodified checkout, or else a digest of the sources.
pub(super) fn identify_sources(folder: &Path) -> Result<String> {
    if folder.join(".git").exists()
        && let Some(commit) = read_git(folder, &["rev-parse", "HEAD"])
        && read_git(folder, &["status", "--porcelain"]).is_some_and(|changes| changes.is_empty())
    {
        return Ok(commit.chars().take(SHOWN_DIGITS).collect());
    }
    let mut digest = Sha256::new();
    for file in list_sources(folder)? {
        let path = folder.join(&file);
        let content =
            fs::read(&path).with_context(|| format!("failed to read {}", path.display()))?;
        digest.update(file.to_string_lossy().as_bytes());
        digest.update([0]);
        digest.update((content.len() as u64).to_be_bytes());
        digest.update(content);
    }
    Ok(format!("sources-{}", shorten_digest(&digest.finalize())))
}

/// Returns the digest of a file, shortened.
pub(super) fn identify_file(path: &Path) -> Result<String> {
    let content = fs::read(path).with_context(|| format!("failed to read {}", path.display()))?;
    Ok(shorten_digest(&Sha256::digest(content)))
}

fn shorten_digest(digest: &[u8]) -> String {
    alloy_primitives::hex::encode(digest).chars().take(SHOWN_DIGITS).collect()
}

/// Returns what git prints; `None` if it fails.
fn read_git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    let output = git.arg("-C").arg(folder).args(arguments).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns the paths of the files of a project below its folder, without those that tools generate, sorted.
pub(super) fn list_sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(inner) = pending.pop() {
        let path = folder.join(&inner);
        let failed = || format!("failed to list {}", path.display());
        for entry in fs::read_dir(&path).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let (name, kind) = (entry.file_name(), entry.file_type().with_context(failed)?);
            if kind.is_file() {
                files.push(inner.join(name));
            } else if kind.is_dir() && !is_generated(&inner, &name.to_string_lossy()) {
                pending.push(inner.join(name));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Returns true for what tools write at the top of a project. Libraries may have sources in folders of these names.
fn is_generated(parent: &Path, name: &str) -> bool {
    name == ".git" || parent.as_os_str().is_empty() && GENERATED.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the files that the check looks for.
    fn write_target(root: &Path, name: &str, target: &PublicTarget) {
        for file in ["foundry.toml", SETTINGS, target.file] {
            let path = root.join(name).join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
    }

    #[test]
    fn missing_incomplete_and_unknown_targets_are_listed() {
        let root = tempfile::tempdir().unwrap();
        write_target(root.path(), "drips-fuzzing-scfuzzbench", &TARGETS[1]);
        write_target(root.path(), "aave-v4", &TARGETS[0]);
        fs::remove_file(root.path().join("aave-v4/echidna.yaml")).unwrap();
        write_target(root.path(), "lending", &TARGETS[1]);
        let found = find_targets(root.path(), &[]).unwrap();
        let names: Vec<_> = found.targets.iter().map(|it| it.target.name).collect();
        assert_eq!(names, target_names());
        let folders: Vec<_> = found.targets.into_iter().map(|it| it.folder).collect();
        assert_eq!(
            folders[0],
            Err(
                "incomplete: no echidna.yaml; check out scfuzzbench/aave-v4-scfuzzbench at 459b020"
                    .to_owned()
            )
        );
        assert_eq!(folders[1], Ok(root.path().join("drips-fuzzing-scfuzzbench")));
        assert!(
            folders[2].as_ref().unwrap_err().starts_with("no folder liquity or liquity-v2-gov")
        );
        assert_eq!(found.unknown, ["lending"]);
    }

    #[test]
    fn only_named_targets_are_found() {
        let root = tempfile::tempdir().unwrap();
        write_target(root.path(), "Liquity-V2-gov", &TARGETS[2]);
        let found = find_targets(root.path(), &["liquity".to_owned()]).unwrap();
        assert_eq!(found.targets.len(), 1);
        assert!(found.targets[0].folder.is_ok());
    }

    #[test]
    fn rejects_folder_without_targets_and_two_folders_for_one_target() {
        let root = tempfile::tempdir().unwrap();
        let error = find_targets(root.path(), &[]).unwrap_err().to_string();
        assert!(error.contains("expected folders such as aave-v4, drips"), "{error}");
        write_target(root.path(), "drips", &TARGETS[1]);
        write_target(root.path(), "drips-fuzzing", &TARGETS[1]);
        let error = find_targets(root.path(), &[]).unwrap_err().to_string();
        assert_eq!(error, "drips and drips-fuzzing are both drips; remove one");
        let error = find_targets(&root.path().join("absent"), &[]).unwrap_err().to_string();
        assert!(error.starts_with("failed to list"), "{error}");
    }

    #[test]
    fn identity_changes_with_sources_but_not_with_generated_files() {
        let root = tempfile::tempdir().unwrap();
        write_target(root.path(), "drips", &TARGETS[1]);
        let folder = root.path().join("drips");
        let before = identify_sources(&folder).unwrap();
        assert!(before.starts_with("sources-") && before.len() == 20, "{before}");
        fs::create_dir(folder.join("out")).unwrap();
        fs::write(folder.join("out/a.json"), "{}").unwrap();
        assert_eq!(identify_sources(&folder).unwrap(), before);
        fs::write(folder.join("foundry.toml"), "changed").unwrap();
        assert_ne!(identify_sources(&folder).unwrap(), before);
    }
}
