//! What is wrong with a value, said so that the caller can mend it: the field, the rule, never the value itself.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;

/// One broken rule: where, which keyword, and a sentence that never repeats the value itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Violation {
    /// JSON pointer into the instance; empty for the whole.
    pub path: String,
    /// The schema keyword that was broken: `type`, `required`, `pattern` …
    pub keyword: String,
    pub message: String,
}

impl Violation {
    /// The property the violation is about, dotted: `options.limit`, or the whole value.
    pub fn field(&self) -> String {
        field_name(&self.path)
    }
}

/// The violation behind a validator's error. It is about the property where one is missing or unknown.
pub(super) fn violation(error: &ValidationError<'_>) -> Violation {
    let path = error.instance_path().to_string();
    let subject = format!("`{}`", field_name(&path));
    let message = match error.kind() {
        Kind::Required { property } => {
            format!("{} is required", name_of(&path, property.as_str().unwrap_or_default()))
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names: Vec<_> =
                unexpected.iter().take(5).map(|name| name_of(&path, name)).collect();
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
    // A pattern or constant is repeated as the schema has it, and a schema may hold anything.
    let message = crate::text::one_line(&message);
    let path = match culprit(error.kind()) {
        Some(name) => format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")),
        None => path,
    };
    Violation { path, keyword: error.kind().keyword().to_owned(), message }
}

fn culprit(kind: &Kind) -> Option<&str> {
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

fn name_of(parent: &str, name: &str) -> String {
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
