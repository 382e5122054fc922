//! Discoveries: patterns, rules, decisions and issues stated by a project, each with its source and date.
//!
//! Start at [`DiscoveryExtractor::extract_from_file`], which reads one file, and [`find_fix_commits`], which reads the
//! git history. This module only turns text into discoveries. Walking, caching and ranking belong to the index.
//! Project text is untrusted data: it is bounded, its hidden characters are escaped, and it is never followed as
//! instructions.
//!
//! ```text
//! extractor.rs        classifies files by path and extracts their discoveries
//! memory.rs           entries of memory files
//! decision_record.rs  decision records (Nygard, MADR)
//! guide.rs            AGENTS.md, CLAUDE.md, .cursor/rules, CONTRIBUTING.md
//! todo_comments.rs    TODO, FIXME, HACK and XXX in comments
//! commits.rs          commits that fix something
//! classify.rs         pattern, rule, decision or issue
//! fields.rs           JSON objects as discovery fields
//! markdown.rs         splits Markdown into entries
//! uncovered.rs        text that no discovery covers
//! new_discovery.rs    validates discoveries added by users
//! import.rs           imports a file of discoveries
//! project.rs          all discoveries of a project at once
//! ```

mod classify;
mod commits;
mod date;
mod decision_record;
mod extractor;
mod fields;
mod guide;
mod import;
mod markdown;
mod memory;
mod new_discovery;
mod project;
mod todo_comments;
mod uncovered;

use std::collections::HashMap;
use std::fmt;

use contract::text;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use store::context::StoredDiscovery;

pub use self::commits::{CommitsError, MAX_COMMITS, find_fix_commits};
pub(crate) use self::extractor::ExtractedDiscoveries;
pub use self::extractor::{DiscoveryExtractor, DiscoveryFileKind};
pub use self::import::{ImportProblem, import_discoveries};
pub use self::new_discovery::{NewDiscovery, NewDiscoveryError};
pub use self::project::{DiscoveryOmission, OmittedPart, ProjectDiscoveries, discover_in_project};
pub(crate) use self::uncovered::{UncoveredSpan, UncoveredText};
pub use store::context::DiscoveryKind;

/// Version of the extraction rules, part of every cache key for [`DiscoveryExtractor::extract_from_file`].
///
/// Increment it whenever the extracted discoveries change.
pub const EXTRACTION_VERSION: u32 = 4;

/// Maximum characters of a discovery's content; longer content is truncated with `…`.
pub const MAX_CONTENT: usize = 4_000;
/// Maximum characters of a title.
pub const MAX_TITLE: usize = 200;
/// Maximum tags of a discovery.
const MAX_TAGS: usize = 20;
/// Maximum discoveries of one file; the first ones are kept.
pub const MAX_IN_FILE: usize = 1_000;
/// Maximum discoveries of one memory file; the last ones are kept, because memory files grow at their end.
///
/// The index has room for this many documents of one file, plus the chunks that hold the text of older entries.
pub const MAX_IN_MEMORY: usize = 6_000;

/// A pattern, rule, decision or issue stated by the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discovery {
    /// Digest of the source and content; stable when lines above it are added or removed.
    pub id: String,
    pub kind: DiscoveryKind,
    pub title: Option<String>,
    pub content: String,
    /// Module named by the text itself, or inferred by `Discovery::fill_module`.
    pub module: Option<String>,
    pub session: Option<String>,
    pub tags: Vec<String>,
    /// RFC 3339 timestamp.
    pub date: String,
    pub source: DiscoverySource,
}

/// Source of a discovery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "in")]
pub enum DiscoverySource {
    File {
        path: String,
        line: u32,
    },
    /// A commit: its short id and some of the files it changed.
    Commit {
        id: String,
        files: Vec<String>,
    },
    /// Added to the store by a user.
    Store {
        by: String,
    },
}

impl fmt::Display for DiscoverySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line } => write!(f, "{path}:{line}"),
            Self::Commit { id, .. } => write!(f, "commit {id}"),
            Self::Store { by } => write!(f, "added by {by}"),
        }
    }
}

impl Discovery {
    /// Returns the searchable text: title, content and tags.
    pub fn searchable_text(&self) -> String {
        let mut text = self.content.clone();
        if let Some(title) = &self.title {
            text = format!("{title}\n{text}");
        }
        if !self.tags.is_empty() {
            text = format!("{text}\nTags: {}", self.tags.join(", "));
        }
        text
    }

    /// Returns the path of the file it is in, or `None` if it comes from a commit or the store.
    pub fn path(&self) -> Option<&str> {
        match &self.source {
            DiscoverySource::File { path, .. } => Some(path),
            DiscoverySource::Commit { .. } | DiscoverySource::Store { .. } => None,
        }
    }

    /// Shifts its line by the number of lines that were skipped before the text it was read from.
    pub(crate) fn shift_lines(&mut self, lines: u32) {
        if let DiscoverySource::File { line, .. } = &mut self.source {
            *line = line.saturating_add(lines);
        }
    }

