//! Finds the files and folders below grants whose names may hold secrets, so that they can be covered with empty ones.
//!
//! A file that gets such a name after the start is not covered: names are found once, mounts cannot match names.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use guard::{fold_name, matches_copy, matches_name_pattern};

use super::spec::StartFailure;
use crate::MaskedNames;

/// Maximum entries that are listed below all grants. One million take about two seconds.
const MAX_ENTRIES: usize = 1_000_000;
/// Maximum masks. Each is a mount.
const MAX_MASKS: usize = 5_000;
/// Folders of packages. They hold code of others, not secrets of this project, and need files such as `secrets.py`.
const PACKAGE_FOLDERS: [&str; 3] = ["node_modules", "site-packages", "dist-packages"];

/// A path to cover.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MaskedPath {
    pub(super) path: PathBuf,
    pub(super) is_folder: bool,
}

/// Finds the paths to mask below the grants. Grants are real paths; a grant itself is not masked.
///
/// # Errors
/// If there are too many entries or matches.
pub(super) fn find_masks(
    grants: &BTreeSet<PathBuf>,
    names: &MaskedNames,
) -> Result<BTreeSet<MaskedPath>, StartFailure> {
    let mut search =
        MaskSearch { grants, names: FoldedNames::new(names), entries: 0, found: BTreeSet::new() };
    if names.patterns.is_empty() {
        return Ok(search.found);
    }
    for grant in grants {
        // A grant inside another is reached by both; the walk stops at grants.
        search.walk(grant, false)?;
    }
    Ok(search.found)
}

struct MaskSearch<'g> {
    grants: &'g BTreeSet<PathBuf>,
    names: FoldedNames,
    entries: usize,
    found: BTreeSet<MaskedPath>,
}

impl MaskSearch<'_> {
    /// Searches a folder. With `all`, everything in it is masked except grants.
    fn walk(&mut self, folder: &Path, all: bool) -> Result<(), StartFailure> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            // A grant may be a file. What this process may not list, the server may not either.
            Err(error) if is_unreachable(&error) => return Ok(()),
            Err(error) => return Err(listing_failure(folder, &error)),
        };
        let parent = folder.file_name().unwrap_or_default().to_string_lossy();
        let parent = fold_name(&parent);
        for entry in entries {
            let entry = entry.map_err(|error| listing_failure(folder, &error))?;
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(too_many(&format!("more than {MAX_ENTRIES} files")));
            }
            let path = entry.path();
            if self.grants.contains(&path) {
                continue;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let name = fold_name(&name);
            let is_masked = all
                || self.names.is_masked(&parent, &name, kind.is_dir())
                || (name == "config" && is_git_module(folder));
            if kind.is_symlink() {
                if is_masked {
                    self.mask_target(&path)?;
                }
            } else if is_masked
                && kind.is_dir()
                && self.grants.iter().any(|grant| grant.starts_with(&path))
            {
                self.walk(&path, true)?;
            } else if is_masked {
                self.mask(path, kind.is_dir())?;
            } else if kind.is_dir() && !is_skipped(&parent, &name) {
                self.walk(&path, false)?;
            }
        }
        Ok(())
    }

    /// Masks what a link with a masked name leads to, if a grant shows it.
    fn mask_target(&mut self, link: &Path) -> Result<(), StartFailure> {
        let Ok(target) = link.canonicalize() else { return Ok(()) };
        let is_shown = self.grants.iter().any(|grant| target.starts_with(grant));
        let holds_grant = self.grants.iter().any(|grant| grant.starts_with(&target));
        let is_folder = target.is_dir();
        if is_shown && !holds_grant { self.mask(target, is_folder) } else { Ok(()) }
    }

    fn mask(&mut self, path: PathBuf, is_folder: bool) -> Result<(), StartFailure> {
        self.found.insert(MaskedPath { path, is_folder });
        if self.found.len() > MAX_MASKS {
            return Err(too_many(&format!(
                "more than {MAX_MASKS} files whose names may hold secrets"
            )));
        }
        Ok(())
    }
}

fn is_unreachable(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotADirectory | NotFound | PermissionDenied)
}

fn listing_failure(folder: &Path, error: &io::Error) -> StartFailure {
    StartFailure::Sandbox(format!("failed to list {} ({error})", folder.display()))
}

fn too_many(what: &str) -> StartFailure {
    StartFailure::Sandbox(format!(
        "its grants contain {what}: list the folders that it needs in the sandbox's `read`"
    ))
}

/// Returns true for the Git folder of a submodule, whose configuration may hold passwords like that of `.git` itself.
fn is_git_module(folder: &Path) -> bool {
    let mut names =
        folder.components().map(|part| fold_name(&part.as_os_str().to_string_lossy()).into_owned());
    names.any(|name| name.ends_with(".git")) && folder.join("HEAD").exists()
}

