//! `x-mcp-header` (SEP-2243): an argument that travels as an HTTP header too. A client drops a tool that uses it wrongly.

use std::collections::HashMap;

use serde_json::Value;

use super::finding::{Report, quoted};
use super::rules::Id;
use super::subject::Subject;
use super::tree::{Node, Tree};

const KEYWORD: &str = "x-mcp-header";

pub(super) fn check(subject: &Subject<'_>, report: &mut Report) {
    let Some(side) = &subject.input else { return };
    let mut seen: HashMap<String, &str> = HashMap::new();
    for node in &side.tree.nodes {
        let Some(header) = node.map().and_then(|map| map.get(KEYWORD)) else { continue };
        if let Err(problem) = judge(&side.tree, node, header, &mut seen) {
            report.add(
                Id::InvalidHeader,
                format!("{}/{KEYWORD}", side.tree.path(node)),
                problem,
                "use a header token once, on a named string, integer or boolean argument",
            );
        }
    }
}

fn judge<'a>(
    tree: &Tree<'a>,
    node: &Node<'a>,
    header: &'a Value,
    seen: &mut HashMap<String, &'a str>,
) -> Result<(), String> {
    let Some(name) = node.property() else {
        return Err("it stands on a schema that is no named argument".into());
    };
    let mut at = node;
    while let Some(parent) = tree.parent(at) {
        if at.property().is_none() {
            return Err(format!("{} is not reached through `properties` alone", quoted(name)));
        }
        at = parent;
    }
    let Value::String(header) = header else {
        return Err(format!("the header of {} is not a string", quoted(name)));
    };
    if header.is_empty() {
        return Err(format!("the header of {} is empty", quoted(name)));
    }
    if let Some(bad) = header.chars().find(|c| !is_token(*c)) {
        return Err(format!(
            "{} has {}, which no header name may have",
            quoted(header),
            super::hidden::character(bad)
        ));
    }
    if let Some(first) = seen.insert(header.to_ascii_lowercase(), name) {
        return Err(format!(
            "{} is the header of {} already (case does not count)",
            quoted(header),
            quoted(first)
        ));
    }
    match node.schema.get("type") {
        Some(Value::String(kind)) if matches!(kind.as_str(), "string" | "integer" | "boolean") => {
            Ok(())
        }
        Some(kind) => Err(format!("{} has the type {}", quoted(name), quoted(&kind.to_string()))),
        None => Err(format!("{} has no type", quoted(name))),
    }
}

/// A token character of RFC 9110, section 5.6.2.
fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}
