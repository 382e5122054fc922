//! Classifies the change between two definitions of one tool by its effect on callers.

mod diff;
mod outline;
pub(crate) mod schema;

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use contract::canonical_json;
use lint::lint_texts;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use diff::sort_keys;
use schema::{SchemaDelta, compare_schemas};

/// Effect of a change on callers. One change may have several classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeClass {
    /// Only texts for people and models changed: titles, descriptions, examples, icons.
    Descriptive,
    /// Existing calls and consumers of answers still work: a new optional parameter, a wider input, a tighter output.
    Additive,
    /// A call that was accepted may be rejected, change its meaning or return a different answer. Parts that cannot be
    /// compared count as breaking.
    Breaking,
    /// A hint about side effects changed.
    Annotation,
    /// A changed text hides characters or instructs the model.
    Instruction,
}

impl fmt::Display for ChangeClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Descriptive => "descriptive",
            Self::Additive => "additive",
            Self::Breaking => "breaking",
            Self::Annotation => "annotation",
            Self::Instruction => "instruction",
        })
    }
}

/// A change between two definitions. It has at least one class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolDefinitionChange {
    /// Distinct classes, in the order of [`ChangeClass`].
    pub classes: Vec<ChangeClass>,
    /// Unified diff of the two definitions, or a list of changed locations if they are too long. Hidden characters are
    /// made visible.
    pub diff: String,
}

impl ToolDefinitionChange {
    /// Returns the classes as text, for example `breaking, instruction`.
    pub fn summary(&self) -> String {
        self.classes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

/// Compares two entries of a `tools/list`. Returns `None` if they are equal, regardless of key order.
pub fn classify_change(old: &Value, new: &Value) -> Option<ToolDefinitionChange> {
    if canonical_json(old) == canonical_json(new) {
        return None;
    }
    let mut classes = BTreeSet::new();
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => compare_entries(old, new, &mut classes),
        _ => _ = classes.insert(ChangeClass::Breaking),
    }
    if has_new_instructions(old, new) {
        classes.insert(ChangeClass::Instruction);
    }
    Some(ToolDefinitionChange {
        classes: classes.into_iter().collect(),
        diff: diff::render_diff(old, new),
    })
}

fn compare_entries(
    old: &Map<String, Value>,
    new: &Map<String, Value>,
    to: &mut BTreeSet<ChangeClass>,
) {
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for key in keys {
        let sides = (get_non_null(old, key), get_non_null(new, key));
        if sides.0 == sides.1 {
            continue;
        }
        match key.as_str() {
            "title" | "description" | "icons" | "_meta" => {
                to.insert(ChangeClass::Descriptive);
            }
            "annotations" => compare_annotations(sides, to),
            "inputSchema" => match sides {
                (Some(old), Some(new)) => compare_schemas(old, new).classify_input(to),
                _ => _ = to.insert(ChangeClass::Breaking),
            },
            "outputSchema" => match sides {
                (Some(old), Some(new)) => compare_schemas(old, new).classify_output(to),
                (None, _) => _ = to.insert(ChangeClass::Additive),
                (Some(_), None) => _ = to.insert(ChangeClass::Breaking),
            },
            // `name`, `execution`, and fields that no known MCP revision defines.
            _ => _ = to.insert(ChangeClass::Breaking),
        }
    }
    // The only difference is between equivalent values, such as `null` and an absent key.
    if to.is_empty() {
        to.insert(ChangeClass::Descriptive);
    }
}

/// Returns the value of a key, or `None` if it is absent or null.
fn get_non_null<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    map.get(key).filter(|value| !value.is_null())
}

fn compare_annotations(
    (old, new): (Option<&Value>, Option<&Value>),
    to: &mut BTreeSet<ChangeClass>,
) {
    let empty = Map::new();
    let (Some(old), Some(new)) =
        (old.map_or(Some(&empty), Value::as_object), new.map_or(Some(&empty), Value::as_object))
    else {
        to.insert(ChangeClass::Annotation);
        return;
    };
    for key in old.keys().chain(new.keys()) {
        if old.get(key) != new.get(key) {
            to.insert(if key == "title" {
                ChangeClass::Descriptive
            } else {
                ChangeClass::Annotation
            });
        }
    }
}

/// Returns true if a new or edited text hides characters or instructs the model.
///
/// A harmless edit of a text that already gave instructions counts too: the linter reports only the first instruction
/// in a text, and the edit may have added a second one.
fn has_new_instructions(old: &Value, new: &Value) -> bool {
    let find_instructions = |value: &Value| -> HashSet<String> {
        lint_texts("", value)
            .into_iter()
            .map(|finding| {
                let text = value.pointer(&finding.path).map(canonical_json).unwrap_or_default();
                format!("{} {} {text}", finding.rule.id, finding.path)
            })
            .collect()
    };
    let instructions = find_instructions(new);
    !instructions.is_empty() && !instructions.is_subset(&find_instructions(old))
}

impl SchemaDelta {
    fn classify_input(self, to: &mut BTreeSet<ChangeClass>) {
        if self.narrowed || self.removed || self.defaults || self.unknown {
            to.insert(ChangeClass::Breaking);
        }
        if self.widened || self.added {
            to.insert(ChangeClass::Additive);
        }
        self.classify_texts(to);
    }

    fn classify_output(self, to: &mut BTreeSet<ChangeClass>) {
        if self.widened || self.removed || self.unknown {
            to.insert(ChangeClass::Breaking);
        }
        if self.narrowed || self.added {
            to.insert(ChangeClass::Additive);
        }
        if self.defaults {
            to.insert(ChangeClass::Descriptive);
        }
        self.classify_texts(to);
    }

    fn classify_texts(self, to: &mut BTreeSet<ChangeClass>) {
        if self.texts {
            to.insert(ChangeClass::Descriptive);
        }
    }
}
