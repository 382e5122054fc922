//! Discoveries: what a project says about itself – patterns, rules, decisions and issues – each with its source and date.
//!
//! Start at [`Places::in_file`], which reads one file, and [`fix_commits`], which reads the history. Everything here is
//! a function of the text it is given; walking, caching and ranking are the index's. Text from a project is data:
//! it is bounded, its hidden characters are made visible, and nothing in it is followed.
//!
//! ```text
//! place.rs      which file is what: memory, decision record, guide, source
//! memory.rs     entries of the memory files, and of files to import
//! record.rs     decision records (Nygard, MADR)
//! guide.rs      AGENTS.md, CLAUDE.md, .cursor/rules, CONTRIBUTING.md
//! comment.rs    TODO, FIXME, HACK and XXX in comments
//! commits.rs    commits that fix something
//! classify.rs   pattern, rule, decision or issue
//! markdown.rs   a Markdown text as entries
//! untold.rs     what a text says beside its discoveries
//! new.rs        what somebody adds; import.rs, a file of it
//! project.rs    all of a project at once
//! ```

mod classify;
mod comment;
mod commits;
mod date;
mod fields;
mod guide;
mod import;
mod markdown;
mod memory;
mod new;
mod place;
mod project;
mod record;
mod untold;

use std::collections::HashMap;
use std::fmt;

use contract::text;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use store::context::StoredDiscovery;

pub use self::commits::{CommitsError, MAX_COMMITS, fix_commits};
pub use self::import::{Problem, import};
pub use self::new::{NewDiscovery, Refused};
pub(crate) use self::place::Noted;
pub use self::place::{Place, Places};
pub use self::project::{LeftOut, Missing, Told, in_project};
pub(crate) use self::untold::{Part, Untold};
pub use store::context::Kind;

/// Part of the key of whatever caches the answers of [`Places::in_file`]: raised whenever they change.
pub const VERSION: u32 = 4;

/// A discovery is a statement, not a document: what is longer is cut, and says so.
pub const MAX_CONTENT: usize = 4_000;
/// In characters, like the content.
pub const MAX_TITLE: usize = 200;
/// A discovery has a few words to be found by.
const MAX_TAGS: usize = 20;
/// A file with more is a data set, not a record. The first ones count.
pub const MAX_IN_FILE: usize = 1_000;
/// Memory grows for as long as a project lives, and at its end: the last ones count. The index has room for as many
/// documents of one file, and for the pieces in which it finds what older entries say.
pub const MAX_IN_MEMORY: usize = 6_000;

/// Something the project tells about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discovery {
    /// A digest of where it is and what it says; it stays when lines above it come and go.
    pub id: String,
    pub kind: Kind,
    pub title: Option<String>,
    pub content: String,
    /// As the text itself names it; see `Discovery::fill_module` for the others.
    pub module: Option<String>,
    pub session: Option<String>,
    pub tags: Vec<String>,
    /// RFC 3339.
    pub date: String,
    pub source: Source,
}

/// Where a discovery is from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "in")]
pub enum Source {
    File {
        path: String,
        line: u32,
    },
    /// A short id, and some of the files that the commit touched.
    Commit {
        id: String,
        files: Vec<String>,
    },
    /// Somebody added it.
    Store {
        by: String,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line } => write!(f, "{path}:{line}"),
            Self::Commit { id, .. } => write!(f, "commit {id}"),
            Self::Store { by } => write!(f, "added by {by}"),
        }
    }
}

impl Discovery {
    /// What a search looks at.
    pub fn text(&self) -> String {
        let mut text = self.content.clone();
        if let Some(title) = &self.title {
            text = format!("{title}\n{text}");
        }
        if !self.tags.is_empty() {
            text = format!("{text}\nTags: {}", self.tags.join(", "));
        }
        text
    }

    /// The file it is in.
    pub fn path(&self) -> Option<&str> {
        match &self.source {
            Source::File { path, .. } => Some(path),
            Source::Commit { .. } | Source::Store { .. } => None,
        }
    }

    /// It was found in the end of a file, after so many lines.
    pub(crate) fn move_down(&mut self, lines: u32) {
        if let Source::File { line, .. } = &mut self.source {
            *line = line.saturating_add(lines);
        }
    }

