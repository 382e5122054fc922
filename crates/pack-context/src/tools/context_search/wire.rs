//! Input and output types of `context_search`: the fields of the seed contract, plus the location of each result and
//! the reasons it matched.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::discover::DiscoveryKind;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum DiscoveryTypeFilter {
    #[default]
    All,
    Pattern,
    Rule,
    Decision,
    Issue,
}

impl DiscoveryTypeFilter {
    pub(super) fn kind(self) -> Option<DiscoveryKind> {
        match self {
            Self::All => None,
            Self::Pattern => Some(DiscoveryKind::Pattern),
            Self::Rule => Some(DiscoveryKind::Rule),
            Self::Decision => Some(DiscoveryKind::Decision),
            Self::Issue => Some(DiscoveryKind::Issue),
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct ContextSearchInput {
    /// Search query describing what to find
    #[schemars(length(min = 3, max = 500))]
    pub(super) query: String,
    /// Filter by discovery type
    #[serde(default)]
    pub(super) r#type: DiscoveryTypeFilter,
    /// Filter by module name
    #[schemars(extend("type" = "string"))]
    pub(super) module: Option<String>,
    /// Maximum number of results to return
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 20))]
    pub(super) limit: usize,
}

fn default_limit() -> usize {
    5
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContextSearchOutput {
    /// Results, best first
    pub(super) results: Vec<ContextSearchResult>,
    /// The query as given
    pub(super) query: String,
    /// Number of matching documents, including those not returned
    pub(super) total_found: usize,
    /// Duration of the search in milliseconds
    pub(super) search_time: u64,
    /// Progress of the index; absent once it is complete
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) index: Option<IndexStateOutput>,
    /// Advice if there are no results
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct ContextSearchResult {
    /// Identifier, stable as long as the text does not change
    pub(super) id: String,
    /// Type of the discovery, or `code` or `session`
    pub(super) r#type: ResultType,
    /// The text, or its best matching part
    pub(super) content: String,
    /// Module of the result, if known
    #[schemars(required, extend("type" = ["string", "null"]))]
    pub(super) module: Option<String>,
    /// Session of the result, if known
    #[schemars(required, extend("type" = ["string", "null"]))]
    pub(super) session: Option<String>,
    /// Date of the result
    #[schemars(extend("format" = "date-time"))]
    pub(super) date: String,
    /// Relevance from 0 to 1, comparable between results
    #[schemars(range(min = 0, max = 1))]
    pub(super) score: f64,
    /// Source of the result: a recorded discovery, a snippet of a file, or an earlier session
    pub(super) source: ResultSource,
    /// File path relative to the project root
    #[schemars(required, extend("type" = ["string", "null"]))]
    pub(super) path: Option<String>,
    /// Lines of the file that `content` shows
    #[schemars(required, extend("type" = ["object", "null"]))]
    pub(super) lines: Option<ResultLineRange>,
    /// Reasons for the match, strongest first
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
pub(super) enum ResultSource {
    Discovery,
    Code,
    Session,
}

#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct ResultLineRange {
    /// First line, starting at 1
    pub(super) start: u32,
    /// Last line, inclusive
    pub(super) end: u32,
}

#[derive(Serialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false))]
pub(super) struct IndexStateOutput {
    /// `building`: some files are not read yet; `updating`: changes are pending; `embedding`: some texts match by words
    /// only
    pub(super) state: IndexStateName,
    /// Number of files or texts done
    pub(super) done: usize,
    /// Total number of files or texts
    pub(super) all: usize,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum IndexStateName {
    Building,
    Updating,
    Embedding,
}

impl From<DiscoveryKind> for ResultType {
    fn from(kind: DiscoveryKind) -> Self {
        match kind {
            DiscoveryKind::Pattern => Self::Pattern,
            DiscoveryKind::Rule => Self::Rule,
            DiscoveryKind::Decision => Self::Decision,
            DiscoveryKind::Issue => Self::Issue,
        }
    }
}
