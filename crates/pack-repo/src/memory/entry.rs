//! Validates entries and formats the stored line. Pure: it runs before a person is asked to approve, and again
//! before the write.

use contract::{ErrorCode, ToolError};

use super::MemoryFile;
use super::json::{self, EntryJsonError};

/// Maximum entry size: "10KB per entry", counted in bytes of the caller's text. The schema's limit is the same
/// number of characters.
pub(crate) const MAX_ENTRY_BYTES: usize = 10_000;

/// Returns the line to store for `entry` in `file`, including the newline.
pub(super) fn format_line(file: MemoryFile, entry: &str) -> Result<String, ToolError> {
    if entry.len() > MAX_ENTRY_BYTES {
        return Err(entry_too_large().with_detail("size", entry.len()));
    }
    if entry.trim().is_empty() {
        return Err(invalid_entry("`entry` is empty; pass the text to append"));
    }
    let mut line = match file {
        MemoryFile::ProgressLog | MemoryFile::Decisions => {
            json::compact_to_line(entry).map_err(|error| invalid_json(file, &error))?
        }
        MemoryFile::BestPractices => {
            check_plain_text(entry)?;
            entry.to_owned()
        }
    };
    if let Some(rule) = secrets::find_secret(entry) {
        let message = format!(
            "`entry` contains what looks like {} (rule `{}`); memory files must not contain secrets; remove the \
             value and say where it is stored",
            rule.description, rule.id
        );
        return Err(ToolError::new(ErrorCode::AccessDenied, message)
            .with_detail("field", "entry")
            .with_detail("rule", rule.id)
            .with_detail("kind", rule.description));
    }
    line.push('\n');
    Ok(line)
}

/// Returns the error for an entry over the size limit, whether the schema or this module counted it.
pub(crate) fn entry_too_large() -> ToolError {
    let message =
        format!("`entry` exceeds the limit of {MAX_ENTRY_BYTES} bytes; shorten or split it");
    ToolError::new(ErrorCode::TooLarge, message)
        .with_detail("field", "entry")
        .with_detail("limit", MAX_ENTRY_BYTES)
}

fn invalid_json(file: MemoryFile, error: &EntryJsonError) -> ToolError {
    let EntryJsonError { line, column, reason } = error;
    let message = format!(
        "`entry` must be one JSON value for `{}`: {reason} at line {line}, column {column}",
        file.name()
    );
    invalid_entry(&message).with_detail("line", *line).with_detail("column", *column)
}

fn check_plain_text(entry: &str) -> Result<(), ToolError> {
    let bad = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    match entry.find(bad) {
        None => Ok(()),
        Some(at) => {
            let line = 1 + entry[..at].matches('\n').count();
            Err(invalid_entry(&format!(
                "`entry` contains a control character in line {line}; only line breaks and tabs are allowed"
            ))
            .with_detail("line", line))
        }
    }
}

fn invalid_entry(message: &str) -> ToolError {
    ToolError::new(ErrorCode::InvalidInput, message).with_detail("field", "entry")
}
