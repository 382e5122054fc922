//! Output types of `read_file`, published as its output schema.

use schemars::JsonSchema;
use serde::Serialize;
use source::{FileRole, ImportKind};

#[derive(Serialize, JsonSchema)]
pub(super) struct ReadFileOutput {
    /// The requested file
    pub(super) file: FileTextOutput,
    /// Project files it imports, in import order; empty without `includeDeps`
    pub(super) dependencies: Vec<DependencyOutput>,
    /// Names of external packages it imports; only with `includeDeps`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub(super) externals: Option<Vec<String>>,
    /// Imports that match no file and no known package; only with `includeDeps`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<UnresolvedImport>")]
    pub(super) unresolved: Option<Vec<UnresolvedImport>>,
    /// Metadata of the file
    pub(super) metadata: FileMetadataOutput,
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FileTextOutput {
    /// Normalized path
    pub(super) path: String,
    /// Full text
    pub(super) content: String,
    /// Size in bytes
    pub(super) size: u64,
    /// Number of lines
    pub(super) lines: u64,
    /// Name of the language; `text` if unknown
    pub(super) language: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DependencyOutput {
    /// File path relative to the project root
    pub(super) path: String,
    /// Kind of import
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ImportKind::ALL.map(ImportKind::name)))]
    pub(super) kind: &'static str,
    /// Distance in imports
    pub(super) level: u32,
    /// Line of the first import, starting at 1
    pub(super) line: u32,
    /// Text of the file
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(super) content: Option<String>,
    /// Omitted part of the text, with the reason
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(super) omitted: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UnresolvedImport {
    /// Specifier as written in the file
    pub(super) specifier: String,
    /// Line of the import, starting at 1
    pub(super) line: u32,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FileMetadataOutput {
    /// Module of the file, if any
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(super) module: Option<String>,
    /// Role of the file
    #[schemars(extend("enum" = FileRole::ALL.map(FileRole::name)))]
    pub(super) role: &'static str,
    /// Last modified timestamp
    #[schemars(extend("format" = "date-time"))]
    pub(super) last_modified: String,
    /// Additional information, such as syntax errors or the number of unlisted dependencies
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(super) details: Option<String>,
}
