//! How much an output schema notices.

use super::finding::Report;
use super::rules::Id;
use super::sample::samples;
use super::subject::Subject;
use super::vacuity::strength;

/// Accepted corruptions that one message lists.
const LISTED: usize = 5;

pub(super) fn check(subject: &Subject<'_>, report: &mut Report) {
    let Some(side) = &subject.output else { return };
    let Ok(schema) = &side.compiled else { return };
    let examples = subject.definition.examples.iter().filter_map(|example| example.output.as_ref());
    let samples = samples(schema, examples);
    if samples.is_empty() {
        report.add(
            Id::NoOutputSample,
            side.base,
            "no value that fits this schema was found",
            "give the definition an example with its output; if there can be none, no call can ever succeed",
        );
        return;
    }
    let strength = strength(schema, &samples);
    if strength.is_vacuous() {
        report.add(
            Id::VacuousOutput,
            side.base,
            format!("no corrupted answer is noticed ({} tried)", strength.mutations),
            r#"declare the fields with their types in "properties", list the certain ones in "required", and close the object with "additionalProperties": false"#,
        );
    } else if !strength.accepted.is_empty() {
        let listed: Vec<String> =
            strength.accepted.iter().take(LISTED).map(ToString::to_string).collect();
        let more = strength.accepted.len().saturating_sub(LISTED);
        let more = if more > 0 { format!("; {more} more") } else { String::new() };
        report.add(
            Id::WeakOutput,
            side.base,
            format!(
                "{} of {} corrupted answers are accepted: {}{more}",
                strength.accepted.len(),
                strength.mutations,
                listed.join("; ")
            ),
            "require what is always there, type every field and close the objects",
        );
    }
}