    /// Whether it is about the module that its file is in. What the whole project says is about none.
    pub(crate) fn is_about_its_place(&self) -> bool {
        !self.path().is_some_and(place::is_of_the_project)
    }

    /// Gives one that names no module the module of its file, or the one that most files of its commit are in. What the
    /// whole project says – memory, its guides and records – is about no module.
    pub(crate) fn fill_module(&mut self, module_of: impl Fn(&str) -> Option<String>) {
        if self.module.is_some() {
            return;
        }
        self.module = match &self.source {
            Source::File { path, .. } => module_of(path).filter(|_| self.is_about_its_place()),
            Source::Commit { files, .. } => {
                let modules: Vec<_> = files.iter().map(|file| module_of(file)).collect();
                let count =
                    |module: &Option<String>| modules.iter().filter(|m| *m == module).count();
                let most = modules.iter().max_by_key(|module| count(module)).cloned().flatten();
                most.filter(|module| 2 * count(&Some(module.clone())) > modules.len())
            }
            Source::Store { .. } => None,
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
            source: Source::Store { by: source },
        }
    }
}

/// A discovery before it has an id and its bounds.
#[derive(Debug)]
struct Draft {
    line: u32,
    kind: Kind,
    title: Option<String>,
    content: String,
    module: Option<String>,
    session: Option<String>,
    tags: Vec<String>,
    date: Option<String>,
}

impl Draft {
    fn new(line: u32, kind: Kind, content: impl Into<String>) -> Self {
        let content = content.into();
        let (title, module, session, date) = Default::default();
        Self { line, kind, title, content, module, session, tags: Vec::new(), date }
    }
}

/// Drafts of one file as discoveries: in order, bounded, each with an id of its own.
fn finish(path: &str, date: &str, drafts: impl IntoIterator<Item = Draft>) -> Vec<Discovery> {
    // The same words twice in one file are two discoveries: the second is told apart by its number.
    let mut seen: HashMap<String, usize> = HashMap::new();
    let discoveries = drafts.into_iter().filter_map(|draft| {
        let content = tidy(&draft.content, MAX_CONTENT);
        if content.is_empty() {
            return None;
        }
        let title =
            draft.title.map(|title| tidy_line(&title, MAX_TITLE)).filter(|title| !title.is_empty());
        let number = seen.entry(content.clone()).and_modify(|n| *n += 1).or_default();
        let id = id_of(&[
            "file",
            path,
            &number.to_string(),
            title.as_deref().unwrap_or_default(),
            &content,
        ]);
        let short =
            |text: String| Some(tidy_line(&text, MAX_TITLE)).filter(|text| !text.is_empty());
        Some(Discovery {
            id,
            kind: draft.kind,
            title,
            content,
            module: draft.module.and_then(short),
            session: draft.session.and_then(short),
            tags: draft.tags.into_iter().filter_map(short).take(MAX_TAGS).collect(),
            date: draft.date.unwrap_or_else(|| date.to_owned()),
            source: Source::File { path: path.to_owned(), line: draft.line },
        })
    });
    discoveries.collect()
}

/// Crockford's base 32, as the ids of the store are: typable, and sixty bits tell all discoveries of a project apart.
pub(crate) fn id_of(parts: &[&str]) -> String {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    const LENGTH: usize = 12;
    let mut hash = Sha256::new();
    for part in parts {
        // With its length, so that no two lists of parts run together the same.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    digest.iter().take(LENGTH).map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect()
}

/// Trimmed, hidden characters visible, no longer than `limit` characters.
pub(crate) fn tidy(raw: &str, limit: usize) -> String {
    cut(&text::visible(raw.replace("\r\n", "\n").trim()), limit)
}

/// The same on one line, with single spaces.
pub(crate) fn tidy_line(raw: &str, limit: usize) -> String {
    let words: Vec<_> = raw.split_whitespace().collect();
    cut(&text::one_line(&words.join(" ")), limit)
}

fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((at, _)) => format!("{}…", text[..at].trim_end()),
        None => text.to_owned(),
    }
}
