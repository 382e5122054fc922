//! Generated documents match the output of the binary.

use std::path::Path;

use crate::support::Project;

#[test]
fn contracts_document_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/contracts.md");
    let printed = Project::new().run(&["contracts", "--format", "md"]).stdout;
    let printed = String::from_utf8(printed).unwrap();
    let written = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        printed == written,
        "docs/contracts.md is out of date; in a folder without vouch.toml, run:\n\
         cargo run -- contracts --format md > docs/contracts.md"
    );
}
