//! What values of one place have in common: their kinds, and for objects and arrays what is inside.

use std::collections::HashMap;
use std::sync::LazyLock;

use contract::Schema;
use serde_json::{Map, Value, json};

/// Deeper values are accepted as they come; a schema that goes on for ever would not compile.
pub(super) const MAX_DEPTH: usize = 24;
/// More keys than this are data, not fields.
const MAX_FIELDS: usize = 64;

/// The union of all values seen at one place.
#[derive(Default)]
pub(super) struct Shape {
    null: bool,
    boolean: bool,
    whole: bool,
    fraction: bool,
    string: Option<Format>,
    pub(super) array: Option<Items>,
    pub(super) object: Option<Fields>,
    /// Not looked into: too deep.
    pub(super) cut: bool,
}

#[derive(Default)]
pub(super) struct Items {
    pub(super) of: Box<Shape>,
    pub(super) any: bool,
}

#[derive(Default)]
pub(super) struct Fields {
    /// Objects seen.
    pub(super) count: usize,
    /// In the order in which they were first seen.
    pub(super) names: Vec<String>,
    by_name: HashMap<String, Field>,
    /// Fields of the widest object.
    most: usize,
}

#[derive(Default)]
pub(super) struct Field {
    pub(super) count: usize,
    pub(super) shape: Shape,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    DateTime,
    Uri,
    None,
}

impl Shape {
    pub(super) fn take(&mut self, value: &Value, depth: usize) {
        if depth > MAX_DEPTH {
            self.cut = true;
            return;
        }
        match value {
            Value::Null => self.null = true,
            Value::Bool(_) => self.boolean = true,
            // As JSON Schema has it: `1.0` is an integer.
            Value::Number(number) if number.is_f64() => {
                let is_whole = number.as_f64().is_some_and(|float| float.fract() == 0.0);
                if is_whole { self.whole = true } else { self.fraction = true }
            }
            Value::Number(_) => self.whole = true,
            Value::String(text) => self.take_format(format_of(text)),
            Value::Array(list) => {
                let items = self.array.get_or_insert_default();
                items.any |= !list.is_empty();
                list.iter().for_each(|item| items.of.take(item, depth + 1));
            }
            Value::Object(map) => self.object.get_or_insert_default().take(map, depth),
        }
    }

    /// A format that not every text has is none.
    fn take_format(&mut self, format: Format) {
        let differs = self.string.is_some_and(|old| old != format);
        self.string = Some(if differs { Format::None } else { format });
    }

    /// As if all values of the other had been seen here.
    fn absorb(&mut self, other: &Self) {
        self.null |= other.null;
        self.boolean |= other.boolean;
        self.whole |= other.whole;
        self.fraction |= other.fraction;
        self.cut |= other.cut;
        other.string.into_iter().for_each(|format| self.take_format(format));
        if let Some(theirs) = &other.array {
            let items = self.array.get_or_insert_default();
            items.any |= theirs.any;
            items.of.absorb(&theirs.of);
        }
        if let Some(theirs) = &other.object {
            self.object.get_or_insert_default().absorb(theirs);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        !(self.null || self.boolean || self.whole || self.fraction || self.cut)
            && self.string.is_none()
            && self.array.is_none()
            && self.object.is_none()
    }

    pub(super) fn is_only_null(&self) -> bool {
        self.kinds() == ["null"]
    }

    pub(super) fn schema(&self) -> Value {
        let mut schema = Map::new();
        if self.cut || self.is_empty() {
            return schema.into();
        }
        let kinds = self.kinds();
        let kinds = match &kinds[..] {
            [kind] => json!(kind),
            kinds => json!(kinds),
        };
        schema.insert("type".into(), kinds);
        match self.string {
            Some(Format::DateTime) => _ = schema.insert("format".into(), json!("date-time")),
            Some(Format::Uri) => _ = schema.insert("format".into(), json!("uri")),
            _ => {}
        }
        if let Some(items) = self.array.as_ref().filter(|items| items.any) {
            schema.insert("items".into(), items.of.schema());
        }
        if let Some(fields) = &self.object {
            fields.write(&mut schema);
        }
        schema.into()
    }

    fn kinds(&self) -> Vec<&'static str> {
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

impl Fields {
    fn take(&mut self, map: &Map<String, Value>, depth: usize) {
        self.count += 1;
        self.most = self.most.max(map.len());
        for (name, value) in map {
            let field = self.field(name);
            field.count += 1;
            field.shape.take(value, depth + 1);
        }
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = (&str, &Field)> {
        self.names.iter().map(|name| (name.as_str(), &self.by_name[name]))
    }

    /// Keys that are data: many of them, unlike names, or other ones in every object.
    pub(super) fn is_map(&self) -> bool {
        let odd = self.names.iter().filter(|name| !is_name(name)).count();
        let always = self.by_name.values().any(|field| field.count == self.count);
        self.names.len() > MAX_FIELDS
            || 2 * odd > self.names.len()
            || (self.count > 1 && !always && self.names.len() > self.most)
    }

    /// All values together, whatever their keys.
    pub(super) fn values(&self) -> Shape {
        let mut any = Shape::default();
        self.by_name.values().for_each(|field| any.absorb(&field.shape));
        any
    }

    fn absorb(&mut self, other: &Self) {
        self.count += other.count;
        self.most = self.most.max(other.most);
        for (name, theirs) in other.fields() {
            let field = self.field(name);
            field.count += theirs.count;
            field.shape.absorb(&theirs.shape);
        }
    }

    fn field(&mut self, name: &str) -> &mut Field {
        if !self.by_name.contains_key(name) {
            self.names.push(name.to_owned());
        }
        self.by_name.entry(name.to_owned()).or_default()
    }

    fn write(&self, schema: &mut Map<String, Value>) {
        if self.names.is_empty() {
            return;
        }
        if self.is_map() {
            schema.insert("additionalProperties".into(), self.values().schema());
            return;
        }
        let properties: Map<String, Value> =
            self.fields().map(|(name, field)| (name.to_owned(), field.shape.schema())).collect();
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

fn is_name(key: &str) -> bool {
    key.len() <= 64
        && key.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '@'))
        && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '@'))
}

/// A format is claimed only where the validator that will enforce it agrees.
fn format_of(text: &str) -> Format {
    static DATE_TIME: LazyLock<Schema> = LazyLock::new(|| format_schema("date-time"));
    static URI: LazyLock<Schema> = LazyLock::new(|| format_schema("uri"));
    let fits = |schema: &Schema| schema.is_valid(&Value::from(text));
    let is_web = text.starts_with("http://") || text.starts_with("https://");
    if text.len() > 2_000 {
        Format::None
    } else if text.starts_with(|c: char| c.is_ascii_digit()) && fits(&DATE_TIME) {
        Format::DateTime
    } else if is_web && fits(&URI) {
        Format::Uri
    } else {
        Format::None
    }
}

fn format_schema(format: &str) -> Schema {
    Schema::compile(json!({"format": format})).expect("a schema of one known format compiles")
}