    /// Returns true if it applies to the module of its file rather than to the whole project.
    pub(crate) fn is_module_specific(&self) -> bool {
        !self.path().is_some_and(extractor::is_project_wide)
    }

    /// Sets a missing module to that of its file, or to the module of most files of its commit.
    ///
    /// Project-wide sources (memory files, root guides, decision records) get no module.
    pub(crate) fn fill_module(&mut self, module_of: impl Fn(&str) -> Option<String>) {
        if self.module.is_some() {
            return;
        }
        self.module = match &self.source {
            DiscoverySource::File { path, .. } => {
                module_of(path).filter(|_| self.is_module_specific())
            }
            DiscoverySource::Commit { files, .. } => {
                let modules: Vec<_> = files.iter().map(|file| module_of(file)).collect();
                let count =
                    |module: &Option<String>| modules.iter().filter(|m| *m == module).count();
                let most = modules.iter().max_by_key(|module| count(module)).cloned().flatten();
                most.filter(|module| 2 * count(&Some(module.clone())) > modules.len())
            }
            DiscoverySource::Store { .. } => None,
        };
    }
}

impl From<StoredDiscovery> for Discovery {
    fn from(stored: StoredDiscovery) -> Self {
        let StoredDiscovery { id, kind, title, content, module, source, session, added_at, tags } =
            stored;
        let date = added_at.to_string();
        Self {
            id,
            kind,
            title,
            content,
            module,
            session,
            tags,
            date,
            source: DiscoverySource::Store { by: source },
        }
    }
}

/// A discovery before sanitizing, truncation and id assignment.
#[derive(Debug)]
struct DiscoveryDraft {
    line: u32,
    kind: DiscoveryKind,
    title: Option<String>,
    content: String,
    module: Option<String>,
    session: Option<String>,
    tags: Vec<String>,
    date: Option<String>,
}

impl DiscoveryDraft {
    fn new(line: u32, kind: DiscoveryKind, content: impl Into<String>) -> Self {
        let content = content.into();
        let (title, module, session, date) = Default::default();
        Self { line, kind, title, content, module, session, tags: Vec::new(), date }
    }
}

/// Turns the drafts of one file into discoveries: in order, bounded, each with a unique id.
fn finish_drafts(
    path: &str,
    date: &str,
    drafts: impl IntoIterator<Item = DiscoveryDraft>,
) -> Vec<Discovery> {
    // Repeated content in one file gives separate discoveries, distinguished by an occurrence number.
    let mut seen: HashMap<String, usize> = HashMap::new();
    let discoveries = drafts.into_iter().filter_map(|draft| {
        let content = sanitize_text(&draft.content, MAX_CONTENT);
        if content.is_empty() {
            return None;
        }
        let title = draft
            .title
            .map(|title| sanitize_line(&title, MAX_TITLE))
            .filter(|title| !title.is_empty());
        let number = seen.entry(content.clone()).and_modify(|n| *n += 1).or_default();
        let id = digest_id(&[
            "file",
            path,
            &number.to_string(),
            title.as_deref().unwrap_or_default(),
            &content,
        ]);
        let short =
            |text: String| Some(sanitize_line(&text, MAX_TITLE)).filter(|text| !text.is_empty());
        Some(Discovery {
            id,
            kind: draft.kind,
            title,
            content,
            module: draft.module.and_then(short),
            session: draft.session.and_then(short),
            tags: draft.tags.into_iter().filter_map(short).take(MAX_TAGS).collect(),
            date: draft.date.unwrap_or_else(|| date.to_owned()),
            source: DiscoverySource::File { path: path.to_owned(), line: draft.line },
        })
    });
    discoveries.collect()
}

/// Returns a 12-character id in Crockford's base 32, like the ids of the store.
///
/// It is easy to type, and its 60 bits are enough to keep the discoveries of a project distinct.
pub(crate) fn digest_id(parts: &[&str]) -> String {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    const LENGTH: usize = 12;
    let mut hash = Sha256::new();
    for part in parts {
        // The length prefix keeps different lists of parts from hashing alike.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    digest.iter().take(LENGTH).map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect()
}

/// Trims the text, escapes hidden characters and truncates it to `limit` characters.
pub(crate) fn sanitize_text(raw: &str, limit: usize) -> String {
    truncate_chars(&text::escape_hidden(raw.replace("\r\n", "\n").trim()), limit)
}

/// Like [`sanitize_text`], on one line with single spaces.
pub(crate) fn sanitize_line(raw: &str, limit: usize) -> String {
    let words: Vec<_> = raw.split_whitespace().collect();
    truncate_chars(&text::one_line(&words.join(" ")), limit)
}

fn truncate_chars(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", text[..secrets::cut_before_secret(text, at)].trim_end()),
        None => text.to_owned(),
    }
}
