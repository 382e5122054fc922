//! A schema from values, and what the values leave open.

use contract::text::one_line;
use serde_json::Value;

use super::shape::{MAX_DEPTH, Shape};

/// Gaps that are listed; a wide answer with a single sample would list every field.
const MAX_MISSING: usize = 20;
const MAX_NAMED: usize = 5;

/// What values have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Inferred {
    /// JSON Schema 2020-12 that accepts every value it was made from.
    pub schema: Value,
    /// What a further sample would settle, one sentence each.
    pub missing: Vec<String>,
}

/// The schema of some values: kinds, fields that are always there as `required`, records closed, maps by their values.
/// No choice of words is guessed (`enum`); a format only if every text has it.
pub fn infer(values: &[Value]) -> Inferred {
    let mut shape = Shape::default();
    values.iter().for_each(|value| shape.take(value, 0));
    let mut gaps = Gaps::default();
    gaps.look(&shape, "");
    let mut missing = Vec::new();
    if values.is_empty() {
        missing.push("no sample: call the tool at least once".into());
    }
    if values.len() == 1 && !gaps.fields.is_empty() {
        let named: Vec<String> =
            gaps.fields.iter().take(MAX_NAMED).map(|path| format!("`{path}`")).collect();
        let more = gaps.fields.len().saturating_sub(MAX_NAMED);
        let (verb, more) = match (gaps.fields.len(), more) {
            (1, _) => ("is", String::new()),
            (_, 0) => ("are", String::new()),
            (_, more) => ("are", format!(" and {more} more")),
        };
        missing.push(format!(
            "only one sample: whether {}{more} {verb} always there is a guess",
            named.join(", ")
        ));
    }
    let more = gaps.gaps.len().saturating_sub(MAX_MISSING);
    missing.extend(gaps.gaps.into_iter().take(MAX_MISSING));
    if more > 0 {
        missing.push(format!("and {more} more places that the samples leave open"));
    }
    Inferred { schema: shape.schema(), missing }
}

#[derive(Default)]
struct Gaps {
    /// Every field outside arrays, where one sample says nothing about its absence.
    fields: Vec<String>,
    gaps: Vec<String>,
}

impl Gaps {
    fn look(&mut self, shape: &Shape, path: &str) {
        let place = || if path.is_empty() { "the answer".to_owned() } else { format!("`{path}`") };
        if shape.cut {
            self.gaps.push(format!(
                "{} goes deeper than {MAX_DEPTH} levels and is not checked there",
                place()
            ));
            return;
        }
        if shape.is_only_null() {
            self.gaps.push(format!(
                "{} was always null: call it with arguments that give it a value",
                place()
            ));
        }
        if let Some(items) = &shape.array {
            if items.any {
                self.look(&items.of, &format!("{path}[]"));
            } else {
                self.gaps.push(format!(
                    "{} was always empty: call it with arguments that find something",
                    place()
                ));
            }
        }
        let Some(fields) = &shape.object else { return };
        if fields.names.is_empty() {
            self.gaps.push(format!(
                "{} was always an object without fields: call it with arguments that give it some",
                place()
            ));
        } else if fields.is_map() {
            self.look(&fields.values(), &joined(path, "*"));
        } else {
            for (name, field) in fields.fields() {
                let path = joined(path, name);
                if !path.contains("[]") {
                    self.fields.push(path.clone());
                }
                self.look(&field.shape, &path);
            }
        }
    }
}

fn joined(path: &str, name: &str) -> String {
    let name: String = one_line(&name.chars().take(64).collect::<String>());
    if path.is_empty() { name } else { format!("{path}.{name}") }
}
