//! What goes over the wire: the seed's fields, and beside them where a result is and why it was found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::discover::Kind;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Type {
    #[default]
    All,
    Pattern,
    Rule,
    Decision,
    Issue,
}

impl Type {
    pub(super) fn kind(self) -> Option<Kind> {
        match self {
            Self::All => None,
            Self::Pattern => Some(Kind::Pattern),
            Self::Rule => Some(Kind::Rule),
            Self::Decision => Some(Kind::Decision),
            Self::Issue => Some(Kind::Issue),
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Input {
    /// Search query describing what to find
    #[schemars(length(min = 3, max = 500))]
    pub(super) query: String,
    /// Filter by discovery type
    #[serde(default)]
    pub(super) r#type: Type,
    /// Filter by module name
    #[schemars(extend("type" = "string"))]
    pub(super) module: Option<String>,
    /// Maximum number of results to return
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 20))]
    pub(super) limit: usize,
}

fn five() -> usize {
    5
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SearchResults {
    /// What was found, best first
    pub(super) results: Vec<SearchResult>,
    /// The query as it was asked
    pub(super) query: String,
    /// How many documents answer the query, shown or not
    pub(super) total_found: usize,
    /// How long the search took, in milliseconds
    pub(super) search_time: u64,
    /// What the answer does not know yet; absent once the index is complete
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) index: Option<IndexState>,
    /// What to try instead, where nothing was found
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct SearchResult {
    /// Stays the same as long as the text does
    pub(super) id: String,
    /// The kind of discovery, or `code`, or `session`
    pub(super) r#type: ResultType,
    /// The text, or the part of it that answers best
    pub(super) content: String,
    /// The module it belongs to, where that is known
    #[schemars(required, extend("type" = ["string", "null"]))]
    pub(super) module: Option<String>,
    /// The session it comes from, where that is known
    #[schemars(required, extend("type" = ["string", "null"]))]
    pub(super) session: Option<String>,
    /// When it was written
    #[schemars(extend("format" = "date-time"))]
    pub(super) date: String,
    /// How well it answers, from 0 to 1; comparable between results
    #[schemars(range(min = 0, max = 1))]
    pub(super) score: f64,
    /// What it is: something people noted, a piece of a file, or an earlier session
    pub(super) source: Origin,
    /// The file it is in, from the project root
    #[schemars(required, extend("type" = ["string", "null"]))]
    pub(super) path: Option<String>,
    /// The lines of that file that `content` shows
    #[schemars(required, extend("type" = ["object", "null"]))]
    pub(super) lines: Option<Lines>,
    /// Why it was found, the strongest reason first
    pub(super) why: Vec<String>,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ResultType {
    Pattern,
    Rule,
    Decision,
    Issue,
    Code,
    Session,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Origin {
    Discovery,
    Code,
    Session,
}

#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct Lines {
    /// First line, counted from 1
    pub(super) start: u32,
    /// Last line
    pub(super) end: u32,
}

#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct IndexState {
    /// `building`: not all files were read yet; `updating`: changes are waiting; `embedding`: some texts are found by
    /// their words only
    pub(super) state: StateName,
    /// How many files or texts are done
    pub(super) done: usize,
    /// How many there are
    pub(super) all: usize,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum StateName {
    Building,
    Updating,
    Embedding,
}

impl From<Kind> for ResultType {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Pattern => Self::Pattern,
            Kind::Rule => Self::Rule,
            Kind::Decision => Self::Decision,
            Kind::Issue => Self::Issue,
        }
    }
}
