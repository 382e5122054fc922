//! What the ranking asks about a document, for the few that may be shown. The caller answers from what it holds.

/// What is known of the documents. Only asked for candidates, some hundreds for each search.
pub trait Corpus {
    fn facts(&self, id: u32) -> Facts<'_>;
}

/// What is known of one document.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts<'a> {
    /// The same number for all documents of one file; `None` for what is in no file.
    pub file: Option<u32>,
    /// Relative path of that file.
    pub path: Option<&'a str>,
    /// What kind of file it is.
    pub role: Role,
    /// Names that the document defines, qualified where that is known, one on each line.
    pub symbols: &'a str,
    /// Digest of the content: documents that say the same are shown once.
    pub content: u64,
    /// How much this file is on people's minds (recently or often read, or beside such a file), from 0 to 1.
    pub attention: f32,
}

/// What kind of text a document is, as far as it matters for its rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    /// A decision, rule, pattern, issue or session: written to be found.
    Record,
    #[default]
    Source,
    Docs,
    Config,
    Test,
    /// Examples, benchmarks, fixtures.
    Example,
    /// Made by a program, or kept only for old callers.
    Generated,
}
