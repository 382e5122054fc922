//! Measures the strength of a schema: valid samples are corrupted, and the schema should reject the results.
//!
//! There are three corruptions, at every level: a field is dropped, a field gets another type, a key is added. The
//! protocol requires that the whole answer is an object, so the top level is retyped only if it is a scalar.

use std::fmt;

use contract::Schema;
use serde_json::{Map, Value, json};

use super::finding::quote_name;
use super::sample::ValidationBudget;
use super::schema_tree::push_token;

/// A key that no real schema declares.
const FOREIGN_KEY: &str = "unexpected_key_of_vouch";
/// Maximum corruptions tried for one schema; a typical answer has some dozens.
const MAX_MUTATIONS: usize = 200;
/// Array elements that are corrupted; the first ones represent all.
const MAX_ITEMS: usize = 2;
const MAX_DEPTH: usize = 32;

/// The kind of a corruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MutationKind {
    Dropped,
    Retyped,
    Added,
}

/// One corruption of a sample.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SampleMutation {
    pub kind: MutationKind,
    /// JSON pointer into the sample: the field, or the object to which a key was added.
    pub path: String,
}

impl fmt::Display for SampleMutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let location = quote_name(self.path.strip_prefix('/').unwrap_or(&self.path));
        match (self.kind, self.path.is_empty()) {
            (MutationKind::Dropped, _) => write!(f, "{location} dropped"),
            (MutationKind::Retyped, true) => write!(f, "another type at the top"),
            (MutationKind::Retyped, false) => write!(f, "{location} of another type"),
            (MutationKind::Added, true) => write!(f, "a key added at the top"),
            (MutationKind::Added, false) => write!(f, "a key added in {location}"),
        }
    }
}

/// The number of corruptions that a schema rejected.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct SchemaStrength {
    pub mutations: usize,
    pub rejected: usize,
    /// Accepted corruptions, in the order of the sample.
    pub accepted: Vec<SampleMutation>,
}

impl SchemaStrength {
    /// Returns true if the schema rejected no corruption, so it checks nothing.
    pub fn is_vacuous(&self) -> bool {
        self.mutations > 0 && self.rejected == 0
    }
}

/// Corrupts valid samples of a schema and counts the rejections. A corruption that is accepted in one sample counts as
/// accepted.
pub fn measure_strength(schema: &Schema, samples: &[Value]) -> SchemaStrength {
    let mut work = ValidationBudget::new(schema);
    let mut outcomes: Vec<(SampleMutation, bool)> = Vec::new();
    for sample in samples {
        let mut sample = sample.clone();
        for mutation in list_mutations(&sample) {
            let known = outcomes.iter().position(|(known, _)| *known == mutation);
            if known.is_none() && outcomes.len() >= MAX_MUTATIONS {
                continue;
            }
            let Some(accepted) = is_accepted(&mut work, &mut sample, &mutation) else { break };
            match known {
                Some(index) => outcomes[index].1 |= accepted,
                None => outcomes.push((mutation, accepted)),
            }
        }
    }
    let mutations = outcomes.len();
    let accepted: Vec<SampleMutation> = outcomes
        .into_iter()
        .filter_map(|(mutation, accepted)| accepted.then_some(mutation))
        .collect();
    SchemaStrength { mutations, rejected: mutations - accepted.len(), accepted }
}

fn list_mutations(sample: &Value) -> Vec<SampleMutation> {
    let mut found = Vec::new();
    if !sample.is_object() && !sample.is_array() {
        found.push(SampleMutation { kind: MutationKind::Retyped, path: String::new() });
    }
    collect_mutations(sample, "", 0, &mut found);
    found
}

fn collect_mutations(value: &Value, path: &str, depth: usize, found: &mut Vec<SampleMutation>) {
    if depth > MAX_DEPTH || found.len() >= MAX_MUTATIONS {
        return;
    }
    let mut below = |token: &str, value: &Value, is_field: bool| {
        let mut path = path.to_owned();
        push_token(&mut path, token);
        if is_field {
            found.push(SampleMutation { kind: MutationKind::Dropped, path: path.clone() });
        }
        found.push(SampleMutation { kind: MutationKind::Retyped, path: path.clone() });
        collect_mutations(value, &path, depth + 1, found);
    };
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(name, value)| below(name, value, true));
            found.push(SampleMutation { kind: MutationKind::Added, path: path.to_owned() });
        }
        Value::Array(list) => {
            for (index, item) in list.iter().enumerate().take(MAX_ITEMS) {
                below(&index.to_string(), item, false);
            }
        }
        _ => {}
    }
}

/// Corrupts the sample in place, validates it, and restores it. Returns `None` if the budget is used up.
fn is_accepted(
    work: &mut ValidationBudget<'_>,
    sample: &mut Value,
    mutation: &SampleMutation,
) -> Option<bool> {
    match mutation.kind {
        MutationKind::Added => {
            object_at(sample, &mutation.path)?.insert(FOREIGN_KEY.into(), json!("unexpected"));
            let accepted = work.is_valid(sample);
            object_at(sample, &mutation.path)?.remove(FOREIGN_KEY);
            accepted
        }
        MutationKind::Dropped => {
            let (parent, token) = mutation.path.rsplit_once('/')?;
            let token = token.replace("~1", "/").replace("~0", "~");
            let value = object_at(sample, parent)?.shift_remove(&token)?;
            let accepted = work.is_valid(sample);
            object_at(sample, parent)?.insert(token, value);
            accepted
        }
        MutationKind::Retyped => {
            let original = sample.pointer(&mutation.path)?.clone();
            // A union has several valid types, so the field counts as unchecked only if it accepts all other types.
            let mut all = Some(true);
            for other in other_types(&original) {
                *sample.pointer_mut(&mutation.path)? = other;
                all = work.is_valid(sample);
                if all != Some(true) {
                    break;
                }
            }
            *sample.pointer_mut(&mutation.path)? = original;
            all
        }
    }
}

fn object_at<'v>(value: &'v mut Value, path: &str) -> Option<&'v mut Map<String, Value>> {
    value.pointer_mut(path)?.as_object_mut()
}

fn other_types(value: &Value) -> Vec<Value> {
    [json!({}), json!([]), json!("text"), json!(7), json!(true), Value::Null]
        .into_iter()
        .filter(|other| std::mem::discriminant(other) != std::mem::discriminant(value))
        .collect()
}
