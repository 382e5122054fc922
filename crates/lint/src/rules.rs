//! The table of lint rules. Ids are stable: a rule never changes its id, and an id is never reused.

use serde::Serialize;

use super::Severity;

/// One lint rule.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct LintRule {
    /// Stable id such as `C012`, used in output and configuration.
    pub id: &'static str,
    pub name: &'static str,
    pub severity: Severity,
    /// Summary in one line.
    pub summary: &'static str,
    /// Markdown: why it matters, a bad and a good example, how to fix it.
    pub explanation: &'static str,
}

type RuleTable = &'static [LintRule];

const fn new_rule(
    id: &'static str,
    name: &'static str,
    severity: Severity,
    summary: &'static str,
    explanation: &'static str,
) -> LintRule {
    LintRule { id, name, severity, summary, explanation }
}

macro_rules! table {
    ($($variant:ident $id:literal $name:literal $severity:ident $summary:literal)*) => {
        /// Identifies a rule in the checks.
        #[derive(Clone, Copy, Debug)]
        pub(super) enum RuleId { $($variant),* }

        static RULES: RuleTable = &[$(new_rule(
            $id,
            $name,
            Severity::$severity,
            $summary,
            include_str!(concat!("explain/", $id, "-", $name, ".md")),
        )),*];
    };
}

table! {
    MissingDescription "C001" "missing-description" Error
        "the tool has no description"
    InvalidName "C002" "invalid-name" Error
        "the name is empty, too long or contains characters that MCP does not allow"
    DuplicateName "C003" "duplicate-name" Error
        "two tools in a list have the same name"
    LookAlikeName "C004" "look-alike-name" Warning
        "two names in a list differ only in case, separators or look-alike characters"
    MissingInputSchema "C005" "missing-input-schema" Error
        "the input schema is missing, so arguments cannot be checked"
    InvalidSchema "C006" "invalid-schema" Error
        "a schema does not compile"
    InputNotObject "C007" "input-not-object" Error
        "the input schema does not describe an object of named arguments"
    UnresolvedReference "C008" "unresolved-reference" Error
        "a `$ref` has no target in its document"
    RemoteReference "C009" "remote-reference" Error
        "a `$ref` leaves the document; remote schemas are never fetched"
    OversizedSchema "C010" "oversized-schema" Error
        "a schema is too large, too deep or too expensive to check"
    UnknownRequired "C011" "unknown-required" Error
        "`required` names a property that is not declared"
    UndescribedProperty "C012" "undescribed-property" Warning
        "a parameter has no description"
    UndescribedOutput "C013" "undescribed-output-property" Note
        "an output field has no description"
    OptionalWithoutDefault "C014" "optional-without-default" Warning
        "an optional parameter has no default and does not describe its absence"
    OpenInput "C015" "open-input" Warning
        "undeclared parameters are accepted"
    MissingOutputSchema "C016" "missing-output-schema" Error
        "the output schema is missing, so answers cannot be checked"
    VacuousOutput "C017" "vacuous-output-schema" Error
        "the output schema accepts every corrupted answer"
    WeakOutput "C018" "weak-output-schema" Note
        "the output schema accepts some corrupted answers"
    NoOutputSample "C019" "no-output-sample" Note
        "no valid sample was found, so the strength of the output schema is unknown"
    BrokenExample "C020" "broken-example" Error
        "an example violates its schema"
    BrokenDefault "C021" "broken-default" Error
        "a default violates its schema"
    HiddenText "C022" "hidden-text" Error
        "the text contains invisible, bidirectional or control characters"
    InstructionOverride "C023" "instruction-override" Error
        "the text instructs the model against the user, their secrets or other instructions"
    InstructionLike "C024" "instruction-like" Warning
        "the text instructs the model instead of describing the tool"
    ContradictoryAnnotation "C025" "contradictory-annotation" Error
        "an annotation contradicts a constraint or another annotation"
    InvalidAnnotation "C026" "invalid-annotation" Warning
        "a hint is not a boolean, so clients ignore it"
    InvalidHeader "C027" "invalid-mcp-header" Error
        "`x-mcp-header` is used in a way that makes clients drop the tool"
    LongText "C028" "long-text" Note
        "a title or description is longer than clients show or models read"
}

impl RuleId {
    pub(super) fn rule(self) -> &'static LintRule {
        &RULES[self as usize]
    }
}

/// Returns all rules, ordered by id.
pub fn list_rules() -> &'static [LintRule] {
    RULES
}

/// Returns the rule with this id or name, ignoring case: `C012`, `undescribed-property`.
pub fn find_rule(id_or_name: &str) -> Option<&'static LintRule> {
    RULES.iter().find(|rule| {
        rule.id.eq_ignore_ascii_case(id_or_name) || rule.name.eq_ignore_ascii_case(id_or_name)
    })
}
