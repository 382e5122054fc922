//! Reads the servers that a client's file lists, in whichever of the known shapes it is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Larger files are no configuration.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// A server in a client's file.
#[derive(Clone, Debug)]
pub struct Listed {
    pub file: PathBuf,
    pub name: String,
    pub entry: Value,
    /// What the client asks the person for, with its description.
    pub inputs: BTreeMap<String, String>,
    /// Whether `${…}` means something in this file.
    pub(crate) expands: bool,
}

/// Why a client's file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("the file cannot be read")]
    File(#[from] std::io::Error),
    #[error("the file has more than {MAX_FILE} bytes")]
    TooLarge,
    #[error("it is not JSON")]
    Json(#[source] serde_json::Error),
    #[error("it is not TOML")]
    Toml(#[source] toml::de::Error),
    #[error("it lists no servers (`mcpServers`, `servers` or `mcp_servers`)")]
    NoServers,
}

/// Reads the servers that a client's file lists for the project at `root`.
pub fn read(path: &Path, root: &Path) -> Result<Vec<Listed>, ReadError> {
    if std::fs::metadata(path)?.len() > MAX_FILE {
        return Err(ReadError::TooLarge);
    }
    let text = std::fs::read_to_string(path)?;
    let is_toml = path.extension().is_some_and(|end| end == "toml");
    let value: Value = if is_toml {
        let table: toml::Table = toml::from_str(&text).map_err(ReadError::Toml)?;
        serde_json::to_value(table).map_err(ReadError::Json)?
    } else {
        let text = text.trim_start_matches('\u{feff}');
        match text.trim().is_empty() {
            true => return Ok(Vec::new()),
            false => serde_json::from_str(&plain(text)).map_err(ReadError::Json)?,
        }
    };
    let project = root.display().to_string();
    let tables = [
        value.get("mcpServers"),
        value.get("servers"),
        value.get("mcp").and_then(|mcp| mcp.get("servers")),
        value.get("mcp_servers"),
        // Claude Code keeps those of a project in the file of the user.
        value.get("projects").and_then(|all| all.get(project)?.get("mcpServers")),
    ];
    let known = tables.iter().any(Option::is_some) || value.get("projects").is_some();
    // The user's own files hold much else.
    if !known && !is_toml && value.as_object().is_none_or(|object| !object.is_empty()) {
        return Err(ReadError::NoServers);
    }
    let inputs = inputs(value.get("inputs"));
    let servers = tables.into_iter().flatten().filter_map(Value::as_object).flatten();
    Ok(servers
        .map(|(name, entry)| Listed {
            file: path.to_owned(),
            name: name.clone(),
            entry: entry.clone(),
            inputs: inputs.clone(),
            expands: !is_toml,
        })
        .collect())
}

fn inputs(value: Option<&Value>) -> BTreeMap<String, String> {
    let text = |input: &Value, key: &str| input.get(key)?.as_str().map(str::to_owned);
    let entry = |input: &Value| {
        let id = text(input, "id")?;
        Some((id, text(input, "description").unwrap_or_default()))
    };
    value.and_then(Value::as_array).into_iter().flatten().filter_map(entry).collect()
}

/// JSON without comments and without the commas that editors let stand before a bracket.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == '"' {
            let end = string_end(rest);
            out.push_str(&rest[..end]);
            rest = &rest[end..];
        } else if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if rest.starts_with("/*") {
            rest = rest[2..].find("*/").map_or("", |end| &rest[2 + end + 2..]);
        } else {
            if matches!(c, ']' | '}') && out.trim_end().ends_with(',') {
                out.truncate(out.trim_end().len() - 1);
            }
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// Behind the quote that ends the string at the start of the text.
fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// A part of a client's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    Text(&'t str),
    /// The folder of the project.
    Root,
    Home,
    Variable {
        name: &'t str,
        default: Option<&'t str>,
        written: &'t str,
    },
    /// Asked of the person.
    Input {
        id: &'t str,
        written: &'t str,
    },
    /// Something else that the client would replace.
    Other(&'t str),
}

/// Takes a text apart; one where nothing is replaced is a single piece.
pub(crate) fn pieces(text: &str, expands: bool) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let found = rest.find("${").filter(|_| expands);
        let found = found.and_then(|at| Some((at, at + rest[at..].find('}')? + 1)));
        let (piece, after) = match found {
            None => (Piece::Text(rest), ""),
            Some((0, end)) => (piece(&rest[..end]), &rest[end..]),
            Some((at, _)) => (Piece::Text(&rest[..at]), &rest[at..]),
        };
        rest = after;
        Some(piece)
    })
}

fn piece(written: &str) -> Piece<'_> {
    let inner = &written[2..written.len() - 1];
    let is_name = |name: &str| name.parse::<crate::config::Variable>().is_ok();
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner.strip_prefix("env:").unwrap_or(inner), None),
    };
    match inner {
        "workspaceFolder" | "workspaceRoot" => Piece::Root,
        "userHome" => Piece::Home,
        "pathSeparator" | "/" => Piece::Text("/"),
        _ => match inner.strip_prefix("input:") {
            Some(id) => Piece::Input { id, written },
            None if is_name(name) => Piece::Variable { name, default, written },
            None => Piece::Other(written),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_texts_are_made_of() {
        let check = |text| pieces(text, true).collect::<Vec<_>>();
        assert_eq!(check(""), []);
        assert_eq!(check("a$b${"), [Piece::Text("a$b${")]);
        assert_eq!(check("${workspaceFolder}/x"), [Piece::Root, Piece::Text("/x")]);
        let variable = |name, default, written| Piece::Variable { name, default, written };
        assert_eq!(
            check("Bearer ${env:A}${B:-c}"),
            [
                Piece::Text("Bearer "),
                variable("A", None, "${env:A}"),
                variable("B", Some("c"), "${B:-c}")
            ]
        );
        assert_eq!(check("${input:k}"), [Piece::Input { id: "k", written: "${input:k}" }]);
        assert_eq!(check("${command:x}"), [Piece::Other("${command:x}")]);
        assert_eq!(pieces("${A}", false).collect::<Vec<_>>(), [Piece::Text("${A}")]);
    }

    #[test]
    fn comments_and_commas() {
        let text = "{ // one\n \"a\": \"//no\", /* two */ \"b\": [1, 2, ], \"c\\\"//\": 3,\n}";
        let value: Value = serde_json::from_str(&plain(text)).unwrap();
        assert_eq!(value, serde_json::json!({"a": "//no", "b": [1, 2], "c\"//": 3}));
    }

    proptest! {
        #[test]
        fn plain_json_stays_as_it_is(text in "\\PC{0,12}", number in any::<i64>()) {
            let value = serde_json::json!({ &text: [number, &text, {"a": null}] });
            for written in [value.to_string(), format!("{value:#}")] {
                prop_assert_eq!(&plain(&written), &written);
            }
        }

        #[test]
        fn any_text_is_taken_apart(text in "[$\\{\\}a-z:/*\"\\\\,\\n-]{0,24}") {
            let whole: usize = pieces(&text, true).count();
            prop_assert!(whole <= text.len());
            let _ = plain(&text);
        }
    }
}
