//! How much work one validation may be, judged before anything is compiled.
//!
//! A schema is a graph: subschemas, and references between them. What applies to the same instance is evaluated every
//! time it is met: twenty definitions of which each applies the next one twice are a million evaluations, sixty are the
//! end of the process. So the estimate adds up what meets one instance, and takes the most expensive way down.
//! Recursion over the levels of an instance counts once, because the validator remembers it; recursion that never goes
//! down has no end, and no price.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::keywords::{Place, resolve, subschemas};

/// A recursion limit for long chains of references, well inside a 2 MB stack.
const MAX_CHAIN: usize = 256;
/// A pattern walks its text, other keywords look at it once.
const PATTERN: u64 = 10;
/// A pattern that may backtrack does so until its limit.
pub const BACKTRACKING_COST: u64 = 1_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Subschemas that may meet one part of an instance; `u64::MAX` if there is no telling.
    pub(crate) steps: u64,
    /// The widest `anyOf` or `oneOf` of a recursive schema, 1 without: each level of an instance multiplies by it the
    /// errors that there are to tell.
    pub(crate) choices: usize,
}

pub(crate) fn cost(root: &Value) -> Cost {
    let graph = Graph::new(root);
    let groups = graph.groups();
    let mut known = vec![Known::Not; graph.nodes.len()];
    let steps = (0..graph.nodes.len()).map(|node| graph.steps(node, 0, &groups, &mut known)).max();
    let is_recursive =
        |node: &Node| node.edges.iter().any(|edge| groups[edge.to] == groups[node.index]);
    let choices =
        graph.nodes.iter().filter(|node| is_recursive(node)).map(|node| node.choices).max();
    Cost { steps: steps.unwrap_or(1), choices: choices.unwrap_or(1).max(1) }
}

struct Graph {
    nodes: Vec<Node>,
}

struct Node {
    index: usize,
    own: u64,
    choices: usize,
    edges: Vec<Edge>,
}

#[derive(Clone, Copy)]
struct Edge {
    to: usize,
    same_instance: bool,
}

#[derive(Clone, Copy)]
enum Known {
    Not,
    UnderWay,
    Steps(u64),
}

impl Graph {
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
                            .and_then(|target| resolve(root, target))
                            .map(|to| (to, true, "$ref")),
                    );
                }
                targets.extend(
                    subschemas(map)
                        .into_iter()
                        .filter(|step| step.place != Place::Definition)
                        .map(|step| (step.schema, step.place.same_instance(), step.keyword)),
                );
                queue.extend(targets.iter().map(|(schema, ..)| *schema));
                found.push((map, targets));
            }
        }
        for (number, (map, targets)) in found.into_iter().enumerate() {
            let count = |wanted: &[&str]| {
                targets.iter().filter(|(.., keyword)| wanted.contains(keyword)).count()
            };
            graph.nodes.push(Node {
                index: number,
                own: 1 + patterns(map).map(pattern_cost).sum::<u64>(),
                choices: count(&["anyOf", "oneOf"]),
                edges: targets
                    .iter()
                    .filter_map(|(schema, same_instance, _)| {
                        let to = *index.get(&std::ptr::from_ref(*schema))?;
                        Some(Edge { to, same_instance: *same_instance })
                    })
                    .collect(),
            });
        }
        graph
    }

    fn steps(&self, at: usize, chain: usize, groups: &[usize], known: &mut [Known]) -> u64 {
        match known[at] {
            Known::Steps(steps) => return steps,
            // Ways down inside a group are not followed, so only the same instance can lead back here.
            Known::UnderWay => return u64::MAX,
            Known::Not if chain > MAX_CHAIN => return u64::MAX,
            Known::Not => known[at] = Known::UnderWay,
        }
        let mut steps = self.nodes[at].own;
        let mut below = 0;
        for edge in &self.nodes[at].edges {
            if edge.same_instance {
                steps = steps.saturating_add(self.steps(edge.to, chain + 1, groups, known));
            } else if groups[edge.to] == groups[at] {
                below = below.max(1);
            } else {
                below = below.max(self.steps(edge.to, chain + 1, groups, known));
            }
        }
        steps = steps.saturating_add(below);
        known[at] = Known::Steps(steps);
        steps
    }

    /// A number for each node; those that reach each other share it (Kosaraju's two walks, without recursion).
    fn groups(&self) -> Vec<usize> {
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

fn patterns(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let of_keys =
        schema.get("patternProperties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    of_keys.map(String::as_str).chain(schema.get("pattern").and_then(Value::as_str))
}

/// Look-around and back-references need a search; everything else is matched in one go.
fn pattern_cost(pattern: &str) -> u64 {
    let looks_around =
        ["(?=", "(?!", "(?<", "(?>", "\\k"].iter().any(|part| pattern.contains(part));
    let refers_back = pattern
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'\\' && matches!(pair[1], b'1'..=b'9'));
    if looks_around || refers_back { BACKTRACKING_COST } else { PATTERN }
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
        cost(schema).steps
    }

    #[test]
    fn repeated_application_multiplies_and_width_does_not() {
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
    fn patterns_that_backtrack_add_up() {
        let with = |end: &str| {
            let patterns: Map<_, _> =
                (0..20).map(|n| (format!("^(a|aa)+{n}{end}$"), json!({}))).collect();
            steps(&json!({ "patternProperties": patterns }))
        };
        assert!(with("") < 1_000);
        assert!(with("(?=b)") > 20_000 && with(r"(a)\1") > 20_000);
    }

    #[test]
    fn recursion_must_go_down() {
        let tree = json!({"properties": {"next": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}, {"type": "null"}]}}});
        let tree = cost(&tree);
        assert!(tree.steps < 20);
        assert_eq!(tree.choices, 3);
        for endless in [json!({"$ref": "#"}), json!({"anyOf": [{"not": {"$ref": "#"}}]})] {
            assert_eq!(steps(&endless), u64::MAX, "{endless}");
        }
        assert_eq!(cost(&json!({"anyOf": [{}, {}]})).choices, 1);
    }
}
