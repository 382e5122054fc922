//! Staleness check: compares build artifacts with the sources on disk. Fuzzing outdated bytecode by mistake costs days.
//!
//! If the build contains the text of a source, the texts are compared, otherwise the modification times. A source that
//! is not on disk is ignored, unless it belongs in one of the project's own folders.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::{SolidityBuild, bounded_file};

/// The error for build artifacts that do not match the current sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleBuild {
    /// The file or folder that is out of date.
    pub artifact: PathBuf,
    pub files: Vec<StaleFile>,
    /// Command that rebuilds it, if known.
    pub command: Option<&'static str>,
}

/// A source that differs from the build.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StaleFile {
    pub path: String,
    pub reason: StaleReason,
}

/// The way in which a source differs from the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StaleReason {
    /// Its text differs from the compiled text.
    Edited,
    /// It was modified after the build, which does not contain its text.
    Newer,
    Removed,
    /// It is in a project folder, but not in the build.
    NotBuilt,
}

impl fmt::Display for StaleReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Edited => "was edited",
            Self::Newer => "is newer",
            Self::Removed => "was removed",
            Self::NotBuilt => "was not built",
        })
    }
}

impl StaleBuild {
    const MAX_SHOWN: usize = 10;

    /// Returns a hint for the user.
    pub fn hint(&self) -> String {
        match self.command {
            Some(command) => format!("run `{command}`; outdated bytecode is not used"),
            None => "compile again; outdated bytecode is not used".to_owned(),
        }
    }
}

impl std::error::Error for StaleBuild {}

impl fmt::Display for StaleBuild {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}` is out of date: ", self.artifact.display())?;
        let shown: Vec<_> = self.files.iter().take(Self::MAX_SHOWN).collect();
        for (number, file) in shown.iter().enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            write!(out, "{comma}`{}` {}", file.path, file.reason)?;
        }
        match self.files.len() - shown.len() {
            0 => Ok(()),
            more => write!(out, " and {more} more"),
        }
    }
}

/// Folders in which sources are searched.
pub(crate) struct SourceRoots {
    roots: Vec<PathBuf>,
    is_contained: bool,
}

impl SourceRoots {
    pub(crate) fn new<'a>(roots: impl IntoIterator<Item = &'a Path>) -> Self {
        Self { roots: roots.into_iter().map(Path::to_owned).collect(), is_contained: false }
    }

    /// Sets whether only files below the folders are found, also after links are resolved.
    pub(crate) fn with_containment(self, is_contained: bool) -> Self {
        Self { is_contained, ..self }
    }

    /// Returns the file for a path of the compiler. Only source files are ever opened, because paths in artifacts are
    /// untrusted.
    fn find_file(&self, path: &str) -> Option<PathBuf> {
        let is_source = [".sol", ".yul"].iter().any(|ending| path.ends_with(ending));
        if !is_source {
            return None;
        }
        let own = strip_project_prefix(path);
        let path = if self.has_file(own) { own } else { path };
        let below = |root: &PathBuf| [root.join(path), root.join("node_modules").join(path)];
        self.roots.iter().flat_map(below).find(|file| file.is_file() && self.may_read(file))
    }

    fn may_read(&self, file: &Path) -> bool {
        let is_below = |root: &PathBuf| {
            let real = file.canonicalize().ok().zip(root.canonicalize().ok());
            real.is_some_and(|(file, root)| file.starts_with(root))
        };
        !self.is_contained || self.roots.iter().any(is_below)
    }

    fn has_file(&self, path: &str) -> bool {
        self.roots.iter().any(|root| root.join(path).is_file())
    }
}

/// Returns the modification time of a file, or the Unix epoch if it is unknown.
pub(crate) fn modified_time(path: &Path) -> SystemTime {
    let time = path.metadata().and_then(|metadata| metadata.modified());
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Returns the sources of a build that changed since `built`. Sources below one of `folders` must still exist.
pub(crate) fn find_stale_sources(
    build: &SolidityBuild,
    disk: &SourceRoots,
    built: SystemTime,
    folders: &[String],
) -> Vec<StaleFile> {
    let mut files: Vec<_> = build
        .sources
        .iter()
        .filter_map(|source| {
            let reason = match disk.find_file(&source.path) {
                None => is_below(&source.path, folders).then_some(StaleReason::Removed),
                Some(file) if source.text.is_empty() => {
                    (modified_time(&file) > built).then_some(StaleReason::Newer)
                }
                Some(file) => is_edited(&file, &source.text).then_some(StaleReason::Edited),
            }?;
            Some(StaleFile { path: strip_project_prefix(&source.path).to_owned(), reason })
        })
        .collect();
    files.sort();
    files
}

/// Strips the prefix that Hardhat 3 puts before paths of the project.
pub(crate) fn strip_project_prefix(path: &str) -> &str {
    path.strip_prefix("project/").unwrap_or(path)
}

fn is_below(path: &str, folders: &[String]) -> bool {
    let path = strip_project_prefix(path);
    folders
        .iter()
        .any(|folder| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/')))
}

/// Returns true if a file differs from the compiled text. Line endings are ignored, since Foundry normalizes them.
fn is_edited(file: &Path, built: &str) -> bool {
    match bounded_file::read_text(file, bounded_file::MAX_SOURCE) {
        Ok(now) => now != built && now.replace("\r\n", "\n") != built,
        Err(_) => true,
    }
}

/// Reads source texts that the build does not contain.
pub(crate) fn fill_source_texts(build: &mut SolidityBuild, disk: &SourceRoots) {
    for source in build.sources.iter_mut().filter(|source| source.text.is_empty()) {
        let text = disk
            .find_file(&source.path)
            .map(|file| bounded_file::read_text(&file, bounded_file::MAX_SOURCE));
        if let Some(Ok(text)) = text {
            source.text = text.into();
        }
    }
}
