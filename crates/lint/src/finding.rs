//! Findings, and the collector that bounds their number.

use std::collections::BTreeMap;
use std::fmt;

use contract::text::{one_line, shorten_line};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::rules::{LintRule, RuleId};

/// Maximum findings listed per rule and definition; the rest is counted.
const MAX_PER_RULE: usize = 25;

/// Maximum characters of a message; a message may quote parts of a schema, which are unbounded.
const MAX_MESSAGE_CHARS: usize = 400;

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The contract cannot be enforced, contradicts itself, or endangers the caller.
    Error,
    /// A caller must guess, or the contract accepts more than intended.
    Warning,
    /// Informational; often a matter of taste.
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

/// One rule violation in one definition.
///
/// `tool` and `path` are copied from the definition, including hidden characters: use the `Display` form for people.
/// `message` and `hint` are safe to display.
#[derive(Clone, Debug, PartialEq)]
pub struct LintFinding {
    pub rule: &'static LintRule,
    pub tool: String,
    /// JSON pointer into the definition: `/inputSchema/properties/path`.
    pub path: String,
    pub message: String,
    pub hint: String,
}

impl fmt::Display for LintFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, tool, path, message, .. } = self;
        let (tool, path) = (one_line(tool), one_line(path));
        write!(f, "{}[{}] {tool}{path}: {message}", rule.severity, rule.id)
    }
}

impl Serialize for LintFinding {
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
pub(super) struct FindingCollector {
    tool: String,
    findings: Vec<LintFinding>,
    counts: BTreeMap<&'static str, usize>,
}

impl FindingCollector {
    pub(super) fn new(tool: &str) -> Self {
        Self { tool: tool.to_owned(), findings: Vec::new(), counts: BTreeMap::new() }
    }

    pub(super) fn add_finding(
        &mut self,
        rule: RuleId,
        path: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let rule = rule.rule();
        let count = self.counts.entry(rule.id).or_default();
        *count += 1;
        if *count <= MAX_PER_RULE {
            self.findings.push(LintFinding {
                rule,
                tool: self.tool.clone(),
                path: path.into(),
                message: shorten_line(&message.into(), MAX_MESSAGE_CHARS),
                hint: hint.into(),
            });
        }
    }

    /// Returns true if the rule was reported, listed or not.
    pub(super) fn has_rule(&self, rule: RuleId) -> bool {
        self.counts.contains_key(rule.rule().id)
    }

    /// Returns the findings sorted by rule, with a count of those that were not listed.
    pub(super) fn into_findings(mut self) -> Vec<LintFinding> {
        for rule in super::list_rules() {
            let count = self.counts.get(rule.id).copied().unwrap_or_default();
            if let Some(more) = count.checked_sub(MAX_PER_RULE).filter(|more| *more > 0) {
                self.findings.push(LintFinding {
                    rule,
                    tool: self.tool.clone(),
                    path: String::new(),
                    message: format!("and {more} more of this kind"),
                    hint: "fix the findings above first".into(),
                });
            }
        }
        // Stable: within one rule the checks report in document order.
        self.findings.sort_by_key(|finding| finding.rule.id);
        self.findings
    }
}

/// Returns a name for use in a message: on one line, in backticks, truncated.
pub(super) fn quote_name(name: &str) -> String {
    format!("`{}`", shorten_line(name, 64))
}
