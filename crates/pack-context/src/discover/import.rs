//! Imports a file of discoveries: JSON, JSON Lines or Markdown. Either every entry is valid or all problems are reported.

use serde_json::Value;
use store::context::{DiscoveryKind, MAX_DISCOVERIES, StoredDiscovery};

use super::fields::DiscoveryFields;
use super::new_discovery::{NewDiscovery, NewDiscoveryError};
use super::{classify, guide, markdown};

/// Maximum entries of a file; equals the capacity of the store.
const MAX_ENTRIES: usize = MAX_DISCOVERIES;

/// A problem with one entry of an imported file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {reason}")]
pub struct ImportProblem {
    /// For example `line 3` or `entry 2`.
    pub location: String,
    pub reason: ImportProblemReason,
}

/// Reason why an entry or a whole file cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportProblemReason {
    #[error("{0}")]
    Invalid(NewDiscoveryError),
    #[error("invalid JSON: {0}")]
    NotJson(String),
    #[error("invalid entry: expected an object or a string")]
    UnexpectedEntry,
    #[error("expected a list of discoveries, or an object with a `discoveries` list")]
    NotAList,
    #[error("no entries found")]
    NoEntries,
    #[error("more than {MAX_ENTRIES} entries")]
    TooManyEntries,
}

/// Parses and validates the discoveries of a file; `by` names who adds them.
///
/// The extension selects the format: `.json`, `.jsonl` or `.ndjson`, otherwise Markdown. Returns all problems if any
/// entry is invalid.
pub fn import_discoveries(
    name: &str,
    text: &str,
    by: &str,
    now: jiff::Timestamp,
) -> Result<Vec<StoredDiscovery>, Vec<ImportProblem>> {
    let text = text.trim_start_matches('\u{feff}');
    let extension =
        name.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
    let entries = match &*extension {
        "json" => parse_json(text),
        "jsonl" | "ndjson" => parse_json_lines(text),
        _ => Ok(parse_markdown(name, text)),
    };
    let entries = entries.map_err(|problem| vec![problem])?;
    if entries.is_empty() {
        return Err(vec![new_problem("the file", ImportProblemReason::NoEntries)]);
    }
    if entries.len() > MAX_ENTRIES {
        return Err(vec![new_problem("the file", ImportProblemReason::TooManyEntries)]);
    }
    let mut problems = Vec::new();
    let mut discoveries = Vec::new();
    for (location, entry) in entries {
        let checked =
            entry.and_then(|entry| entry.validate(by, now).map_err(ImportProblemReason::Invalid));
        match checked {
            Ok(discovery) => discoveries.push(discovery),
            Err(reason) => problems.push(new_problem(location, reason)),
        }
    }
    if problems.is_empty() { Ok(discoveries) } else { Err(problems) }
}

/// Entries with their locations; an entry that could not be parsed holds the reason.
type ImportEntries = Vec<(String, Result<NewDiscovery, ImportProblemReason>)>;

fn new_problem(location: impl Into<String>, reason: ImportProblemReason) -> ImportProblem {
    ImportProblem { location: location.into(), reason }
}

fn parse_json(text: &str) -> Result<ImportEntries, ImportProblem> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        new_problem(
            format!("line {}", error.line()),
            ImportProblemReason::NotJson(error.to_string()),
        )
    })?;
    let list = match value {
        Value::Array(list) => list,
        Value::Object(mut object) => match object.remove("discoveries") {
            Some(Value::Array(list)) => list,
            Some(_) => return Err(new_problem("`discoveries`", ImportProblemReason::NotAList)),
            None => vec![Value::Object(object)],
        },
        _ => return Err(new_problem("the file", ImportProblemReason::NotAList)),
    };
    Ok(list
        .into_iter()
        .zip(1..)
        .map(|(value, n)| (format!("entry {n}"), parse_entry(&value)))
        .collect())
}

fn parse_json_lines(text: &str) -> Result<ImportEntries, ImportProblem> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let entries = lines.map(|(line, n)| {
        let value = serde_json::from_str(line)
            .map_err(|error| ImportProblemReason::NotJson(error.to_string()));
        (format!("line {n}"), value.and_then(|value| parse_entry(&value)))
    });
    Ok(entries.collect())
}

fn parse_entry(value: &Value) -> Result<NewDiscovery, ImportProblemReason> {
    match value {
        Value::Object(object) => {
            let DiscoveryFields { kind, title, content, module, session, date, tags } =
                DiscoveryFields::from_object(object);
            let date = date.and_then(|date| date.parse().ok());
            Ok(NewDiscovery { kind, title, content, module, session, date, tags })
        }
        Value::String(text) => {
            Ok(NewDiscovery { content: text.clone(), ..NewDiscovery::default() })
        }
        _ => Err(ImportProblemReason::UnexpectedEntry),
    }
}

/// Takes the kind of each entry from its headings, else from the file name. Validation falls back to the wording.
fn parse_markdown(name: &str, text: &str) -> ImportEntries {
    let named = classify::kind_from_name(name);
    let entries = markdown::split_entries(text).into_iter().map(|entry| {
        let headed =
            entry.headings.iter().rev().find_map(|heading| classify::kind_from_name(heading));
        let kind: Option<DiscoveryKind> = headed.or(named);
        let title = entry.headings.last().map(|heading| (*heading).to_owned());
        let content = guide::join_lead_and_text(&entry);
        (
            format!("line {}", entry.line),
            Ok(NewDiscovery { kind, title, content, ..NewDiscovery::default() }),
        )
    });
    entries.collect()
}
