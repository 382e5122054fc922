//! The shape of an answer: what the contract publishes as its output schema.

use schemars::JsonSchema;
use serde::Serialize;
use source::{ImportKind, Role};

#[derive(Serialize, JsonSchema)]
pub(super) struct Answer {
    /// The file that was asked for
    pub(super) file: FileText,
    /// The project files that it imports, in the order in which it does; empty without `includeDeps`
    pub(super) dependencies: Vec<Dependency>,
    /// External packages that it imports, by name; only with `includeDeps`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub(super) externals: Option<Vec<String>>,
    /// Imports that lead to no file and no known package; only with `includeDeps`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Unresolved>")]
    pub(super) unresolved: Option<Vec<Unresolved>>,
    /// What is known about the file
    pub(super) metadata: Metadata,
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FileText {
    /// Normalized path
    pub(super) path: String,
    /// The whole text
    pub(super) content: String,
    /// Size in bytes
    pub(super) size: u64,
    /// Number of lines
    pub(super) lines: u64,
    /// Name of the language; `text` if it is not known
    pub(super) language: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Dependency {
    /// Path from the project root
    pub(super) path: String,
    /// How it is imported
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ImportKind::ALL.map(ImportKind::name)))]
    pub(super) kind: &'static str,
    /// How many imports away it is
    pub(super) level: u32,
    /// The line that imports it first, from 1
    pub(super) line: u32,
    /// Its text
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(super) content: Option<String>,
    /// What of the text was left out, and why
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(super) omitted: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Unresolved {
    /// As the file says it
    pub(super) specifier: String,
    /// The line that says it, from 1
    pub(super) line: u32,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Metadata {
    /// The module that the file belongs to, if there is one
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(super) module: Option<String>,
    /// What the file is for
    #[schemars(extend("enum" = Role::ALL.map(Role::name)))]
    pub(super) role: &'static str,
    /// Last modified timestamp
    #[schemars(extend("format" = "date-time"))]
    pub(super) last_modified: String,
    /// What else is to be said: where parsing stopped, how many dependencies are not listed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(super) details: Option<String>,
}
