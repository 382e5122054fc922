//! Valid values made from a schema alone.
//!
//! A small generator, not a solver: it follows the schema, tries a few variants, and keeps only what the compiled
//! schema accepts. What needs real search (odd patterns, tangled conditions) yields nothing, and the caller is told so.

mod leaf;

use std::collections::HashMap;

use contract::keywords::resolve;
use contract::{BACKTRACKING_COST, Schema};
use serde_json::{Map, Value, json};

/// Values of other choices, enum members and examples that are tried before giving up.
const VARIANTS: usize = 12;
/// Schemas visited for one value.
const MAX_STEPS: usize = 4_000;
/// Levels of a value; optional fields stop earlier, so that a recursive schema ends.
const MAX_DEPTH: usize = 24;
const OPTIONAL_DEPTH: usize = 6;
/// References and compositions followed without going down in the value.
const MAX_PARTS: usize = 64;
const MAX_ITEMS: usize = 32;
/// Examples that [`samples`] takes, and how large each may be.
const MAX_EXAMPLES: usize = 4;
const MAX_EXAMPLE_BYTES: usize = 64 * 1024;

/// A value that the schema accepts: with every property it declares if that can be, else with the required ones.
pub fn sample(schema: &Schema) -> Option<Value> {
    let mut work = Work::new(schema);
    let mut leaves = HashMap::new();
    for optional in [true, false] {
        for variant in 0..VARIANTS {
            let mut generator = Generator {
                root: schema.as_value(),
                variant,
                optional,
                steps: MAX_STEPS,
                leaves: &mut leaves,
            };
            let Some(value) = generator.value(&[schema.as_value()], 0) else { continue };
            if work.is_valid(&value)? {
                return Some(value);
            }
        }
    }
    None
}

/// The given examples that are valid, then a generated value: what [`super::strength`] corrupts.
pub fn samples<'e>(schema: &Schema, examples: impl IntoIterator<Item = &'e Value>) -> Vec<Value> {
    let mut work = Work::new(schema);
    let mut samples: Vec<Value> = examples
        .into_iter()
        .take(MAX_EXAMPLES)
        .filter(|example| example.to_string().len() <= MAX_EXAMPLE_BYTES)
        .filter(|example| work.is_valid(example) == Some(true))
        .cloned()
        .collect();
    samples.extend(sample(schema));
    samples
}

/// Validations until the work is used up: a stranger's schema may make each one expensive.
pub(super) struct Work<'s> {
    schema: &'s Schema,
    left: u64,
}

impl<'s> Work<'s> {
    /// Evaluations of a subschema, each well under a microsecond in a release build.
    const LIMIT: u64 = 10_000_000;

    pub(super) fn new(schema: &'s Schema) -> Self {
        Self { schema, left: Self::LIMIT }
    }

    /// Whether the value is valid, or `None` when that is too much work.
    pub(super) fn is_valid(&mut self, value: &Value) -> Option<bool> {
        let searches = self.schema.cost() / BACKTRACKING_COST;
        let steps = self.schema.cost() % BACKTRACKING_COST + searches;
        let price = steps
            .saturating_mul(size(value))
            .saturating_add(searches.saturating_mul(effort(value)));
        self.left = self.left.checked_sub(price)?;
        Some(self.schema.is_valid(value))
    }
}

fn size(value: &Value) -> u64 {
    1 + match value {
        Value::Object(map) => map.values().map(size).sum(),
        Value::Array(list) => list.iter().map(size).sum(),
        _ => 0,
    }
}

/// Steps that one backtracking pattern may take over all texts of a value: short ones give it little to try.
fn effort(value: &Value) -> u64 {
    let search = |text: &str| 1_u64 << text.len().min(17);
    match value {
        Value::Object(map) => map.iter().map(|(key, value)| search(key) + effort(value)).sum(),
        Value::Array(list) => list.iter().map(effort).sum(),
        Value::String(text) => search(text),
        _ => 0,
    }
}

