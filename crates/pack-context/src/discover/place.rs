//! Which file is what: decided by its path alone, so that it is known before the file is read.

use super::{Discovery, MAX_IN_FILE, MAX_IN_MEMORY, comment, finish, guide, memory, record};

/// Guides that are kept where a walk does not look.
const HIDDEN: [&str; 3] =
    [".cursorrules", ".github/CONTRIBUTING.md", ".github/copilot-instructions.md"];

/// The same in any folder: each part of a monorepo may have its own.
const RULES: &str = ".cursor/rules";

/// Folders of decision records, as the tools for them make them.
const RECORD_FOLDERS: [&str; 7] = [
    "docs/adr",
    "doc/adr",
    "docs/adrs",
    "docs/decisions",
    "doc/decisions",
    "docs/architecture/decisions",
    "doc/architecture/decisions",
];

/// What a file is to discoveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A memory file: every entry counts.
    Memory,
    /// A decision record: one decision.
    Record,
    /// Instructions for whoever works here: every statement is one.
    Guide,
    /// A text about how to contribute: what it demands counts.
    Contributing,
    /// Code or configuration: comments that ask for work.
    Source,
}

/// What a file tells.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    pub(crate) discoveries: Vec<Discovery>,
    /// How many more there are.
    pub(crate) surplus: usize,
}

/// The places of one project.
#[derive(Clone, Debug)]
pub struct Places {
    memory_folder: String,
}

impl Places {
    /// The memory folder is relative to the root, with or without a final slash.
    pub fn new(memory_folder: &str) -> Self {
        let names = memory_folder.split('/').filter(|name| !matches!(*name, "" | "."));
        Self { memory_folder: names.collect::<Vec<_>>().join("/") }
    }

    /// Files and folders that a walk which skips hidden and ignored ones must visit all the same.
    pub fn beside_the_walk(&self) -> Vec<String> {
        let mut paths = vec![self.memory_folder.clone()];
        paths.extend(HIDDEN.map(str::to_owned));
        paths
    }

    /// The same below every folder that is walked.
    pub(crate) fn beside_any_walk(&self) -> [&'static str; 1] {
        [RULES]
    }

    /// What the file at this path can tell; None where it can tell nothing.
    pub fn of(&self, path: &str) -> Option<Place> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let lower = name.to_ascii_lowercase();
        let (_, extension) = lower.rsplit_once('.').unwrap_or((&lower, ""));
        let text = matches!(extension, "md" | "markdown" | "mdown");
        if below(folder, &self.memory_folder)
            && (text || matches!(extension, "jsonl" | "ndjson" | "txt"))
        {
            return Some(Place::Memory);
        }
        // In a monorepo each part may have its own: `packages/api/docs/adr`.
        let records = RECORD_FOLDERS.iter().any(|records| leads_through(folder, records));
        if records && text {
            return (!matches!(&*lower, "readme.md" | "index.md") && !lower.contains("template"))
                .then_some(Place::Record);
        }
        match &*lower {
            "agents.md" | "claude.md" | ".cursorrules" | "copilot-instructions.md" => {
                Some(Place::Guide)
            }
            _ if matches!(extension, "mdc" | "md") && leads_through(folder, RULES) => {
                Some(Place::Guide)
            }
            "contributing.md" | "contributing.markdown" => Some(Place::Contributing),
            _ => comment::style_of(&lower).map(|_| Place::Source),
        }
    }

    /// The discoveries in one file, in its order. `date` is for those that have none of their own: the file's.
    pub fn in_file(&self, path: &str, text: &str, date: &str) -> Vec<Discovery> {
        self.look_at(path, text, date).discoveries
    }

    /// The same, with what is left out.
    pub(crate) fn look_at(&self, path: &str, text: &str, date: &str) -> Noted {
        let Some(place) = self.of(path) else { return Noted::default() };
        let mut drafts = match place {
            Place::Memory => memory::entries(path, text),
            Place::Record => record::decision(path, text).into_iter().collect(),
            Place::Guide => guide::statements(text, true),
            Place::Contributing => guide::statements(text, false),
            Place::Source => comment::requests(path, text),
        };
        let all = drafts.len();
        match place {
            Place::Memory => drop(drafts.drain(..all.saturating_sub(MAX_IN_MEMORY))),
            Place::Record | Place::Guide | Place::Contributing | Place::Source => {
                drafts.truncate(MAX_IN_FILE);
            }
        }
        let surplus = all - drafts.len();
        Noted { discoveries: finish(path, date, drafts), surplus }
    }
}

/// A file in a hidden folder, in the records of the project itself, or a guide at its root.
pub(super) fn is_of_the_project(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let text = name.to_ascii_lowercase().ends_with(".md") || name.starts_with('.');
    folder.split('/').any(|name| name.starts_with('.'))
        || RECORD_FOLDERS.iter().any(|records| below(folder, records))
        || folder.is_empty() && text
}

/// Whether `names` stand one after the other in the path of a folder.
fn leads_through(folder: &str, names: &str) -> bool {
    format!("/{folder}/").contains(&format!("/{names}/"))
}

fn below(folder: &str, of: &str) -> bool {
    folder.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
