//! Parses a file into a [`ConfigLayer`], and locates every error.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, ConfigLocation, suggest_name};
use super::{ConfigLayer, ConfigSource, keys};

impl ConfigSource {
    /// Parses the text; checks keys first, then values.
    pub(super) fn parse_layer(&self) -> Result<ConfigLayer, ConfigError> {
        let table = DeTable::parse(&self.text).map_err(|error| ConfigError::Syntax {
            spot: self.location_of(error.span()),
            message: error.message().to_owned(),
        })?;
        // Keys are checked before values, so that a mistyped key is reported with a suggestion.
        self.check_keys(table.get_ref(), &mut Vec::new())?;
        toml::from_str(&self.text).map_err(|error| ConfigError::Value {
            spot: self.location_of(error.span()),
            key: key_at(table.get_ref(), error.span().unwrap_or_default(), &mut Vec::new()),
            message: simplify_message(error.message()),
        })
    }

    fn check_keys(&self, table: &DeTable<'_>, path: &mut Vec<String>) -> Result<(), ConfigError> {
        let Some(known) = keys::find_keys(path) else { return Ok(()) };
        for (key, value) in table {
            let name = key.get_ref();
            if !known.contains(&"*") && !known.contains(&&**name) {
                return Err(ConfigError::UnknownKey {
                    spot: self.location_of(Some(key.span())),
                    key: name.to_string(),
                    table: path.join("."),
                    suggestion: suggest_name(name, known, "keys here"),
                });
            }
            path.push(name.to_string());
            for inner in child_tables(value.get_ref()) {
                self.check_keys(inner, path)?;
            }
            path.pop();
        }
        Ok(())
    }

    /// Returns the location of a key, or of the innermost existing table on its path.
    pub(super) fn locate_key(&self, path: &[&str]) -> ConfigLocation {
        let parsed = DeTable::parse(&self.text).ok();
        self.location_of(parsed.and_then(|table| key_span(table.get_ref(), path)))
    }

    /// Returns the location of a key in one of the tables `[[list]]`.
    pub(super) fn locate_list_key(
        &self,
        list: &str,
        index: usize,
        path: &[&str],
    ) -> ConfigLocation {
        let parsed = DeTable::parse(&self.text).ok();
        let value = parsed.as_ref().and_then(|table| {
            let value = table.get_ref().get(list)?;
            value.get_ref().as_array()?.get(index)
        });
        let Some(value) = value else { return self.locate_key(&[list]) };
        let key = value.get_ref().as_table().and_then(|table| key_span(table, path));
        self.location_of(key.or(Some(value.span())))
    }

    fn location_of(&self, span: Option<Range<usize>>) -> ConfigLocation {
        let start = span.unwrap_or_default().start;
        let before = self.text.as_bytes().iter().take(start);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        ConfigLocation { file: self.path.clone(), line }
    }
}

/// Returns the span of the last existing key of the path.
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

/// Returns the tables of a value: a table itself, or those in an array.
fn child_tables<'t, 'i>(value: &'t DeValue<'i>) -> Vec<&'t DeTable<'i>> {
    match value {
        DeValue::Table(table) => vec![table],
        DeValue::Array(items) => {
            items.iter().filter_map(|item| item.get_ref().as_table()).collect()
        }
        _ => Vec::new(),
    }
}

/// Replaces Rust type names in a message of serde.
fn simplify_message(message: &str) -> String {
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

/// Returns the dotted key whose value contains the span.
fn key_at(table: &DeTable<'_>, span: Range<usize>, path: &mut Vec<String>) -> String {
    for (key, value) in table {
        let holds = |outer: Range<usize>| outer.start <= span.start && span.start < outer.end;
        let inner = child_tables(value.get_ref());
        let inside = inner.iter().find(|inner| contains_span(inner, &span));
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

/// Returns true if the span lies in a table. The span of a `[table]` header does not cover its keys, so they are
/// searched.
fn contains_span(table: &DeTable<'_>, span: &Range<usize>) -> bool {
    table.iter().any(|(key, value)| {
        let value_span = value.span();
        (key.span().start <= span.start && span.start < value_span.end.max(key.span().end))
            || child_tables(value.get_ref()).into_iter().any(|inner| contains_span(inner, span))
    })
}
