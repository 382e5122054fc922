//! The limits and side effects that a contract declares. The pipeline enforces them, and annotations are derived from them.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The changes that a call makes outside the tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SideEffects {
    /// The tool only reads.
    #[default]
    None,
    /// The call adds data and changes or removes none.
    Append,
    /// The call may change or remove existing data.
    Write,
}

/// The limits of one tool. An operator's configuration may override the rate and the time limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Constraints {
    /// Data that the tool may access, as a short phrase for people ("public", "files below the root that are not denied").
    pub access: String,
    pub side_effects: SideEffects,
    /// If set, a person must approve each call.
    pub approval: bool,
    /// Maximum calls per minute and caller.
    pub rate_per_minute: u32,
    /// Time limit of a call; after it the caller gets `EXECUTION_TIMEOUT`.
    #[serde(rename = "timeoutMs", with = "milliseconds")]
    pub timeout: Duration,
    pub max_input_bytes: usize,
    pub max_output_bytes: usize,
    /// If set, repeating a call with the same arguments has no further effect.
    pub idempotent: bool,
    /// If set, the tool accesses other machines.
    #[serde(default)]
    pub open_world: bool,
    /// If set, the audit log may contain argument values, not only their digest and shape.
    #[serde(default)]
    pub audit_values: bool,
    /// Rules that a schema cannot express, one sentence each, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
}

impl Default for Constraints {
    fn default() -> Self {
        Self {
            access: "public".into(),
            side_effects: SideEffects::None,
            approval: false,
            rate_per_minute: 100,
            timeout: Duration::from_secs(1),
            max_input_bytes: 64 * 1024,
            max_output_bytes: 4 * 1024 * 1024,
            idempotent: true,
            open_world: false,
            audit_values: false,
            rules: Vec::new(),
        }
    }
}

impl Constraints {
    /// Returns the MCP annotations that follow from these constraints.
    pub fn to_annotations(&self) -> Map<String, Value> {
        let Value::Object(map) = json!({
            "readOnlyHint": self.side_effects == SideEffects::None,
            "destructiveHint": self.side_effects == SideEffects::Write,
            "idempotentHint": self.idempotent,
            "openWorldHint": self.open_world,
        }) else {
            unreachable!("the literal above is an object")
        };
        map
    }
}

mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &Duration, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_u64(u64::try_from(value.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
        u64::deserialize(input).map(Duration::from_millis)
    }
}
