//! A file of discoveries to add: JSON, JSON lines or Markdown. Either all of it can be read, or every problem is named.

use serde_json::Value;
use store::context::{Kind, MAX_DISCOVERIES, StoredDiscovery};

use super::fields::Fields;
use super::new::{NewDiscovery, Refused};
use super::{classify, guide, markdown};

/// As many as the store takes in all.
const MAX_ENTRIES: usize = MAX_DISCOVERIES;

/// What is wrong with one entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct Problem {
    /// `line 3`, `entry 2`.
    pub place: String,
    pub reason: Reason,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("{0}")]
    Refused(Refused),
    #[error("no JSON: {0}")]
    NotJson(String),
    #[error("neither an object nor a text, so it is no discovery")]
    NotAnObject,
    #[error("a list of discoveries is expected, or an object with one under `discoveries`")]
    NotAList,
    #[error("there is nothing in it")]
    Nothing,
    #[error("there are more than {MAX_ENTRIES} entries")]
    TooMany,
}

/// The discoveries of a file, by the ending of its name: `.json`, `.jsonl`, else Markdown. `by` is who adds them.
pub fn import(
    name: &str,
    text: &str,
    by: &str,
    now: jiff::Timestamp,
) -> Result<Vec<StoredDiscovery>, Vec<Problem>> {
    let text = text.trim_start_matches('\u{feff}');
    let extension =
        name.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
    let entries = match &*extension {
        "json" => of_json(text),
        "jsonl" | "ndjson" => of_lines(text),
        _ => Ok(of_markdown(name, text)),
    };
    let entries = entries.map_err(|problem| vec![problem])?;
    if entries.is_empty() {
        return Err(vec![problem("the file", Reason::Nothing)]);
    }
    if entries.len() > MAX_ENTRIES {
        return Err(vec![problem("the file", Reason::TooMany)]);
    }
    let mut problems = Vec::new();
    let mut discoveries = Vec::new();
    for (place, entry) in entries {
        let checked = entry.and_then(|entry| entry.check(by, now).map_err(Reason::Refused));
        match checked {
            Ok(discovery) => discoveries.push(discovery),
            Err(reason) => problems.push(problem(place, reason)),
        }
    }
    if problems.is_empty() { Ok(discoveries) } else { Err(problems) }
}

type Entries = Vec<(String, Result<NewDiscovery, Reason>)>;

fn problem(place: impl Into<String>, reason: Reason) -> Problem {
    Problem { place: place.into(), reason }
}

fn of_json(text: &str) -> Result<Entries, Problem> {
    let value: Value = serde_json::from_str(text).map_err(|error| {
        problem(format!("line {}", error.line()), Reason::NotJson(error.to_string()))
    })?;
    let list = match value {
        Value::Array(list) => list,
        Value::Object(mut object) => match object.remove("discoveries") {
            Some(Value::Array(list)) => list,
            Some(_) => return Err(problem("`discoveries`", Reason::NotAList)),
            None => vec![Value::Object(object)],
        },
        _ => return Err(problem("the file", Reason::NotAList)),
    };
    Ok(list
        .into_iter()
        .zip(1..)
        .map(|(value, n)| (format!("entry {n}"), of_value(&value)))
        .collect())
}

fn of_lines(text: &str) -> Result<Entries, Problem> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let entries = lines.map(|(line, n)| {
        let value = serde_json::from_str(line).map_err(|error| Reason::NotJson(error.to_string()));
        (format!("line {n}"), value.and_then(|value| of_value(&value)))
    });
    Ok(entries.collect())
}

fn of_value(value: &Value) -> Result<NewDiscovery, Reason> {
    match value {
        Value::Object(object) => {
            let Fields { kind, title, content, module, session, date, tags } = Fields::of(object);
            let date = date.and_then(|date| date.parse().ok());
            Ok(NewDiscovery { kind, title, content, module, session, date, tags })
        }
        Value::String(text) => {
            Ok(NewDiscovery { content: text.clone(), ..NewDiscovery::default() })
        }
        _ => Err(Reason::NotAnObject),
    }
}

/// The headings say what an entry is, then the file's name, then the wording.
fn of_markdown(name: &str, text: &str) -> Entries {
    let named = classify::by_name(name);
    let entries = markdown::entries(text).into_iter().map(|entry| {
        let headed = entry.headings.iter().rev().find_map(|heading| classify::by_name(heading));
        let kind: Option<Kind> = headed.or(named);
        let title = entry.headings.last().map(|heading| (*heading).to_owned());
        let content = guide::content(&entry);
        (
            format!("line {}", entry.line),
            Ok(NewDiscovery { kind, title, content, ..NewDiscovery::default() }),
        )
    });
    entries.collect()
}
