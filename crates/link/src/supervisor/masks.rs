//! Finds the files and folders below grants whose names may hold secrets, so that they can be covered with empty ones.
//!
//! A file that gets such a name after the start is not covered: names are found once, mounts cannot match names. Source code
//! may have a name that only says "secret" (`words`); its content decides, as it does for the tools.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use guard::{fold_name, is_source_file, is_source_name, matches_copy, matches_name_pattern};
use rustix::fs::{Access, FileType, Mode, OFlags};

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
    if names.patterns.is_empty() && names.words.is_empty() {
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
            // A grant may be a file.
            Err(error) if is_absent(&error) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return self.mask_unlisted(folder, &error);
            }
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
            let is_named = match self.names.judge(&parent, &name, kind.is_dir()) {
                NameMatch::None => false,
                NameMatch::OnlySource => !(is_source_name(&name) && is_plain_source(&path)),
                NameMatch::Masked => true,
            };
            let is_masked = all || is_named || (name == "config" && is_git_module(folder));
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

    /// Masks a folder that cannot be listed, if the server could open names in it: a folder may be searched without being
    /// listed, and its owner can change its mode.
    fn mask_unlisted(&mut self, folder: &Path, error: &io::Error) -> Result<(), StartFailure> {
        let is_own = || {
            let owner = folder.metadata().map(|data| data.uid());
            owner.is_ok_and(|owner| owner == rustix::process::geteuid().as_raw())
        };
        if !is_own() && rustix::fs::access(folder, Access::EXEC_OK).is_err() {
            return Ok(());
        }
        match self.grants.iter().any(|grant| grant.starts_with(folder)) {
            true => Err(listing_failure(folder, error)),
            false => self.mask(folder.to_owned(), true),
        }
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

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::NotFound)
}

/// Returns true if the file at a path, after links, is source code without a recognizable secret. A file that cannot be
/// read is not.
fn is_plain_source(path: &Path) -> bool {
    // Non-blocking, because a FIFO may have any name.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(file) = rustix::fs::open(path, flags, Mode::empty()) else { return false };
    let kind = rustix::fs::fstat(&file).map(|data| FileType::from_raw_mode(data.st_mode));
    kind.is_ok_and(FileType::is_file)
        && is_source_file(fs::File::from(file), secrets::is_plain_source).unwrap_or(false)
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
    harmless: Vec<String>,
}

/// What the patterns say about a name. Later ones are stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum NameMatch {
    None,
    /// Only source code may have this name.
    OnlySource,
    Masked,
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
        Self { names, pairs, words: fold(&masked.words), harmless: fold(&masked.harmless) }
    }

    /// Judges a name and the names that it may be a copy of.
    fn judge(&self, parent: &str, name: &str, is_folder: bool) -> NameMatch {
        let mut strictest = NameMatch::None;
        matches_copy(name, |original| {
            strictest = strictest.max(self.judge_original(parent, original, is_folder));
            strictest == NameMatch::Masked
        });
        strictest
    }

    fn judge_original(&self, parent: &str, name: &str, is_folder: bool) -> NameMatch {
        let is_named = |pattern: &String| matches_name_pattern(pattern, name);
        let is_pair = |(folder, pattern): &(String, String)| {
            matches_name_pattern(folder, parent) && is_named(pattern)
        };
        if self.pairs.iter().any(is_pair) {
            return NameMatch::Masked;
        }
        let is_listed = self.names.iter().any(is_named);
        let is_word = self.words.iter().any(is_named);
        let is_harmless = || !is_folder && self.harmless.iter().any(is_named);
        match (is_listed, is_word) {
            (false, false) => NameMatch::None,
            _ if is_harmless() => NameMatch::None,
            // Of a folder with such a name, everything is masked.
            (false, true) if !is_folder => NameMatch::OnlySource,
            _ => NameMatch::Masked,
        }
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
            fs::write(path, if file.ends_with(".rs") { "fn code() {}" } else { "" }).unwrap();
        }
        std::os::unix::fs::symlink("a/plain", root.join("my-secret")).unwrap();
        let names = MaskedNames {
            patterns: [".env*", "*.key", "internal_*.rs", ".git/config", "b/c/d.rs"]
                .map(str::to_owned)
                .to_vec(),
            words: vec!["*secret*".to_owned()],
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

    #[test]
    fn content_decides_about_source_code_with_a_secret_name() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let token = format!("gh{}_{}", "p", "q7Zt4Kp9Xw2Lm5Vb8Nc3Rd6Hf1Jg0YsAb1Cd2");
        let large = "fn code() {}\n".repeat(100_000);
        for (name, text, is_masked) in [
            ("secrets.rs", "fn code() {}", false),
            ("my_rsa.py", "def sign(text):\n    return text\n", false),
            ("secrets (1).go", "func load() {\n}\n", false),
            // Values, a token, data, a copy, markup, and what is too large to be written by hand.
            ("secrets.py", "PASSWORD = 'x'\n", true),
            ("secret_token.rs", &format!("fn code() {{ \"{token}\" }}"), true),
            ("secret_data.rs", "fn code() {}\0", true),
            ("secrets.rs.bak", "fn code() {}", true),
            ("secrets.md", "fn code() {}", true),
            ("secrets.html", "<script>function f() {}</script>", true),
            ("secrets.css", "fn code() {}", true),
            ("secret_table.rs", &large, true),
            // Other names are never source code.
            ("id_rsa.md", "fn code() {}", true),
            ("id_rsa.rs", "fn code() {}", true),
        ] {
            let path = root.join(name);
            fs::write(&path, text).unwrap();
            let names = MaskedNames {
                patterns: vec!["id_rsa*".to_owned()],
                words: vec!["*secret*".to_owned(), "*_rsa*".to_owned()],
                ..MaskedNames::default()
            };
            let found = find_masks(&[root.clone()].into(), &names).unwrap();
            assert_eq!(found.iter().any(|mask| mask.path == path), is_masked, "{name}");
        }
        // The target of a link is judged by its content too.
        let words = MaskedNames { words: vec!["*key_of*".to_owned()], ..MaskedNames::default() };
        for (name, target) in [("key_of_a.rs", "secrets.py"), ("key_of_b.rs", "secrets.rs")] {
            std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        }
        let found = find_masks(&[root.clone()].into(), &words).unwrap();
        let found: Vec<_> = found.into_iter().map(|mask| mask.path).collect();
        assert_eq!(found, [root.join("secrets.py")]);
    }
}
