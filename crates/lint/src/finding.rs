//! What the linter says, and how much of it.

use std::collections::BTreeMap;
use std::fmt;

use contract::text::{one_line, shortened};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::rules::{Id, Rule};

/// A list with ten thousand undescribed properties is one problem, not ten thousand.
const MAX_PER_RULE: usize = 25;

/// A message may repeat parts of a schema, and those have no bound.
const MAX_MESSAGE: usize = 400;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The contract cannot be enforced, contradicts itself, or endangers the caller.
    Error,
    /// A caller must guess, or more is let through than meant.
    Warning,
    /// Worth knowing; often a matter of taste.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

/// One broken rule in one definition.
///
/// `tool` and `path` are as the definition has them, hidden characters and all: use the `Display` form for people.
/// `message` and `hint` are safe to show.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub rule: &'static Rule,
    pub tool: String,
    /// JSON pointer into the definition: `/inputSchema/properties/path`.
    pub path: String,
    pub message: String,
    pub hint: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, tool, path, message, .. } = self;
        let (tool, path) = (one_line(tool), one_line(path));
        write!(f, "{}[{}] {tool}{path}: {message}", rule.severity, rule.id)
    }
}

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let mut fields = out.serialize_struct("Finding", 7)?;
        fields.serialize_field("rule", self.rule.id)?;
        fields.serialize_field("name", self.rule.name)?;
        fields.serialize_field("severity", &self.rule.severity)?;
        fields.serialize_field("tool", &self.tool)?;
        fields.serialize_field("path", &self.path)?;
        fields.serialize_field("message", &self.message)?;
        fields.serialize_field("hint", &self.hint)?;
        fields.end()
    }
}

/// Collects the findings of one definition.
#[derive(Debug)]
pub(super) struct Report {
    tool: String,
    findings: Vec<Finding>,
    counts: BTreeMap<&'static str, usize>,
}

impl Report {
    pub(super) fn new(tool: &str) -> Self {
        Self { tool: tool.to_owned(), findings: Vec::new(), counts: BTreeMap::new() }
    }

    pub(super) fn add(
        &mut self,
        rule: Id,
        path: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let rule = rule.rule();
        let count = self.counts.entry(rule.id).or_default();
        *count += 1;
        if *count <= MAX_PER_RULE {
            self.findings.push(Finding {
                rule,
                tool: self.tool.clone(),
                path: path.into(),
                message: shortened(&message.into(), MAX_MESSAGE),
                hint: hint.into(),
            });
        }
    }

    pub(super) fn has(&self, rule: Id) -> bool {
        self.counts.contains_key(rule.rule().id)
    }

    pub(super) fn finish(mut self) -> Vec<Finding> {
        for rule in super::rules() {
            let count = self.counts.get(rule.id).copied().unwrap_or_default();
            if let Some(more) = count.checked_sub(MAX_PER_RULE).filter(|more| *more > 0) {
                self.findings.push(Finding {
                    rule,
                    tool: self.tool.clone(),
                    path: String::new(),
                    message: format!("and {more} more of this kind"),
                    hint: "repair those above first".into(),
                });
            }
        }
        // Stable: within one rule the checks report in document order.
        self.findings.sort_by_key(|finding| finding.rule.id);
        self.findings
    }
}

/// A name in a message: one line, in backticks, not endless.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", shortened(name, 64))
}
