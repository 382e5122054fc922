//! [`Definition`], what somebody declares about a tool, and [`Contract`], a definition whose schemas compiled.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::canonical::{canonical_json, with_scheme};
use crate::{Code, Constraints, Schema, SchemaError};

/// Scheme 1: SHA-256 over the canonical JSON of the definition without its examples. A later scheme gets another
/// prefix, so that stored digests never compare equal by accident.
const DIGEST_SCHEME: &str = "vc1:";

/// One call with its answer. `output` is what a caller may expect; times and sizes in it differ from run to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Example {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub input: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
}

/// What is declared about a tool, checked by nobody yet: ours, or an entry of somebody's `tools/list`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Definition {
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
    pub examples: Vec<Example>,
}

impl Definition {
    /// The name of this exact definition: any change of name, title, description, schemas, annotations or
    /// constraints gives another digest. Examples illustrate and do not count.
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
        with_scheme(DIGEST_SCHEME, canonical_json(&value).as_bytes())
    }
}

/// Why a definition is no contract.
#[derive(Debug, thiserror::Error)]
pub enum ContractError {
    #[error("tool `{0}` has no input schema")]
    NoInputSchema(String),
    #[error("{side} schema of tool `{tool}`")]
    Schema { tool: String, side: &'static str, source: SchemaError },
}

/// A complete agreement: a definition whose schemas are compiled and can be enforced.
#[derive(Debug)]
pub struct Contract {
    pub name: String,
    pub title: Option<String>,
    pub description: String,
    pub input: Schema,
    /// None only where an operator lets a tool without one through; the crate `lint` reports it.
    pub output: Option<Schema>,
    pub annotations: Map<String, Value>,
    pub constraints: Constraints,
    pub examples: Vec<Example>,
    /// The codes a caller should be ready for, beyond those every tool can answer.
    pub errors: Vec<Code>,
    digest: String,
}

impl Contract {
    /// Compiles a definition. Missing constraints take the defaults, missing annotations follow from the constraints.
    pub fn new(definition: Definition, errors: &[Code]) -> Result<Self, ContractError> {
        let mut definition = definition;
        let constraints = definition.constraints.get_or_insert_default().clone();
        let annotations =
            definition.annotations.get_or_insert_with(|| constraints.annotations()).clone();
        let digest = definition.digest();
        let Definition { name, title, description, input_schema, output_schema, examples, .. } =
            definition;
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

    /// The same agreement as another offers it: under another name, with other limits. The compiled schemas are shared.
    #[must_use]
    pub fn offered_as(&self, name: String, constraints: Constraints, errors: &[Code]) -> Self {
        let definition = Definition {
            name: name.clone(),
            constraints: Some(constraints.clone()),
            ..self.definition()
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

    /// The digest of the definition this contract was made from.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Back to what is declared, for listings, pins and the linter.
    pub fn definition(&self) -> Definition {
        Definition {
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

    fn definition() -> Definition {
        Definition {
            name: "echo".into(),
            description: Some("Says it again.".into()),
            input_schema: Some(json!({"type": "object"})),
            ..Definition::default()
        }
    }

    #[test]
    fn what_is_offered_again_is_what_the_same_definition_would_be() {
        let contract = Contract::new(definition(), &[]).unwrap();
        let constraints = Constraints { rate_per_minute: 7, ..Constraints::default() };
        let again = contract.offered_as("up__echo".into(), constraints, &[Code::ToolFailed]);
        let anew = Contract::new(again.definition(), &[]).unwrap();
        assert_eq!(again.digest(), anew.digest());
        assert_ne!(again.digest(), contract.digest());
    }

    #[test]
    fn any_change_but_an_example_changes_the_digest() {
        let base = definition();
        assert!(base.digest().starts_with("vc1:"));
        let mut with_example = base.clone();
        with_example.examples.push(Example { title: None, input: json!({}), output: None });
        assert_eq!(base.digest(), with_example.digest());
        for change in [
            Definition { name: "echo2".into(), ..base.clone() },
            Definition { title: Some("Echo".into()), ..base.clone() },
            Definition { description: None, ..base.clone() },
            Definition { output_schema: Some(json!({})), ..base.clone() },
            Definition { annotations: Some(Map::new()), ..base.clone() },
            Definition { constraints: Some(Constraints::default()), ..base.clone() },
        ] {
            assert_ne!(base.digest(), change.digest(), "{change:?}");
        }
    }

    #[test]
    fn a_contract_gives_its_definition_back() {
        let contract = Contract::new(definition(), &[]).unwrap();
        assert_eq!(contract.definition().digest(), contract.digest());
        assert_eq!(contract.annotations["readOnlyHint"], true);
    }

    #[test]
    fn a_definition_without_input_schema_is_no_contract() {
        let error =
            Contract::new(Definition { input_schema: None, ..definition() }, &[]).unwrap_err();
        assert_eq!(error.to_string(), "tool `echo` has no input schema");
    }
}
