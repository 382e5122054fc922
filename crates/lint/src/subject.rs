//! The definition that is checked, with its schemas flattened and compiled once for all checks.

use contract::{Schema, SchemaError, ToolDefinition};
use serde_json::Value;

use super::schema_tree::SchemaTree;

/// The input or the output schema of the definition.
#[derive(Debug)]
pub(super) struct SubjectSchema<'a> {
    /// `/inputSchema` or `/outputSchema`.
    pub(super) base: &'static str,
    pub(super) value: &'a Value,
    pub(super) tree: SchemaTree<'a>,
    pub(super) compiled: Result<Schema, SchemaError>,
}

#[derive(Debug)]
pub(super) struct LintSubject<'a> {
    pub(super) definition: &'a ToolDefinition,
    pub(super) input: Option<SubjectSchema<'a>>,
    pub(super) output: Option<SubjectSchema<'a>>,
}

impl<'a> LintSubject<'a> {
    pub(super) fn new(definition: &'a ToolDefinition) -> Self {
        let side = |base, value: &'a Value| SubjectSchema {
            base,
            value,
            tree: SchemaTree::new(base, value),
            compiled: Schema::compile(value.clone()),
        };
        Self {
            definition,
            input: definition.input_schema.as_ref().map(|value| side("/inputSchema", value)),
            output: definition.output_schema.as_ref().map(|value| side("/outputSchema", value)),
        }
    }

    /// Returns the schemas that the definition has, input first.
    pub(super) fn schemas(&self) -> impl Iterator<Item = &SubjectSchema<'a>> {
        self.input.iter().chain(&self.output)
    }
}
