//! Drafts an overlay from a tool's definition and samples of its real answers.

use contract::text::one_line;
use contract::{Schema, ToolDefinition, ToolExample};
use lint::{collect_samples as valid_samples, lint_definition, measure_strength};
use serde_json::Value;

use super::{CallSample, SampleAnswer, SampleSet, infer_schema};
use crate::definition::{digest_definition, read_definition};
use crate::overlay::apply::{apply_overlay, text_schema};
use crate::{Overlay, ResultMode};

const MAX_EXAMPLES: usize = 2;
const MAX_EXAMPLE_BYTES: usize = 4 * 1024;
/// Maximum length of a text in an example. A longer text is likely a document or a secret, which should not be
/// committed.
const MAX_EXAMPLE_TEXT: usize = 200;

/// A draft overlay for a person to review.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftOverlay {
    pub overlay: Overlay,
    /// Open tasks for the person, one sentence each, safe to show.
    pub notes: Vec<String>,
}

/// Drafts the overlay of one tool from its entry in the list and its samples.
///
/// Missing descriptions are listed in the notes. They are not filled with placeholders, because those would pass the
/// linter.
pub fn draft_overlay(tool: &Value, samples: &SampleSet) -> DraftOverlay {
    let mut notes = Vec::new();
    let mut overlay = Overlay { made_for: Some(digest_definition(tool)), ..Overlay::default() };
    let empty = serde_json::Map::new();
    let definition = read_definition(tool.as_object().unwrap_or(&empty), &mut Vec::new());
    overlay.result = detect_result_mode(samples.as_slice(), &mut notes);
    let answers = collect_answers(samples.as_slice(), overlay.result);
    learn_output(&definition, &answers, &mut overlay, &mut notes);
    add_examples(&definition, samples.as_slice(), &mut overlay, &mut notes);
    note_missing_descriptions(definition, &overlay, &mut notes);
    DraftOverlay { overlay, notes }
}

/// Returns the result mode that fits all answers. [`ResultMode::Json`] requires objects, because older clients accept
/// nothing else as structured content.
fn detect_result_mode(samples: &[CallSample], notes: &mut Vec<String>) -> ResultMode {
    let structured = samples
        .iter()
        .filter(|sample| matches!(sample.answer, SampleAnswer::Structured(_)))
        .count();
    if structured == samples.len() {
        return ResultMode::Structured;
    }
    if structured > 0 {
        notes.push(format!(
            "only {structured} of {} answers had structuredContent: the others are ignored, and such answers will be rejected",
            samples.len()
        ));
        return ResultMode::Structured;
    }
    let is_object =
        |sample: &CallSample| read_answer(sample, ResultMode::Json).is_some_and(|v| v.is_object());
    if samples.iter().all(is_object) { ResultMode::Json } else { ResultMode::Text }
}

fn read_answer(sample: &CallSample, mode: ResultMode) -> Option<Value> {
    match (&sample.answer, mode) {
        (SampleAnswer::Structured(value), _) => Some(value.clone()),
        (SampleAnswer::Text(texts), ResultMode::Text) => {
            Some(serde_json::json!({"text": texts.join("\n")}))
        }
        (SampleAnswer::Text(texts), ResultMode::Json) => match &texts[..] {
            [text] => serde_json::from_str(text).ok(),
            _ => None,
        },
        (SampleAnswer::Text(_), ResultMode::Structured) => None,
    }
}

fn collect_answers(samples: &[CallSample], mode: ResultMode) -> Vec<Value> {
    samples.iter().filter_map(|sample| read_answer(sample, mode)).collect()
}

