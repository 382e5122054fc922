//! What changed between two definitions of one tool, by what it means for those who call it.

mod diff;
mod outline;
pub(crate) mod schema;

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use contract::canonical_json;
use lint::lint_texts;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use diff::sorted;
use schema::{Delta, relate};

/// What a change means. One change may have several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeClass {
    /// Only words for people and models: titles, descriptions, examples, icons.
    Descriptive,
    /// Old calls and old readers of answers still work: a new optional parameter, a wider input, a tighter output.
    Additive,
    /// A call that was accepted may be refused, means something else, or is answered otherwise. Whatever could not be
    /// compared counts as this.
    Breaking,
    /// The hints about side effects changed.
    Annotation,
    /// A text that changed hides characters or gives orders to the model.
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

/// A change and its classes, at least one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// In the order of [`ChangeClass`], each once.
    pub classes: Vec<ChangeClass>,
    /// Unified lines over the two definitions, or the places that differ where those are too long; every hidden
    /// character shows.
    pub diff: String,
}

impl Change {
    /// `breaking, instruction`
    pub fn summary(&self) -> String {
        self.classes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

/// Compares two entries of a `tools/list`. `None` if they are the same, in whatever order their keys are.
pub fn classify(old: &Value, new: &Value) -> Option<Change> {
    if canonical_json(old) == canonical_json(new) {
        return None;
    }
    let mut classes = BTreeSet::new();
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => compare(old, new, &mut classes),
        _ => _ = classes.insert(ChangeClass::Breaking),
    }
    if has_new_orders(old, new) {
        classes.insert(ChangeClass::Instruction);
    }
    if classes.is_empty() {
        classes.insert(ChangeClass::Breaking);
    }
    Some(Change { classes: classes.into_iter().collect(), diff: diff::unified(old, new) })
}

fn compare(old: &Map<String, Value>, new: &Map<String, Value>, to: &mut BTreeSet<ChangeClass>) {
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for key in keys {
        let sides = (present(old, key), present(new, key));
        if sides.0 == sides.1 {
            continue;
        }
        match key.as_str() {
            "title" | "description" | "icons" | "_meta" => {
                to.insert(ChangeClass::Descriptive);
            }
            "annotations" => compare_annotations(sides, to),
            "inputSchema" => match sides {
                (Some(old), Some(new)) => relate(old, new).as_input(to),
                _ => _ = to.insert(ChangeClass::Breaking),
            },
            "outputSchema" => match sides {
                (Some(old), Some(new)) => relate(old, new).as_output(to),
                (None, _) => _ = to.insert(ChangeClass::Additive),
                (Some(_), None) => _ = to.insert(ChangeClass::Breaking),
            },
            // `name`, `execution`, and what no revision of MCP that we know defines.
            _ => _ = to.insert(ChangeClass::Breaking),
        }
    }
    // Nothing but `null` against absent.
    if to.is_empty() {
        to.insert(ChangeClass::Descriptive);
    }
}

fn present<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
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
    if old == new {
        to.insert(ChangeClass::Descriptive);
    }
}

/// A text that was not there in these words, and that hides characters or gives orders. A harmless edit of a text that
/// gave orders before counts: the linter names the first order it meets, and a second one may have come.
fn has_new_orders(old: &Value, new: &Value) -> bool {
    let of = |value: &Value| -> HashSet<String> {
        lint_texts("", value)
            .into_iter()
            .map(|finding| {
                let text = value.pointer(&finding.path).map(canonical_json).unwrap_or_default();
                format!("{} {} {text}", finding.rule.id, finding.path)
            })
            .collect()
    };
    let orders = of(new);
    !orders.is_empty() && !orders.is_subset(&of(old))
}

impl Delta {
    fn as_input(self, to: &mut BTreeSet<ChangeClass>) {
        if self.narrowed || self.removed || self.defaults || self.unknown {
            to.insert(ChangeClass::Breaking);
        }
        if self.widened || self.added {
            to.insert(ChangeClass::Additive);
        }
        self.texts(to);
    }

    fn as_output(self, to: &mut BTreeSet<ChangeClass>) {
        if self.widened || self.removed || self.unknown {
            to.insert(ChangeClass::Breaking);
        }
        if self.narrowed || self.added {
            to.insert(ChangeClass::Additive);
        }
        if self.defaults {
            to.insert(ChangeClass::Descriptive);
        }
        self.texts(to);
    }

    fn texts(self, to: &mut BTreeSet<ChangeClass>) {
        if self.texts {
            to.insert(ChangeClass::Descriptive);
        }
    }
}
