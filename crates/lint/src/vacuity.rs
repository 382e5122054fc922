//! Does a schema notice a broken answer? A valid one is corrupted in every small way, and the schema is asked.
//!
//! Three corruptions, at every level: a field is dropped, a field gets another type, a key is added. That the whole
//! answer is an object is no merit, since the protocol demands it: the top is only retyped where it is a scalar.

use std::fmt;

use contract::Schema;
use serde_json::{Map, Value, json};

use super::finding::quoted;
use super::sample::Work;
use super::tree::push_token;

/// A key that no real schema declares.
const FOREIGN_KEY: &str = "unexpected_key_of_vouch";
/// Corruptions tried for one schema; a real answer has some dozens.
const MAX_MUTATIONS: usize = 200;
/// Elements of an array are alike: the first ones stand for all.
const MAX_ITEMS: usize = 2;
const MAX_DEPTH: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MutationKind {
    Dropped,
    Retyped,
    Added,
}

/// One way in which a sample was corrupted.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Mutation {
    pub kind: MutationKind,
    /// JSON pointer into the sample: the field, or the object that got a key more.
    pub path: String,
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = quoted(self.path.strip_prefix('/').unwrap_or(&self.path));
        match (self.kind, self.path.is_empty()) {
            (MutationKind::Dropped, _) => write!(f, "{place} dropped"),
            (MutationKind::Retyped, true) => write!(f, "another type at the top"),
            (MutationKind::Retyped, false) => write!(f, "{place} of another type"),
            (MutationKind::Added, true) => write!(f, "a key added at the top"),
            (MutationKind::Added, false) => write!(f, "a key added in {place}"),
        }
    }
}

/// How many corruptions a schema noticed.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Strength {
    pub mutations: usize,
    pub rejected: usize,
    /// Those that passed, in the order of the sample.
    pub accepted: Vec<Mutation>,
}

impl Strength {
    /// Nothing was noticed: the schema is no check at all.
    pub fn is_vacuous(&self) -> bool {
        self.mutations > 0 && self.rejected == 0
    }
}

/// Corrupts valid samples of a schema, and counts. A corruption that passes in one sample counts as accepted.
pub fn strength(schema: &Schema, samples: &[Value]) -> Strength {
    let mut work = Work::new(schema);
    let mut outcomes: Vec<(Mutation, bool)> = Vec::new();
    for sample in samples {
        let mut sample = sample.clone();
        for mutation in mutations_of(&sample) {
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
    let accepted: Vec<Mutation> = outcomes
        .into_iter()
        .filter_map(|(mutation, accepted)| accepted.then_some(mutation))
        .collect();
    Strength { mutations, rejected: mutations - accepted.len(), accepted }
}

fn mutations_of(sample: &Value) -> Vec<Mutation> {
    let mut found = Vec::new();
    if !sample.is_object() && !sample.is_array() {
        found.push(Mutation { kind: MutationKind::Retyped, path: String::new() });
    }
    collect(sample, "", 0, &mut found);
    found
}

fn collect(value: &Value, path: &str, depth: usize, found: &mut Vec<Mutation>) {
    if depth > MAX_DEPTH || found.len() >= MAX_MUTATIONS {
        return;
    }
    let mut below = |token: &str, value: &Value, is_field: bool| {
        let mut path = path.to_owned();
        push_token(&mut path, token);
        if is_field {
            found.push(Mutation { kind: MutationKind::Dropped, path: path.clone() });
        }
        found.push(Mutation { kind: MutationKind::Retyped, path: path.clone() });
        collect(value, &path, depth + 1, found);
    };
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(name, value)| below(name, value, true));
            found.push(Mutation { kind: MutationKind::Added, path: path.to_owned() });
        }
        Value::Array(list) => {
            for (index, item) in list.iter().enumerate().take(MAX_ITEMS) {
                below(&index.to_string(), item, false);
            }
        }
        _ => {}
    }
}

/// Corrupts the sample in place, asks, and puts it back. `None` when the work is used up.
fn is_accepted(work: &mut Work<'_>, sample: &mut Value, mutation: &Mutation) -> Option<bool> {
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
            // A union has several right types. The field is unguarded only if it takes all the wrong ones too.
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
