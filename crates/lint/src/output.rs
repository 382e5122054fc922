//! Checks of the output schema: it must reject corrupted answers.

use super::finding::FindingCollector;
use super::rules::RuleId;
use super::sample::collect_samples;
use super::schema_strength::measure_strength;
use super::subject::LintSubject;

/// Maximum accepted corruptions listed in one message.
const MAX_LISTED: usize = 5;

pub(super) fn check_output(subject: &LintSubject<'_>, report: &mut FindingCollector) {
    let Some(side) = &subject.output else { return };
    let Ok(schema) = &side.compiled else { return };
    let examples = subject.definition.examples.iter().filter_map(|example| example.output.as_ref());
    let samples = collect_samples(schema, examples);
    if samples.is_empty() {
        report.add_finding(
            RuleId::NoOutputSample,
            side.base,
            "no value that satisfies this schema was found",
            "add an example with its output; if no valid output exists, no call can ever succeed",
        );
        return;
    }
    let strength = measure_strength(schema, &samples);
    if strength.is_vacuous() {
        report.add_finding(
            RuleId::VacuousOutput,
            side.base,
            format!("every corrupted answer is accepted ({} tried)", strength.mutations),
            r#"declare the fields with their types in "properties", list those that are always present in "required", and close the object with "additionalProperties": false"#,
        );
    } else if !strength.accepted.is_empty() {
        let listed: Vec<String> =
            strength.accepted.iter().take(MAX_LISTED).map(ToString::to_string).collect();
        let more = strength.accepted.len().saturating_sub(MAX_LISTED);
        let more = if more > 0 { format!("; {more} more") } else { String::new() };
        report.add_finding(
            RuleId::WeakOutput,
            side.base,
            format!(
                "{} of {} corrupted answers are accepted: {}{more}",
                strength.accepted.len(),
                strength.mutations,
                listed.join("; ")
            ),
            "require the fields that are always present, declare a type for every field, and close the objects",
        );
    }
}
