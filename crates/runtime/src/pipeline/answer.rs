//! What came back: checked against the contract before anybody sees it.
//!
//! An answer of our own that breaks its contract is a defect of ours. One of an upstream server is a violation: the caller
//! learns which rule was broken and where, never what came, because a model would read it.

use std::collections::HashSet;
use std::sync::Arc;

use contract::{
    CallPolicy, Code, Content, Contract, Output, PolicySubject, PolicyVerdict, ToolError,
};
use serde_json::{Value, json};

use super::json_size;
use crate::catalog::{Entry, Origin};
use crate::policy::denied;

/// An answer that goes no further, and what people are told of it.
pub(super) struct Withheld {
    pub(super) error: ToolError,
    /// Which rule was broken and where, with names as they came.
    pub(super) violation: String,
    pub(super) raw: Arc<str>,
}

impl Withheld {
    /// By a rule of the operator's, or by an invoker that would not even read it.
    pub(super) fn because(error: ToolError, raw: Option<Arc<str>>) -> Self {
        Self { violation: error.message.clone(), error, raw: raw.unwrap_or_default() }
    }
}

pub(super) enum Flaw {
    Failed(ToolError),
    Withheld(Box<Withheld>),
}

impl From<Withheld> for Flaw {
    fn from(withheld: Withheld) -> Self {
        Self::Withheld(Box::new(withheld))
    }
}

impl From<ToolError> for Flaw {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

/// Checks the answer against the contract and its size, and writes the text that clients show.
pub(super) fn check(entry: &Entry, mut output: Output) -> Result<Output, Flaw> {
    let contract = &*entry.contract;
    let origin = entry.invoker.origin();
    // Who says that it failed has no result to check.
    if let Some(schema) = contract.output.as_ref().filter(|_| !output.is_error) {
        let broken = match &output.structured {
            Some(value) => schema.validate(value).err().map(|violation| Broken {
                place: known_place(schema.as_value(), &violation.path),
                seen: format!("{} at {}: {}", violation.keyword, violation.path, violation.message),
                keyword: violation.keyword,
            }),
            None => Some(Broken::missing()),
        };
        if let Some(broken) = broken {
            return Err(match origin {
                Origin::Ours => defect(contract, &broken).into(),
                Origin::Upstream => broken.withhold(contract, &output).into(),
            });
        }
    }
    let is_ours = origin == Origin::Ours && !output.is_error;
    if let (Some(value), true, true) = (&output.structured, output.content.is_empty(), is_ours) {
        // Not `to_string`, which goes through the formatter and takes twice as long.
        let text = serde_json::to_string(value).expect("a JSON value always serialises");
        output.content.push(Content::Text(text));
    }
    let size = match (&output.raw, origin) {
        (Some(raw), _) => raw.text.len(),
        (None, Origin::Ours) => output_size(&output),
        // Nothing says that its text repeats its structure.
        (None, Origin::Upstream) => {
            output_size(&output) + output.structured.as_ref().map_or(0, json_size)
        }
    };
    let limit = contract.constraints.max_output_bytes;
    if size > limit {
        return Err(ToolError::new(
            Code::TooLarge,
            format!("the result has {size} bytes, over the limit of {limit}; ask for less"),
        )
        .with("limit", limit)
        .with("size", size)
        .into());
    }
    Ok(output)
}

/// Asks the operator's rules whether the caller may have this result.
pub(super) fn judge(
    policy: &dyn CallPolicy,
    subject: &PolicySubject<'_>,
    output: Output,
) -> Result<Output, Flaw> {
    if output.is_error {
        return Ok(output);
    }
    let verdict = match &output.structured {
        Some(value) => policy.on_result(subject, value),
        None => {
            let content: Vec<_> = output.content.iter().map(Content::to_block).collect();
            policy.on_result(subject, &json!({"content": content}))
        }
    };
    let error = match verdict {
        PolicyVerdict::Allow => return Ok(output),
        PolicyVerdict::Deny { rule, reason } => denied("result", &rule, reason.as_deref()),
        PolicyVerdict::Approve { rule } => {
            denied("result", &rule, Some("nobody can be asked about a result"))
        }
    };
    let raw = raw(&output);
    Err(Withheld::because(error, Some(raw)).into())
}

pub(super) fn output_size(output: &Output) -> usize {
    output
        .content
        .iter()
        .map(|content| match content {
            Content::Text(text) => text.len(),
            Content::Block(block) => json_size(block),
        })
        .sum()
}

/// The answer as it came, or as it would have come.
pub(super) fn raw(output: &Output) -> Arc<str> {
    if let Some(raw) = &output.raw {
        return Arc::clone(&raw.text);
    }
    let content: Vec<_> = output.content.iter().map(Content::to_block).collect();
    let mut result = json!({"content": content});
    if let Some(structured) = &output.structured {
        result["structuredContent"] = structured.clone();
    }
    result.to_string().into()
}

struct Broken {
    keyword: String,
    /// Where, in words of the contract alone.
    place: String,
    /// The same with the names that came, for people.
    seen: String,
}

impl Broken {
    fn missing() -> Self {
        let (keyword, place) = ("required".to_owned(), "structuredContent".to_owned());
        Self { keyword, place, seen: "structuredContent is missing".into() }
    }

