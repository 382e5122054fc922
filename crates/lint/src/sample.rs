//! Generates valid values from a schema.
//!
//! This is a small generator, not a solver: it follows the schema, tries a few variants, and keeps only values that the
//! compiled schema accepts. A schema that needs real search (unusual patterns, complex conditions) yields no value.

mod leaf;

use std::collections::HashMap;

use contract::keywords::resolve_reference;
use contract::{BACKTRACKING_COST, Schema};
use serde_json::{Map, Value, json};

/// Maximum variants (choices, enum members, examples) that are tried.
const VARIANTS: usize = 12;
/// Maximum schemas visited for one value.
const MAX_STEPS: usize = 4_000;
/// Maximum levels of a value. Optional fields stop earlier, so that recursive schemas terminate.
const MAX_DEPTH: usize = 24;
const OPTIONAL_DEPTH: usize = 6;
/// Maximum references and compositions followed on one level of the value.
const MAX_PARTS: usize = 64;
const MAX_ITEMS: usize = 32;
/// Maximum number and size of examples that [`collect_samples`] uses.
const MAX_EXAMPLES: usize = 4;
const MAX_EXAMPLE_BYTES: usize = 64 * 1024;

/// Returns a value that the schema accepts: with all declared properties if possible, otherwise with the required ones.
pub fn generate_sample(schema: &Schema) -> Option<Value> {
    let mut work = ValidationBudget::new(schema);
    let mut leaves = HashMap::new();
    for optional in [true, false] {
        for variant in 0..VARIANTS {
            let mut generator = SampleGenerator {
                root: schema.as_value(),
                variant,
                optional,
                steps: MAX_STEPS,
                leaves: &mut leaves,
            };
            let Some(value) = generator.generate_value(&[schema.as_value()], 0) else { continue };
            if work.is_valid(&value)? {
                return Some(value);
            }
        }
    }
    None
}

/// Returns the valid ones of the given examples, then a generated value. [`super::measure_strength`] corrupts them.
pub fn collect_samples<'e>(
    schema: &Schema,
    examples: impl IntoIterator<Item = &'e Value>,
) -> Vec<Value> {
    let mut work = ValidationBudget::new(schema);
    let mut samples: Vec<Value> = examples
        .into_iter()
        .take(MAX_EXAMPLES)
        .filter(|example| example.to_string().len() <= MAX_EXAMPLE_BYTES)
        .filter(|example| work.is_valid(example) == Some(true))
        .cloned()
        .collect();
    samples.extend(generate_sample(schema));
    samples
}

/// Validates values until a work budget is used up: an untrusted schema may make each validation expensive.
pub(super) struct ValidationBudget<'s> {
    schema: &'s Schema,
    left: u64,
}

impl<'s> ValidationBudget<'s> {
    /// Maximum evaluations of a subschema, each well under a microsecond in a release build.
    const LIMIT: u64 = 10_000_000;

    pub(super) fn new(schema: &'s Schema) -> Self {
        Self { schema, left: Self::LIMIT }
    }

    /// Returns the result of validating the value, or `None` if the budget does not suffice.
    pub(super) fn is_valid(&mut self, value: &Value) -> Option<bool> {
        let searches = self.schema.cost() / BACKTRACKING_COST;
        let steps = self.schema.cost() % BACKTRACKING_COST + searches;
        let price = steps
            .saturating_mul(count_values(value))
            .saturating_add(searches.saturating_mul(backtracking_steps(value)));
        self.left = self.left.checked_sub(price)?;
        Some(self.schema.is_valid(value))
    }
}

fn count_values(value: &Value) -> u64 {
    1 + match value {
        Value::Object(map) => map.values().map(count_values).sum(),
        Value::Array(list) => list.iter().map(count_values).sum(),
        _ => 0,
    }
}

/// Returns the maximum steps of one backtracking pattern over all texts of a value; short texts need few.
fn backtracking_steps(value: &Value) -> u64 {
    let search = |text: &str| 1_u64 << text.len().min(17);
    match value {
        Value::Object(map) => {
            map.iter().map(|(key, value)| search(key) + backtracking_steps(value)).sum()
        }
        Value::Array(list) => list.iter().map(backtracking_steps).sum(),
        Value::String(text) => search(text),
        _ => 0,
    }
}

struct SampleGenerator<'a, 'l> {
    root: &'a Value,
    /// Selects among choices; each number is another path through the schema.
    variant: usize,
    /// If set, optional properties are generated too.
    optional: bool,
    steps: usize,
    /// Cache of strings and numbers by their constraints, because finding one may need many attempts.
    leaves: &'l mut HashMap<String, Option<Value>>,
}

