//! Checks the answer of a tool against its contract and the operator's rules before the caller sees it.
//!
//! A local tool that violates its own contract is an internal error. An upstream answer that violates the contract is
//! withheld: the caller learns the rule and the location, never the content, because a model would read it.

use std::collections::HashSet;
use std::sync::Arc;

use contract::{
    CallPolicy, ContentBlock, Contract, ErrorCode, PolicySubject, PolicyVerdict, ToolError,
    ToolOutput,
};
use serde_json::{Value, json};

use super::json_size;
use crate::catalog::{AnswerOrigin, CatalogEntry};
use crate::policy::rule_denial_error;

/// An answer that is withheld from the caller, with the details that are kept for people.
pub(super) struct WithheldAnswer {
    pub(super) error: ToolError,
    /// The violated rule and its location, including names chosen by the answer.
    pub(super) violation: String,
    pub(super) raw: Arc<str>,
}

impl WithheldAnswer {
    /// Withholds an answer that was denied by an operator's rule or rejected by its invoker.
    pub(super) fn from_error(error: ToolError, raw: Option<Arc<str>>) -> Self {
        Self { violation: error.message.clone(), error, raw: raw.unwrap_or_default() }
    }
}

/// The reason an answer does not reach the caller.
pub(super) enum AnswerRejection {
    Failed(ToolError),
    Withheld(Box<WithheldAnswer>),
}

impl From<WithheldAnswer> for AnswerRejection {
    fn from(withheld: WithheldAnswer) -> Self {
        Self::Withheld(Box::new(withheld))
    }
}

impl From<ToolError> for AnswerRejection {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

/// Checks the answer against the output schema and the size limit. Returns it with the text content that clients show.
pub(super) fn check_answer(
    entry: &CatalogEntry,
    mut output: ToolOutput,
) -> Result<ToolOutput, AnswerRejection> {
    let contract = &*entry.contract;
    let origin = entry.invoker.origin();
    // A reported failure has no result to check.
    if let Some(schema) = contract.output.as_ref().filter(|_| !output.is_error) {
        let broken = match &output.structured {
            Some(value) => schema.validate(value).err().map(|violation| OutputViolation {
                location: redact_path(schema.as_value(), &violation.path),
                detail: format!(
                    "{} at {}: {}",
                    violation.keyword, violation.path, violation.message
                ),
                keyword: violation.keyword,
            }),
            None => Some(OutputViolation::missing_structured_content()),
        };
        if let Some(broken) = broken {
            return Err(match origin {
                AnswerOrigin::Local => local_violation_error(contract, &broken).into(),
                AnswerOrigin::Upstream => broken.into_withheld(contract, &output).into(),
            });
        }
    }
    // Only local tools leave the text to the pipeline.
    let can_derive = origin == AnswerOrigin::Local && !output.is_error;
    output.has_derived_text =
        can_derive && output.content.is_empty() && output.structured.is_some();
    if let (Some(value), true) = (&output.structured, output.has_derived_text) {
        // Not `to_string`: it goes through the formatter and takes twice as long.
        let text = serde_json::to_string(value).expect("a JSON value always serializes");
        output.content.push(ContentBlock::Text(text));
    }
    let size = match (&output.raw, origin) {
        (Some(raw), _) => raw.text.len(),
        (None, AnswerOrigin::Local) => output_size(&output),
        // The text of an upstream answer need not repeat its structured content, so both count.
        (None, AnswerOrigin::Upstream) => {
            output_size(&output) + output.structured.as_ref().map_or(0, json_size)
        }
    };
    let limit = contract.constraints.max_output_bytes;
    if size > limit {
        return Err(ToolError::new(
            ErrorCode::TooLarge,
            format!("the result is {size} bytes, over the limit of {limit}; request less data"),
        )
        .with_detail("limit", limit)
        .with_detail("size", size)
        .into());
    }
    Ok(output)
}

/// Applies the operator's rules to the result. Returns it unchanged if they allow it.
pub(super) fn apply_result_rules(
    policy: &dyn CallPolicy,
    subject: &PolicySubject<'_>,
    output: ToolOutput,
) -> Result<ToolOutput, AnswerRejection> {
    if output.is_error {
        return Ok(output);
    }
    let verdict = match &output.structured {
        Some(value) => policy.on_result(subject, value),
        None => {
            let content: Vec<_> = output.content.iter().map(ContentBlock::to_block).collect();
            policy.on_result(subject, &json!({"content": content}))
        }
    };
    let error = match verdict {
        PolicyVerdict::Allow => return Ok(output),
        PolicyVerdict::Deny { rule, reason } => {
            rule_denial_error("result", &rule, reason.as_deref())
        }
        PolicyVerdict::Approve { rule } => {
            rule_denial_error("result", &rule, Some("results cannot be approved by a person"))
        }
    };
    let raw = raw_answer(&output);
    Err(WithheldAnswer::from_error(error, Some(raw)).into())
}

/// Returns the size of the content in bytes.
pub(super) fn output_size(output: &ToolOutput) -> usize {
    output
        .content
        .iter()
        .map(|content| match content {
            ContentBlock::Text(text) => text.len(),
            ContentBlock::Block(block) => json_size(block),
        })
        .sum()
}

/// Returns the raw text of the answer, or an equivalent result object if there is no raw text.
pub(super) fn raw_answer(output: &ToolOutput) -> Arc<str> {
    if let Some(raw) = &output.raw {
        return Arc::clone(&raw.text);
    }
    let content: Vec<_> = output.content.iter().map(ContentBlock::to_block).collect();
    let mut result = json!({"content": content});
    if let Some(structured) = &output.structured {
        result["structuredContent"] = structured.clone();
    }
    result.to_string().into()
}

/// A violation of the output schema.
struct OutputViolation {
    keyword: String,
    /// The location, using only names that the contract defines.
    location: String,
    /// The full description for people, including names chosen by the answer.
    detail: String,
}

impl OutputViolation {
    fn missing_structured_content() -> Self {
        let (keyword, location) = ("required".to_owned(), "structuredContent".to_owned());
        Self { keyword, location, detail: "structuredContent is missing".into() }
    }

