//! An overlay from what a server declares and what it really answered.

use contract::text::one_line;
use contract::{Definition, Example, Schema};
use lint::{lint, samples as valid_samples, strength};
use serde_json::Value;

use super::{Answer, Sample, Samples, infer};
use crate::overlay::apply::{apply, text_schema};
use crate::read::{definition_of, digest_of};
use crate::{Overlay, ResultMode};

const MAX_EXAMPLES: usize = 2;
const MAX_EXAMPLE_BYTES: usize = 4 * 1024;
/// A longer text is a document or a secret; neither belongs into a committed file.
const MAX_EXAMPLE_TEXT: usize = 200;

/// A proposal for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    pub overlay: Overlay,
    /// What the person has to look at, write, or try again; one sentence each, safe to show.
    pub notes: Vec<String>,
}

/// Drafts the overlay of one tool from its entry in the list and its samples.
///
/// No text is made up: what a person must describe is in the notes, because a placeholder would pass the linter.
pub fn draft(tool: &Value, samples: &Samples) -> Draft {
    let mut notes = Vec::new();
    let mut overlay = Overlay { made_for: Some(digest_of(tool)), ..Overlay::default() };
    let empty = serde_json::Map::new();
    let definition = definition_of(tool.as_object().unwrap_or(&empty), &mut Vec::new());
    overlay.result = mode_of(samples.all(), &mut notes);
    let answers = answers_of(samples.all(), overlay.result);
    learn_output(&definition, &answers, &mut overlay, &mut notes);
    add_examples(&definition, samples.all(), &mut overlay, &mut notes);
    list_words(definition, &overlay, &mut notes);
    Draft { overlay, notes }
}

/// How the answers can be read. Objects only: older clients accept nothing else as structured content.
fn mode_of(samples: &[Sample], notes: &mut Vec<String>) -> ResultMode {
    let structured =
        samples.iter().filter(|sample| matches!(sample.answer, Answer::Structured(_))).count();
    if structured == samples.len() {
        return ResultMode::Structured;
    }
    if structured > 0 {
        notes.push(format!(
            "{structured} of {} answers had structuredContent: the others are left out, and such answers will be refused",
            samples.len()
        ));
        return ResultMode::Structured;
    }
    let is_object = |sample: &Sample| read(sample, ResultMode::Json).is_some_and(|v| v.is_object());
    if samples.iter().all(is_object) { ResultMode::Json } else { ResultMode::Text }
}

fn read(sample: &Sample, mode: ResultMode) -> Option<Value> {
    match (&sample.answer, mode) {
        (Answer::Structured(value), _) => Some(value.clone()),
        (Answer::Text(texts), ResultMode::Text) => {
            Some(serde_json::json!({"text": texts.join("\n")}))
        }
        (Answer::Text(texts), ResultMode::Json) => match &texts[..] {
            [text] => serde_json::from_str(text).ok(),
            _ => None,
        },
        (Answer::Text(_), ResultMode::Structured) => None,
    }
}

fn answers_of(samples: &[Sample], mode: ResultMode) -> Vec<Value> {
    samples.iter().filter_map(|sample| read(sample, mode)).collect()
}

fn learn_output(
    definition: &Definition,
    answers: &[Value],
    overlay: &mut Overlay,
    notes: &mut Vec<String>,
) {
    if answers.is_empty() {
        notes.push("no sample: call the tool at least once, then learn again".into());
        return;
    }
    if overlay.result == ResultMode::Text {
        overlay.output_schema = Some(text_schema());
        return;
    }
    match declared(definition, answers) {
        Declared::Kept => {
            notes.push(
                "the declared output schema notices bad answers, and all samples keep it".into(),
            );
            return;
        }
        Declared::Broken(why) => notes.push(format!(
            "a real answer breaks the declared output schema ({why}): the draft has another one"
        )),
        Declared::Useless => {}
    }
    let inferred = infer(answers);
    match Schema::compile(inferred.schema.clone()) {
        Ok(schema) => {
            if strength(&schema, &valid_samples(&schema, answers)).is_vacuous() {
                notes.push(
                    "the samples show too little: the drafted output schema notices no bad answer, so the tool stays \
                     refused until there are better samples"
                        .into(),
                );
            }
            overlay.output_schema = Some(inferred.schema);
        }
        Err(error) => notes.push(format!("no output schema could be made of the samples: {error}")),
    }
    notes.extend(inferred.missing);
}

enum Declared {
    Kept,
    Broken(String),
    /// Missing, not compiling or vacuous.
    Useless,
}

fn declared(definition: &Definition, answers: &[Value]) -> Declared {
    let Some(Ok(schema)) = definition.output_schema.clone().map(Schema::compile) else {
        return Declared::Useless;
    };
    if let Some(violation) = answers.iter().find_map(|answer| schema.validate(answer).err()) {
        return Declared::Broken(violation.to_string());
    }
    if strength(&schema, &valid_samples(&schema, answers)).is_vacuous() {
        return Declared::Useless;
    }
    Declared::Kept
}

fn add_examples(
    definition: &Definition,
    samples: &[Sample],
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
        let Some(answer) = read(sample, overlay.result) else { continue };
        let is_fit = is_small(&sample.input)
            && is_small(&answer)
            && input.is_valid(&sample.input)
            && output.is_valid(&answer);
        if is_fit && overlay.examples.len() < MAX_EXAMPLES {
            overlay.examples.push(Example {
                title: None,
                input: sample.input.clone(),
                output: Some(answer),
            });
        }
    }
    if !overlay.examples.is_empty() {
        notes.push(
            "the examples are real answers: make sure that nothing in them is secret before you commit them".into(),
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

/// What only a person can write: descriptions that are missing.
fn list_words(definition: Definition, overlay: &Overlay, notes: &mut Vec<String>) {
    let effective = apply(definition, Some(overlay), "", &mut Vec::new());
    for finding in lint(&effective.definition) {
        let place = || {
            let path = finding.path.strip_prefix("/inputSchema").unwrap_or(&finding.path);
            one_line(path.strip_prefix("/properties/").filter(|p| !p.contains('/')).unwrap_or(path))
        };
        match finding.rule.id {
            "C001" => notes.push("nobody says what the tool does: write `description`".into()),
            "C012" => notes.push(format!(
                "the parameter `{0}` has no description: write one under `parameters` as `{0}`",
                place()
            )),
            "C013" => {
                notes.push(format!("{}: add a `description` beside its type", finding.message));
            }
            _ => {}
        }
    }
}
