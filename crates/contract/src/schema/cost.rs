//! Estimates the work of one validation before a schema is compiled.
//!
//! A schema is a graph of subschemas and references between them. Subschemas of the same instance are evaluated every
//! time they are reached: twenty definitions that each apply the next one twice need a million evaluations, and sixty
//! would never finish. The estimate therefore adds up everything that applies to one instance, and takes the most
//! expensive path down. Recursion over the levels of an instance counts once, because the validator caches it.
//! Recursion that never descends into the instance is infinite and costs `u64::MAX`.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::keywords::{SubschemaRole, direct_subschemas, resolve_reference};

/// Recursion limit for long chains of references, well inside a 2 MB stack.
const MAX_REFERENCE_CHAIN: usize = 256;
/// Cost of a pattern: it scans the text, while other keywords look at it once.
const PATTERN_COST: u64 = 10;
/// Cost of a pattern that may backtrack up to its limit.
pub const BACKTRACKING_COST: u64 = 1_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct SchemaCost {
    /// Subschema evaluations for one part of an instance; `u64::MAX` if unbounded.
    pub(crate) steps: u64,
    /// Choices of the widest `anyOf` or `oneOf` in a recursive schema, 1 without. Each level of an instance multiplies the
    /// number of errors by it.
    pub(crate) choices: usize,
}

/// Returns the estimated cost of validating one instance.
pub(crate) fn estimate_cost(root: &Value) -> SchemaCost {
    let graph = SchemaGraph::new(root);
    let groups = graph.find_components();
    let mut known = vec![StepEstimate::Unknown; graph.nodes.len()];
    let steps =
        (0..graph.nodes.len()).map(|node| graph.count_steps(node, 0, &groups, &mut known)).max();
    let is_recursive =
        |node: &SchemaNode| node.edges.iter().any(|edge| groups[edge.to] == groups[node.index]);
    let choices =
        graph.nodes.iter().filter(|node| is_recursive(node)).map(|node| node.choices).max();
    SchemaCost { steps: steps.unwrap_or(1), choices: choices.unwrap_or(1).max(1) }
}

struct SchemaGraph {
    nodes: Vec<SchemaNode>,
}

struct SchemaNode {
    index: usize,
    own: u64,
    choices: usize,
    edges: Vec<SchemaEdge>,
}

#[derive(Clone, Copy)]
struct SchemaEdge {
    to: usize,
    same_instance: bool,
}

#[derive(Clone, Copy)]
enum StepEstimate {
    Unknown,
    InProgress,
    Estimated(u64),
}

impl SchemaGraph {
    fn new(root: &Value) -> Self {
        let mut graph = Self { nodes: Vec::new() };
        let mut index: HashMap<*const Value, usize> = HashMap::new();
        let mut queue = vec![root];
        let mut found = Vec::new();
        while let Some(schema) = queue.pop() {
            if let Some(map) = schema.as_object()
                && !index.contains_key(&std::ptr::from_ref(schema))
            {
                index.insert(schema, found.len());
                let mut targets = Vec::new();
                for keyword in ["$ref", "$dynamicRef"] {
                    let target = map.get(keyword).and_then(Value::as_str);
                    targets.extend(
                        target
                            .and_then(|target| resolve_reference(root, target))
                            .map(|to| (to, true, "$ref")),
                    );
                }
                targets.extend(
                    direct_subschemas(map)
                        .into_iter()
                        .filter(|step| step.role != SubschemaRole::Definition)
                        .map(|step| (step.schema, step.role.is_same_instance(), step.keyword)),
                );
                queue.extend(targets.iter().map(|(schema, ..)| *schema));
                found.push((map, targets));
            }
        }
        for (number, (map, targets)) in found.into_iter().enumerate() {
            let count = |wanted: &[&str]| {
                targets.iter().filter(|(.., keyword)| wanted.contains(keyword)).count()
            };
            graph.nodes.push(SchemaNode {
                index: number,
                own: 1 + list_patterns(map).map(pattern_cost).sum::<u64>(),
                choices: count(&["anyOf", "oneOf"]),
                edges: targets
                    .iter()
                    .filter_map(|(schema, same_instance, _)| {
                        let to = *index.get(&std::ptr::from_ref(*schema))?;
                        Some(SchemaEdge { to, same_instance: *same_instance })
                    })
                    .collect(),
            });
        }
        graph
    }

