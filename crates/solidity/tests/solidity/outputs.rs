//! Compiler outputs: the fixtures, and formats derived from them.

use serde_json::{Value, json};

pub(crate) const FOUNDRY: &str = include_str!("../fixtures/foundry.json");
pub(crate) const COMBINED: &str = include_str!("../fixtures/combined.json");
pub(crate) const CRYTIC_SOLC: &str = include_str!("../fixtures/crytic_solc.json");
pub(crate) const CRYTIC_STANDARD: &str = include_str!("../fixtures/crytic_standard.json");
pub(crate) const CRYTIC_ARCHIVE: &str = include_str!("../fixtures/crytic_archive.json");

/// Returns the build-info of Foundry, for tests that modify it.
pub(crate) fn foundry_output() -> Value {
    serde_json::from_str(FOUNDRY).unwrap()
}

/// Returns the output of `solc --standard-json`.
pub(crate) fn standard_output() -> Value {
    foundry_output()["output"].take()
}

/// Returns an output with errors and a warning, as formatted by solc.
pub(crate) fn failed_output() -> Value {
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
