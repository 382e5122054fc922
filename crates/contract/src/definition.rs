//! [`ToolDefinition`], the declaration of a tool, and [`Contract`], a definition whose schemas are compiled.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::canonical::{canonical_json, sha256_with_scheme};
use crate::{Constraints, ErrorCode, Schema, SchemaError};

/// Digest scheme 1: SHA-256 of the canonical JSON of the definition without its examples. A later scheme gets another
/// prefix, so that digests of different schemes never compare equal.
const DIGEST_SCHEME: &str = "vc1:";

/// An example call with its output. Values such as times and sizes in `output` differ between runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolExample {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub input: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}

/// The unchecked declaration of a tool: a built-in one, or an entry of an upstream's `tools/list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraints: Option<Constraints>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<ToolExample>,
}

impl ToolDefinition {
    /// Returns the digest of this definition. Any change of name, title, description, schemas, annotations or
    /// constraints changes it; examples do not count.
    pub fn digest(&self) -> String {
        let value = json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": self.output_schema,
            "annotations": self.annotations,
            "constraints": self.constraints,
        });
        sha256_with_scheme(DIGEST_SCHEME, canonical_json(&value).as_bytes())
    }
}

/// The reason why a definition cannot become a contract.
#[derive(Debug, thiserror::Error)]
pub enum ContractError {
    #[error("tool `{0}` has no input schema")]
    NoInputSchema(String),
    #[error("invalid {side} schema of tool `{tool}`")]
    Schema { tool: String, side: &'static str, source: SchemaError },
}

/// A tool contract: a definition whose schemas are compiled and can be enforced.
#[derive(Debug)]
pub struct Contract {
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub input: Schema,
    /// `None` only if the operator admits a tool without an output schema; the crate `lint` reports it.
    pub output: Option<Schema>,
    pub annotations: Map<String, Value>,
    pub constraints: Constraints,
    pub examples: Vec<ToolExample>,
    /// Error codes of this tool, in addition to those that every tool can return.
    pub errors: Vec<ErrorCode>,
    digest: String,
}

impl Contract {
    /// Compiles a definition. Missing constraints take the defaults; missing annotations follow from the constraints.
    ///
    /// Returns an error if the input schema is missing or a schema does not compile.
    pub fn new(definition: ToolDefinition, errors: &[ErrorCode]) -> Result<Self, ContractError> {
        let mut definition = definition;
        let constraints = definition.constraints.get_or_insert_default().clone();
        let annotations =
            definition.annotations.get_or_insert_with(|| constraints.to_annotations()).clone();
        let digest = definition.digest();
        let ToolDefinition {
            name, title, description, input_schema, output_schema, examples, ..
        } = definition;
        let compile = |side, schema| {
            Schema::compile(schema).map_err(|source| ContractError::Schema {
                tool: name.clone(),
                side,
                source,
            })
        };
        let input = compile(
            "input",
            input_schema.ok_or_else(|| ContractError::NoInputSchema(name.clone()))?,
        )?;
        let output = output_schema.map(|schema| compile("output", schema)).transpose()?;
        Ok(Self {
            title,
            description: description.unwrap_or_default(),
            input,
            output,
            annotations,
            constraints,
            examples,
            errors: errors.to_vec(),
            digest,
            name,
        })
    }

    /// Returns this contract with another name, other constraints and other error codes, as the gateway offers an
    /// upstream's tool. The compiled schemas are shared.
    #[must_use]
    pub fn with_name_and_constraints(
        &self,
        name: String,
        constraints: Constraints,
        errors: &[ErrorCode],
    ) -> Self {
        let definition = ToolDefinition {
            name: name.clone(),
            constraints: Some(constraints.clone()),
            ..self.to_definition()
        };
        Self {
            title: self.title.clone(),
            description: self.description.clone(),
            input: self.input.clone(),
            output: self.output.clone(),
            annotations: self.annotations.clone(),
            constraints,
            examples: self.examples.clone(),
            errors: errors.to_vec(),
            digest: definition.digest(),
            name,
        }
    }

    /// Returns the digest of the definition that this contract was compiled from.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the definition of this contract, for listings, pins and the linter.
    pub fn to_definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: self.name.clone(),
            title: self.title.clone(),
            description: Some(self.description.clone()),
            input_schema: Some(self.input.as_value().clone()),
            output_schema: self.output.as_ref().map(|schema| schema.as_value().clone()),
            annotations: Some(self.annotations.clone()),
            constraints: Some(self.constraints.clone()),
            examples: self.examples.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition() -> ToolDefinition {
        ToolDefinition {
            name: "echo".into(),
            description: Some("Says it again.".into()),
            input_schema: Some(json!({"type": "object"})),
            ..ToolDefinition::default()
        }
    }

    #[test]
    fn renamed_contract_has_digest_of_its_own_definition() {
        let contract = Contract::new(definition(), &[]).unwrap();
        let constraints = Constraints { rate_per_minute: 7, ..Constraints::default() };
        let renamed = contract.with_name_and_constraints(
            "up__echo".into(),
            constraints,
            &[ErrorCode::ToolFailed],
        );
        let recompiled = Contract::new(renamed.to_definition(), &[]).unwrap();
        assert_eq!(renamed.digest(), recompiled.digest());
        assert_ne!(renamed.digest(), contract.digest());
    }

    #[test]
    fn digest_changes_with_every_part_except_examples() {
        let base = definition();
        assert!(base.digest().starts_with("vc1:"));
        let mut with_example = base.clone();
        with_example.examples.push(ToolExample { title: None, input: json!({}), output: None });
        assert_eq!(base.digest(), with_example.digest());
        for change in [
            ToolDefinition { name: "echo2".into(), ..base.clone() },
            ToolDefinition { title: Some("Echo".into()), ..base.clone() },
            ToolDefinition { description: None, ..base.clone() },
            ToolDefinition { output_schema: Some(json!({})), ..base.clone() },
            ToolDefinition { annotations: Some(Map::new()), ..base.clone() },
            ToolDefinition { constraints: Some(Constraints::default()), ..base.clone() },
        ] {
            assert_ne!(base.digest(), change.digest(), "{change:?}");
        }
    }

    #[test]
    fn contract_returns_its_definition() {
        let contract = Contract::new(definition(), &[]).unwrap();
        assert_eq!(contract.to_definition().digest(), contract.digest());
        assert_eq!(contract.annotations["readOnlyHint"], true);
    }

    #[test]
    fn rejects_definition_without_input_schema() {
        let error =
            Contract::new(ToolDefinition { input_schema: None, ..definition() }, &[]).unwrap_err();
        assert_eq!(error.to_string(), "tool `echo` has no input schema");
    }
}
