//! Gate 2: server and tool exist in the live catalog, and the arguments satisfy the input schema.
//!
//! Names are compared byte for byte. Arguments that the schema does not describe are rejected, even if it allows
//! additional properties.

use contract::{Contract, SchemaViolation};
use serde_json::{Map, Value};

use crate::gate::plan::PlannedCall;
use crate::json::shorten_name;
use crate::offer::{EffectiveAllowlist, ListedTool, ToolStanding};
use crate::schema_view::{find_undescribed, format_field_path};

/// The reason why a planned call does not match the catalog.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("unknown server `{server}`{}", format_foreign_hint(*.foreign))]
    NoServer { server: String, foreign: Option<char> },
    #[error("server `{server}` has no tool `{tool}`{}", format_foreign_hint(*.foreign))]
    NoTool { server: String, tool: String, foreign: Option<char> },
    #[error("tool `{tool}` of `{server}` is ambiguous, it is listed more than once")]
    Ambiguous { server: String, tool: String },
    #[error("`{0}` is not a documented parameter")]
    Undocumented(String),
    #[error(transparent)]
    Arguments(#[from] SchemaViolation),
}

fn format_foreign_hint(foreign: Option<char>) -> String {
    foreign.map_or_else(String::new, |character| {
        format!("; U+{:04X} is not allowed in a name", u32::from(character))
    })
}

/// A call whose tool exists. Gate 3 decides if it may run.
#[derive(Debug)]
pub struct ResolvedCall<'a> {
    pub(super) listed: &'a ListedTool,
    pub(super) call: PlannedCall,
}

impl ResolvedCall<'_> {
    /// Returns the contract that the arguments satisfy, or `None` if the tool is not allowed.
    pub fn contract(&self) -> Option<&Contract> {
        match &self.listed.standing {
            ToolStanding::Allowed(contract) => Some(contract),
            _ => None,
        }
    }

    pub fn arguments(&self) -> &Map<String, Value> {
        &self.call.arguments
    }
}

/// Finds the tool of a planned call and checks its arguments, unless the tool is not allowed anyway.
pub fn resolve_call(
    allowlist: &EffectiveAllowlist,
    call: PlannedCall,
) -> Result<ResolvedCall<'_>, ResolveError> {
    let of_server =
        || allowlist.listed_tools().iter().filter(|listed| listed.server == call.server.as_str());
    if of_server().next().is_none() {
        let server = shorten_name(&call.server);
        return Err(ResolveError::NoServer {
            server,
            foreign: find_foreign_character(&call.server),
        });
    }
    let mut found = of_server().filter(|listed| listed.tool == call.tool);
    let (server, tool) = (shorten_name(&call.server), shorten_name(&call.tool));
    let Some(listed) = found.next() else {
        return Err(ResolveError::NoTool {
            server,
            tool,
            foreign: find_foreign_character(&call.tool),
        });
    };
    if found.next().is_some() {
        return Err(ResolveError::Ambiguous { server, tool });
    }
    if let ToolStanding::Allowed(contract) = &listed.standing {
        let mut arguments = Value::Object(call.arguments.clone());
        if let Some(pointer) = find_undescribed(contract.input.as_value(), &arguments) {
            return Err(ResolveError::Undocumented(format_field_path(&pointer)));
        }
        contract.input.fill_defaults(&mut arguments);
        contract.input.validate(&arguments)?;
    }
    Ok(ResolvedCall { listed, call })
}

/// Returns the first character that is not allowed in names; most look-alike characters are among these.
fn find_foreign_character(name: &str) -> Option<char> {
    name.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use contract::ToolDefinition;
    use serde_json::json;

    fn listed(server: &str, tool: &str, standing: ToolStanding) -> ListedTool {
        let name = format!("{server}__{tool}");
        ListedTool { server: server.into(), tool: tool.into(), name, standing }
    }

    fn allowlist() -> EffectiveAllowlist {
        let definition = ToolDefinition {
            name: "files__read".into(),
            input_schema: Some(json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "maxLength": 10},
                    "limit": {"type": "integer", "default": 5},
                    "options": {"type": "object", "properties": {"raw": {"type": "boolean"}}},
                },
                "required": ["path", "limit"],
            })),
            ..ToolDefinition::default()
        };
        let contract = Arc::new(Contract::new(definition, &[]).unwrap());
        EffectiveAllowlist::new(vec![
            listed("files", "read", ToolStanding::Allowed(contract)),
            listed("files", "wipe", ToolStanding::NotAllowed("not in `tools`".into())),
            listed("twice", "t", ToolStanding::Refused("bad".into())),
            listed("twice", "t", ToolStanding::Refused("bad".into())),
        ])
    }

    fn check(server: &str, tool: &str, arguments: Value) -> Result<(), String> {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        let call = PlannedCall { server: server.into(), tool: tool.into(), arguments };
        resolve_call(&allowlist(), call).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn accepts_existing_tools_with_valid_arguments() {
        check("files", "read", json!({"path": "a", "options": {"raw": true}})).unwrap();
        check("files", "wipe", json!({"anything": 1})).unwrap();
    }

    #[test]
    fn rejects_unknown_tools_and_invalid_arguments_with_a_reason() {
        let reasons: Vec<String> = [
            ("file", "read", json!({})),
            ("Files", "read", json!({})),
            ("files ", "read", json!({})),
            ("fіles", "read", json!({"path": "a"})),
            ("files", "rеad", json!({"path": "a"})),
            ("files", "Read", json!({"path": "a"})),
            ("files", "files__read", json!({"path": "a"})),
            ("files", "write", json!({})),
            ("twice", "t", json!({})),
            ("files", "read", json!({})),
            ("files", "read", json!({"path": 1})),
            ("files", "read", json!({"path": "far too long for it"})),
            ("files", "read", json!({"path": "a", "sudo": true})),
            ("files", "read", json!({"path": "a", "options": {"raw": true, "exec": "x"}})),
        ]
        .into_iter()
        .map(|(server, tool, arguments)| check(server, tool, arguments).unwrap_err())
        .collect();
        insta::assert_snapshot!(reasons.join("\n"));
    }
}