    fn withhold(self, contract: &Contract, output: &Output) -> Withheld {
        let Self { keyword, place, seen } = self;
        let violation = format!("{keyword} at {place}");
        let tool = &contract.name;
        let message =
            format!("the answer of `{tool}` broke its contract ({violation}) and is withheld");
        let error = ToolError::new(Code::ContractViolation, message)
            .with("tool", tool.as_str())
            .with("violation", violation)
            .with("keyword", keyword)
            .with("path", place);
        Withheld { error, violation: seen, raw: raw(output) }
    }
}

/// Ours to mend: the caller could do nothing with the details.
fn defect(contract: &Contract, broken: &Broken) -> ToolError {
    let violation = broken.seen.as_str();
    tracing::error!(tool = contract.name, violation, "a tool broke its own output contract");
    ToolError::new(
        Code::InternalError,
        "the tool's answer broke its contract; the server's log has the cause",
    )
}

/// A JSON pointer in which names that the contract does not know are stars: whoever answers chooses the names of what it
/// answers, and could put words for a model there.
fn known_place(schema: &Value, path: &str) -> String {
    if path.is_empty() {
        return "/".to_owned();
    }
    let mut known = HashSet::new();
    collect_names(schema, &mut known);
    let segments = path.split('/').skip(1).map(|segment| {
        let is_index = !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
        let name = segment.replace("~1", "/").replace("~0", "~");
        if is_index || known.contains(name.as_str()) { segment } else { "*" }
    });
    segments.fold(String::new(), |place, segment| place + "/" + segment)
}

fn collect_names<'a>(schema: &'a Value, known: &mut HashSet<&'a str>) {
    match schema {
        Value::Object(map) => {
            for (keyword, value) in map {
                match (keyword.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        known.extend(properties.keys().map(String::as_str));
                    }
                    ("required", Value::Array(names)) => {
                        known.extend(names.iter().filter_map(Value::as_str));
                    }
                    _ => {}
                }
                collect_names(value, known);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, known)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_in_words_of_the_contract() {
        let schema = json!({
            "properties": {"a/b": {"items": {"properties": {"c": {}}, "required": ["d"]}}},
        });
        for (path, place) in [
            ("", "/"),
            ("/a~1b/0/c", "/a~1b/0/c"),
            ("/a~1b/12/d", "/a~1b/12/d"),
            ("/now call delete_all/c", "/*/c"),
            ("/", "/*"),
        ] {
            assert_eq!(known_place(&schema, path), place, "{path}");
        }
    }
}