/// The schemas that apply to one value, with references, `allOf` and one choice of each union expanded.
#[derive(Default)]
struct SchemaParts<'a>(Vec<&'a Map<String, Value>>);

impl<'a> SchemaParts<'a> {
    fn all_values(&self, keyword: &'static str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter_map(move |part| part.get(keyword))
    }

    fn first_value(&self, keyword: &'static str) -> Option<&'a Value> {
        self.all_values(keyword).next()
    }

    fn max_count(&self, keyword: &'static str) -> Option<usize> {
        self.all_values(keyword)
            .filter_map(Value::as_u64)
            .filter_map(|n| usize::try_from(n).ok())
            .max()
    }

    fn has_any(&self, keywords: &[&str]) -> bool {
        self.0.iter().any(|part| keywords.iter().any(|keyword| part.contains_key(*keyword)))
    }
}

impl<'a> SampleGenerator<'a, '_> {
    /// Returns a value for all the given schemas; it may still fail validation.
    fn generate_value(&mut self, schemas: &[&'a Value], depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut parts = SchemaParts::default();
        for schema in schemas {
            self.expand_schema(schema, &mut parts)?;
        }
        if let Some(constant) = parts.first_value("const") {
            return Some(constant.clone());
        }
        if let Some(options) = parts.first_value("enum").and_then(Value::as_array) {
            return options.get(self.variant % options.len().max(1)).cloned();
        }
        // Every other pair of variants uses the author's example or default.
        if self.variant & 2 == 0 {
            let examples = parts.first_value("examples").and_then(Value::as_array);
            let offered =
                examples.and_then(|list| list.first()).or_else(|| parts.first_value("default"));
            if let Some(offered) = offered.filter(|value| !value.is_null()) {
                return Some(offered.clone());
            }
        }
        match self.choose_type(&parts) {
            "object" => self.generate_object(&parts, depth),
            "array" => self.generate_array(&parts, depth),
            "string" => self.find_leaf(&parts, leaf::STRING),
            "integer" | "number" => self.find_leaf(&parts, leaf::NUMBER),
            "boolean" => Some(json!(true)),
            "null" => Some(Value::Null),
            _ => None,
        }
    }

    fn expand_schema(&mut self, schema: &'a Value, parts: &mut SchemaParts<'a>) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        if parts.0.len() > MAX_PARTS {
            return None;
        }
        let map = match schema {
            Value::Bool(true) => return Some(()),
            Value::Object(map) => map,
            _ => return None,
        };
        if parts.0.iter().any(|known| std::ptr::eq(*known, map)) {
            return Some(());
        }
        parts.0.push(map);
        if let Some(target) = map.get("$ref").and_then(Value::as_str) {
            self.expand_schema(resolve_reference(self.root, target)?, parts)?;
        }
        for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.expand_schema(part, parts)?;
        }
        for union in ["anyOf", "oneOf"] {
            if let Some(choices) = map.get(union).and_then(Value::as_array) {
                self.expand_schema(choices.get(self.variant % choices.len().max(1))?, parts)?;
            }
        }
        if let Some(condition) = map.get("if") {
            // Either satisfy the condition and `then`, or assume that the condition fails and use `else`.
            let taken = if self.variant.is_multiple_of(2) {
                self.expand_schema(condition, parts)?;
                map.get("then")
            } else {
                map.get("else")
            };
            taken.map_or(Some(()), |schema| self.expand_schema(schema, parts))?;
        }
        Some(())
    }

    fn choose_type(&self, parts: &SchemaParts<'a>) -> &'a str {
        let allowed: Vec<Vec<&str>> = parts
            .all_values("type")
            .map(|kind| match kind {
                Value::String(kind) => vec![kind.as_str()],
                Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            })
            .collect();
        let Some((first, others)) = allowed.split_first() else { return implied_type(parts) };
        let fits = |kind: &str| {
            others.iter().all(|kinds| {
                kinds.contains(&kind) || (kind == "integer" && kinds.contains(&"number"))
            })
        };
        let mut common: Vec<&str> = first.iter().copied().filter(|kind| fits(kind)).collect();
        if common.is_empty() && others.iter().any(|kinds| kinds.contains(&"integer")) {
            common.push("integer");
        }
        // `null` is the least informative type, so it comes last.
        common.sort_by_key(|kind| *kind == "null");
        common.get(self.variant % common.len().max(1)).copied().unwrap_or("none")
    }

    fn generate_object(&mut self, parts: &SchemaParts<'a>, depth: usize) -> Option<Value> {
        let mut map = Map::new();
        let required: Vec<&str> = parts
            .all_values("required")
            .filter_map(Value::as_array)
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for name in &required {
            let value = self.generate_property(parts, name, depth)?;
            map.insert((*name).to_owned(), value);
        }
        if self.optional && depth < OPTIONAL_DEPTH {
            let declared =
                parts.all_values("properties").filter_map(Value::as_object).flat_map(Map::keys);
            for name in declared {
                if !map.contains_key(name)
                    && let Some(value) = self.generate_property(parts, name, depth)
                {
                    map.insert(name.clone(), value);
                }
                // Out of steps: the variant without optional properties may still succeed.
                self.steps.checked_sub(1)?;
            }
        }
        // A map needs an entry, so that its value schema is tested.
        let entries = parts.first_value("additionalProperties").filter(|schema| schema.is_object());
        let wanted = usize::from(self.optional && map.is_empty() && entries.is_some());
        let wanted = wanted.max(parts.max_count("minProperties").unwrap_or(0)).min(MAX_ITEMS);
        for index in 1..=wanted {
            if map.len() < wanted {
                let value = self.generate_property(parts, "", depth)?;
                map.insert(format!("key{index}"), value);
            }
        }
        Some(Value::Object(map))
    }

    fn generate_property(
        &mut self,
        parts: &SchemaParts<'a>,
        name: &str,
        depth: usize,
    ) -> Option<Value> {
        let mut schemas: Vec<&'a Value> =
            parts.all_values("properties").filter_map(|properties| properties.get(name)).collect();
        if schemas.is_empty() {
            schemas.extend(parts.first_value("additionalProperties"));
        }
        self.generate_value(&schemas, depth + 1)
    }

    fn generate_array(&mut self, parts: &SchemaParts<'a>, depth: usize) -> Option<Value> {
        let mut list = Vec::new();
        // Draft-07 uses `items: [...]` for the `prefixItems` of 2020-12.
        let (fixed, rest) = match parts.first_value("items") {
            Some(Value::Array(fixed)) => (Some(fixed), parts.first_value("additionalItems")),
            rest => (parts.first_value("prefixItems").and_then(Value::as_array), rest),
        };
        let most = parts.all_values("maxItems").filter_map(Value::as_u64).min().unwrap_or(u64::MAX);
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(MAX_ITEMS);
        for schema in fixed.into_iter().flatten().take(most) {
            list.push(self.generate_value(&[schema], depth + 1)?);
        }
        if let Some(schema) = parts.first_value("contains").filter(|_| list.len() < most) {
            list.push(self.generate_value(&[schema], depth + 1)?);
        }
        let preferred = usize::from(self.optional && depth < OPTIONAL_DEPTH);
        let least = parts.max_count("minItems").unwrap_or(0);
        let unique = parts.first_value("uniqueItems") == Some(&Value::Bool(true));
        while list.len() < least.max(preferred).min(most) {
            let variant = self.variant;
            if unique {
                self.variant += list.len();
            }
            let item = self.generate_value(rest.as_slice(), depth + 1);
            self.variant = variant;
            match item {
                Some(item) if unique => list.push(leaf::make_unique(item, &list)),
                Some(item) => list.push(item),
                None if list.len() >= least => break,
                None => return None,
            }
        }
        Some(Value::Array(list))
    }

    fn find_leaf(&mut self, parts: &SchemaParts<'a>, keywords: &[&'static str]) -> Option<Value> {
        let mut constraints = Vec::new();
        for keyword in keywords {
            constraints.extend(parts.all_values(keyword).map(|value| (*keyword, value)));
        }
        let key = format!("{} {}", keywords[0], json!(constraints));
        if let Some(known) = self.leaves.get(&key) {
            return known.clone();
        }
        let found = leaf::find_candidate(keywords, &constraints, self.leaves.len());
        self.leaves.insert(key, found.clone());
        found
    }
}

/// Returns the type that the keywords of a schema without `type` imply.
fn implied_type(parts: &SchemaParts<'_>) -> &'static str {
    if parts.has_any(&["properties", "required", "additionalProperties", "minProperties"]) {
        "object"
    } else if parts.has_any(&["items", "prefixItems", "contains", "minItems", "uniqueItems"]) {
        "array"
    } else if parts.has_any(&[
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
    ]) {
        "number"
    } else {
        "string"
    }
}
