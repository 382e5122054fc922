//! Reads a file into a [`Layer`], and says for each mistake where it stands.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

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
            path.push(name.to_string());
            for inner in tables(value.get_ref()) {
                self.check_keys(inner, path)?;
            }
            path.pop();
        }
        Ok(())
    }

    /// Where this key stands, or the innermost table on the way to it.
    pub(super) fn spot_of(&self, path: &[&str]) -> Spot {
        let parsed = DeTable::parse(&self.text).ok();
        self.spot(parsed.and_then(|table| key_span(table.get_ref(), path)))
    }

    /// The same in one of the tables `[[list]]`.
    pub(super) fn spot_in(&self, list: &str, index: usize, path: &[&str]) -> Spot {
        let parsed = DeTable::parse(&self.text).ok();
        let value = parsed.as_ref().and_then(|table| {
            let value = table.get_ref().get(list)?;
            value.get_ref().as_array()?.get(index)
        });
        let Some(value) = value else { return self.spot_of(&[list]) };
        let key = value.get_ref().as_table().and_then(|table| key_span(table, path));
        self.spot(key.or(Some(value.span())))
    }

    fn spot(&self, span: Option<Range<usize>>) -> Spot {
        let start = span.unwrap_or_default().start;
        let before = self.text.as_bytes().iter().take(start);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        Spot { file: self.path.clone(), line }
    }
}

/// The span of the last key of the path that is there.
fn key_span(table: &DeTable<'_>, path: &[&str]) -> Option<Range<usize>> {
    let mut table = Some(table);
    let mut span = None;
    for name in path {
        let mut entries = table.into_iter().flat_map(DeTable::iter);
        let Some((key, value)) = entries.find(|(key, _)| key.get_ref() == name) else { break };
        span = Some(key.span());
        table = value.get_ref().as_table();
    }
    span
}

/// A table, or those of a list.
fn tables<'t, 'i>(value: &'t DeValue<'i>) -> Vec<&'t DeTable<'i>> {
    match value {
        DeValue::Table(table) => vec![table],
        DeValue::Array(items) => {
            items.iter().filter_map(|item| item.get_ref().as_table()).collect()
        }
        _ => Vec::new(),
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
        let inner = tables(value.get_ref());
        let inside = inner.iter().find(|inner| within(inner, &span));
        if holds(key.span()) || holds(value.span()) || inside.is_some() {
            path.push(key.get_ref().to_string());
            match inside {
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
            || tables(value.get_ref()).into_iter().any(|inner| within(inner, span))
    })
}
