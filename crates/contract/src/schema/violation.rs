//! Descriptions of schema violations that a caller can act on: the field and the rule, never the value itself.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;

/// One schema violation: location, keyword, and a message that never repeats the value itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaViolation {
    /// JSON pointer into the instance; empty for the whole value.
    pub path: String,
    /// The violated schema keyword: `type`, `required`, `pattern` …
    pub keyword: String,
    pub message: String,
}

impl SchemaViolation {
    /// Returns the affected property in dotted form (`options.limit`), or a phrase for the whole value.
    pub fn field(&self) -> String {
        field_name(&self.path)
    }
}

/// Converts a validator's error. For a missing or unknown property, the path includes that property.
pub(super) fn to_violation(error: &ValidationError<'_>) -> SchemaViolation {
    let path = error.instance_path().to_string();
    let subject = format!("`{}`", field_name(&path));
    let message = match error.kind() {
        Kind::Required { property } => {
            format!("{} is required", quote_property(&path, property.as_str().unwrap_or_default()))
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names: Vec<_> =
                unexpected.iter().take(5).map(|name| quote_property(&path, name)).collect();
            format!("{} is not a parameter of this contract", names.join(", "))
        }
        Kind::Type { .. } => format!("{subject} must be of type {}", expected_types(error)),
        Kind::Enum { options } => format!("{subject} must be one of {options}"),
        Kind::Constant { expected_value } => format!("{subject} must be {expected_value}"),
        Kind::Pattern { pattern } => format!("{subject} must match the pattern {pattern}"),
        Kind::Format { format } => format!("{subject} must be in the format `{format}`"),
        Kind::MaxLength { limit } => format!("{subject} must have at most {limit} characters"),
        Kind::MinLength { limit } => format!("{subject} must have at least {limit} characters"),
        Kind::Maximum { limit } => format!("{subject} must be at most {limit}"),
        Kind::Minimum { limit } => format!("{subject} must be at least {limit}"),
        Kind::MaxItems { limit } => format!("{subject} must have at most {limit} items"),
        Kind::MinItems { limit } => format!("{subject} must have at least {limit} items"),
        _ => format!("{subject}: {}", error.masked_with("the value")),
    };
    // Patterns and constants are quoted from the schema, which may contain any characters.
    let message = crate::text::one_line(&message);
    let path = match offending_property(error.kind()) {
        Some(name) => format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")),
        None => path,
    };
    SchemaViolation { path, keyword: error.kind().keyword().to_owned(), message }
}

fn offending_property(kind: &Kind) -> Option<&str> {
    match kind {
        Kind::Required { property } => property.as_str(),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unexpected.first().map(String::as_str)
        }
        _ => None,
    }
}

fn expected_types(error: &ValidationError<'_>) -> String {
    use jsonschema::error::TypeKind;
    match error.kind() {
        Kind::Type { kind: TypeKind::Single(kind) } => kind.to_string(),
        Kind::Type { kind: TypeKind::Multiple(kinds) } => {
            kinds.iter().map(|kind| kind.to_string()).collect::<Vec<_>>().join(" or ")
        }
        _ => String::new(),
    }
}

fn quote_property(parent: &str, name: &str) -> String {
    let name: String = name.chars().take(64).collect();
    if parent.is_empty() {
        format!("`{}`", crate::text::one_line(&name))
    } else {
        format!("`{}.{}`", field_name(parent), crate::text::one_line(&name))
    }
}

pub(super) fn field_name(path: &str) -> String {
    if path.is_empty() {
        return "(the whole value)".into();
    }
    let dotted = path
        .split('/')
        .skip(1)
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect::<Vec<_>>()
        .join(".");
    crate::text::one_line(&dotted)
}
