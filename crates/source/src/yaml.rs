//! YAML as plain values, for the few files of a project that are written in it.
//!
//! Anchors are not followed: a file of ours has none, and a hostile one could grow without end by them.

use saphyr_parser::{Event, Parser};

/// Deeper or longer files are not for us.
const MAX_DEPTH: usize = 32;
const MAX_VALUES: usize = 20_000;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Yaml {
    Text(String),
    List(Vec<Yaml>),
    Map(Vec<(String, Yaml)>),
}

impl Yaml {
    /// The first document of a text; None where it is not YAML.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut open: Vec<Open> = Vec::new();
        for event in Parser::new_from_str(text).take(MAX_VALUES) {
            let done = match event.ok()?.0 {
                Event::SequenceStart(..) | Event::MappingStart(..) if open.len() >= MAX_DEPTH => {
                    return None;
                }
                Event::SequenceStart(..) => {
                    open.push(Open::List(Vec::new()));
                    continue;
                }
                Event::MappingStart(..) => {
                    open.push(Open::Map(Vec::new(), None));
                    continue;
                }
                Event::Scalar(text, ..) => Self::Text(text.into_owned()),
                Event::Alias(_) => Self::Text(String::new()),
                Event::SequenceEnd | Event::MappingEnd => match open.pop()? {
                    Open::List(items) => Self::List(items),
                    Open::Map(entries, _) => Self::Map(entries),
                },
                Event::DocumentEnd | Event::StreamEnd => return None,
                Event::Nothing | Event::StreamStart | Event::DocumentStart(_) => continue,
            };
            match open.last_mut() {
                None => return Some(done),
                Some(Open::List(items)) => items.push(done),
                Some(Open::Map(entries, key)) => match (key.take(), done) {
                    (None, Self::Text(name)) => *key = Some(name),
                    // A key that is a list: nothing that anybody asks for.
                    (None, _) => *key = Some(String::new()),
                    (Some(name), value) => entries.push((name, value)),
                },
            }
        }
        None
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(entries) => {
                entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// The texts of a list, or of a value that stands for a list of one.
    pub(crate) fn texts(&self) -> Vec<&str> {
        match self {
            Self::List(items) => items.iter().filter_map(Self::text).collect(),
            other => other.text().into_iter().collect(),
        }
    }
}

enum Open {
    List(Vec<Yaml>),
    Map(Vec<(String, Yaml)>, Option<String>),
}
