//! Arguments from the shell: words become values of the types that the tool's input schema declares.

use serde_json::{Map, Value};

/// Parses the arguments of a call from one JSON object.
pub fn from_json(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err("--json takes a JSON object that holds the arguments".to_owned()),
        Err(error) => Err(format!("--json is not valid JSON: {error}")),
    }
}

/// `key=value` is read by the schema, `key:=value` as JSON.
pub fn from_pairs(pairs: &[String], schema: &Value) -> Result<Map<String, Value>, String> {
    let mut arguments = Map::new();
    for pair in pairs {
        let (key, text) = pair
            .split_once('=')
            .filter(|(key, _)| !key.is_empty() && *key != ":")
            .ok_or_else(|| format!("`{pair}` is not an argument; write key=value or key:=JSON"))?;
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => (key, json(key, text)?),
            None => (key, typed(key, text, schema)?),
        };
        if arguments.insert(key.to_owned(), value).is_some() {
            return Err(format!("`{key}` is given twice"));
        }
    }
    Ok(arguments)
}

fn typed(key: &str, text: &str, schema: &Value) -> Result<Value, String> {
    let property = schema.get("properties").and_then(|properties| properties.get(key));
    let types = property.map(|property| types(property, schema)).unwrap_or_default();
    // Whatever may be a string is one: nobody should have to quote text twice.
    if types.is_empty() || types.contains(&"string") {
        return Ok(text.into());
    }
    json(key, text).map_err(|_| format!("`{key}` takes {}; `{text}` is none", types.join(" or ")))
}

fn json(key: &str, text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("`{key}` is not valid JSON: {error}"))
}

/// The types that a property may have, its own `$ref` followed.
fn types<'a>(property: &'a Value, schema: &'a Value) -> Vec<&'a str> {
    let target = property
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|reference| schema.pointer(reference.strip_prefix('#')?));
    match target.unwrap_or(property).get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(pairs: &[&str]) -> Result<Value, String> {
        let schema = json!({
            "properties": {
                "text": {"type": "string"}, "count": {"type": "integer"}, "on": {"type": "boolean"},
                "list": {"type": "array"}, "maybe": {"type": ["integer", "null"]},
                "kind": {"$ref": "#/$defs/Kind"}, "size": {"$ref": "#/$defs/Size"},
            },
            "$defs": {"Kind": {"type": "string", "enum": ["1"]}, "Size": {"type": "number"}},
        });
        let pairs: Vec<_> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        from_pairs(&pairs, &schema).map(Value::Object)
    }

    #[test]
    fn words_become_values() {
        let pairs = [
            "text=12",
            "count=12",
            "on=true",
            "list=[1]",
            "maybe=null",
            "kind=1",
            "size=1.5",
            "other=1",
            "raw:={\"a\":1}",
        ];
        assert_eq!(
            check(&pairs).unwrap(),
            json!({
                "text": "12", "count": 12, "on": true, "list": [1], "maybe": null, "kind": "1", "size": 1.5,
                "other": "1", "raw": {"a": 1},
            })
        );
        assert_eq!(check(&["text=a=b:=c"]).unwrap(), json!({"text": "a=b:=c"}));
    }

    #[test]
    fn what_is_no_argument_is_named() {
        let errors: Vec<_> = [
            &["text"][..],
            &["=x"],
            &[":=1"],
            &["count=x"],
            &["on=yes"],
            &["text=a", "text=b"],
            &["text:=a"],
        ]
        .iter()
        .map(|pairs| check(pairs).unwrap_err())
        .collect();
        insta::assert_snapshot!(errors.join("\n"), @"
        `text` is not an argument; write key=value or key:=JSON
        `=x` is not an argument; write key=value or key:=JSON
        `:=1` is not an argument; write key=value or key:=JSON
        `count` takes integer; `x` is none
        `on` takes boolean; `yes` is none
        `text` is given twice
        `text` is not valid JSON: expected value at line 1 column 1
        ");
    }
}
