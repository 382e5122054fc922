//! YAML as a tree whose nodes know their line, so that an error can say where it is.
//!
//! Anchors are refused: no configuration needs them, and a hostile one could grow without end by them.
//!
//! The tree is built from the events of `granit-parser`, the parser below `serde-saphyr`. Deserializing would not do:
//! quoted and plain words differ here, numbers keep their spelling, and an error names both lines of a repeated key.

use granit_parser::{Event, Parser, ScalarStyle};

use super::echidna_yaml::EchidnaConfigError;

const MAX_DEPTH: usize = 16;
const MAX_NODES: usize = 100_000;

/// A value and where it begins; lines count from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) value: Yaml,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Yaml {
    /// A word without quotes, which may be a number, a boolean or null.
    Plain(String),
    /// Text in quotes or a block of it.
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) line: usize,
    pub(super) key: String,
    pub(super) value: Node,
}

impl Node {
    /// True if nothing is said, which leaves the default.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.value, Yaml::Plain(word) if is_null(word))
    }

    /// What a scalar says.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Yaml::Plain(text) if is_null(text) => None,
            Yaml::Plain(text) | Yaml::Text(text) => Some(text),
            Yaml::List(_) | Yaml::Map(_) => None,
        }
    }
}

fn is_null(word: &str) -> bool {
    matches!(word, "" | "~" | "null" | "Null" | "NULL")
}

/// The only document of a text; None where it is empty.
pub(super) fn parse(text: &str) -> Result<Option<Node>, EchidnaConfigError> {
    let mut root = None;
    let mut open: Vec<Open> = Vec::new();
    for (count, event) in Parser::new_from_str(text).enumerate() {
        let (event, span) = event.map_err(|error| EchidnaConfigError::Syntax {
            line: error.marker().line(),
            problem: format!("this is not YAML: {}", error.info()),
        })?;
        let line = span.start.line();
        let syntax =
            |problem: &str| EchidnaConfigError::Syntax { line, problem: problem.to_owned() };
        if count > MAX_NODES {
            return Err(syntax("the file has too many values"));
        }
        let value = match event {
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() >= MAX_DEPTH => {
                return Err(syntax("lists and maps are nested too deeply"));
            }
            Event::SequenceStart(..) => {
                open.push(Open { line, inside: Inside::List(Vec::new()) });
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open { line, inside: Inside::Map(Vec::new(), None) });
                continue;
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                return Err(syntax("anchors are not supported: repeat the value"));
            }
            Event::DocumentStart(..) if root.is_some() => {
                return Err(syntax("the file has a second document"));
            }
            Event::Scalar(text, ScalarStyle::Plain, ..) => Yaml::Plain(text.into_owned()),
            Event::Scalar(text, ..) => Yaml::Text(text.into_owned()),
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(done) => {
                    place(&mut open, &mut root, done.close())?;
                    continue;
                }
                None => return Err(syntax("a list or map ends that did not begin")),
            },
            _ => continue,
        };
        place(&mut open, &mut root, Node { line, value })?;
    }
    Ok(root.filter(|root| !root.is_null()))
}

/// Puts a node where it belongs: into what is open, or at the root.
fn place(open: &mut [Open], root: &mut Option<Node>, node: Node) -> Result<(), EchidnaConfigError> {
    match open.last_mut().map(|open| &mut open.inside) {
        None => *root = Some(node),
        Some(Inside::List(items)) => items.push(node),
        Some(Inside::Map(entries, key)) => match key.take() {
            Some((line, key)) => entries.push(Entry { line, key, value: node }),
            None => {
                let name = node.text().map(str::to_owned);
                let name = name.ok_or_else(|| EchidnaConfigError::Syntax {
                    line: node.line,
                    problem: "a key must be a word".to_owned(),
                })?;
                *key = Some((node.line, name));
            }
        },
    }
    Ok(())
}

/// A list or map whose end has not come yet.
struct Open {
    line: usize,
    inside: Inside,
}

enum Inside {
    List(Vec<Node>),
    /// With the key whose value comes next.
    Map(Vec<Entry>, Option<(usize, String)>),
}

impl Open {
    fn close(self) -> Node {
        let value = match self.inside {
            Inside::List(items) => Yaml::List(items),
            Inside::Map(entries, _) => Yaml::Map(entries),
        };
        Node { line: self.line, value }
    }
}
