//! A pending change of an upstream tool, as shown for review.

use std::fmt::Write;

use admit::{ChangeClass, ToolPin, classify_change};
use contract::text::one_line;
use serde_json::{Value, json};

/// Change of one tool that is not accepted yet.
pub(super) struct PendingChange {
    pub(super) upstream: String,
    pub(super) tool: String,
    /// Digest of the pending definition.
    pub(super) digest: String,
    classes: Vec<ChangeClass>,
    /// Diff against the admitted definition, or the full definition of a new tool.
    diff: String,
    is_new: bool,
}

impl PendingChange {
    /// Returns the pending change of a pin, or `None` if the pin has none.
    pub(super) fn from_pin((upstream, tool, pin): (&str, &str, &ToolPin)) -> Option<Self> {
        let pending = pin.pending.as_ref()?;
        let diff = match &pin.baseline {
            Some(baseline) => classify_change(&baseline.definition, &pending.definition)
                .map(|change| change.diff)
                .unwrap_or_default(),
            None => contract::text::to_visible_json(&pending.definition),
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

    /// Returns the full text for a terminal, with hidden characters escaped.
    pub(super) fn to_text(&self) -> String {
        let name = one_line(&format!("{}/{}", self.upstream, self.tool));
        let mut text = match self.is_new {
            true => format!("{name} is new:\n"),
            false => format!("{name} changed:\n"),
        };
        for class in &self.classes {
            let _ = writeln!(text, "  {class}: {}", describe_class(*class));
        }
        for line in self.diff.lines() {
            let _ = write!(text, "\n  │ {line}");
        }
        text
    }

    pub(super) fn to_json(&self) -> Value {
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

fn describe_class(class: ChangeClass) -> &'static str {
    match class {
        ChangeClass::Descriptive => "only descriptions changed",
        ChangeClass::Additive => "existing calls still work",
        ChangeClass::Breaking => {
            "an existing call may be rejected, change its meaning, or get a different result"
        }
        ChangeClass::Annotation => "the hints about side effects changed",
        ChangeClass::Instruction => {
            "new text contains hidden characters or instructions to a model; review it carefully"
        }
    }
}
