//! JSON schemas with instances, judged by our validator and by `boon`, an independent one.
//!
//! Bytes that are a JSON object with `schema` and `instance` are used as they are; from other bytes both are generated, so
//! that most inputs are valid schemas. Known differences are left out by [`has_known_difference`].

use boon::{Compiler, Draft, Schemas};
use contract::{Schema, SchemaDraft};
use serde_json::{Map, Value, json};

/// Keywords on which the two validators differ, with the reason.
const KNOWN_DIFFERENCES: &[(&str, &str)] = &[
    ("format", "we assert formats; 2020-12 leaves that open and boon does not"),
    ("contentEncoding", "boon asserts it in draft-07, which is optional"),
    ("contentMediaType", "boon asserts it in draft-07, which is optional"),
    ("pattern", "our dialect of regular expressions has lookaround, and bounds backtracking"),
    ("patternProperties", "as `pattern`; generated patterns are simple and are compared"),
    ("$vocabulary", "meaningful in meta-schemas only"),
    ("$id", "changes the base of references, which we refuse if they leave the document"),
    ("$anchor", "as `$id`"),
    ("$dynamicRef", "as `$id`"),
    ("$dynamicAnchor", "as `$id`"),
    ("$recursiveRef", "of a draft that we do not support"),
    ("definitions", "not a keyword of 2020-12: boon does not check the schemas in it"),
    ("dependencies", "not a keyword of 2020-12"),
];

/// Numbers beyond this differ: `boon` computes `multipleOf` on floats, and we do on decimals.
const MAX_EXACT: f64 = 1e9;

pub(crate) fn compare_validators(data: &[u8]) {
    let written = serde_json::from_slice::<Value>(data).ok().and_then(|mut case| {
        let is_case = case.get("schema").is_some() && case.get("instance").is_some();
        is_case.then(|| (case["schema"].take(), case["instance"].take()))
    });
    let is_generated = written.is_none();
    let (schema, instance) = written.unwrap_or_else(|| Generator::new(data).generate_case());
    let Ok(ours) = Schema::compile(schema.clone()) else { return };
    let is_valid = ours.is_valid(&instance);
    // The second pass explains a violation, and must find one exactly if the first did.
    assert_eq!(ours.validate(&instance).is_ok(), is_valid, "{schema} {instance}");
    let mut filled = instance.clone();
    ours.fill_defaults(&mut filled);
    if !is_generated && has_known_difference(&schema, &instance) {
        return;
    }
    let Some(theirs) = validate_with_boon(&schema, ours.draft(), &instance) else { return };
    assert_eq!(is_valid, theirs, "ours and boon's verdict on {instance} by {schema}");
}

/// Returns the verdict of `boon`, or `None` if it refuses the schema.
fn validate_with_boon(schema: &Value, draft: SchemaDraft, instance: &Value) -> Option<bool> {
    let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
    compiler.set_default_draft(match draft {
        SchemaDraft::Draft7 => Draft::V7,
        SchemaDraft::Draft202012 => Draft::V2020_12,
    });
    compiler.add_resource("schema.json", schema.clone()).ok()?;
    let index = compiler.compile("schema.json", &mut schemas).ok()?;
    Some(schemas.validate(instance, index).is_ok())
}

fn has_known_difference(schema: &Value, instance: &Value) -> bool {
    let has_key = |key: &str| KNOWN_DIFFERENCES.iter().any(|(known, _)| *known == key);
    let is_inexact = |number: f64| number.abs() > MAX_EXACT || number.fract() != 0.0;
    any_part(schema, &|key, value| {
        has_key(key) || key == "$ref" || value.as_f64().is_some_and(is_inexact)
    }) || any_part(instance, &|_, value| value.as_f64().is_some_and(is_inexact))
}

/// Returns true if `condition` holds for a key with its value, or for an element with an empty key.
fn any_part(value: &Value, condition: &dyn Fn(&str, &Value) -> bool) -> bool {
    match value {
        Value::Object(map) => {
            map.iter().any(|(key, value)| condition(key, value) || any_part(value, condition))
        }
        Value::Array(list) => {
            list.iter().any(|value| condition("", value) || any_part(value, condition))
        }
        _ => condition("", value),
    }
}

const KEYS: [&str; 4] = ["a", "b", "c", "ab"];
const PATTERNS: [&str; 4] = ["^a", "b$", "^[a-c]*$", "."];
const TYPES: [&str; 7] = ["object", "array", "string", "integer", "number", "boolean", "null"];
const MAX_DEPTH: u32 = 4;

/// Generates a schema and an instance from bytes. Equal bytes give equal cases; bytes that are used up count as zero.
struct Generator<'a> {
    bytes: std::slice::Iter<'a, u8>,
}

impl<'a> Generator<'a> {
    fn new(data: &'a [u8]) -> Self {
        Self { bytes: data.iter() }
    }

