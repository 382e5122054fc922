//! Gate 3: the tool is in the effective allowlist. Only a call that passes this gate can be made.

use crate::gate::resolve::ResolvedCall;
use crate::gate::vetted_call::VettedCall;
use crate::json::{shorten_name, shorten_text};
use crate::offer::{ToolOffer, ToolStanding};

/// Maximum characters of a reason; reasons may quote untrusted definitions.
const MAX_REASON: usize = 400;

/// The reason why an existing tool may not be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllowError {
    #[error("`{tool}` was refused: {reason}")]
    Refused { tool: String, reason: String },
    #[error("`{tool}` is quarantined: {reason}")]
    Quarantined { tool: String, reason: String },
    #[error("`{tool}` is not allowed: {reason}")]
    NotAllowed { tool: String, reason: String },
    #[error("`{tool}` has no output schema, so its answers cannot be checked")]
    NoOutputSchema { tool: String },
}

/// Returns the call if its tool is allowed.
pub fn check_allowed(resolved: ResolvedCall<'_>) -> Result<VettedCall, AllowError> {
    let ResolvedCall { listed, call } = resolved;
    let tool = || shorten_name(&format!("{}/{}", listed.server, listed.tool));
    let bounded = |reason: &str| shorten_text(reason, MAX_REASON);
    match &listed.standing {
        ToolStanding::Allowed(contract) if contract.output.is_none() => {
            Err(AllowError::NoOutputSchema { tool: tool() })
        }
        ToolStanding::Allowed(contract) => {
            let offer = ToolOffer {
                server: listed.server.clone(),
                tool: listed.tool.clone(),
                name: listed.name.clone(),
                contract: std::sync::Arc::clone(contract),
            };
            Ok(VettedCall::new(offer, call.arguments))
        }
        ToolStanding::Refused(reason) => {
            Err(AllowError::Refused { tool: tool(), reason: bounded(reason) })
        }
        ToolStanding::Quarantined(reason) => {
            Err(AllowError::Quarantined { tool: tool(), reason: bounded(reason) })
        }
        ToolStanding::NotAllowed(reason) => {
            Err(AllowError::NotAllowed { tool: tool(), reason: bounded(reason) })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::gate::plan::PlannedCall;
    use crate::gate::resolve::resolve_call;
    use crate::offer::{EffectiveAllowlist, ListedTool};
    use contract::{Contract, ToolDefinition};
    use serde_json::{Map, json};

    #[test]
    fn rejects_tool_without_output_schema() {
        let definition = ToolDefinition {
            name: "s__t".into(),
            input_schema: Some(json!({"type": "object"})),
            ..ToolDefinition::default()
        };
        let contract = Arc::new(Contract::new(definition, &[]).unwrap());
        assert_eq!(
            check(ToolStanding::Allowed(contract)),
            "`s/t` has no output schema, so its answers cannot be checked"
        );
    }

    fn check(standing: ToolStanding) -> String {
        let (server, tool, name) = ("s".to_owned(), "t".to_owned(), "s__t".to_owned());
        let listed = ListedTool { server: server.clone(), tool: tool.clone(), name, standing };
        let allowlist = EffectiveAllowlist::new(vec![listed]);
        let call = PlannedCall { server, tool, arguments: Map::new() };
        let resolved = resolve_call(&allowlist, call).unwrap();
        check_allowed(resolved).unwrap_err().to_string()
    }

    #[test]
    fn rejects_tool_that_is_not_allowed_with_its_reason() {
        assert_eq!(
            check(ToolStanding::Refused("no output schema\u{1b}[2J".into())),
            "`s/t` was refused: no output schema\\u{1b}[2J"
        );
        assert_eq!(
            check(ToolStanding::Quarantined("the description changed".into())),
            "`s/t` is quarantined: the description changed"
        );
        assert_eq!(
            check(ToolStanding::NotAllowed("not in `tools` of `s`".into())),
            "`s/t` is not allowed: not in `tools` of `s`"
        );
    }
}
