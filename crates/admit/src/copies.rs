//! Detects renamed copies of tools that are or were quarantined, or that were removed.
//!
//! Renaming would otherwise defeat every pin: the old name disappears and the new one was never admitted. A definition
//! counts as a copy if it contains nearly all features of the original: words and word pairs of the description, and
//! parameters and fields with their types. A short original must be contained completely. An exact copy of an admitted
//! definition counts as a new tool: it gives a server nothing that another new tool would not. Only rare features select
//! candidates, so thousands of tools cost linear time.

use std::collections::{HashMap, HashSet};

use contract::sha256_value_digest;
use serde_json::Value;

use crate::{ToolAdmission, ToolDefinitionChange, ToolPin, classify_change};

/// Minimum percentage of the original's features that a copy contains.
const MIN_SHARED_PERCENT: usize = 85;
/// An original with fewer features must be contained completely.
const MIN_PARTIAL_FEATURES: usize = 8;
/// An original with fewer features is never matched.
const MIN_FEATURES: usize = 3;
/// Maximum features extracted from an original.
const MAX_FEATURES: usize = 1_000;
/// Maximum features kept of an original. Those with the smallest hashes are kept, which amounts to a random sample.
const MAX_KEPT_FEATURES: usize = 128;
/// A feature shared by more originals is too common to select a candidate.
const MAX_FEATURE_OWNERS: usize = 16;
/// Maximum candidates that are compared in full.
const MAX_CANDIDATES: usize = 16;

struct PinnedOriginal<'a> {
    name: &'a str,
    pin: &'a ToolPin,
    /// Features of each of its definitions: admitted, pending, blocked and offered.
    texts: Vec<Vec<u64>>,
}

#[derive(Default)]
pub(crate) struct OriginalIndex<'a> {
    all: Vec<PinnedOriginal<'a>>,
    by_feature: HashMap<u64, Vec<usize>>,
    /// Originals by the digest of a definition without its name.
    by_text: HashMap<String, usize>,
    admitted: HashSet<String>,
}

impl<'a> OriginalIndex<'a> {
    /// Adds all definitions of a pin (baseline, pending, blocked) and the currently offered one.
    pub(crate) fn add_pin(&mut self, name: &'a str, pin: &'a ToolPin, offered: Option<&Value>) {
        let index = self.all.len();
        self.all.push(PinnedOriginal { name, pin, texts: Vec::new() });
        if let Some(baseline) = &pin.baseline {
            self.admitted.insert(digest_without_name(&baseline.definition));
            self.add_definition(index, &baseline.definition);
        }
        for blocked in pin.pending.iter().chain(&pin.blocked) {
            self.add_definition(index, &blocked.definition);
        }
        if let Some(offered) = offered {
            self.add_definition(index, offered);
        }
    }

    fn add_definition(&mut self, index: usize, definition: &Value) {
        let mut features: Vec<u64> =
            extract_features(definition, MAX_FEATURES).into_iter().collect();
        features.sort_unstable();
        features.truncate(MAX_KEPT_FEATURES);
        for feature in &features {
            let owners = self.by_feature.entry(*feature).or_default();
            // The definitions of one tool resemble each other; they count as one owner.
            if owners.last() != Some(&index) {
                owners.push(index);
            }
        }
        self.by_text.entry(digest_without_name(definition)).or_insert(index);
        self.all[index].texts.push(features);
    }

    /// Returns the name of the original that this tool is a changed copy of, and the change. The change is `None` for
    /// an original that was never admitted.
    pub(crate) fn find_original(
        &self,
        tool: &ToolAdmission,
    ) -> Option<(&'a str, Option<ToolDefinitionChange>)> {
        if self.all.is_empty() {
            return None;
        }
        let text = digest_without_name(&tool.upstream);
        if self.admitted.contains(&text) {
            return None;
        }
        let original = match self.by_text.get(&text) {
            Some(index) => &self.all[*index],
            None => {
                // No feature limit: padding around a copy must not hide it.
                let features = extract_features(&tool.upstream, usize::MAX);
                self.find_candidates(&features).into_iter().map(|index| &self.all[index]).find(
                    |original| original.texts.iter().any(|text| is_contained(text, &features)),
                )?
            }
        };
        let change = original.pin.baseline.as_ref().and_then(|old| {
            // Compare under the new name, so that the rename itself does not count as a change.
            let mut old = old.definition.clone();
            if let Value::Object(map) = &mut old {
                map.insert("name".into(), tool.name.clone().into());
            }
            classify_change(&old, &tool.upstream)
        });
        Some((original.name, change))
    }

