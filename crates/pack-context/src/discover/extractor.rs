//! Classifies files and extracts their discoveries.
//!
//! Classification uses the path alone, so that it is available before a file is read.

use super::{
    Discovery, MAX_IN_FILE, MAX_IN_MEMORY, decision_record, finish_drafts, guide, memory,
    todo_comments,
};

/// Guides in hidden locations that a walk would skip.
const HIDDEN_GUIDES: [&str; 3] =
    [".cursorrules", ".github/CONTRIBUTING.md", ".github/copilot-instructions.md"];

/// Hidden folder with guides, at any depth: each package of a monorepo may have its own.
const RULES_FOLDER: &str = ".cursor/rules";

/// Folders of decision records, as created by common ADR tools.
const RECORD_FOLDERS: [&str; 7] = [
    "docs/adr",
    "doc/adr",
    "docs/adrs",
    "docs/decisions",
    "doc/decisions",
    "docs/architecture/decisions",
    "doc/architecture/decisions",
];

/// Kind of a file that may contain discoveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscoveryFileKind {
    /// A memory file: every entry is a discovery.
    Memory,
    /// A decision record: the file is one decision.
    Record,
    /// Instructions for contributors or agents: every statement is a discovery.
    Guide,
    /// A contribution guide: statements with a cue and list items are discoveries.
    Contributing,
    /// Code or configuration: TODO comments are discoveries.
    Source,
}

/// Discoveries of one file.
#[derive(Debug, Default)]
pub(crate) struct ExtractedDiscoveries {
    pub(crate) discoveries: Vec<Discovery>,
    /// Number of discoveries dropped by the limit.
    pub(crate) surplus: usize,
}

/// Extracts discoveries from the files of one project.
#[derive(Clone, Debug)]
pub struct DiscoveryExtractor {
    memory_folder: String,
}

impl DiscoveryExtractor {
    /// Creates an extractor; `memory_folder` is relative to the root, with or without a trailing slash.
    pub fn new(memory_folder: &str) -> Self {
        let names = memory_folder.split('/').filter(|name| !matches!(*name, "" | "."));
        Self { memory_folder: names.collect::<Vec<_>>().join("/") }
    }

    /// Returns paths that a walk must visit even if they are hidden or ignored.
    pub fn extra_walk_paths(&self) -> Vec<String> {
        let mut paths = vec![self.memory_folder.clone()];
        paths.extend(HIDDEN_GUIDES.map(str::to_owned));
        paths
    }

    /// Returns paths that a walk must visit below every folder, even if they are hidden or ignored.
    pub(crate) fn extra_walk_paths_anywhere(&self) -> [&'static str; 1] {
        [RULES_FOLDER]
    }

    /// Returns the kind of the file at this path, or `None` if it cannot contain discoveries.
    pub fn classify_file(&self, path: &str) -> Option<DiscoveryFileKind> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let lower = name.to_ascii_lowercase();
        let (_, extension) = lower.rsplit_once('.').unwrap_or((&lower, ""));
        let text = matches!(extension, "md" | "markdown" | "mdown");
        if is_below(folder, &self.memory_folder)
            && (text || matches!(extension, "jsonl" | "ndjson" | "txt"))
        {
            return Some(DiscoveryFileKind::Memory);
        }
        // Each package of a monorepo may have its own: `packages/api/docs/adr`.
        let records = RECORD_FOLDERS.iter().any(|records| contains_subpath(folder, records));
        if records && text {
            return (!matches!(&*lower, "readme.md" | "index.md") && !lower.contains("template"))
                .then_some(DiscoveryFileKind::Record);
        }
        match &*lower {
            "agents.md" | "claude.md" | ".cursorrules" | "copilot-instructions.md" => {
                Some(DiscoveryFileKind::Guide)
            }
            _ if matches!(extension, "mdc" | "md") && contains_subpath(folder, RULES_FOLDER) => {
                Some(DiscoveryFileKind::Guide)
            }
            "contributing.md" | "contributing.markdown" => Some(DiscoveryFileKind::Contributing),
            _ => todo_comments::comment_style_for(&lower).map(|_| DiscoveryFileKind::Source),
        }
    }

    /// Returns the discoveries of one file, in file order; `date` applies to those without their own date.
    pub fn extract_from_file(&self, path: &str, text: &str, date: &str) -> Vec<Discovery> {
        self.extract_with_surplus(path, text, date).discoveries
    }

    /// Like [`Self::extract_from_file`], but also returns how many discoveries the limit dropped.
    pub(crate) fn extract_with_surplus(
        &self,
        path: &str,
        text: &str,
        date: &str,
    ) -> ExtractedDiscoveries {
        let Some(kind) = self.classify_file(path) else { return ExtractedDiscoveries::default() };
        let mut drafts = match kind {
            DiscoveryFileKind::Memory => memory::extract_memory_entries(path, text),
            DiscoveryFileKind::Record => {
                decision_record::parse_decision_record(path, text).into_iter().collect()
            }
            DiscoveryFileKind::Guide => guide::extract_statements(text, true),
            DiscoveryFileKind::Contributing => guide::extract_statements(text, false),
            DiscoveryFileKind::Source => todo_comments::extract_todo_comments(path, text),
        };
        let all = drafts.len();
        match kind {
            DiscoveryFileKind::Memory => drop(drafts.drain(..all.saturating_sub(MAX_IN_MEMORY))),
            DiscoveryFileKind::Record
            | DiscoveryFileKind::Guide
            | DiscoveryFileKind::Contributing
            | DiscoveryFileKind::Source => {
                drafts.truncate(MAX_IN_FILE);
            }
        }
        let surplus = all - drafts.len();
        ExtractedDiscoveries { discoveries: finish_drafts(path, date, drafts), surplus }
    }
}

/// Returns true for files about the whole project: in a hidden folder, in the root's decision records, or a guide at
/// the root.
pub(super) fn is_project_wide(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let text = name.to_ascii_lowercase().ends_with(".md") || name.starts_with('.');
    folder.split('/').any(|name| name.starts_with('.'))
        || RECORD_FOLDERS.iter().any(|records| is_below(folder, records))
        || folder.is_empty() && text
}

/// Returns true if the components of `names` appear consecutively in the folder's path.
fn contains_subpath(folder: &str, names: &str) -> bool {
    format!("/{folder}/").contains(&format!("/{names}/"))
}

fn is_below(folder: &str, parent: &str) -> bool {
    folder.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
