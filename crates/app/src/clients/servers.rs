//! Reads the servers that a client's configuration file lists, in any of the known formats.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::trust::read_text_file;

/// Maximum file size; a larger file is not a configuration.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// A server listed in a client's file.
#[derive(Clone, Debug)]
pub struct ClientServerEntry {
    pub file: PathBuf,
    pub name: String,
    pub entry: Value,
    /// Values that the client prompts for, by id, with their descriptions.
    pub inputs: BTreeMap<String, String>,
    /// True if the client expands `${…}` in this file.
    pub(crate) expands: bool,
}

impl ClientServerEntry {
    /// Returns true if the file is in a folder, by its name or after links are resolved. The root must be canonical.
    pub fn is_below(&self, root: &Path) -> bool {
        let named = std::path::absolute(&self.file);
        // A place that cannot be resolved any more counts as inside: then the user is asked.
        let real = self.file.canonicalize();
        named.is_ok_and(|path| path.starts_with(root))
            || real.map_or(true, |path| path.starts_with(root))
    }
}

/// An error while reading a client's file.
#[derive(Debug, thiserror::Error)]
pub enum ClientFileError {
    #[error("failed to read the file")]
    File(#[from] std::io::Error),
    #[error("invalid JSON")]
    Json(#[source] serde_json::Error),
    #[error("invalid TOML")]
    Toml(#[source] toml::de::Error),
    #[error("no servers listed (expected `mcpServers`, `servers` or `mcp_servers`)")]
    NoServers,
}

/// Reads a client's file; `None` if it does not exist. A file of the project at `root` must be inside it.
pub fn read_client_file(path: &Path, root: &Path) -> io::Result<Option<String>> {
    read_text_file(root, path, MAX_FILE)
}

/// Reads the servers that a client's file lists for the project at `root`.
pub fn read_servers(path: &Path, root: &Path) -> Result<Vec<ClientServerEntry>, ClientFileError> {
    let text =
        read_client_file(path, root)?.ok_or_else(|| io::Error::from(rustix::io::Errno::NOENT))?;
    let is_toml = path.extension().is_some_and(|end| end == "toml");
    let value: Value = if is_toml {
        let table: toml::Table = toml::from_str(&text).map_err(ClientFileError::Toml)?;
        serde_json::to_value(table).map_err(ClientFileError::Json)?
    } else {
        let text = text.trim_start_matches('\u{feff}');
        match text.trim().is_empty() {
            true => return Ok(Vec::new()),
            false => serde_json::from_str(&strip_comments(text)).map_err(ClientFileError::Json)?,
        }
    };
    let project = root.display().to_string();
    let tables = [
        value.get("mcpServers"),
        value.get("servers"),
        value.get("mcp").and_then(|mcp| mcp.get("servers")),
        value.get("mcp_servers"),
        // Claude Code stores a project's servers in the user's file.
        value.get("projects").and_then(|all| all.get(project)?.get("mcpServers")),
    ];
    let known = tables.iter().any(Option::is_some) || value.get("projects").is_some();
    // The user's own files contain many other settings.
    if !known && !is_toml && value.as_object().is_none_or(|object| !object.is_empty()) {
        return Err(ClientFileError::NoServers);
    }
    let inputs = parse_inputs(value.get("inputs"));
    let servers = tables.into_iter().flatten().filter_map(Value::as_object).flatten();
    Ok(servers
        .map(|(name, entry)| ClientServerEntry {
            file: path.to_owned(),
            name: name.clone(),
            entry: entry.clone(),
            inputs: inputs.clone(),
            expands: !is_toml,
        })
        .collect())
}

fn parse_inputs(value: Option<&Value>) -> BTreeMap<String, String> {
    let text = |input: &Value, key: &str| input.get(key)?.as_str().map(str::to_owned);
    let entry = |input: &Value| {
        let id = text(input, "id")?;
        Some((id, text(input, "description").unwrap_or_default()))
    };
    value.and_then(Value::as_array).into_iter().flatten().filter_map(entry).collect()
}

/// Removes comments and trailing commas from JSON.
fn strip_comments(text: &str) -> String {
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

/// Returns the offset after the closing quote of the string at the start of the text.
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

/// A part of a text with placeholders from a client's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientTextPart<'t> {
    Text(&'t str),
    /// The project folder.
    Root,
    Home,
    Variable {
        name: &'t str,
        default: Option<&'t str>,
        written: &'t str,
    },
    /// A value that the client prompts for.
    Input {
        id: &'t str,
        written: &'t str,
    },
    /// Another placeholder that the client would expand.
    Other(&'t str),
}

/// Splits a text into its parts; without expansion, the whole text is one part.
pub(crate) fn split_parts(text: &str, expands: bool) -> impl Iterator<Item = ClientTextPart<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let found = rest.find("${").filter(|_| expands);
        let found = found.and_then(|at| Some((at, at + rest[at..].find('}')? + 1)));
        let (piece, after) = match found {
            None => (ClientTextPart::Text(rest), ""),
            Some((0, end)) => (parse_placeholder(&rest[..end]), &rest[end..]),
            Some((at, _)) => (ClientTextPart::Text(&rest[..at]), &rest[at..]),
        };
        rest = after;
        Some(piece)
    })
}

fn parse_placeholder(written: &str) -> ClientTextPart<'_> {
    let inner = &written[2..written.len() - 1];
    let is_name = |name: &str| name.parse::<crate::config::VariableName>().is_ok();
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner.strip_prefix("env:").unwrap_or(inner), None),
    };
    match inner {
        "workspaceFolder" | "workspaceRoot" => ClientTextPart::Root,
        "userHome" => ClientTextPart::Home,
        "pathSeparator" | "/" => ClientTextPart::Text("/"),
        _ => match inner.strip_prefix("input:") {
            Some(id) => ClientTextPart::Input { id, written },
            None if is_name(name) => ClientTextPart::Variable { name, default, written },
            None => ClientTextPart::Other(written),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn splits_text_into_placeholders() {
        let check = |text| split_parts(text, true).collect::<Vec<_>>();
        assert_eq!(check(""), []);
        assert_eq!(check("a$b${"), [ClientTextPart::Text("a$b${")]);
        assert_eq!(
            check("${workspaceFolder}/x"),
            [ClientTextPart::Root, ClientTextPart::Text("/x")]
        );
        let variable = |name, default, written| ClientTextPart::Variable { name, default, written };
        assert_eq!(
            check("Bearer ${env:A}${B:-c}"),
            [
                ClientTextPart::Text("Bearer "),
                variable("A", None, "${env:A}"),
                variable("B", Some("c"), "${B:-c}")
            ]
        );
        assert_eq!(check("${input:k}"), [ClientTextPart::Input { id: "k", written: "${input:k}" }]);
        assert_eq!(check("${command:x}"), [ClientTextPart::Other("${command:x}")]);
        assert_eq!(split_parts("${A}", false).collect::<Vec<_>>(), [ClientTextPart::Text("${A}")]);
    }

    #[test]
    fn strips_comments_and_trailing_commas() {
        let text = "{ // one\n \"a\": \"//no\", /* two */ \"b\": [1, 2, ], \"c\\\"//\": 3,\n}";
        let value: Value = serde_json::from_str(&strip_comments(text)).unwrap();
        assert_eq!(value, serde_json::json!({"a": "//no", "b": [1, 2], "c\"//": 3}));
    }

    proptest! {
        #[test]
        fn stripping_keeps_plain_json(text in "\\PC{0,12}", number in any::<i64>()) {
            let value = serde_json::json!({ &text: [number, &text, {"a": null}] });
            for written in [value.to_string(), format!("{value:#}")] {
                prop_assert_eq!(&strip_comments(&written), &written);
            }
        }

        #[test]
        fn splitting_never_panics(text in "[$\\{\\}a-z:/*\"\\\\,\\n-]{0,24}") {
            let whole: usize = split_parts(&text, true).count();
            prop_assert!(whole <= text.len());
            let _ = strip_comments(&text);
        }
    }
}