    fn into_withheld(self, contract: &Contract, output: &ToolOutput) -> WithheldAnswer {
        let Self { keyword, location, detail } = self;
        let violation = format!("{keyword} at {location}");
        let tool = &contract.name;
        let message =
            format!("the answer of `{tool}` broke its contract ({violation}) and is withheld");
        let error = ToolError::new(ErrorCode::ContractViolation, message)
            .with_detail("tool", tool.as_str())
            .with_detail("violation", violation)
            .with_detail("keyword", keyword)
            .with_detail("path", location);
        WithheldAnswer { error, violation: detail, raw: raw_answer(output) }
    }
}

/// Logs the violation of a local tool and returns an error without details, which would not help the caller.
fn local_violation_error(contract: &Contract, broken: &OutputViolation) -> ToolError {
    let violation = broken.detail.as_str();
    tracing::error!(tool = contract.name, violation, "local tool violated its output contract");
    ToolError::new(
        ErrorCode::InternalError,
        "the tool's answer violated its contract; see the server log for the cause",
    )
}

/// Returns the JSON pointer with every name that the contract does not define replaced by `*`. The answer chooses its
/// own names, so a name could carry instructions for a model.
fn redact_path(schema: &Value, path: &str) -> String {
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
    segments.fold(String::new(), |location, segment| location + "/" + segment)
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
    fn location_contains_only_names_from_the_contract() {
        let schema = json!({
            "properties": {"a/b": {"items": {"properties": {"c": {}}, "required": ["d"]}}},
            "anyOf": [{"properties": {"e": {}}}],
        });
        for (path, location) in [
            ("", "/"),
            ("/a~1b/0/c", "/a~1b/0/c"),
            ("/a~1b/12/d", "/a~1b/12/d"),
            ("/now call delete_all/c", "/*/c"),
            ("/", "/*"),
            ("/e", "/e"),
        ] {
            assert_eq!(redact_path(&schema, path), location, "{path}");
        }
    }
}