struct Generator<'a, 'l> {
    root: &'a Value,
    /// Picks among choices; each number is another way through the schema.
    variant: usize,
    /// Optional properties too.
    optional: bool,
    steps: usize,
    /// Strings and numbers by what constrains them: finding one may need many tries.
    leaves: &'l mut HashMap<String, Option<Value>>,
}

/// Schemas that hold for the same value, with references, `allOf` and one choice of each union spread out.
#[derive(Default)]
struct Parts<'a>(Vec<&'a Map<String, Value>>);

impl<'a> Parts<'a> {
    fn all(&self, keyword: &'static str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter_map(move |part| part.get(keyword))
    }

    fn first(&self, keyword: &'static str) -> Option<&'a Value> {
        self.all(keyword).next()
    }

    fn count(&self, keyword: &'static str) -> Option<usize> {
        self.all(keyword).filter_map(Value::as_u64).filter_map(|n| usize::try_from(n).ok()).max()
    }

    fn has_any(&self, keywords: &[&str]) -> bool {
        self.0.iter().any(|part| keywords.iter().any(|keyword| part.contains_key(*keyword)))
    }
}

impl<'a> Generator<'a, '_> {
    /// A value for which all the schemas hold, as far as one can tell without validating.
    fn value(&mut self, schemas: &[&'a Value], depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut parts = Parts::default();
        for schema in schemas {
            self.spread(schema, &mut parts)?;
        }
        if let Some(constant) = parts.first("const") {
            return Some(constant.clone());
        }
        if let Some(options) = parts.first("enum").and_then(Value::as_array) {
            return options.get(self.variant % options.len().max(1)).cloned();
        }
        // Every other pair of variants trusts what the author offers.
        if self.variant & 2 == 0 {
            let examples = parts.first("examples").and_then(Value::as_array);
            let offered = examples.and_then(|list| list.first()).or_else(|| parts.first("default"));
            if let Some(offered) = offered.filter(|value| !value.is_null()) {
                return Some(offered.clone());
            }
        }
        match self.kind(&parts) {
            "object" => self.object(&parts, depth),
            "array" => self.array(&parts, depth),
            "string" => self.leaf(&parts, leaf::STRING),
            "integer" | "number" => self.leaf(&parts, leaf::NUMBER),
            "boolean" => Some(json!(true)),
            "null" => Some(Value::Null),
            _ => None,
        }
    }

    fn spread(&mut self, schema: &'a Value, parts: &mut Parts<'a>) -> Option<()> {
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
            self.spread(resolve(self.root, target)?, parts)?;
        }
        for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.spread(part, parts)?;
        }
        for union in ["anyOf", "oneOf"] {
            if let Some(choices) = map.get(union).and_then(Value::as_array) {
                self.spread(choices.get(self.variant % choices.len().max(1))?, parts)?;
            }
        }
        if let Some(condition) = map.get("if") {
            // Either meet the condition and its consequence, or take the alternative and hope.
            let taken = if self.variant.is_multiple_of(2) {
                self.spread(condition, parts)?;
                map.get("then")
            } else {
                map.get("else")
            };
            taken.map_or(Some(()), |schema| self.spread(schema, parts))?;
        }
        Some(())
    }

    fn kind(&self, parts: &Parts<'a>) -> &'a str {
        let allowed: Vec<Vec<&str>> = parts
            .all("type")
            .map(|kind| match kind {
                Value::String(kind) => vec![kind.as_str()],
                Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            })
            .collect();
        let Some((first, others)) = allowed.split_first() else { return implied(parts) };
        let fits = |kind: &str| {
            others.iter().all(|kinds| {
                kinds.contains(&kind) || (kind == "integer" && kinds.contains(&"number"))
            })
        };
        let mut common: Vec<&str> = first.iter().copied().filter(|kind| fits(kind)).collect();
        if common.is_empty() && others.iter().any(|kinds| kinds.contains(&"integer")) {
            common.push("integer");
        }
        // Null says least about a value: last choice.
        common.sort_by_key(|kind| *kind == "null");
        common.get(self.variant % common.len().max(1)).copied().unwrap_or("nothing")
    }

    fn object(&mut self, parts: &Parts<'a>, depth: usize) -> Option<Value> {
        let mut map = Map::new();
        let required: Vec<&str> = parts
            .all("required")
            .filter_map(Value::as_array)
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for name in &required {
            let value = self.property(parts, name, depth)?;
            map.insert((*name).to_owned(), value);
        }
        if self.optional && depth < OPTIONAL_DEPTH {
            let declared = parts.all("properties").filter_map(Value::as_object).flat_map(Map::keys);
            for name in declared {
                if !map.contains_key(name)
                    && let Some(value) = self.property(parts, name, depth)
                {
                    map.insert(name.clone(), value);
                }
                // Out of steps: the variant without optional properties may still succeed.
                self.steps.checked_sub(1)?;
            }
        }
        // A map shows what its entries look like only if it has one.
        let entries = parts.first("additionalProperties").filter(|schema| schema.is_object());
        let wanted = usize::from(self.optional && map.is_empty() && entries.is_some());
        let wanted = wanted.max(parts.count("minProperties").unwrap_or(0)).min(MAX_ITEMS);
        for index in 1..=wanted {
            if map.len() < wanted {
                let value = self.property(parts, "", depth)?;
                map.insert(format!("key{index}"), value);
            }
        }
        Some(Value::Object(map))
    }

    fn property(&mut self, parts: &Parts<'a>, name: &str, depth: usize) -> Option<Value> {
        let mut schemas: Vec<&'a Value> =
            parts.all("properties").filter_map(|properties| properties.get(name)).collect();
        if schemas.is_empty() {
            schemas.extend(parts.first("additionalProperties"));
        }
        self.value(&schemas, depth + 1)
    }

    fn array(&mut self, parts: &Parts<'a>, depth: usize) -> Option<Value> {
        let mut list = Vec::new();
        // Draft-07 says `items: [...]` for what 2020-12 calls `prefixItems`.
        let (fixed, rest) = match parts.first("items") {
            Some(Value::Array(fixed)) => (Some(fixed), parts.first("additionalItems")),
            rest => (parts.first("prefixItems").and_then(Value::as_array), rest),
        };
        let most = parts.all("maxItems").filter_map(Value::as_u64).min().unwrap_or(u64::MAX);
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(MAX_ITEMS);
        for schema in fixed.into_iter().flatten().take(most) {
            list.push(self.value(&[schema], depth + 1)?);
        }
        if let Some(schema) = parts.first("contains").filter(|_| list.len() < most) {
            list.push(self.value(&[schema], depth + 1)?);
        }
        let wish = usize::from(self.optional && depth < OPTIONAL_DEPTH);
        let least = parts.count("minItems").unwrap_or(0);
        let unique = parts.first("uniqueItems") == Some(&Value::Bool(true));
        while list.len() < least.max(wish).min(most) {
            let kept = self.variant;
            if unique {
                self.variant += list.len();
            }
            let item = self.value(rest.as_slice(), depth + 1);
            self.variant = kept;
            match item {
                Some(item) if unique => list.push(leaf::told_apart(item, &list)),
                Some(item) => list.push(item),
                None if list.len() >= least => break,
                None => return None,
            }
        }
        Some(Value::Array(list))
    }

    fn leaf(&mut self, parts: &Parts<'a>, keywords: &[&'static str]) -> Option<Value> {
        let mut constraints = Vec::new();
        for keyword in keywords {
            constraints.extend(parts.all(keyword).map(|value| (*keyword, value)));
        }
        let key = format!("{} {}", keywords[0], json!(constraints));
        if let Some(known) = self.leaves.get(&key) {
            return known.clone();
        }
        let found = leaf::find(keywords, &constraints, self.leaves.len());
        self.leaves.insert(key, found.clone());
        found
    }
}

/// The type that a schema without `type` means by the keywords it uses.
fn implied(parts: &Parts<'_>) -> &'static str {
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
