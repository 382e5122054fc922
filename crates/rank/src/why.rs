//! Why a document was found, for people and for assistants that decide what to open.

use std::fmt;

/// One reason; a hit has the strongest first.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// It defines this name.
    Defines(String),
    /// The name of its file says so.
    FileName(String),
    /// It holds these words.
    Words(Vec<String>),
    /// It means something like the query; the cosine of the angle between them.
    Meaning(f32),
    /// Its file was read recently or often, or lies beside one that was.
    Attention,
    /// So many more documents say the same.
    Copies(usize),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Defines(name) => write!(f, "defines {name}"),
            Self::FileName(name) => write!(f, "file name {name}"),
            Self::Words(words) => write!(f, "words {}", words.join(", ")),
            Self::Meaning(cosine) => write!(f, "meaning {cosine:.2}"),
            Self::Attention => write!(f, "read recently"),
            Self::Copies(1) => write!(f, "1 copy"),
            Self::Copies(copies) => write!(f, "{copies} copies"),
        }
    }
}
