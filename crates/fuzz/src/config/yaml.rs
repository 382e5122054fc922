//! Parses YAML into a tree that records the line of each node, for error messages.
//!
//! Anchors are rejected: no configuration needs them, and a hostile file could use them to expand without limit.
//!
//! The tree is built from the events of `granit-parser`, the parser below `serde-saphyr`. Deserialization is not enough:
//! quoted and plain words differ here, numbers keep their spelling, and an error names both lines of a repeated key.

use granit_parser::{Event, Parser, ScalarStyle};

use super::echidna_yaml::EchidnaConfigError;

const MAX_DEPTH: usize = 16;
const MAX_NODES: usize = 100_000;

/// A value and the line on which it begins, counted from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct YamlNode {
    pub(super) line: usize,
    pub(super) value: YamlValue,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum YamlValue {
    /// An unquoted scalar, which may be a number, a boolean or null.
    Plain(String),
    /// A quoted scalar or a block scalar.
    Text(String),
    List(Vec<YamlNode>),
    Map(Vec<YamlEntry>),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct YamlEntry {
    pub(super) line: usize,
    pub(super) key: String,
    pub(super) value: YamlNode,
}

impl YamlNode {
    /// Returns true for an empty or null scalar, which leaves the default.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.value, YamlValue::Plain(word) if is_null(word))
    }

    /// Returns the text of a scalar, or `None` for null, a list or a map.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Plain(text) if is_null(text) => None,
            YamlValue::Plain(text) | YamlValue::Text(text) => Some(text),
            YamlValue::List(_) | YamlValue::Map(_) => None,
        }
    }
}

fn is_null(word: &str) -> bool {
    matches!(word, "" | "~" | "null" | "Null" | "NULL")
}

/// Parses a text with a single document. Returns `None` if the document is empty or null.
pub(super) fn parse_yaml(text: &str) -> Result<Option<YamlNode>, EchidnaConfigError> {
    let mut root = None;
    let mut open: Vec<OpenCollection> = Vec::new();
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
                open.push(OpenCollection { line, items: CollectionItems::List(Vec::new()) });
                continue;
            }
            Event::MappingStart(..) => {
                open.push(OpenCollection { line, items: CollectionItems::Map(Vec::new(), None) });
                continue;
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                return Err(syntax("anchors are not supported: repeat the value"));
            }
            Event::DocumentStart(..) if root.is_some() => {
                return Err(syntax("the file has a second document"));
            }
            Event::Scalar(text, ScalarStyle::Plain, ..) => YamlValue::Plain(text.into_owned()),
            Event::Scalar(text, ..) => YamlValue::Text(text.into_owned()),
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(done) => {
                    attach_node(&mut open, &mut root, done.into_node())?;
                    continue;
                }
                None => return Err(syntax("a list or map ends that did not begin")),
            },
            _ => continue,
        };
        attach_node(&mut open, &mut root, YamlNode { line, value })?;
    }
    Ok(root.filter(|root| !root.is_null()))
}

/// Attaches a node to the innermost open list or map, or makes it the root.
fn attach_node(
    open: &mut [OpenCollection],
    root: &mut Option<YamlNode>,
    node: YamlNode,
) -> Result<(), EchidnaConfigError> {
    match open.last_mut().map(|open| &mut open.items) {
        None => *root = Some(node),
        Some(CollectionItems::List(items)) => items.push(node),
        Some(CollectionItems::Map(entries, key)) => match key.take() {
            Some((line, key)) => entries.push(YamlEntry { line, key, value: node }),
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

/// A list or map whose end event has not been read yet.
struct OpenCollection {
    line: usize,
    items: CollectionItems,
}

enum CollectionItems {
    List(Vec<YamlNode>),
    /// The entries, and the line and name of the key whose value comes next.
    Map(Vec<YamlEntry>, Option<(usize, String)>),
}

impl OpenCollection {
    fn into_node(self) -> YamlNode {
        let value = match self.items {
            CollectionItems::List(items) => YamlValue::List(items),
            CollectionItems::Map(entries, _) => YamlValue::Map(entries),
        };
        YamlNode { line: self.line, value }
    }
}
