//! Gate 3: the tool is in the effective allowlist. Only what passes here can be called.

use crate::gate::resolve::Resolved;
use crate::gate::vetted::Vetted;
use crate::json::{short, shortened};
use crate::offer::{Offer, Standing};

/// Reasons come with the definitions of strangers.
const MAX_REASON: usize = 400;

/// Why a tool that exists may not be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllowError {
    #[error("`{tool}` was refused: {reason}")]
    Refused { tool: String, reason: String },
    #[error("`{tool}` is quarantined: {reason}")]
    Quarantined { tool: String, reason: String },
    #[error("`{tool}` is not allowed: {reason}")]
    NotAllowed { tool: String, reason: String },
    #[error("`{tool}` has no output schema, so no answer of it could be checked")]
    NoOutputSchema { tool: String },
}

/// Lets an allowed tool through.
pub fn allow(resolved: Resolved<'_>) -> Result<Vetted, AllowError> {
    let Resolved { listed, call } = resolved;
    let tool = || short(&format!("{}/{}", listed.server, listed.tool));
    let said = |reason: &str| shortened(reason, MAX_REASON);
    match &listed.standing {
        Standing::Allowed(contract) if contract.output.is_none() => {
            Err(AllowError::NoOutputSchema { tool: tool() })
        }
        Standing::Allowed(contract) => {
            let offer = Offer {
                server: listed.server.clone(),
                tool: listed.tool.clone(),
                name: listed.name.clone(),
                contract: std::sync::Arc::clone(contract),
            };
            Ok(Vetted::new(offer, call.arguments))
        }
        Standing::Refused(reason) => {
            Err(AllowError::Refused { tool: tool(), reason: said(reason) })
        }
        Standing::Quarantined(reason) => {
            Err(AllowError::Quarantined { tool: tool(), reason: said(reason) })
        }
        Standing::NotAllowed(reason) => {
            Err(AllowError::NotAllowed { tool: tool(), reason: said(reason) })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::gate::plan::PlannedCall;
    use crate::gate::resolve::resolve;
    use crate::offer::{Allowlist, Listed};
    use contract::{Contract, Definition};
    use serde_json::{Map, json};

    #[test]
    fn what_could_not_be_checked_does_not_run() {
        let definition = Definition {
            name: "s__t".into(),
            input_schema: Some(json!({"type": "object"})),
            ..Definition::default()
        };
        let contract = Arc::new(Contract::new(definition, &[]).unwrap());
        assert_eq!(
            check(Standing::Allowed(contract)),
            "`s/t` has no output schema, so no answer of it could be checked"
        );
    }

    fn check(standing: Standing) -> String {
        let (server, tool, name) = ("s".to_owned(), "t".to_owned(), "s__t".to_owned());
        let listed = Listed { server: server.clone(), tool: tool.clone(), name, standing };
        let allowlist = Allowlist::new(vec![listed]);
        let call = PlannedCall { server, tool, arguments: Map::new() };
        let resolved = resolve(&allowlist, call).unwrap();
        allow(resolved).unwrap_err().to_string()
    }

    #[test]
    fn what_exists_but_is_not_allowed_says_why() {
        assert_eq!(
            check(Standing::Refused("no output schema\u{1b}[2J".into())),
            "`s/t` was refused: no output schema\\u{1b}[2J"
        );
        assert_eq!(
            check(Standing::Quarantined("the description changed".into())),
            "`s/t` is quarantined: the description changed"
        );
        assert_eq!(
            check(Standing::NotAllowed("not in `tools` of `s`".into())),
            "`s/t` is not allowed: not in `tools` of `s`"
        );
    }
}
