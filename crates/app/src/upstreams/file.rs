//! Edits vouch.toml in place, keeping comments and layout. A text that would not load is never written.
//!
//! The edit starts from the text that was judged when the settings were loaded. A file that changed since is left alone,
//! so that the renewed trust record covers nothing that the user has not seen.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use store::files::overwrite_file;
use toml::de::{DeTable, DeValue};
use toml_edit::DocumentMut;

use super::draft::UpstreamDraft;
use crate::config::config_failure;
use crate::config::{self, FILE_NAME, Settings};
use crate::context::AppContext;
use crate::failure::{FailureExt, FailureKind, Result};

const TABLE: &str = "upstream";

/// The text of vouch.toml, with pending changes.
pub struct ConfigFile {
    pub path: PathBuf,
    /// Text when the settings were loaded.
    before: String,
    text: String,
}

impl ConfigFile {
    /// Returns the configuration file as it was loaded; an absent one counts as empty. Errors in a folder that is not
    /// trusted.
    pub fn open(settings: &Settings) -> Result<Self> {
        settings
            .trust
            .check_writable()
            .explain("failed to edit the configuration")
            .hint("run `vouch trust` to review the folder first")
            .map_err(|failure| failure.with_kind(FailureKind::Usage))?;
        let path = settings.config_file().map(Path::to_owned);
        let path = path.unwrap_or_else(|| settings.root.join(FILE_NAME));
        let before = settings.config_text().to_owned();
        Ok(Self { path, text: before.clone(), before })
    }

    /// Returns the path for display, relative to the root if it is below it.
    pub fn display_path(&self, root: &Path) -> String {
        let path = self.path.strip_prefix(root).unwrap_or(&self.path);
        contract::text::one_line(&path.to_string_lossy())
    }

    /// Adds tables at the end, or to the inline array if `upstream` is one.
    pub fn add_upstreams(&mut self, drafts: &[UpstreamDraft]) -> Result<()> {
        let mut document: DocumentMut =
            self.text.parse().explain(format!("failed to edit {}", self.path.display()))?;
        if let Some(list) = document.get_mut(TABLE).and_then(|item| item.as_array_mut()) {
            for draft in drafts {
                list.push(draft.to_table().into_inline_table());
            }
            self.text = document.to_string();
            return Ok(());
        }
        for draft in drafts {
            // Appended as text: the document would move trailing comments of the file behind the table.
            let before = self.text.trim_end();
            let gap = if before.is_empty() { "" } else { "\n\n" };
            self.text = format!("{before}{gap}{}", draft.to_toml());
        }
        Ok(())
    }

    /// Removes the table of this name, with the comment right above it. Returns false if there is no such table.
    pub fn remove_upstream(&mut self, name: &str) -> Result<bool> {
        let failed = format!("failed to edit {}", self.path.display());
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
        let Some(lines) = upstream_lines(&self.text, name) else { return Ok(false) };
        self.text.replace_range(lines, "");
        if self.text.trim().is_empty() {
            self.text.clear();
        }
        Ok(true)
    }

    /// Returns the settings that the changed text would load to, or an error if it would not load.
    pub fn preview(&self, app: &AppContext, settings: &Settings) -> Result<Settings> {
        let text = self.text.clone();
        config::preview_settings(settings, &self.path, text, &app.environment)
            .map_err(config_failure)
            .explain(format!(
                "{} not changed: the result would not load",
                self.display_path(&settings.root)
            ))
    }

    /// Writes the file and renews the trust record. Errors if the file changed since the settings were loaded.
    pub fn write(&self, settings: &Settings) -> Result<()> {
        let text = self.text.as_bytes();
        let write = &mut || {
            let now = match std::fs::read(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
                read => read?,
            };
            match now == self.before.as_bytes() {
                true => overwrite_file(&self.path, text),
                false => Err(io::Error::other("another program changed it meanwhile")),
            }
        };
        settings
            .trust
            .write_file(&self.path, text, write)
            .explain(format!("failed to write {}", self.path.display()))
    }
}

/// Returns the byte range of one `[[upstream]]`, with the comment right above it and the empty line after it.
fn upstream_lines(text: &str, name: &str) -> Option<Range<usize>> {
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
    let mut end = line_end(text, table_end(table).unwrap_or(header.end).max(header.end));
    if text[end..].starts_with('\n') {
        end += 1;
    }
    Some(start..end)
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns the offset after the line break of the line that contains the end of a span.
fn line_end(text: &str, at: usize) -> usize {
    // A span may include its line break.
    let at = if at > 0 && text[..at].ends_with('\n') { at - 1 } else { at };
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

/// Returns the end of the last key or value of a table.
fn table_end(table: &DeTable<'_>) -> Option<usize> {
    let ends = table.iter().map(|(key, value)| {
        let inner = match value.get_ref() {
            DeValue::Table(table) => table_end(table),
            _ => None,
        };
        key.span().end.max(value.span().end).max(inner.unwrap_or_default())
    });
    ends.max()
}