/// Returns true for folders that are not searched: packages, and objects of Git, whose names are hashes.
fn is_skipped(parent: &str, name: &str) -> bool {
    PACKAGE_FOLDERS.contains(&name) || (parent == ".git" && name == "objects")
}

/// Patterns in lower case.
struct FoldedNames {
    names: Vec<String>,
    /// Patterns of a folder's name and a name in it.
    pairs: Vec<(String, String)>,
    words: Vec<String>,
    except: Vec<String>,
    harmless: Vec<String>,
}

impl FoldedNames {
    fn new(masked: &MaskedNames) -> Self {
        let fold = |patterns: &[String]| {
            patterns.iter().map(|one| fold_name(one).into_owned()).collect::<Vec<_>>()
        };
        let (pairs, names): (Vec<_>, Vec<_>) =
            fold(&masked.patterns).into_iter().partition(|pattern| pattern.contains('/'));
        let pairs = pairs.iter().filter_map(|pattern| pattern.rsplit_once('/'));
        // Only the nearest folder is compared, so a longer pattern masks too much rather than too little.
        let pairs = pairs.map(|(path, name)| (path.rsplit('/').next().unwrap_or(path), name));
        let pairs = pairs.map(|(folder, name)| (folder.to_owned(), name.to_owned())).collect();
        Self {
            names,
            pairs,
            words: fold(&masked.words),
            except: fold(&masked.except),
            harmless: fold(&masked.harmless),
        }
    }

    /// Returns true if the name is masked, or is a copy of one that is.
    fn is_masked(&self, parent: &str, name: &str, is_folder: bool) -> bool {
        matches_copy(name, |original| self.is_listed(parent, original, is_folder))
    }

    fn is_listed(&self, parent: &str, name: &str, is_folder: bool) -> bool {
        let is_named = |pattern: &String| matches_name_pattern(pattern, name);
        let is_pair = |(folder, pattern): &(String, String)| {
            matches_name_pattern(folder, parent) && is_named(pattern)
        };
        if self.pairs.iter().any(is_pair) {
            return true;
        }
        let is_file_of = |patterns: &[String]| !is_folder && patterns.iter().any(is_named);
        let is_word = || self.words.iter().any(is_named) && !is_file_of(&self.except);
        (self.names.iter().any(is_named) || is_word()) && !is_file_of(&self.harmless)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(grants: &[&str], expected: &[&str]) {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for file in [
            ".env",
            "a/.ENV.local",
            "a/src/secrets.rs",
            "a/secrets/key",
            "a/secrets/public/file",
            ".git/config",
            ".git/objects/config",
            "a/config",
            "node_modules/x/secrets/y",
            "a/plain",
            "a/server.key",
            "b/tls.key.bak",
            "b/tls.key.BAK.gz",
            "b/tls.key.other",
            "b/x.rs.bak",
            "b/c/d.rs",
            "b/.env.example",
            "b/internal_x.rs",
            ".git/modules/sub/HEAD",
            ".git/modules/sub/config",
            ".git/refs/heads/config",
        ] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink("a/plain", root.join("my-secret")).unwrap();
        let names = MaskedNames {
            patterns: [".env*", "*.key", "internal_*.rs", ".git/config", "b/c/d.rs"]
                .map(str::to_owned)
                .to_vec(),
            words: vec!["*secret*".to_owned()],
            except: vec!["*.rs".to_owned()],
            harmless: vec!["*.example".to_owned()],
        };
        let grants = grants.iter().map(|grant| root.join(grant).components().collect()).collect();
        let found = find_masks(&grants, &names).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|mask| mask.path.strip_prefix(&root).unwrap().to_str().unwrap())
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn masks_names_below_grants() {
        check(
            &["."],
            &[
                ".env",
                ".git/config",
                ".git/modules/sub/config",
                "a/.ENV.local",
                "a/plain",
                "a/secrets",
                "a/server.key",
                "b/c/d.rs",
                "b/internal_x.rs",
                "b/tls.key.BAK.gz",
                "b/tls.key.bak",
            ],
        );
        check(&["a/src"], &[]);
    }

    #[test]
    fn listed_paths_are_not_masked() {
        check(
            &[".", ".env", "a/server.key", "a/plain"],
            &[
                ".git/config",
                ".git/modules/sub/config",
                "a/.ENV.local",
                "a/secrets",
                "b/c/d.rs",
                "b/internal_x.rs",
                "b/tls.key.BAK.gz",
                "b/tls.key.bak",
            ],
        );
        check(&["a", "a/secrets/public"], &["a/.ENV.local", "a/secrets/key", "a/server.key"]);
        check(&["a/secrets"], &[]);
    }
}
