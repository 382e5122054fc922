//! The facts about documents that the ranking requests from the caller, for candidates only.

/// Provides facts about documents. Called only for candidates, a few hundred in each search.
pub trait DocumentCorpus {
    /// Returns the facts about a document.
    fn document_facts(&self, id: u32) -> DocumentFacts<'_>;
}

/// Facts about one document that affect its rank.
#[derive(Debug, Clone, Copy, Default)]
pub struct DocumentFacts<'a> {
    /// Number of the file, shared by all its documents; `None` for a document without a file.
    pub file: Option<u32>,
    /// Relative path of that file.
    pub path: Option<&'a str>,
    /// The kind of text.
    pub role: DocumentRole,
    /// Names that the document defines, qualified if known, one per line.
    pub symbols: &'a str,
    /// Digest of the content. Documents with equal digests are returned once.
    pub content: u64,
    /// Recency of the file, from 0 to 1: high if it, or a neighboring file, was read recently or often.
    pub recency: f32,
}

/// The kind of a document, as far as it affects its rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DocumentRole {
    /// A decision, rule, pattern, issue or session.
    Record,
    #[default]
    Source,
    Docs,
    Config,
    Test,
    /// Examples, benchmarks, fixtures.
    Example,
    /// Generated code, or code kept only for compatibility.
    Generated,
}
