//! The common shape of all values at one location: their JSON types, and the contents of objects and arrays.

use std::collections::HashMap;
use std::sync::LazyLock;

use contract::Schema;
use serde_json::{Map, Value, json};

/// Maximum depth of an inferred schema. Deeper values are accepted unchecked, because a deeper schema would not
/// compile.
pub(super) const MAX_DEPTH: usize = 24;
/// An object type with more distinct keys counts as a map, not a record.
const MAX_FIELDS: usize = 64;

/// The union of all values seen at one location.
#[derive(Default)]
pub(super) struct ValueShape {
    null: bool,
    boolean: bool,
    whole: bool,
    fraction: bool,
    string: Option<StringFormat>,
    pub(super) array: Option<ArrayShape>,
    pub(super) object: Option<ObjectShape>,
    /// True if values were too deep to inspect.
    pub(super) cut: bool,
}

#[derive(Default)]
pub(super) struct ArrayShape {
    pub(super) items: Box<ValueShape>,
    /// True if any array had an item.
    pub(super) any: bool,
}

#[derive(Default)]
pub(super) struct ObjectShape {
    /// Number of objects seen.
    pub(super) count: usize,
    /// Field names in the order of first appearance.
    pub(super) names: Vec<String>,
    by_name: HashMap<String, FieldShape>,
    /// Number of fields of the widest object.
    most: usize,
}

#[derive(Default)]
pub(super) struct FieldShape {
    pub(super) count: usize,
    pub(super) shape: ValueShape,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StringFormat {
    DateTime,
    Uri,
    None,
}

impl ValueShape {
    pub(super) fn add_value(&mut self, value: &Value, depth: usize) {
        if depth > MAX_DEPTH {
            self.cut = true;
            return;
        }
        match value {
            Value::Null => self.null = true,
            Value::Bool(_) => self.boolean = true,
            // In JSON Schema, `1.0` is an integer.
            Value::Number(number) if number.is_f64() => {
                let is_whole = number.as_f64().is_some_and(|float| float.fract() == 0.0);
                if is_whole { self.whole = true } else { self.fraction = true }
            }
            Value::Number(_) => self.whole = true,
            Value::String(text) => self.add_format(detect_format(text)),
            Value::Array(list) => {
                let items = self.array.get_or_insert_default();
                items.any |= !list.is_empty();
                list.iter().for_each(|item| items.items.add_value(item, depth + 1));
            }
            Value::Object(map) => self.object.get_or_insert_default().add_object(map, depth),
        }
    }

    /// Records the format of a string. The result is [`StringFormat::None`] unless all strings share one format.
    fn add_format(&mut self, format: StringFormat) {
        let differs = self.string.is_some_and(|old| old != format);
        self.string = Some(if differs { StringFormat::None } else { format });
    }

