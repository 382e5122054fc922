//! The table of rules. An id is never given to another rule, and a rule never changes its id.

use serde::Serialize;

use super::Severity;

/// One rule: what it is called and why it is there.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// `C012`: what output, configuration and conversations refer to.
    pub id: &'static str,
    pub name: &'static str,
    pub severity: Severity,
    /// One line.
    pub summary: &'static str,
    /// Markdown: why it matters, a bad and a good example, how to repair it.
    pub explanation: &'static str,
}

macro_rules! table {
    ($($variant:ident $id:literal $name:literal $severity:ident $summary:literal)*) => {
        /// A rule by its meaning, for the checks.
        #[derive(Clone, Copy, Debug)]
        pub(super) enum Id { $($variant),* }

        static RULES: &[Rule] = &[$(Rule {
            id: $id,
            name: $name,
            severity: Severity::$severity,
            summary: $summary,
            explanation: include_str!(concat!("explain/", $id, "-", $name, ".md")),
        }),*];
    };
}

table! {
    MissingDescription "C001" "missing-description" Error
        "the tool does not say what it does"
    InvalidName "C002" "invalid-name" Error
        "the name is empty, too long or has characters that MCP does not allow"
    DuplicateName "C003" "duplicate-name" Error
        "two tools of one list have the same name"
    LookAlikeName "C004" "look-alike-name" Warning
        "two names of one list differ only by case, separators or look-alike characters"
    MissingInputSchema "C005" "missing-input-schema" Error
        "there is no input schema, so no argument can be checked"
    InvalidSchema "C006" "invalid-schema" Error
        "a schema is not a JSON Schema that can be compiled"
    InputNotObject "C007" "input-not-object" Error
        "the input schema does not describe an object of named arguments"
    UnresolvedReference "C008" "unresolved-reference" Error
        "a `$ref` points at nothing in its document"
    RemoteReference "C009" "remote-reference" Error
        "a `$ref` leaves the document, and nothing is ever fetched"
    OversizedSchema "C010" "oversized-schema" Error
        "a schema is too large, too deep or too costly to check"
    UnknownRequired "C011" "unknown-required" Error
        "`required` names a property that is not declared"
    UndescribedProperty "C012" "undescribed-property" Warning
        "a parameter has no description"
    UndescribedOutput "C013" "undescribed-output-property" Note
        "a field of the answer has no description"
    OptionalWithoutDefault "C014" "optional-without-default" Warning
        "an optional parameter does not say what happens without it"
    OpenInput "C015" "open-input" Warning
        "undeclared parameters are accepted"
    MissingOutputSchema "C016" "missing-output-schema" Error
        "there is no output schema, so no answer can be checked"
    VacuousOutput "C017" "vacuous-output-schema" Error
        "the output schema accepts every corrupted answer"
    WeakOutput "C018" "weak-output-schema" Note
        "the output schema accepts some corrupted answers"
    NoOutputSample "C019" "no-output-sample" Note
        "no valid answer could be made, so the output schema's strength is unknown"
    BrokenExample "C020" "broken-example" Error
        "an example breaks the schema that it illustrates"
    BrokenDefault "C021" "broken-default" Error
        "a default breaks the schema that declares it"
    HiddenText "C022" "hidden-text" Error
        "the text has invisible, bidirectional or control characters"
    InstructionOverride "C023" "instruction-override" Error
        "the text gives orders against the user, their secrets or other instructions"
    InstructionLike "C024" "instruction-like" Warning
        "the text reads like orders to the model rather than a description"
    ContradictoryAnnotation "C025" "contradictory-annotation" Error
        "an annotation contradicts a constraint or another annotation"
    InvalidAnnotation "C026" "invalid-annotation" Warning
        "a hint is not true or false, so clients ignore it"
    InvalidHeader "C027" "invalid-mcp-header" Error
        "`x-mcp-header` is used in a way that makes clients drop the tool"
    LongText "C028" "long-text" Note
        "a title or description is longer than clients show or models read"
}

impl Id {
    pub(super) fn rule(self) -> &'static Rule {
        &RULES[self as usize]
    }
}

/// Every rule, in the order of their ids.
pub fn rules() -> &'static [Rule] {
    RULES
}

/// A rule by id or name, in any case: `C012`, `undescribed-property`.
pub fn rule(id_or_name: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| {
        rule.id.eq_ignore_ascii_case(id_or_name) || rule.name.eq_ignore_ascii_case(id_or_name)
    })
}
