//! Visits every text in a definition with its location, and checks the length of titles and descriptions.

use contract::ToolDefinition;
use serde_json::Value;

use super::finding::{FindingCollector, quote_name};
use super::rules::RuleId;
use super::schema_tree::push_token;
use super::subject::LintSubject;

/// Maximum depth visited. A parsed document ends at 128 levels, and the depth rule reports at 64.
const MAX_DEPTH: usize = 160;
/// Clients truncate near this length. Longer text does not reach the model, or displaces other tools from its context.
const MAX_DESCRIPTION: usize = 2_048;
const MAX_PROPERTY_DESCRIPTION: usize = 1_024;
const MAX_TITLE: usize = 80;

/// A text with its location.
pub(super) struct LocatedText<'p> {
    pub(super) text: &'p str,
    parts: &'p [String],
    /// True for identifiers, not prose: a key, the tool's name, a pattern, a reference.
    pub(super) is_code: bool,
}

impl LocatedText<'_> {
    pub(super) fn to_pointer(&self) -> String {
        let mut path = String::new();
        self.parts.iter().for_each(|part| push_token(&mut path, part));
        path
    }

    fn ends_with(&self, keyword: &str) -> bool {
        self.parts.last().is_some_and(|part| part == keyword)
    }
}

/// Visits every string and every key of a definition, in document order.
pub(super) fn visit_texts(definition: &ToolDefinition, visit: &mut dyn FnMut(&LocatedText<'_>)) {
    let mut walk = TextWalker { parts: Vec::new(), visit };
    walk.descend("name", |walk| walk.visit_text(&definition.name, true));
    if let Some(title) = &definition.title {
        walk.descend("title", |walk| walk.visit_text(title, false));
    }
    if let Some(description) = &definition.description {
        walk.descend("description", |walk| walk.visit_text(description, false));
    }
    if let Some(schema) = &definition.input_schema {
        walk.descend("inputSchema", |walk| walk.visit_value(schema));
    }
    if let Some(schema) = &definition.output_schema {
        walk.descend("outputSchema", |walk| walk.visit_value(schema));
    }
    if let Some(annotations) = &definition.annotations {
        walk.descend("annotations", |walk| walk.visit_object(annotations));
    }
    if let Some(constraints) = &definition.constraints {
        walk.descend("constraints", |walk| {
            walk.descend("access", |walk| walk.visit_text(&constraints.access, false));
            walk.descend("rules", |walk| {
                for (index, rule) in constraints.rules.iter().enumerate() {
                    walk.descend(&index.to_string(), |walk| walk.visit_text(rule, false));
                }
            });
        });
    }
    walk.descend("examples", |walk| {
        for (index, example) in definition.examples.iter().enumerate() {
            walk.descend(&index.to_string(), |walk| {
                if let Some(title) = &example.title {
                    walk.descend("title", |walk| walk.visit_text(title, false));
                }
                walk.descend("input", |walk| walk.visit_value(&example.input));
                if let Some(output) = &example.output {
                    walk.descend("output", |walk| walk.visit_value(output));
                }
            });
        }
    });
}

/// Visits every string and every key of any JSON.
pub(super) fn visit_json_texts(value: &Value, visit: &mut dyn FnMut(&LocatedText<'_>)) {
    TextWalker { parts: Vec::new(), visit }.visit_value(value);
}

struct TextWalker<'v> {
    parts: Vec<String>,
    visit: &'v mut dyn FnMut(&LocatedText<'_>),
}

impl TextWalker<'_> {
    fn descend(&mut self, part: &str, inside: impl FnOnce(&mut Self)) {
        self.parts.push(part.to_owned());
        inside(self);
        self.parts.pop();
    }

    fn visit_text(&mut self, text: &str, is_code: bool) {
        (self.visit)(&LocatedText { text, parts: &self.parts, is_code });
    }

    fn visit_value(&mut self, value: &Value) {
        if self.parts.len() > MAX_DEPTH {
            return;
        }
        match value {
            Value::String(text) => {
                let keyword = self.parts.last().map_or("", String::as_str);
                let is_code = matches!(keyword, "pattern" | "format" | "type")
                    || (keyword.starts_with('$') && keyword != "$comment");
                self.visit_text(text, is_code);
            }
            Value::Object(map) => self.visit_object(map),
            Value::Array(list) => {
                for (index, value) in list.iter().enumerate() {
                    self.descend(&index.to_string(), |walk| walk.visit_value(value));
                }
            }
            _ => {}
        }
    }

    fn visit_object(&mut self, map: &serde_json::Map<String, Value>) {
        for (key, value) in map {
            self.descend(key, |walk| {
                walk.visit_text(key, true);
                walk.visit_value(value);
            });
        }
    }
}

pub(super) fn check_text_lengths(subject: &LintSubject<'_>, report: &mut FindingCollector) {
    visit_texts(subject.definition, &mut |text| {
        let (what, limit) = match text.parts {
            [part] if part == "description" => ("description", MAX_DESCRIPTION),
            [part] if part == "title" => ("title", MAX_TITLE),
            [side, ..] if side.ends_with("Schema") && text.ends_with("description") => {
                ("description", MAX_PROPERTY_DESCRIPTION)
            }
            _ => return,
        };
        let length = text.text.chars().count();
        if !text.is_code && length > limit {
            let start: String = text.text.chars().take(24).collect();
            report.add_finding(
                RuleId::LongText,
                text.to_pointer(),
                format!("the {what} that starts {} has {length} characters; the maximum is {limit}", quote_name(&start)),
                "keep what a caller needs to choose and call the tool; move the rest to documentation",
            );
        }
    });
}
