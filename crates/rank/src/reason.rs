//! The reasons for a hit, shown to people and to assistants that decide which document to open.

use std::fmt;

/// A reason for a hit. The reasons of a hit are ordered, strongest first.
#[derive(Debug, Clone, PartialEq)]
pub enum HitReason {
    /// The document defines this name.
    Defines(String),
    /// The name of its file matches the query.
    FileName(String),
    /// The document contains these words of the query.
    Words(Vec<String>),
    /// The document is semantically similar to the query, with this cosine.
    Meaning(f32),
    /// Its file, or a neighboring file, was read recently or often.
    Recency,
    /// Number of further documents with the same content.
    Copies(usize),
}

impl fmt::Display for HitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Defines(name) => write!(f, "defines {name}"),
            Self::FileName(name) => write!(f, "file name {name}"),
            Self::Words(words) => write!(f, "words {}", words.join(", ")),
            Self::Meaning(cosine) => write!(f, "meaning {cosine:.2}"),
            Self::Recency => write!(f, "read recently"),
            Self::Copies(1) => write!(f, "1 copy"),
            Self::Copies(copies) => write!(f, "{copies} copies"),
        }
    }
}
