//! Parses tool arguments from the command line into the types that the tool's input schema declares.

use serde_json::{Map, Value};

/// Parses the arguments of a call from one JSON object.
pub fn from_json(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err("--json takes a JSON object with the arguments".to_owned()),
        Err(error) => Err(format!("invalid JSON in --json: {error}")),
    }
}

/// Parses the arguments of a call from pairs: `key=value` follows the schema, `key:=value` is JSON.
pub fn from_pairs(pairs: &[String], schema: &Value) -> Result<Map<String, Value>, String> {
    let mut arguments = Map::new();
    for pair in pairs {
        let (key, text) = pair
            .split_once('=')
            .filter(|(key, _)| !key.is_empty() && *key != ":")
            .ok_or_else(|| format!("invalid argument `{pair}`: expected key=value or key:=JSON"))?;
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => (key, parse_json_value(key, text)?),
            None => (key, parse_typed_value(key, text, schema)?),
        };
        if arguments.insert(key.to_owned(), value).is_some() {
            return Err(format!("duplicate argument `{key}`"));
        }
    }
    Ok(arguments)
}

fn parse_typed_value(key: &str, text: &str, schema: &Value) -> Result<Value, String> {
    let property = schema.get("properties").and_then(|properties| properties.get(key));
    let types = property.map(|property| property_types(property, schema)).unwrap_or_default();
    // A value that may be a string is taken as one, so that text does not have to be quoted twice.
    if types.is_empty() || types.contains(&"string") {
        return Ok(text.into());
    }
    parse_json_value(key, text).map_err(|_| {
        format!("invalid value for `{key}`: expected {}, got `{text}`", types.join(" or "))
    })
}

fn parse_json_value(key: &str, text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("invalid JSON for `{key}`: {error}"))
}

/// Returns the JSON types that a property may have; one `$ref` is followed.
fn property_types<'a>(property: &'a Value, schema: &'a Value) -> Vec<&'a str> {
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
    fn pairs_are_parsed_by_schema_type() {
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
    fn rejects_malformed_pairs() {
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
        invalid argument `text`: expected key=value or key:=JSON
        invalid argument `=x`: expected key=value or key:=JSON
        invalid argument `:=1`: expected key=value or key:=JSON
        invalid value for `count`: expected integer, got `x`
        invalid value for `on`: expected boolean, got `yes`
        duplicate argument `text`
        invalid JSON for `text`: expected value at line 1 column 1
        ");
    }
}
