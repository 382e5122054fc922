//! Gate 2: server and tool exist in the live catalog, and the arguments satisfy the input schema.
//!
//! Names are compared byte for byte. Arguments that the schema does not describe are refused, even where it leaves the
//! object open: there are no undocumented parameters.

use contract::{Contract, Violation};
use serde_json::{Map, Value};

use crate::described::{field, undescribed};
use crate::gate::plan::PlannedCall;
use crate::json::short;
use crate::offer::{Allowlist, Listed, Standing};

/// Why a planned call is not of this catalog.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("there is no server `{server}`{}", hint(*.foreign))]
    NoServer { server: String, foreign: Option<char> },
    #[error("the server `{server}` has no tool `{tool}`{}", hint(*.foreign))]
    NoTool { server: String, tool: String, foreign: Option<char> },
    #[error("`{tool}` of `{server}` is listed more than once, so no call can mean it")]
    Ambiguous { server: String, tool: String },
    #[error("`{0}` is not a parameter that the contract documents")]
    Undocumented(String),
    #[error(transparent)]
    Arguments(#[from] Violation),
}

fn hint(foreign: Option<char>) -> String {
    foreign.map_or_else(String::new, |character| {
        format!("; the name holds U+{:04X}, which no name may", u32::from(character))
    })
}

/// A call whose tool was found. Whether it may run is the next gate's question.
#[derive(Debug)]
pub struct Resolved<'a> {
    pub(super) listed: &'a Listed,
    pub(super) call: PlannedCall,
}

impl Resolved<'_> {
    /// The contract that the arguments satisfy, if the tool is one that may run.
    pub fn contract(&self) -> Option<&Contract> {
        match &self.listed.standing {
            Standing::Allowed(contract) => Some(contract),
            _ => None,
        }
    }

    pub fn arguments(&self) -> &Map<String, Value> {
        &self.call.arguments
    }
}

/// Finds the tool of a planned call and checks its arguments. A tool that may not run anyway has none checked.
pub fn resolve(allowlist: &Allowlist, call: PlannedCall) -> Result<Resolved<'_>, ResolveError> {
    let of_server =
        || allowlist.listed().iter().filter(|listed| listed.server == call.server.as_str());
    if of_server().next().is_none() {
        let server = short(&call.server);
        return Err(ResolveError::NoServer { server, foreign: foreign(&call.server) });
    }
    let mut found = of_server().filter(|listed| listed.tool == call.tool);
    let (server, tool) = (short(&call.server), short(&call.tool));
    let Some(listed) = found.next() else {
        return Err(ResolveError::NoTool { server, tool, foreign: foreign(&call.tool) });
    };
    if found.next().is_some() {
        return Err(ResolveError::Ambiguous { server, tool });
    }
    if let Standing::Allowed(contract) = &listed.standing {
        let mut arguments = Value::Object(call.arguments.clone());
        if let Some(pointer) = undescribed(contract.input.as_value(), &arguments) {
            return Err(ResolveError::Undocumented(field(&pointer)));
        }
        contract.input.fill_defaults(&mut arguments);
        contract.input.validate(&arguments)?;
    }
    Ok(Resolved { listed, call })
}

/// A character that no name of a server or tool has: most look-alikes are such.
fn foreign(name: &str) -> Option<char> {
    name.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use contract::Definition;
    use serde_json::json;

    fn listed(server: &str, tool: &str, standing: Standing) -> Listed {
        let name = format!("{server}__{tool}");
        Listed { server: server.into(), tool: tool.into(), name, standing }
    }

    fn allowlist() -> Allowlist {
        let definition = Definition {
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
            ..Definition::default()
        };
        let contract = Arc::new(Contract::new(definition, &[]).unwrap());
        Allowlist::new(vec![
            listed("files", "read", Standing::Allowed(contract)),
            listed("files", "wipe", Standing::NotAllowed("not in `tools`".into())),
            listed("twice", "t", Standing::Refused("bad".into())),
            listed("twice", "t", Standing::Refused("bad".into())),
        ])
    }

    fn check(server: &str, tool: &str, arguments: Value) -> Result<(), String> {
        let Value::Object(arguments) = arguments else { panic!("an object") };
        let call = PlannedCall { server: server.into(), tool: tool.into(), arguments };
        resolve(&allowlist(), call).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn what_exists_and_fits_passes() {
        check("files", "read", json!({"path": "a", "options": {"raw": true}})).unwrap();
        check("files", "wipe", json!({"anything": 1})).unwrap();
    }

    #[test]
    fn what_does_not_is_refused_with_its_reason() {
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
