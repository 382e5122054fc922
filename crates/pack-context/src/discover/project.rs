//! Reads all discoveries of a project from its files and git history, without an index or a cache.

use std::fmt;
use std::path::Path;

use source::ModuleMap;
use tree::FileTree;

use super::{
    Discovery, DiscoveryExtractor, DiscoveryFileKind, ExtractedDiscoveries, MAX_COMMITS,
    find_fix_commits,
};
use crate::excerpt::FileExcerpt;
use crate::{ContextError, ContextOptions, files};

/// Discoveries of a project.
#[derive(Debug, Default)]
pub struct ProjectDiscoveries {
    /// Newest first.
    pub discoveries: Vec<Discovery>,
    /// Reason why the git history is missing, if it could not be read.
    pub no_history: Option<String>,
    /// Discoveries that were omitted because of limits.
    pub left_out: Vec<DiscoveryOmission>,
}

/// A file, or part of it, whose discoveries were omitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveryOmission {
    pub path: String,
    pub part: OmittedPart,
}

/// Part of a file whose discoveries were omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmittedPart {
    /// The whole file, which is too large to read.
    WholeFile,
    /// The beginning of a long memory file, in bytes.
    Beginning(u32),
    /// This many entries beyond the limit; for a memory file, the oldest ones.
    Entries(usize),
}

impl fmt::Display for DiscoveryOmission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match self.part {
            OmittedPart::WholeFile => write!(f, "{path} (too large to read)"),
            OmittedPart::Beginning(bytes) => write!(f, "the first {bytes} bytes of {path}"),
            OmittedPart::Entries(count) => write!(f, "{count} more entries of {path}"),
        }
    }
}

/// Reads every file that may contain discoveries, and the git history.
pub fn discover_in_project(
    root: &Path,
    options: &ContextOptions,
) -> Result<ProjectDiscoveries, ContextError> {
    let (tree, places) = files::open_project_tree(root, options)?;
    let modules = ModuleMap::load(tree.guard());
    let mut project = ProjectDiscoveries::default();
    for entry in tree.list_files().entries {
        if let Some(kind) = places.classify_file(&entry.path) {
            project.read_file(&places, kind, &tree, &entry.path);
        }
    }
    match find_fix_commits(root, MAX_COMMITS) {
        Ok(fixes) => project.discoveries.extend(fixes),
        Err(error) => project.no_history = Some(error.to_string()),
    }
    for discovery in &mut project.discoveries {
        discovery.fill_module(|path| modules.find_module(path));
    }
    // A stable sort keeps the discoveries of one file in file order.
    project.discoveries.sort_by(|a, b| b.date.cmp(&a.date));
    Ok(project)
}

impl ProjectDiscoveries {
    /// Adds the discoveries of one file; no-op if the file is gone or not text.
    fn read_file(
        &mut self,
        places: &DiscoveryExtractor,
        kind: DiscoveryFileKind,
        tree: &FileTree,
        path: &str,
    ) {
        let Ok((file, metadata)) = tree.open(path) else { return };
        let Ok(excerpt) = FileExcerpt::read_from(file, metadata.len(), Some(kind)) else { return };
        let Some(excerpt) = excerpt else {
            // Large source files are usually generated or data, so they are not reported.
            if kind != DiscoveryFileKind::Source {
                self.record_omission(path, OmittedPart::WholeFile);
            }
            return;
        };
        let Some(text) = excerpt.text() else { return };
        let date = metadata.modified().map(contract::time::format_system_time).unwrap_or_default();
        let ExtractedDiscoveries { mut discoveries, surplus } =
            places.extract_with_surplus(path, text, &date);
        discoveries.iter_mut().for_each(|discovery| discovery.shift_lines(excerpt.lines_before));
        self.discoveries.append(&mut discoveries);
        if !excerpt.is_whole() {
            self.record_omission(path, OmittedPart::Beginning(excerpt.bytes_before));
        }
        if surplus > 0 {
            self.record_omission(path, OmittedPart::Entries(surplus));
        }
    }

    fn record_omission(&mut self, path: &str, part: OmittedPart) {
        self.left_out.push(DiscoveryOmission { path: path.to_owned(), part });
    }
}
