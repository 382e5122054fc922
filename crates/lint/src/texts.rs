//! Every piece of text in a definition, with the way to it; and the rule on how long one should be.

use contract::Definition;
use serde_json::Value;

use super::finding::{Report, quoted};
use super::rules::Id;
use super::subject::Subject;
use super::tree::push_token;

/// Deeper text is not looked at; a parsed document ends at 128 levels, and the depth rule speaks at 64.
const MAX_DEPTH: usize = 160;
/// Clients cut here or near: longer text reaches no model, or pushes other tools out of its context.
const MAX_DESCRIPTION: usize = 2_048;
const MAX_PROPERTY_DESCRIPTION: usize = 1_024;
const MAX_TITLE: usize = 80;

/// A text and where it stands.
pub(super) struct Text<'p> {
    pub(super) text: &'p str,
    parts: &'p [String],
    /// A name that a program reads: a key, the tool's name, a pattern, a reference. Not prose.
    pub(super) is_code: bool,
}

impl Text<'_> {
    pub(super) fn path(&self) -> String {
        let mut path = String::new();
        self.parts.iter().for_each(|part| push_token(&mut path, part));
        path
    }

    fn ends_with(&self, keyword: &str) -> bool {
        self.parts.last().is_some_and(|part| part == keyword)
    }
}

/// Visits every string and every key, in document order.
pub(super) fn each(definition: &Definition, visit: &mut dyn FnMut(&Text<'_>)) {
    let mut walk = Walk { parts: Vec::new(), visit };
    walk.at("name", |walk| walk.say(&definition.name, true));
    if let Some(title) = &definition.title {
        walk.at("title", |walk| walk.say(title, false));
    }
    if let Some(description) = &definition.description {
        walk.at("description", |walk| walk.say(description, false));
    }
    if let Some(schema) = &definition.input_schema {
        walk.at("inputSchema", |walk| walk.value(schema));
    }
    if let Some(schema) = &definition.output_schema {
        walk.at("outputSchema", |walk| walk.value(schema));
    }
    if let Some(annotations) = &definition.annotations {
        walk.at("annotations", |walk| walk.map(annotations));
    }
    if let Some(constraints) = &definition.constraints {
        walk.at("constraints", |walk| {
            walk.at("access", |walk| walk.say(&constraints.access, false));
            walk.at("rules", |walk| {
                for (index, rule) in constraints.rules.iter().enumerate() {
                    walk.at(&index.to_string(), |walk| walk.say(rule, false));
                }
            });
        });
    }
    walk.at("examples", |walk| {
        for (index, example) in definition.examples.iter().enumerate() {
            walk.at(&index.to_string(), |walk| {
                if let Some(title) = &example.title {
                    walk.at("title", |walk| walk.say(title, false));
                }
                walk.at("input", |walk| walk.value(&example.input));
                if let Some(output) = &example.output {
                    walk.at("output", |walk| walk.value(output));
                }
            });
        }
    });
}

/// Visits every string and every key of any JSON.
pub(super) fn each_in(value: &Value, visit: &mut dyn FnMut(&Text<'_>)) {
    Walk { parts: Vec::new(), visit }.value(value);
}

struct Walk<'v> {
    parts: Vec<String>,
    visit: &'v mut dyn FnMut(&Text<'_>),
}

impl Walk<'_> {
    fn at(&mut self, part: &str, inside: impl FnOnce(&mut Self)) {
        self.parts.push(part.to_owned());
        inside(self);
        self.parts.pop();
    }

    fn say(&mut self, text: &str, is_code: bool) {
        (self.visit)(&Text { text, parts: &self.parts, is_code });
    }

    fn value(&mut self, value: &Value) {
        if self.parts.len() > MAX_DEPTH {
            return;
        }
        match value {
            Value::String(text) => {
                let keyword = self.parts.last().map_or("", String::as_str);
                let is_code = matches!(keyword, "pattern" | "format" | "type")
                    || (keyword.starts_with('$') && keyword != "$comment");
                self.say(text, is_code);
            }
            Value::Object(map) => self.map(map),
            Value::Array(list) => {
                for (index, value) in list.iter().enumerate() {
                    self.at(&index.to_string(), |walk| walk.value(value));
                }
            }
            _ => {}
        }
    }

    fn map(&mut self, map: &serde_json::Map<String, Value>) {
        for (key, value) in map {
            self.at(key, |walk| {
                walk.say(key, true);
                walk.value(value);
            });
        }
    }
}

pub(super) fn check_length(subject: &Subject<'_>, report: &mut Report) {
    each(subject.definition, &mut |text| {
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
            report.add(
                Id::LongText,
                text.path(),
                format!("the {what} that starts {} has {length} characters, over {limit}", quoted(&start)),
                "keep what a caller needs to choose and call the tool; move the rest to documentation",
            );
        }
    });
}
