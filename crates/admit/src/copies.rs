//! Recognises a tool that is or was quarantined, or that vanished, under another name.
//!
//! A rename would otherwise defeat every pin: the old name is gone, the new one was never admitted. Two definitions are
//! taken for one tool if nearly everything that the original says (words and pairs of words of its description, its
//! parameters and fields with their types) is in the other; all of it, where the original says little. That a whole copy is unchanged is no harm: it says what was
//! admitted. Only rare features lead to a candidate, so a list of thousands of tools costs linear time.

use std::collections::{HashMap, HashSet};

use contract::sha256_of_value;
use serde_json::Value;

use crate::{Change, Judged, Pin, classify};

/// Per cent of the original's features that a copy has.
const ENOUGH: usize = 85;
/// Below this an original says too little for a part of it to be a trace: all of it must be there.
const FEWEST: usize = 8;
/// Below that there is no telling.
const LEAST: usize = 3;
/// Of an original.
const MAX_FEATURES: usize = 1_000;
/// Features that are kept of an original: those with the smallest hashes, which is as good as drawing them by lot.
const KEPT: usize = 128;
/// A feature that more originals have is no trace.
const COMMON: usize = 16;
/// Candidates that are looked at closely.
const MAX_CANDIDATES: usize = 16;

struct Original<'a> {
    name: &'a str,
    pin: &'a Pin,
    /// The features of each of its texts: what was admitted, and what was seen and blocked.
    texts: Vec<Vec<u64>>,
}

#[derive(Default)]
pub(crate) struct Originals<'a> {
    all: Vec<Original<'a>>,
    by_feature: HashMap<u64, Vec<usize>>,
    /// By the digest of the whole definition without its name.
    by_text: HashMap<String, usize>,
    admitted: HashSet<String>,
}

impl<'a> Originals<'a> {
    /// Adds what the pin holds (the baseline, what waits, what was blocked) and what is offered now.
    pub(crate) fn add(&mut self, name: &'a str, pin: &'a Pin, offered: Option<&Value>) {
        let index = self.all.len();
        self.all.push(Original { name, pin, texts: Vec::new() });
        if let Some(baseline) = &pin.baseline {
            self.admitted.insert(nameless(&baseline.definition));
            self.add_text(index, &baseline.definition);
        }
        for blocked in pin.pending.iter().chain(&pin.blocked) {
            self.add_text(index, &blocked.definition);
        }
        if let Some(offered) = offered {
            self.add_text(index, offered);
        }
    }

    fn add_text(&mut self, index: usize, definition: &Value) {
        let mut features: Vec<u64> = features_of(definition, MAX_FEATURES).into_iter().collect();
        features.sort_unstable();
        features.truncate(KEPT);
        for feature in &features {
            let owners = self.by_feature.entry(*feature).or_default();
            // The texts of one tool are much the same, which makes their words no commoner.
            if owners.last() != Some(&index) {
                owners.push(index);
            }
        }
        self.by_text.entry(nameless(definition)).or_insert(index);
        self.all[index].texts.push(features);
    }

    /// The original of which this tool is a copy that says something else, and what changed. No change is given for an
    /// original that was never admitted.
    pub(crate) fn of(&self, tool: &Judged) -> Option<(&'a str, Option<Change>)> {
        if self.all.is_empty() {
            return None;
        }
        let text = nameless(&tool.upstream);
        if self.admitted.contains(&text) {
            return None;
        }
        let original = match self.by_text.get(&text) {
            Some(index) => &self.all[*index],
            None => {
                // All of them: no padding around a copy may hide it.
                let features = features_of(&tool.upstream, usize::MAX);
                self.candidates(&features).into_iter().map(|index| &self.all[index]).find(
                    |original| original.texts.iter().any(|text| is_contained(text, &features)),
                )?
            }
        };
        let change = original.pin.baseline.as_ref().and_then(|old| {
            // Compared under the new name, so that the name itself is no change.
            let mut old = old.definition.clone();
            if let Value::Object(map) = &mut old {
                map.insert("name".into(), tool.name.clone().into());
            }
            classify(&old, &tool.upstream)
        });
        Some((original.name, change))
    }

    fn candidates(&self, features: &HashSet<u64>) -> Vec<usize> {
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for feature in features {
            let owners = self.by_feature.get(feature).map_or(&[][..], Vec::as_slice);
            if owners.len() <= COMMON {
                owners.iter().for_each(|owner| *shared.entry(*owner).or_default() += 1);
            }
        }
        let mut candidates: Vec<(usize, usize)> = shared.into_iter().collect();
        // By the share of the original that is found again: long texts that have some of everything come last.
        let share = |index: usize, count: usize| {
            let length = self.all[index].texts.iter().map(Vec::len).min().unwrap_or(1);
            1000 * count / length.max(1)
        };
        candidates.sort_unstable_by_key(|&(index, count)| {
            (std::cmp::Reverse(share(index, count)), index)
        });
        candidates.truncate(MAX_CANDIDATES);
        candidates.into_iter().map(|(index, _)| index).collect()
    }
}

fn nameless(definition: &Value) -> String {
    let mut value = definition.clone();
    if let Value::Object(map) = &mut value {
        map.remove("name");
    }
    sha256_of_value(&value)
}

fn is_contained(original: &[u64], other: &HashSet<u64>) -> bool {
    let shared = original.iter().filter(|feature| other.contains(feature)).count();
    let enough = if original.len() < FEWEST { 100 } else { ENOUGH };
    // A word or two are in many texts.
    original.len() >= LEAST && 100 * shared >= enough * original.len()
}

fn features_of(definition: &Value, most: usize) -> HashSet<u64> {
    let mut features = HashSet::new();
    if let Some(text) = definition.get("description").and_then(Value::as_str) {
        let words: Vec<String> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .take(most / 2)
            .map(str::to_lowercase)
            .collect();
        words.iter().for_each(|word| _ = features.insert(hash(&["word", word])));
        words.windows(2).for_each(|pair| _ = features.insert(hash(&["pair", &pair[0], &pair[1]])));
    }
    for side in ["inputSchema", "outputSchema"] {
        if let Some(schema) = definition.get(side) {
            fields_of(schema, hash(&[side]), most, &mut features);
        }
    }
    features
}

/// `path` is the hash of where the schema is: the names on the way may be long.
fn fields_of(schema: &Value, path: u64, most: usize, features: &mut HashSet<u64>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        if features.len() >= most {
            return;
        }
        let kind = property.get("type").map(ToString::to_string).unwrap_or_default();
        let path = hash(&[&path.to_string(), name]);
        features.insert(hash(&["field", &path.to_string(), &kind]));
        fields_of(property, path, most, features);
        if let Some(items) = property.get("items") {
            fields_of(items, path, most, features);
        }
    }
}

/// Only compared within one run.
fn hash(parts: &[&str]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}
