//! Puts one server into a TOML file and keeps its comments, order and layout.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::MergeError;

const SERVERS: &str = "mcp_servers";

/// The text with `[mcp_servers.<name>]` being `entry`; None where it is so already.
pub fn insert(text: &str, name: &str, entry: &Value) -> Result<Option<String>, MergeError> {
    let mut document: DocumentMut = text.parse().map_err(MergeError::Toml)?;
    let servers = document.entry(SERVERS).or_insert_with(|| {
        let mut table = Table::new();
        // Without it an empty `[mcp_servers]` header would be written.
        table.set_implicit(true);
        Item::Table(table)
    });
    let Some(servers) = servers.as_table_like_mut() else {
        return Err(MergeError::Table(SERVERS.to_owned()));
    };
    let table = table(entry);
    if servers.get(name).is_some_and(|old| plain(old) == plain(&Item::Table(table.clone()))) {
        return Ok(None);
    }
    servers.insert(name, Item::Table(table));
    Ok(Some(document.to_string()))
}

/// The entries of ours hold strings and lists of strings.
fn table(entry: &Value) -> Table {
    let mut table = Table::new();
    for (key, field) in entry.as_object().into_iter().flatten() {
        let item = match field {
            Value::Array(items) => value(items.iter().filter_map(Value::as_str).collect::<Array>()),
            other => value(other.as_str().unwrap_or_default()),
        };
        table.insert(key, item);
    }
    table
}

/// Keys and values without layout.
fn plain(item: &Item) -> Option<Vec<(String, String)>> {
    let table = item.as_table_like()?;
    let mut pairs = Vec::new();
    for (key, item) in table.iter() {
        let text = match item.as_array() {
            Some(array) => {
                format!("{:?}", array.iter().map(|item| item.as_str()).collect::<Vec<_>>())
            }
            None => format!("{:?}", item.as_str()),
        };
        pairs.push((key.to_owned(), text));
    }
    Some(pairs)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str) -> String {
        let entry = json!({"command": "vouch", "args": ["--root", "/p", "serve", "--stdio"]});
        let merged = insert(text, "vouch", &entry).unwrap().unwrap();
        assert_eq!(insert(&merged, "vouch", &entry).unwrap(), None, "{merged}");
        merged
    }

    #[test]
    fn an_empty_file() {
        insta::assert_snapshot!(check(""), @r#"
        [mcp_servers.vouch]
        command = "vouch"
        args = ["--root", "/p", "serve", "--stdio"]
        "#);
    }

    #[test]
    fn what_is_there_stays_as_it_is() {
        let text = "# mine\nmodel   = 'x' # note\n\n[mcp_servers.other]\ncommand = \"o\"\n\n[mcp_servers.vouch]\nurl = \"http://x\"\n\n[profiles.a]\nx = 1\n";
        insta::assert_snapshot!(check(text), @r##"
        # mine
        model   = 'x' # note

        [mcp_servers.other]
        command = "o"

        [mcp_servers.vouch]
        command = "vouch"
        args = ["--root", "/p", "serve", "--stdio"]

        [profiles.a]
        x = 1
        "##);
    }

    #[test]
    fn what_is_not_toml_is_refused() {
        for text in ["a = ", "mcp_servers = 3"] {
            assert!(insert(text, "vouch", &json!({})).is_err(), "{text}");
        }
    }
}
