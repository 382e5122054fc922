//! Import remappings: those declared by a project, those of its libraries, and those that Foundry infers.
//!
//! A remapping `context:prefix=target` replaces the beginning of an import in the sources below its context. The rules
//! for choosing one are those of solc.

mod library;
mod table;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Component, Path};

pub(crate) use library::{LibraryFolder, find_libraries};
pub(crate) use table::RemappingTable;

use crate::project::FoundryConfig;
use crate::{LoadError, bounded_file};

/// An import remapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImportRemapping {
    /// Beginning of the sources that it applies to; empty for all.
    pub(crate) context: String,
    pub(crate) prefix: String,
    pub(crate) target: String,
}

impl ImportRemapping {
    /// Parses `context:prefix=target`. Returns `None` if there is no `=` or no prefix.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (name, target) = text.trim().split_once('=')?;
        let (context, prefix) = name.split_once(':').unwrap_or(("", name));
        let [context, prefix, target] =
            [context, prefix, target].map(|part| part.trim().to_owned());
        (!prefix.is_empty()).then_some(Self { context, prefix, target })
    }
}

impl fmt::Display for ImportRemapping {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.context.is_empty() {
            write!(out, "{}:", self.context)?;
        }
        write!(out, "{}={}", self.prefix, self.target)
    }
}

/// Remappings of a project, with the libraries from which some of them were inferred.
#[derive(Debug, Default)]
pub(crate) struct ProjectRemappings {
    pub(crate) remappings: Vec<ImportRemapping>,
    pub(crate) libraries: Vec<LibraryFolder>,
}

/// Returns the remappings of the project at `root`: `given` ones first, then those of its files, then inferred ones. The
/// first remapping of a prefix wins. Libraries outside of the project count if it `may_leave` its folder.
pub(crate) fn load_remappings(
    root: &Path,
    given: &[String],
    config: Option<&FoundryConfig>,
    may_leave: bool,
) -> Result<ProjectRemappings, LoadError> {
    let mut all: Vec<_> = given.iter().filter_map(|text| ImportRemapping::parse(text)).collect();
    all.extend(read_remappings_file(root)?);
    let Some(config) = config else {
        return Ok(ProjectRemappings { remappings: keep_first(all), libraries: Vec::new() });
    };
    all.extend(config.remappings.iter().filter_map(|text| ImportRemapping::parse(text)));
    if !config.detects_remappings {
        return Ok(ProjectRemappings { remappings: keep_first(all), libraries: Vec::new() });
    }
    let libraries = find_libraries(root, &config.libs, may_leave);
    let declared = all.len();
    let taken = all.iter().filter(|it| it.context.is_empty());
    let taken: HashSet<_> = taken.map(|it| it.prefix.clone()).collect();
    // Remappings that a library declares apply to its own sources, and to the others unless they are taken.
    for library in &libraries {
        for own in library.read_remappings(root) {
            let mut ends = own.prefix.char_indices().map(|(at, last)| at + last.len_utf8());
            if !ends.any(|end| taken.contains(&own.prefix[..end])) {
                let context = format!("{}/", library.path);
                all.push(ImportRemapping { context, ..own });
            }
        }
    }
    all.extend(libraries.iter().map(LibraryFolder::remapping));
    let contextual: Vec<_> =
        all[declared..].iter().filter(|it| !it.context.is_empty()).cloned().collect();
    all.extend(contextual.into_iter().map(|it| ImportRemapping { context: String::new(), ..it }));
    // The project's own folders are not remapped by libraries.
    let own = [&config.src, &config.test, &config.script].map(|folder| format!("{folder}/"));
    let mut position = 0;
    all.retain(|it| {
        position += 1;
        position <= declared || !it.context.is_empty() || !own.contains(&it.prefix)
    });
    Ok(ProjectRemappings { remappings: keep_first(all), libraries })
}

/// Removes remappings whose name is already taken, and contextual ones that change nothing.
fn keep_first(all: Vec<ImportRemapping>) -> Vec<ImportRemapping> {
    let mut names = HashSet::new();
    let mut kept = all;
    kept.retain(|it| names.insert((it.context.clone(), it.prefix.clone())));
    let global = kept.iter().filter(|it| it.context.is_empty());
    let global: HashMap<_, _> = global.map(|it| (it.prefix.clone(), it.target.clone())).collect();
    kept.retain(|it| it.context.is_empty() || global.get(&it.prefix) != Some(&it.target));
    kept
}

/// Reads `remappings.txt` in a folder of the project.
fn read_remappings_file(root: &Path) -> Result<Vec<ImportRemapping>, LoadError> {
    let path = root.join("remappings.txt");
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let text = bounded_file::read_contained_text(root, &path)?;
    Ok(text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .filter_map(ImportRemapping::parse)
        .collect())
}

/// Returns a relative path without `.` and `..`. Those that would lead above its beginning are kept.
pub(crate) fn normalize_path(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        match (part, parts.last()) {
            ("..", Some(last)) if *last != ".." => drop(parts.pop()),
            ("..", _) if is_absolute => {}
            _ => parts.push(part),
        }
    }
    format!("{}{}", if is_absolute { "/" } else { "" }, parts.join("/"))
}

/// Returns true if a path names something below the folder that it is relative to.
pub(crate) fn is_plain_path(path: &str) -> bool {
    Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}
