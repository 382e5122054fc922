//! Inserts one server into a TOML file and keeps its comments, order and layout.

use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, value};

use super::MergeError;

const SERVERS: &str = "mcp_servers";

/// Returns the text with `entry` as `[mcp_servers.<name>]`, or `None` if it already has it.
pub fn insert_server(text: &str, name: &str, entry: &Value) -> Result<Option<String>, MergeError> {
    let mut document: DocumentMut = text.parse().map_err(MergeError::Toml)?;
    let servers = document.entry(SERVERS).or_insert_with(|| {
        let mut table = Table::new();
        // Otherwise an empty `[mcp_servers]` header would be written.
        table.set_implicit(true);
        Item::Table(table)
    });
    let Some(servers) = servers.as_table_like_mut() else {
        return Err(MergeError::Table(SERVERS.to_owned()));
    };
    let table = build_table(entry);
    if servers
        .get(name)
        .is_some_and(|old| strip_layout(old) == strip_layout(&Item::Table(table.clone())))
    {
        return Ok(None);
    }
    servers.insert(name, Item::Table(table));
    Ok(Some(document.to_string()))
}

/// Builds the table of an entry, which holds only strings, lists of strings and tables of strings.
fn build_table(entry: &Value) -> Table {
    let mut table = Table::new();
    for (key, field) in entry.as_object().into_iter().flatten() {
        let item = match field {
            Value::Array(items) => value(items.iter().filter_map(Value::as_str).collect::<Array>()),
            Value::Object(fields) => value(build_inline_table(fields)),
            other => value(other.as_str().unwrap_or_default()),
        };
        table.insert(key, item);
    }
    table
}

fn build_inline_table(fields: &Map<String, Value>) -> InlineTable {
    let fields = fields.iter();
    fields.map(|(key, field)| (key.as_str(), field.as_str().unwrap_or_default())).collect()
}

/// Returns keys and values without their layout, for comparison.
fn strip_layout(item: &Item) -> Option<Vec<(String, String)>> {
    let table = item.as_table_like()?;
    let mut pairs = Vec::new();
    for (key, item) in table.iter() {
        let text = match (item.as_array(), item.as_table_like()) {
            (Some(array), _) => {
                format!("{:?}", array.iter().map(|item| item.as_str()).collect::<Vec<_>>())
            }
            (None, Some(_)) => format!("{:?}", strip_layout(item)),
            (None, None) => format!("{:?}", item.as_str()),
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
        let merged = insert_server(text, "vouch", &entry).unwrap().unwrap();
        assert_eq!(insert_server(&merged, "vouch", &entry).unwrap(), None, "{merged}");
        merged
    }

    #[test]
    fn inserts_into_empty_file() {
        insta::assert_snapshot!(check(""), @r#"
        [mcp_servers.vouch]
        command = "vouch"
        args = ["--root", "/p", "serve", "--stdio"]
        "#);
    }

    #[test]
    fn keeps_existing_layout_and_entries() {
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
    fn rejects_invalid_toml() {
        for text in ["a = ", "mcp_servers = 3"] {
            assert!(insert_server(text, "vouch", &json!({})).is_err(), "{text}");
        }
    }
}
