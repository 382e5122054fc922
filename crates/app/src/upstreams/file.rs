//! Changes to vouch.toml. The text is edited where it changes and stays as it is everywhere else, comments included; what
//! would not load is never written.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};
use toml_edit::DocumentMut;

use super::draft::Draft;
use crate::config::wrong_config;
use crate::config::{self, FILE_NAME, Settings};
use crate::context::AppContext;
use crate::failure::{Explain, Result};
use crate::files::write_whole;

const TABLE: &str = "upstream";

/// The file as it is, or as it would be if it were there.
pub struct ConfigFile {
    pub path: PathBuf,
    text: String,
}

impl ConfigFile {
    /// Reads the configuration file; an absent one counts as empty.
    pub fn of(settings: &Settings) -> Result<Self> {
        let Some(path) = settings.config_file() else {
            return Ok(Self { path: settings.root.join(FILE_NAME), text: String::new() });
        };
        let text =
            std::fs::read_to_string(path).explain(format!("cannot read {}", path.display()))?;
        Ok(Self { path: path.to_owned(), text })
    }

    /// The file's name as people know it.
    pub fn shown(&self, root: &Path) -> String {
        self.path.strip_prefix(root).unwrap_or(&self.path).display().to_string()
    }

    /// Adds tables at the end, or to the list where there is one.
    pub fn add(&mut self, drafts: &[Draft]) -> Result<()> {
        let mut document: DocumentMut =
            self.text.parse().explain(format!("cannot change {}", self.path.display()))?;
        if let Some(list) = document.get_mut(TABLE).and_then(|item| item.as_array_mut()) {
            for draft in drafts {
                list.push(draft.table().into_inline_table());
            }
            self.text = document.to_string();
            return Ok(());
        }
        for draft in drafts {
            // At the end and not by way of the document, which would put comments that end the file behind the table.
            let before = self.text.trim_end();
            let gap = if before.is_empty() { "" } else { "\n\n" };
            self.text = format!("{before}{gap}{}", draft.text());
        }
        Ok(())
    }

    /// Removes the table of this name, with the comment right above it. False where there is none.
    pub fn remove(&mut self, name: &str) -> Result<bool> {
        let failed = format!("cannot change {}", self.path.display());
        let mut document: DocumentMut = self.text.parse().explain(&failed)?;
        if let Some(list) = document.get_mut(TABLE).and_then(|item| item.as_array_mut()) {
            let named = |item: &toml_edit::Value| {
                let table = item.as_inline_table();
                table.and_then(|table| table.get("name")).and_then(|item| item.as_str())
                    == Some(name)
            };
            let Some(index) = list.iter().position(named) else { return Ok(false) };
            list.remove(index);
            self.text = document.to_string();
            return Ok(true);
        }
        let Some(lines) = lines_of(&self.text, name) else { return Ok(false) };
        self.text.replace_range(lines, "");
        if self.text.trim().is_empty() {
            self.text.clear();
        }
        Ok(true)
    }

    /// What it would come to, if it were written.
    pub fn check(&self, app: &AppContext, settings: &Settings) -> Result<Settings> {
        let text = self.text.clone();
        config::would_be(settings, &self.path, text, &app.environment)
            .map_err(wrong_config)
            .explain(format!(
                "{} would not load any more, so it was not changed",
                self.shown(&settings.root)
            ))
    }

    /// Writes the file.
    pub fn write(&self) -> Result<()> {
        write_whole(&self.path, &self.text).explain(format!("cannot write {}", self.path.display()))
    }
}

/// The lines of one `[[upstream]]`, with the comment right above it and the empty line after it.
fn lines_of(text: &str, name: &str) -> Option<Range<usize>> {
    let parsed = DeTable::parse(text).ok()?;
    let tables = parsed.get_ref().get(TABLE)?.get_ref().as_array()?;
    let (header, table) = tables.iter().find_map(|item| {
        let table = item.get_ref().as_table()?;
        let own = table.get("name")?.get_ref().as_str()?;
        (own == name).then(|| (item.span(), table))
    })?;
    let mut start = line_start(text, header.start);
    while start > 0 {
        let above = line_start(text, start - 1);
        if !text[above..start].trim_start().starts_with('#') {
            break;
        }
        start = above;
    }
    let mut end = line_end(text, last(table).unwrap_or(header.end).max(header.end));
    if text[end..].starts_with('\n') {
        end += 1;
    }
    Some(start..end)
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Behind the line break of the line that holds what ends here.
fn line_end(text: &str, at: usize) -> usize {
    // A span may already hold the line break.
    let at = if at > 0 && text[..at].ends_with('\n') { at - 1 } else { at };
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

/// Where the last thing of a table ends.
fn last(table: &DeTable<'_>) -> Option<usize> {
    let ends = table.iter().map(|(key, value)| {
        let inner = match value.get_ref() {
            DeValue::Table(table) => last(table),
            _ => None,
        };
        key.span().end.max(value.span().end).max(inner.unwrap_or_default())
    });
    ends.max()
}
