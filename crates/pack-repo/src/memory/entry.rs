//! What may be an entry, and the line it becomes. Pure: runs before a person is asked, and again before the write.

use contract::{Code, ToolError};

use super::MemoryFile;
use super::json::{self, JsonError};

/// "10KB per entry", counted in bytes of what the caller gives; the schema counts the same number of characters.
pub(crate) const MAX_ENTRY_BYTES: usize = 10_000;

/// The line that `entry` becomes in `file`, newline included.
pub(super) fn line_of(file: MemoryFile, entry: &str) -> Result<String, ToolError> {
    if entry.len() > MAX_ENTRY_BYTES {
        return Err(too_large().with("size", entry.len()));
    }
    if entry.trim().is_empty() {
        return Err(invalid("`entry` is empty; give the text to append"));
    }
    let mut line = match file {
        MemoryFile::ProgressLog | MemoryFile::Decisions => {
            json::on_one_line(entry).map_err(|error| not_json(file, &error))?
        }
        MemoryFile::BestPractices => {
            plain_text(entry)?;
            entry.to_owned()
        }
    };
    if let Some(rule) = secrets::find(entry) {
        let message = format!(
            "`entry` holds what looks like {} (rule `{}`), and memory files hold no secrets; leave the value out \
             and say where it is kept",
            rule.what, rule.id
        );
        return Err(ToolError::new(Code::AccessDenied, message)
            .with("field", "entry")
            .with("rule", rule.id)
            .with("kind", rule.what));
    }
    line.push('\n');
    Ok(line)
}

/// The answer to an entry over the limit, by the schema's count or by ours.
pub(crate) fn too_large() -> ToolError {
    let message =
        format!("`entry` is over the limit of {MAX_ENTRY_BYTES} bytes; shorten it, or split it");
    ToolError::new(Code::TooLarge, message).with("field", "entry").with("limit", MAX_ENTRY_BYTES)
}

fn not_json(file: MemoryFile, error: &JsonError) -> ToolError {
    let JsonError { line, column, reason } = error;
    let message = format!(
        "`entry` must be one JSON value for `{}`: {reason} at line {line}, column {column}",
        file.name()
    );
    invalid(&message).with("line", *line).with("column", *column)
}

fn plain_text(entry: &str) -> Result<(), ToolError> {
    let bad = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    match entry.find(bad) {
        None => Ok(()),
        Some(at) => {
            let line = 1 + entry[..at].matches('\n').count();
            Err(invalid(&format!(
                "`entry` holds a control character in line {line}; only line breaks and tabs may be in text"
            ))
            .with("line", line))
        }
    }
}

fn invalid(message: &str) -> ToolError {
    ToolError::new(Code::InvalidInput, message).with("field", "entry")
}