fn learn_output(
    definition: &ToolDefinition,
    answers: &[Value],
    overlay: &mut Overlay,
    notes: &mut Vec<String>,
) {
    if answers.is_empty() {
        notes.push("no samples: call the tool at least once, then run `vouch learn` again".into());
        return;
    }
    if overlay.result == ResultMode::Text {
        overlay.output_schema = Some(text_schema());
        return;
    }
    match check_declared_schema(definition, answers) {
        DeclaredSchemaCheck::Satisfied => {
            notes.push(
                "the declared output schema rejects corrupted answers, and all samples satisfy it"
                    .into(),
            );
            return;
        }
        DeclaredSchemaCheck::Violated(why) => notes.push(format!(
            "a real answer violates the declared output schema ({why}): the draft replaces it"
        )),
        DeclaredSchemaCheck::Unusable => {}
    }
    let inferred = infer_schema(answers);
    match Schema::compile(inferred.schema.clone()) {
        Ok(schema) => {
            if measure_strength(&schema, &valid_samples(&schema, answers)).is_vacuous() {
                notes.push(
                    "the samples show too little: the drafted output schema accepts every corrupted answer, so the tool \
                     stays refused until there are better samples"
                        .into(),
                );
            }
            overlay.output_schema = Some(inferred.schema);
        }
        Err(error) => {
            notes.push(format!("failed to infer an output schema from the samples: {error}"));
        }
    }
    notes.extend(inferred.missing);
}

/// State of the declared output schema with respect to the samples.
enum DeclaredSchemaCheck {
    Satisfied,
    Violated(String),
    /// Missing, not compiling or vacuous.
    Unusable,
}

fn check_declared_schema(definition: &ToolDefinition, answers: &[Value]) -> DeclaredSchemaCheck {
    let Some(Ok(schema)) = definition.output_schema.clone().map(Schema::compile) else {
        return DeclaredSchemaCheck::Unusable;
    };
    if let Some(violation) = answers.iter().find_map(|answer| schema.validate(answer).err()) {
        return DeclaredSchemaCheck::Violated(violation.to_string());
    }
    if measure_strength(&schema, &valid_samples(&schema, answers)).is_vacuous() {
        return DeclaredSchemaCheck::Unusable;
    }
    DeclaredSchemaCheck::Satisfied
}

fn add_examples(
    definition: &ToolDefinition,
    samples: &[CallSample],
    overlay: &mut Overlay,
    notes: &mut Vec<String>,
) {
    let output = overlay.output_schema.as_ref().or(definition.output_schema.as_ref());
    let (Some(Ok(input)), Some(Ok(output))) = (
        definition.input_schema.clone().map(Schema::compile),
        output.cloned().map(Schema::compile),
    ) else {
        return;
    };
    for sample in samples {
        let Some(answer) = read_answer(sample, overlay.result) else { continue };
        let is_fit = is_small(&sample.input)
            && is_small(&answer)
            && input.is_valid(&sample.input)
            && output.is_valid(&answer);
        if is_fit && overlay.examples.len() < MAX_EXAMPLES {
            overlay.examples.push(ToolExample {
                title: None,
                input: sample.input.clone(),
                output: Some(answer),
            });
        }
    }
    if !overlay.examples.is_empty() {
        notes.push(
            "the examples are real answers: check them for secrets before you commit them".into(),
        );
    } else if !samples.is_empty() {
        notes.push("every answer is too long for an example".into());
    }
}

fn is_small(value: &Value) -> bool {
    fn is_short(value: &Value) -> bool {
        match value {
            Value::String(text) => text.chars().count() <= MAX_EXAMPLE_TEXT,
            Value::Array(list) => list.iter().all(is_short),
            Value::Object(map) => {
                map.iter().all(|(key, value)| key.len() <= MAX_EXAMPLE_TEXT && is_short(value))
            }
            _ => true,
        }
    }
    value.to_string().len() <= MAX_EXAMPLE_BYTES && is_short(value)
}

/// Adds a note for each missing description, which only a person can write.
fn note_missing_descriptions(
    definition: ToolDefinition,
    overlay: &Overlay,
    notes: &mut Vec<String>,
) {
    let effective = apply_overlay(definition, Some(overlay), "", &mut Vec::new());
    for finding in lint_definition(&effective.definition) {
        let parameter = || {
            let path = finding.path.strip_prefix("/inputSchema").unwrap_or(&finding.path);
            one_line(path.strip_prefix("/properties/").filter(|p| !p.contains('/')).unwrap_or(path))
        };
        match finding.rule.id {
            "C001" => notes.push("the tool has no description: write `description`".into()),
            "C012" => notes.push(format!(
                "the parameter `{0}` has no description: write one under `parameters` as `{0}`",
                parameter()
            )),
            "C013" => {
                notes.push(format!("{}: add a `description` beside its type", finding.message));
            }
            _ => {}
        }
    }
}
