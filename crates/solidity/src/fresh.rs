//! Whether artefacts still belong to the sources on disk. Old code that is fuzzed by mistake costs days.
//!
//! Where the build kept a source's text, texts are compared; else the times of the files are. A source that is nowhere
//! on disk says nothing, unless it should lie in one of the project's own folders.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::{Build, read};

/// Artefacts that are not of the sources as they are now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// The file or folder that is out of date.
    pub artefact: PathBuf,
    pub files: Vec<StaleFile>,
    /// What builds anew, where that is known.
    pub command: Option<&'static str>,
}

/// A source that differs from the build.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StaleFile {
    pub path: String,
    pub why: Why,
}

/// How a source differs from the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// Its text is not what was compiled.
    Edited,
    /// It was written after the build, whose text nobody kept.
    Newer,
    Removed,
    /// It is in a folder of the project, and in no build.
    NotBuilt,
}

impl fmt::Display for Why {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Edited => "was edited",
            Self::Newer => "is newer",
            Self::Removed => "was removed",
            Self::NotBuilt => "was not built",
        })
    }
}

impl Stale {
    const MOST_SHOWN: usize = 10;

    /// What to do, as a sentence.
    pub fn hint(&self) -> String {
        match self.command {
            Some(command) => format!("Run `{command}`; the old code is not used."),
            None => "Compile again; the old code is not used.".to_owned(),
        }
    }
}

impl std::error::Error for Stale {}

impl fmt::Display for Stale {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}` is out of date: ", self.artefact.display())?;
        let shown: Vec<_> = self.files.iter().take(Self::MOST_SHOWN).collect();
        for (number, file) in shown.iter().enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            write!(out, "{comma}`{}` {}", file.path, file.why)?;
        }
        match self.files.len() - shown.len() {
            0 => Ok(()),
            more => write!(out, " and {more} more"),
        }
    }
}

/// Where sources are looked for.
pub(crate) struct Disk {
    roots: Vec<PathBuf>,
}

impl Disk {
    pub(crate) fn new<'a>(roots: impl IntoIterator<Item = &'a Path>) -> Self {
        Self { roots: roots.into_iter().map(Path::to_owned).collect() }
    }

    /// The file that a compiler's path means. Only sources are ever opened: a path in an artefact is not ours.
    fn find(&self, path: &str) -> Option<PathBuf> {
        let is_source = [".sol", ".yul"].iter().any(|ending| path.ends_with(ending));
        if !is_source {
            return None;
        }
        let own = own_path(path);
        let path = if self.has(own) { own } else { path };
        let below = |root: &PathBuf| [root.join(path), root.join("node_modules").join(path)];
        self.roots.iter().flat_map(below).find(|file| file.is_file())
    }

    fn has(&self, path: &str) -> bool {
        self.roots.iter().any(|root| root.join(path).is_file())
    }
}

/// When a file was last written; the beginning of time where the system does not tell.
pub(crate) fn modified(path: &Path) -> SystemTime {
    let time = path.metadata().and_then(|metadata| metadata.modified());
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The sources of a build that are not as they were at `built`. A source below one of `folders` must still be there.
pub(crate) fn changed(
    build: &Build,
    disk: &Disk,
    built: SystemTime,
    folders: &[String],
) -> Vec<StaleFile> {
    let mut files: Vec<_> = build
        .sources
        .iter()
        .filter_map(|source| {
            let why = match disk.find(&source.path) {
                None => is_below(&source.path, folders).then_some(Why::Removed),
                Some(file) if source.text.is_empty() => {
                    (modified(&file) > built).then_some(Why::Newer)
                }
                Some(file) => is_edited(&file, &source.text).then_some(Why::Edited),
            }?;
            Some(StaleFile { path: own_path(&source.path).to_owned(), why })
        })
        .collect();
    files.sort();
    files
}

/// Hardhat 3 puts a word before the paths of the project.
pub(crate) fn own_path(path: &str) -> &str {
    path.strip_prefix("project/").unwrap_or(path)
}

fn is_below(path: &str, folders: &[String]) -> bool {
    let path = own_path(path);
    folders
        .iter()
        .any(|folder| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/')))
}

/// Foundry gives the compiler texts with the line ends of Unix.
fn is_edited(file: &Path, built: &str) -> bool {
    match read::text(file, read::MAX_SOURCE) {
        Ok(now) => now != built && now.replace("\r\n", "\n") != built,
        Err(_) => true,
    }
}

/// Reads the texts that the build did not keep.
pub(crate) fn fill_texts(build: &mut Build, disk: &Disk) {
    for source in build.sources.iter_mut().filter(|source| source.text.is_empty()) {
        let text = disk.find(&source.path).map(|file| read::text(&file, read::MAX_SOURCE));
        if let Some(Ok(text)) = text {
            source.text = text.into();
        }
    }
}