    fn find_candidates(&self, features: &HashSet<u64>) -> Vec<usize> {
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for feature in features {
            let owners = self.by_feature.get(feature).map_or(&[][..], Vec::as_slice);
            if owners.len() <= MAX_FEATURE_OWNERS {
                owners.iter().for_each(|owner| *shared.entry(*owner).or_default() += 1);
            }
        }
        let mut candidates: Vec<(usize, usize)> = shared.into_iter().collect();
        // Order by the share of the original that is contained, so that long texts with many common features come last.
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

/// Returns the digest of a definition without its name.
fn digest_without_name(definition: &Value) -> String {
    let mut value = definition.clone();
    if let Value::Object(map) = &mut value {
        map.remove("name");
    }
    sha256_value_digest(&value)
}

fn is_contained(original: &[u64], other: &HashSet<u64>) -> bool {
    let shared = original.iter().filter(|feature| other.contains(feature)).count();
    let enough = if original.len() < MIN_PARTIAL_FEATURES { 100 } else { MIN_SHARED_PERCENT };
    // One or two words occur in many texts.
    original.len() >= MIN_FEATURES && 100 * shared >= enough * original.len()
}

fn extract_features(definition: &Value, most: usize) -> HashSet<u64> {
    let mut features = HashSet::new();
    if let Some(text) = definition.get("description").and_then(Value::as_str) {
        let words: Vec<String> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .take(most / 2)
            .map(str::to_lowercase)
            .collect();
        words.iter().for_each(|word| _ = features.insert(hash_parts(&["word", word])));
        words
            .windows(2)
            .for_each(|pair| _ = features.insert(hash_parts(&["pair", &pair[0], &pair[1]])));
    }
    for side in ["inputSchema", "outputSchema"] {
        if let Some(schema) = definition.get(side) {
            extract_fields(schema, hash_parts(&[side]), most, &mut features);
        }
    }
    features
}

/// `path` is a hash of the schema's location, because the names along the path may be long.
fn extract_fields(schema: &Value, path: u64, most: usize, features: &mut HashSet<u64>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, property) in properties {
        if features.len() >= most {
            return;
        }
        let kind = property.get("type").map(ToString::to_string).unwrap_or_default();
        let path = hash_parts(&[&path.to_string(), name]);
        features.insert(hash_parts(&["field", &path.to_string(), &kind]));
        extract_fields(property, path, most, features);
        if let Some(items) = property.get("items") {
            extract_fields(items, path, most, features);
        }
    }
}

/// Hashes are compared only within one process.
fn hash_parts(parts: &[&str]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    parts.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::pins::{PendingDefinition, PinBaseline};
    use crate::{PinState, digest_definition};

    fn is_copy(shared: u64, length: u64) -> bool {
        let original: Vec<u64> = (0..length).collect();
        is_contained(&original, &(0..shared).chain(1_000..2_000).collect())
    }

    #[test]
    fn copy_has_most_of_a_long_original_and_all_of_a_short_one() {
        assert!(is_copy(17, 20) && !is_copy(16, 20));
        assert!(is_copy(85, 100) && !is_copy(84, 100));
        assert!(is_copy(7, 8) && !is_copy(6, 7));
        assert!(is_copy(7, 7) && is_copy(3, 3));
        assert!(!is_copy(2, 2) && !is_copy(1, 1) && !is_copy(0, 0));
    }

    fn described(text: &str) -> Value {
        json!({"name": "t", "description": text})
    }

    fn numbered_words(count: usize) -> String {
        (0..count).map(|number| format!("w{number} ")).collect()
    }

    #[test]
    fn features_are_words_pairs_and_typed_fields() {
        let features = |definition: &Value| extract_features(definition, usize::MAX);
        assert_eq!(features(&described("Reads a FILE.")), features(&described("reads: a, file")));
        assert_ne!(features(&described("a b c")), features(&described("b a c")));
        assert_eq!(features(&described("one two three")).len(), 5);
        assert_eq!(features(&described("")).len(), 0);
        let schema = |kind: &str| json!({"properties": {"a": {"type": kind}}});
        let input = |schema: Value| features(&json!({ "inputSchema": schema }));
        assert_eq!(input(schema("string")).len(), 1);
        assert_ne!(input(schema("string")), input(schema("integer")));
        assert_ne!(input(schema("string")), features(&json!({"outputSchema": schema("string")})));
        // Fields of objects and of items are at their own place.
        let nested = |below: Value| input(json!({"properties": {"a": below}}));
        let object = nested(schema("string"));
        let array = nested(json!({"items": schema("string")}));
        assert_eq!((object.len(), array.len()), (2, 2));
        assert!(object.is_disjoint(&input(schema("string"))));
    }

    #[test]
    fn features_of_an_original_are_limited() {
        let count = |definition: &Value| extract_features(definition, MAX_FEATURES).len();
        assert_eq!(count(&described(&numbered_words(500))), 999);
        assert_eq!(count(&described(&numbered_words(501))), 999);
        let fields = |count: usize| {
            let fields = (0..count).map(|number| (format!("f{number}"), json!({})));
            json!({"inputSchema": {"properties": fields.collect::<serde_json::Map<_, _>>()}})
        };
        assert_eq!((count(&fields(1_000)), count(&fields(1_001))), (1_000, 1_000));
        assert_eq!(extract_features(&fields(1_001), usize::MAX).len(), 1_001);
        let pin = pin_of(&[&described(&numbered_words(400))]);
        let mut index = OriginalIndex::default();
        index.add_pin("t", &pin, None);
        assert_eq!(index.all[0].texts[0].len(), MAX_KEPT_FEATURES);
        assert_eq!(MAX_KEPT_FEATURES, 128);
    }

    /// Returns a pin with a baseline and blocked definitions.
    fn pin_of(definitions: &[&Value]) -> ToolPin {
        let blocked = definitions[1..].iter().map(|definition| PendingDefinition {
            digest: digest_definition(definition),
            class: [].into(),
            seen: Timestamp::UNIX_EPOCH,
            definition: (*definition).clone(),
        });
        ToolPin {
            state: PinState::Admitted,
            baseline: Some(PinBaseline {
                digest: digest_definition(definitions[0]),
                admitted: Timestamp::UNIX_EPOCH,
                definition: definitions[0].clone(),
            }),
            overlay: None,
            pending: None,
            blocked: blocked.collect(),
        }
    }

    fn find_candidates(pins: &[ToolPin], text: &str) -> Vec<usize> {
        let mut index = OriginalIndex::default();
        pins.iter().for_each(|pin| index.add_pin("t", pin, None));
        index.find_candidates(&extract_features(&described(text), usize::MAX))
    }

    #[test]
    fn features_of_many_originals_select_no_candidate() {
        let pins = |count: usize, definitions: &[&Value]| -> Vec<ToolPin> {
            (0..count).map(|_| pin_of(definitions)).collect()
        };
        let text = described("same");
        assert_eq!(find_candidates(&pins(16, &[&text]), "same").len(), 16);
        assert_eq!(find_candidates(&pins(17, &[&text]), "same").len(), 0);
        // The definitions of one tool count once.
        let other = described("same words");
        assert_eq!(find_candidates(&pins(16, &[&text, &other]), "same").len(), 16);
    }

    #[test]
    fn candidates_are_those_with_the_largest_share() {
        // Each has a word of its own; the last has nothing else, and the one before it only a short blocked text.
        let long = |number: usize| format!("w{number} {}", numbered_words(40).replace('w', "v"));
        let mut pins: Vec<ToolPin> =
            (0..16).map(|number| pin_of(&[&described(&long(number))])).collect();
        pins.push(pin_of(&[&described(&long(16)), &described("w16 more")]));
        pins.push(pin_of(&[&described("w17")]));
        let found = find_candidates(&pins, &numbered_words(18));
        assert_eq!(found, [&[17, 16][..], &(0..14).collect::<Vec<_>>()].concat());
    }

    #[test]
    fn candidates_of_equal_length_are_ordered_by_what_they_share() {
        let text = |from: usize| -> String {
            let shared = (0..from).map(|number| format!("w{number} "));
            let own = (from..40).map(|number| format!("v{from}x{number} "));
            shared.chain(own).collect()
        };
        let mut pins: Vec<ToolPin> = (0..8).map(|_| pin_of(&[&described(&text(1))])).collect();
        pins.push(pin_of(&[&described(&text(10))]));
        assert_eq!(find_candidates(&pins, &numbered_words(10))[0], 8);
    }

    #[test]
    fn empty_definition_has_no_share() {
        let pins = [pin_of(&[&described(""), &described("one two three")])];
        assert_eq!(find_candidates(&pins, "one two three"), [0]);
    }

    /// A decision does not depend on the order in which a process hashes.
    #[test]
    fn kept_features_are_the_same_in_each_index() {
        let pin = pin_of(&[&described(&numbered_words(400))]);
        let kept = || {
            let mut index = OriginalIndex::default();
            index.add_pin("t", &pin, None);
            index.all.remove(0).texts
        };
        assert_eq!(kept(), kept());
    }
}
