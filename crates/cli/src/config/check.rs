//! Reads a file into a [`Layer`], and says for each mistake where it stands.

use std::ops::Range;

use toml::de::DeTable;

use super::error::{ConfigError, Spot, suggest};
use super::{Layer, Source, keys};

impl Source {
    pub(super) fn parse(&self) -> Result<Layer, ConfigError> {
        let table = DeTable::parse(&self.text).map_err(|error| ConfigError::Syntax {
            spot: self.spot(error.span()),
            message: error.message().to_owned(),
        })?;
        // Before the values: a mistyped key is reported with the key that was meant.
        self.check_keys(table.get_ref(), &mut Vec::new())?;
        toml::from_str(&self.text).map_err(|error| ConfigError::Value {
            spot: self.spot(error.span()),
            key: key_at(table.get_ref(), error.span().unwrap_or_default(), &mut Vec::new()),
            message: plain(error.message()),
        })
    }

    fn check_keys(&self, table: &DeTable<'_>, path: &mut Vec<String>) -> Result<(), ConfigError> {
        let Some(known) = keys::of(path) else { return Ok(()) };
        for (key, value) in table {
            let name = key.get_ref();
            if !known.contains(&"*") && !known.contains(&&**name) {
                return Err(ConfigError::UnknownKey {
                    spot: self.spot(Some(key.span())),
                    key: name.to_string(),
                    table: path.join("."),
                    suggestion: suggest(name, known, "keys here"),
                });
            }
            if let Some(inner) = value.get_ref().as_table() {
                path.push(name.to_string());
                self.check_keys(inner, path)?;
                path.pop();
            }
        }
        Ok(())
    }

    /// Where this key stands, or the innermost table on the way to it.
    pub(super) fn spot_of(&self, path: &[&str]) -> Spot {
        let parsed = DeTable::parse(&self.text).ok();
        let mut table = parsed.as_ref().map(|table| table.get_ref());
        let mut span = None;
        for name in path {
            let mut entries = table.into_iter().flat_map(DeTable::iter);
            let Some((key, value)) = entries.find(|(key, _)| key.get_ref() == name) else { break };
            span = Some(key.span());
            table = value.get_ref().as_table();
        }
        self.spot(span)
    }

    fn spot(&self, span: Option<Range<usize>>) -> Spot {
        let start = span.unwrap_or_default().start;
        let before = self.text.as_bytes().iter().take(start);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        Spot { file: self.path.clone(), line }
    }
}

/// The message without the words of the language that this is written in.
fn plain(message: &str) -> String {
    const WORDS: [(&str, &str); 6] = [
        ("expected u16", "expected a whole number from 0 to 65535"),
        ("expected a nonzero u32", "expected a whole number above 0"),
        ("expected a nonzero u64", "expected a whole number above 0"),
        ("expected a nonzero usize", "expected a whole number above 0"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected a table"),
    ];
    let replace = |text: String, (word, plain): (&str, &str)| text.replace(word, plain);
    WORDS.into_iter().fold(message.to_owned(), replace)
}

/// The dotted key whose value holds this piece of the text.
fn key_at(table: &DeTable<'_>, span: Range<usize>, path: &mut Vec<String>) -> String {
    for (key, value) in table {
        let holds = |outer: Range<usize>| outer.start <= span.start && span.start < outer.end;
        let inner = value.get_ref().as_table();
        if holds(key.span())
            || holds(value.span())
            || inner.is_some_and(|inner| within(inner, &span))
        {
            path.push(key.get_ref().to_string());
            match inner {
                Some(inner) => return key_at(inner, span, path),
                None => break,
            }
        }
    }
    path.join(".")
}

/// A `[table]` header's span does not cover what follows it, so its keys are asked.
fn within(table: &DeTable<'_>, span: &Range<usize>) -> bool {
    table.iter().any(|(key, value)| {
        let value_span = value.span();
        (key.span().start <= span.start && span.start < value_span.end.max(key.span().end))
            || value.get_ref().as_table().is_some_and(|inner| within(inner, span))
    })
}
