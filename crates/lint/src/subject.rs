//! The definition under judgement with what several checks need: its schemas, laid out and compiled once.

use contract::{Definition, Schema, SchemaError};
use serde_json::Value;

use super::tree::Tree;

#[derive(Debug)]
pub(super) struct Side<'a> {
    /// `/inputSchema` or `/outputSchema`.
    pub(super) base: &'static str,
    pub(super) value: &'a Value,
    pub(super) tree: Tree<'a>,
    pub(super) compiled: Result<Schema, SchemaError>,
}

#[derive(Debug)]
pub(super) struct Subject<'a> {
    pub(super) definition: &'a Definition,
    pub(super) input: Option<Side<'a>>,
    pub(super) output: Option<Side<'a>>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(definition: &'a Definition) -> Self {
        let side = |base, value: &'a Value| Side {
            base,
            value,
            tree: Tree::new(base, value),
            compiled: Schema::compile(value.clone()),
        };
        Self {
            definition,
            input: definition.input_schema.as_ref().map(|value| side("/inputSchema", value)),
            output: definition.output_schema.as_ref().map(|value| side("/outputSchema", value)),
        }
    }

    pub(super) fn sides(&self) -> impl Iterator<Item = &Side<'a>> {
        self.input.iter().chain(&self.output)
    }
}