    /// Returns the evaluations that start at a node, memoized in `known`.
    fn count_steps(
        &self,
        at: usize,
        chain: usize,
        groups: &[usize],
        known: &mut [StepEstimate],
    ) -> u64 {
        match known[at] {
            StepEstimate::Estimated(steps) => return steps,
            // Descending edges inside a component are not followed, so this is a cycle on the same instance.
            StepEstimate::InProgress => return u64::MAX,
            StepEstimate::Unknown if chain > MAX_REFERENCE_CHAIN => return u64::MAX,
            StepEstimate::Unknown => known[at] = StepEstimate::InProgress,
        }
        let mut steps = self.nodes[at].own;
        let mut below = 0;
        for edge in &self.nodes[at].edges {
            if edge.same_instance {
                steps = steps.saturating_add(self.count_steps(edge.to, chain + 1, groups, known));
            } else if groups[edge.to] == groups[at] {
                below = below.max(1);
            } else {
                below = below.max(self.count_steps(edge.to, chain + 1, groups, known));
            }
        }
        steps = steps.saturating_add(below);
        known[at] = StepEstimate::Estimated(steps);
        steps
    }

    /// Returns the number of each node's strongly connected component (Kosaraju's algorithm, without recursion).
    fn find_components(&self) -> Vec<usize> {
        let mut finished = Vec::new();
        let mut seen = vec![false; self.nodes.len()];
        for start in 0..self.nodes.len() {
            let mut stack = vec![(start, 0)];
            while let Some((at, next)) = stack.pop() {
                if next == 0 && std::mem::replace(&mut seen[at], true) {
                    continue;
                }
                match self.nodes[at].edges.get(next) {
                    Some(edge) => stack.extend([(at, next + 1), (edge.to, 0)]),
                    None => finished.push(at),
                }
            }
        }
        let mut back = vec![Vec::new(); self.nodes.len()];
        for node in &self.nodes {
            node.edges.iter().for_each(|edge| back[edge.to].push(node.index));
        }
        let mut groups = vec![usize::MAX; self.nodes.len()];
        for start in finished.into_iter().rev() {
            let mut stack = vec![start];
            while let Some(at) = stack.pop() {
                if groups[at] == usize::MAX {
                    groups[at] = start;
                    stack.extend(&back[at]);
                }
            }
        }
        groups
    }
}

fn list_patterns(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let property_patterns =
        schema.get("patternProperties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    property_patterns.map(String::as_str).chain(schema.get("pattern").and_then(Value::as_str))
}

/// Returns the cost of one pattern. Look-around and back-references need backtracking; everything else is matched in
/// linear time.
fn pattern_cost(pattern: &str) -> u64 {
    let looks_around =
        ["(?=", "(?!", "(?<", "(?>", "\\k"].iter().any(|part| pattern.contains(part));
    let refers_back = pattern
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'\\' && matches!(pair[1], b'1'..=b'9'));
    if looks_around || refers_back { BACKTRACKING_COST } else { PATTERN_COST }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn chain(levels: usize, step: impl Fn(&str) -> Value) -> Value {
        let mut definitions = serde_json::Map::new();
        for level in 0..levels {
            definitions.insert(format!("d{level}"), step(&format!("#/$defs/d{}", level + 1)));
        }
        definitions.insert(format!("d{levels}"), json!({"type": "object"}));
        json!({"$ref": "#/$defs/d0", "$defs": definitions})
    }

    fn steps(schema: &Value) -> u64 {
        estimate_cost(schema).steps
    }

    #[test]
    fn repeated_application_multiplies_cost_and_width_does_not() {
        let same = chain(20, |next| json!({"allOf": [{"$ref": next}, {"$ref": next}]}));
        assert!(steps(&same) > 1 << 20);
        let below = chain(20, |next| {
            let part = json!({"properties": {"a": {"$ref": next}}});
            json!({"allOf": [part, part]})
        });
        assert!(steps(&below) > 1 << 20);
        let wide =
            chain(20, |next| json!({"properties": {"a": {"$ref": next}, "b": {"$ref": next}}}));
        assert!(steps(&wide) < 100);
        assert_eq!(steps(&chain(1000, |next| json!({"$ref": next}))), u64::MAX);
    }

    #[test]
    fn backtracking_patterns_add_to_cost() {
        let with = |end: &str| {
            let patterns: Map<_, _> =
                (0..20).map(|n| (format!("^(a|aa)+{n}{end}$"), json!({}))).collect();
            steps(&json!({ "patternProperties": patterns }))
        };
        assert!(with("") < 1_000);
        assert!(with("(?=b)") > 20_000 && with(r"(a)\1") > 20_000);
    }

    #[test]
    fn recursion_on_the_same_instance_is_unbounded() {
        let tree = json!({"properties": {"next": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"type": "null"}]}}});
        let tree = estimate_cost(&tree);
        assert!(tree.steps < 20);
        assert_eq!(tree.choices, 3);
        for endless in [json!({"$ref": "#"}), json!({"anyOf": [{"not": {"$ref": "#"}}]})] {
            assert_eq!(steps(&endless), u64::MAX, "{endless}");
        }
        assert_eq!(estimate_cost(&json!({"anyOf": [{}, {}]})).choices, 1);
    }
}
