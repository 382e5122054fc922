//! Outputs of compilers: the fixtures, and the forms that are put together from them.

use serde_json::{Value, json};

pub(crate) const FOUNDRY: &str = include_str!("../fixtures/foundry.json");
pub(crate) const COMBINED: &str = include_str!("../fixtures/combined.json");
pub(crate) const CRYTIC_SOLC: &str = include_str!("../fixtures/crytic_solc.json");
pub(crate) const CRYTIC_STANDARD: &str = include_str!("../fixtures/crytic_standard.json");
pub(crate) const CRYTIC_ARCHIVE: &str = include_str!("../fixtures/crytic_archive.json");

/// The build-info of Foundry, to be changed.
pub(crate) fn foundry() -> Value {
    serde_json::from_str(FOUNDRY).unwrap()
}

/// The output of `solc --standard-json`.
pub(crate) fn standard() -> Value {
    foundry()["output"].take()
}

/// The output with an error and a warning, as solc formats them.
pub(crate) fn failed() -> Value {
    json!({
        "errors": [
            {
                "component": "general",
                "severity": "warning",
                "formattedMessage": "Warning: Unused local variable.\n",
                "message": "Unused local variable.",
            },
            {
                "component": "general",
                "severity": "error",
                "type": "ParserError",
                "formattedMessage": "ParserError: Expected ';' but got '}'\n --> src/Bank.sol:20:5:\n   |\n20 |     }\n   |     ^\n\n",
                "message": "Expected ';' but got '}'",
            },
            {
                "component": "general",
                "severity": "error",
                "type": "ParserError",
                "message": "Source \"lib/Gone.sol\" not found.",
            },
        ],
        "sources": {},
    })
}
