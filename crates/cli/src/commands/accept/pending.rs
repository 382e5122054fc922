//! A change that waits, as a person judges it.

use std::fmt::Write;

use admit::{ChangeClass, Pin, classify};
use contract::text::one_line;
use serde_json::{Value, json};

pub(super) struct Change {
    pub(super) upstream: String,
    pub(super) tool: String,
    /// Of what waits.
    pub(super) digest: String,
    classes: Vec<ChangeClass>,
    /// Against what was admitted; of a tool that never was, its whole definition.
    diff: String,
    is_new: bool,
}

impl Change {
    pub(super) fn of((upstream, tool, pin): (&str, &str, &Pin)) -> Option<Self> {
        let pending = pin.pending.as_ref()?;
        let diff = match &pin.baseline {
            Some(baseline) => classify(&baseline.definition, &pending.definition)
                .map(|change| change.diff)
                .unwrap_or_default(),
            None => contract::text::json(&pending.definition),
        };
        Some(Self {
            upstream: upstream.to_owned(),
            tool: tool.to_owned(),
            digest: pending.digest.clone(),
            classes: pending.class.iter().copied().collect(),
            diff,
            is_new: pin.baseline.is_none(),
        })
    }

    /// Whole, and safe to show.
    pub(super) fn text(&self) -> String {
        let name = one_line(&format!("{}/{}", self.upstream, self.tool));
        let mut text = match self.is_new {
            true => format!("{name} is new:\n"),
            false => format!("{name} changed:\n"),
        };
        for class in &self.classes {
            let _ = writeln!(text, "  {class}: {}", meaning(*class));
        }
        for line in self.diff.lines() {
            let _ = write!(text, "\n  │ {line}");
        }
        text
    }

    pub(super) fn view(&self) -> Value {
        json!({
            "upstream": self.upstream,
            "tool": self.tool,
            "digest": self.digest,
            "new": self.is_new,
            "class": self.classes,
            "diff": self.diff,
        })
    }
}

fn meaning(class: ChangeClass) -> &'static str {
    match class {
        ChangeClass::Descriptive => "words for people and models",
        ChangeClass::Additive => "old calls still work",
        ChangeClass::Breaking => {
            "a call that was accepted may be refused, mean something else, or be answered otherwise"
        }
        ChangeClass::Annotation => "the hints about side effects",
        ChangeClass::Instruction => {
            "new text hides characters or gives orders to a model: read it twice"
        }
    }
}