    /// Merges another shape, as if its values had been added to this one.
    fn merge(&mut self, other: &Self) {
        self.null |= other.null;
        self.boolean |= other.boolean;
        self.whole |= other.whole;
        self.fraction |= other.fraction;
        self.cut |= other.cut;
        other.string.into_iter().for_each(|format| self.add_format(format));
        if let Some(theirs) = &other.array {
            let items = self.array.get_or_insert_default();
            items.any |= theirs.any;
            items.items.merge(&theirs.items);
        }
        if let Some(theirs) = &other.object {
            self.object.get_or_insert_default().merge(theirs);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        !(self.null || self.boolean || self.whole || self.fraction || self.cut)
            && self.string.is_none()
            && self.array.is_none()
            && self.object.is_none()
    }

    pub(super) fn is_only_null(&self) -> bool {
        self.json_types() == ["null"]
    }

    pub(super) fn to_schema(&self) -> Value {
        let mut schema = Map::new();
        if self.cut || self.is_empty() {
            return schema.into();
        }
        let kinds = self.json_types();
        let kinds = match &kinds[..] {
            [kind] => json!(kind),
            kinds => json!(kinds),
        };
        schema.insert("type".into(), kinds);
        match self.string {
            Some(StringFormat::DateTime) => _ = schema.insert("format".into(), json!("date-time")),
            Some(StringFormat::Uri) => _ = schema.insert("format".into(), json!("uri")),
            _ => {}
        }
        if let Some(items) = self.array.as_ref().filter(|items| items.any) {
            schema.insert("items".into(), items.items.to_schema());
        }
        if let Some(fields) = &self.object {
            fields.write_keywords(&mut schema);
        }
        schema.into()
    }

    fn json_types(&self) -> Vec<&'static str> {
        let number = if self.fraction { "number" } else { "integer" };
        [
            (self.object.is_some(), "object"),
            (self.array.is_some(), "array"),
            (self.string.is_some(), "string"),
            (self.whole || self.fraction, number),
            (self.boolean, "boolean"),
            (self.null, "null"),
        ]
        .into_iter()
        .filter_map(|(seen, kind)| seen.then_some(kind))
        .collect()
    }
}

impl ObjectShape {
    fn add_object(&mut self, map: &Map<String, Value>, depth: usize) {
        self.count += 1;
        self.most = self.most.max(map.len());
        for (name, value) in map {
            let field = self.field_mut(name);
            field.count += 1;
            field.shape.add_value(value, depth + 1);
        }
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = (&str, &FieldShape)> {
        self.names.iter().map(|name| (name.as_str(), &self.by_name[name]))
    }

    /// Returns true if the keys are data: they are many, do not look like names, or differ in every object.
    pub(super) fn is_map(&self) -> bool {
        let odd = self.names.iter().filter(|name| !is_field_name(name)).count();
        let always = self.by_name.values().any(|field| field.count == self.count);
        self.names.len() > MAX_FIELDS
            || 2 * odd > self.names.len()
            || (self.count > 1 && !always && self.names.len() > self.most)
    }

    /// Returns the merged shape of all values, regardless of key.
    pub(super) fn merge_values(&self) -> ValueShape {
        let mut any = ValueShape::default();
        self.by_name.values().for_each(|field| any.merge(&field.shape));
        any
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.most = self.most.max(other.most);
        for (name, theirs) in other.fields() {
            let field = self.field_mut(name);
            field.count += theirs.count;
            field.shape.merge(&theirs.shape);
        }
    }

    fn field_mut(&mut self, name: &str) -> &mut FieldShape {
        if !self.by_name.contains_key(name) {
            self.names.push(name.to_owned());
        }
        self.by_name.entry(name.to_owned()).or_default()
    }

    fn write_keywords(&self, schema: &mut Map<String, Value>) {
        if self.names.is_empty() {
            return;
        }
        if self.is_map() {
            schema.insert("additionalProperties".into(), self.merge_values().to_schema());
            return;
        }
        let properties: Map<String, Value> =
            self.fields().map(|(name, field)| (name.to_owned(), field.shape.to_schema())).collect();
        let required: Vec<&str> = self
            .fields()
            .filter(|(_, field)| field.count == self.count)
            .map(|(name, _)| name)
            .collect();
        schema.insert("properties".into(), properties.into());
        if !required.is_empty() {
            schema.insert("required".into(), json!(required));
        }
        schema.insert("additionalProperties".into(), Value::Bool(false));
    }
}

fn is_field_name(key: &str) -> bool {
    key.len() <= 64
        && key.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '@'))
        && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '@'))
}

/// Returns the format of a string, if the validator that enforces formats accepts it.
fn detect_format(text: &str) -> StringFormat {
    static DATE_TIME: LazyLock<Schema> = LazyLock::new(|| compile_format_schema("date-time"));
    static URI: LazyLock<Schema> = LazyLock::new(|| compile_format_schema("uri"));
    let fits = |schema: &Schema| schema.is_valid(&Value::from(text));
    let is_web = text.starts_with("http://") || text.starts_with("https://");
    if text.len() > 2_000 {
        StringFormat::None
    } else if text.starts_with(|c: char| c.is_ascii_digit()) && fits(&DATE_TIME) {
        StringFormat::DateTime
    } else if is_web && fits(&URI) {
        StringFormat::Uri
    } else {
        StringFormat::None
    }
}

fn compile_format_schema(format: &str) -> Schema {
    Schema::compile(json!({"format": format})).expect("a schema of one known format compiles")
}