    fn generate_case(&mut self) -> (Value, Value) {
        let is_draft7 = self.choose(4) == 1;
        let mut schema = self.schema(0, is_draft7);
        if let Value::Object(map) = &mut schema {
            if is_draft7 {
                map.insert("$schema".into(), "http://json-schema.org/draft-07/schema#".into());
            } else {
                map.insert("$defs".into(), json!({"a": self.schema(2, false)}));
            }
        }
        (schema, self.instance(0))
    }

    fn next(&mut self) -> usize {
        usize::from(self.bytes.next().copied().unwrap_or_default())
    }

    fn choose(&mut self, count: usize) -> usize {
        self.next() % count
    }

    fn pick(&mut self, words: &[&str]) -> Value {
        words[self.next() % words.len()].into()
    }

    fn schema(&mut self, depth: u32, is_draft7: bool) -> Value {
        let keywords = self.choose(5);
        if depth >= MAX_DEPTH || keywords == 0 {
            return [json!(true), json!({}), json!(false), json!({"type": "string"})]
                [self.next() % 4]
                .clone();
        }
        let mut map = Map::new();
        for _ in 0..keywords {
            let (key, value) = self.keyword(depth + 1, is_draft7);
            map.insert(key.into(), value);
        }
        map.into()
    }

    fn schemas(&mut self, depth: u32, is_draft7: bool) -> Value {
        (0..=self.choose(3)).map(|_| self.schema(depth, is_draft7)).collect()
    }

    fn properties(&mut self, names: &[&str], depth: u32, is_draft7: bool) -> Value {
        let mut map = Map::new();
        for _ in 0..=self.choose(3) {
            let name = names[self.next() % names.len()];
            map.insert(name.into(), self.schema(depth, is_draft7));
        }
        map.into()
    }

    fn keyword(&mut self, depth: u32, is_draft7: bool) -> (&'static str, Value) {
        match self.choose(if is_draft7 { 26 } else { 32 }) {
            0 => ("type", self.pick(&TYPES)),
            1 => ("type", json!([self.pick(&TYPES[..4]), self.pick(&TYPES[4..])])),
            2 => ("enum", json!([self.instance(depth)])),
            3 => ("const", self.instance(depth)),
            4 => ("properties", self.properties(&KEYS, depth, is_draft7)),
            5 => ("patternProperties", self.properties(&PATTERNS, depth, is_draft7)),
            6 => ("additionalProperties", self.schema(depth, is_draft7)),
            7 => ("required", json!([self.pick(&KEYS)])),
            8 => ("propertyNames", self.schema(depth, is_draft7)),
            9 => ("minProperties", json!(self.choose(4))),
            10 => ("maxProperties", json!(self.choose(4))),
            11 => ("items", self.schema(depth, is_draft7)),
            12 => ("contains", self.schema(depth, is_draft7)),
            13 => ("minItems", json!(self.choose(4))),
            14 => ("maxItems", json!(self.choose(4))),
            15 => ("uniqueItems", json!(self.choose(2) == 1)),
            16 => ("minimum", self.number()),
            17 => ("exclusiveMaximum", self.number()),
            18 => ("multipleOf", json!(self.choose(5) + 1)),
            19 => ("minLength", json!(self.choose(4))),
            20 => ("maxLength", json!(self.choose(4))),
            21 => ("pattern", self.pick(&PATTERNS)),
            22 => ("allOf", self.schemas(depth, is_draft7)),
            23 => ("anyOf", self.schemas(depth, is_draft7)),
            24 => ("oneOf", self.schemas(depth, is_draft7)),
            25 => ("not", self.schema(depth, is_draft7)),
            26 => ("prefixItems", self.schemas(depth, is_draft7)),
            27 => ("unevaluatedProperties", self.schema(depth, is_draft7)),
            28 => ("unevaluatedItems", self.schema(depth, is_draft7)),
            29 => ("dependentRequired", json!({"a": [self.pick(&KEYS)]})),
            30 => ("minContains", json!(self.choose(3))),
            _ => ("$ref", json!("#/$defs/a")),
        }
    }

    fn number(&mut self) -> Value {
        [json!(0), json!(1), json!(-1), json!(2.0), json!(3), json!(1.5), json!(6), json!(100)]
            [self.next() % 8]
            .clone()
    }

    fn instance(&mut self, depth: u32) -> Value {
        match self.choose(if depth >= MAX_DEPTH { 6 } else { 10 }) {
            0 => Value::Null,
            1 => json!(self.choose(2) == 1),
            2 | 3 => self.number(),
            4 => self.pick(&["", "a", "ab", "é", "abc", "cab"]),
            5 => self.pick(&["b", "\u{1f600}", "aaaa"]),
            6 | 7 => (0..self.choose(4)).map(|_| self.instance(depth + 1)).collect(),
            _ => {
                let mut map = Map::new();
                for _ in 0..self.choose(4) {
                    let key = KEYS[self.next() % KEYS.len()];
                    map.insert(key.into(), self.instance(depth + 1));
                }
                map.into()
            }
        }
    }
}
