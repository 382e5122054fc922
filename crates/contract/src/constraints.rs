//! The limits and effects that a contract promises: what the pipeline enforces and what annotations are derived from.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What a call changes in the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SideEffects {
    /// Nothing: the tool only reads.
    #[default]
    None,
    /// Something is added; nothing that was there is changed or lost.
    Append,
    /// Something that was there may be changed or removed.
    Write,
}

/// The limits of one tool. Rates and times are defaults that an operator's configuration may override.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Constraints {
    /// What the tool may touch, in a few words for people ("public", "files below the root that are not denied").
    pub access: String,
    pub side_effects: SideEffects,
    /// A person must agree before each call.
    pub approval: bool,
    /// Calls a minute, for each caller.
    pub rate_per_minute: u32,
    /// How long a caller waits before EXECUTION_TIMEOUT.
    #[serde(rename = "timeoutMs", with = "milliseconds")]
    pub timeout: Duration,
    pub max_input_bytes: usize,
    pub max_output_bytes: usize,
    /// A repeated call with the same arguments changes nothing further.
    pub idempotent: bool,
    /// The tool reaches beyond this machine.
    #[serde(default)]
    pub open_world: bool,
    /// The audit log may hold argument values, not only their digest and shape.
    #[serde(default)]
    pub audit_values: bool,
    /// Rules that no schema can say, one sentence each, for people.
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
    /// The MCP annotations that follow from these constraints.
    pub fn annotations(&self) -> Map<String, Value> {
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
