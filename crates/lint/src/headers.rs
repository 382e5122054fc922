//! Checks of `x-mcp-header` (SEP-2243), which sends an argument as an HTTP header too. Clients drop tools that misuse it.

use std::collections::HashMap;

use serde_json::Value;

use super::finding::{FindingCollector, quote_name};
use super::rules::RuleId;
use super::schema_tree::{SchemaTree, SubschemaNode};
use super::subject::LintSubject;

const HEADER_KEYWORD: &str = "x-mcp-header";

pub(super) fn check_headers(subject: &LintSubject<'_>, report: &mut FindingCollector) {
    let Some(side) = &subject.input else { return };
    let mut seen: HashMap<String, &str> = HashMap::new();
    for node in &side.tree.nodes {
        let Some(header) = node.as_object().and_then(|map| map.get(HEADER_KEYWORD)) else {
            continue;
        };
        if let Err(problem) = validate_header(&side.tree, node, header, &mut seen) {
            report.add_finding(
                RuleId::InvalidHeader,
                format!("{}/{HEADER_KEYWORD}", side.tree.pointer_to(node)),
                problem,
                "use a header token once, on a named string, integer or boolean argument",
            );
        }
    }
}

fn validate_header<'a>(
    tree: &SchemaTree<'a>,
    node: &SubschemaNode<'a>,
    header: &'a Value,
    seen: &mut HashMap<String, &'a str>,
) -> Result<(), String> {
    let Some(name) = node.property_name() else {
        return Err("`x-mcp-header` is not on a named argument".into());
    };
    let mut at = node;
    while let Some(parent) = tree.parent(at) {
        if at.property_name().is_none() {
            return Err(format!("{} is not reached through `properties` alone", quote_name(name)));
        }
        at = parent;
    }
    let Value::String(header) = header else {
        return Err(format!("the header of {} is not a string", quote_name(name)));
    };
    if header.is_empty() {
        return Err(format!("the header of {} is empty", quote_name(name)));
    }
    if let Some(bad) = header.chars().find(|c| !is_token_character(*c)) {
        return Err(format!(
            "{} has {}, which is not allowed in a header name",
            quote_name(header),
            super::hidden_text::describe_character(bad)
        ));
    }
    if let Some(first) = seen.insert(header.to_ascii_lowercase(), name) {
        return Err(format!(
            "{} is already the header of {} (case is ignored)",
            quote_name(header),
            quote_name(first)
        ));
    }
    match node.schema.get("type") {
        Some(Value::String(kind)) if matches!(kind.as_str(), "string" | "integer" | "boolean") => {
            Ok(())
        }
        Some(kind) => {
            Err(format!("{} has the type {}", quote_name(name), quote_name(&kind.to_string())))
        }
        None => Err(format!("{} has no type", quote_name(name))),
    }
}

/// Returns true for a token character of RFC 9110, section 5.6.2.
fn is_token_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}
