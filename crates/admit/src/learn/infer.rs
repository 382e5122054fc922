//! Infers a schema from values, and lists what the values leave open.

use contract::text::one_line;
use serde_json::Value;

use super::shape::{MAX_DEPTH, ValueShape};

/// Maximum listed gaps. A wide answer with a single sample would list every field.
const MAX_LISTED_GAPS: usize = 20;
const MAX_NAMED_FIELDS: usize = 5;

/// A schema inferred from values.
#[derive(Clone, Debug, PartialEq)]
pub struct InferredSchema {
    /// JSON Schema 2020-12 that accepts every value it was inferred from.
    pub schema: Value,
    /// Gaps that further samples would close, one sentence each.
    pub missing: Vec<String>,
}

/// Infers the schema of the given values.
///
/// Fields present in every object become `required`, records are closed, and maps are described by their values. `enum`
/// is never inferred; `format` only if every string has it.
pub fn infer_schema(values: &[Value]) -> InferredSchema {
    let mut shape = ValueShape::default();
    values.iter().for_each(|value| shape.add_value(value, 0));
    let mut gaps = SampleGaps::default();
    gaps.collect_gaps(&shape, "");
    let mut missing = Vec::new();
    if values.is_empty() {
        missing.push("no samples: call the tool at least once".into());
    }
    if values.len() == 1 && !gaps.fields.is_empty() {
        let named: Vec<String> =
            gaps.fields.iter().take(MAX_NAMED_FIELDS).map(|path| format!("`{path}`")).collect();
        let more = gaps.fields.len().saturating_sub(MAX_NAMED_FIELDS);
        let (verb, more) = match (gaps.fields.len(), more) {
            (1, _) => ("is", String::new()),
            (_, 0) => ("are", String::new()),
            (_, more) => ("are", format!(" and {more} more")),
        };
        missing.push(format!(
            "only one sample: {}{more} {verb} assumed to be required",
            named.join(", ")
        ));
    }
    let more = gaps.gaps.len().saturating_sub(MAX_LISTED_GAPS);
    missing.extend(gaps.gaps.into_iter().take(MAX_LISTED_GAPS));
    if more > 0 {
        missing.push(format!("and {more} more gaps in the samples"));
    }
    InferredSchema { schema: shape.to_schema(), missing }
}

#[derive(Default)]
struct SampleGaps {
    /// Every field outside arrays. A single sample cannot show that such a field is optional.
    fields: Vec<String>,
    gaps: Vec<String>,
}

impl SampleGaps {
    fn collect_gaps(&mut self, shape: &ValueShape, path: &str) {
        let subject =
            || if path.is_empty() { "the answer".to_owned() } else { format!("`{path}`") };
        if shape.cut {
            self.gaps.push(format!(
                "{} is nested deeper than {MAX_DEPTH} levels and is not checked below that",
                subject()
            ));
            return;
        }
        if shape.is_only_null() {
            self.gaps.push(format!(
                "{} was always null: call the tool with arguments that produce a value",
                subject()
            ));
        }
        if let Some(items) = &shape.array {
            if items.any {
                self.collect_gaps(&items.items, &format!("{path}[]"));
            } else {
                self.gaps.push(format!(
                    "{} was always empty: call the tool with arguments that return items",
                    subject()
                ));
            }
        }
        let Some(fields) = &shape.object else { return };
        if fields.names.is_empty() {
            self.gaps.push(format!(
                "{} was always an object without fields: call the tool with arguments that return some",
                subject()
            ));
        } else if fields.is_map() {
            self.collect_gaps(&fields.merge_values(), &join_path(path, "*"));
        } else {
            for (name, field) in fields.fields() {
                let path = join_path(path, name);
                if !path.contains("[]") {
                    self.fields.push(path.clone());
                }
                self.collect_gaps(&field.shape, &path);
            }
        }
    }
}

fn join_path(path: &str, name: &str) -> String {
    let name: String = one_line(&name.chars().take(64).collect::<String>());
    if path.is_empty() { name } else { format!("{path}.{name}") }
}
