//! A schema laid out flat: every subschema once, with its way back to the root.
//!
//! References are not followed; what they point at is met under `$defs`. Paths are put together only when somebody
//! reports one, because ten thousand long ones would cost more than the checks.

use contract::MAX_SCHEMA_DEPTH;
use contract::keywords::{Key, Place, Step, subschemas};
use serde_json::{Map, Value};

/// More subschemas than this are not looked at; the size rule has spoken long before.
const MAX_NODES: usize = 20_000;

#[derive(Debug)]
pub(super) struct Node<'a> {
    pub(super) schema: &'a Value,
    /// How this node hangs below its parent; none for the root.
    pub(super) step: Option<(usize, Step<'a>)>,
}

impl<'a> Node<'a> {
    pub(super) fn map(&self) -> Option<&'a Map<String, Value>> {
        self.schema.as_object()
    }

    pub(super) fn place(&self) -> Option<Place> {
        self.step.map(|(_, step)| step.place)
    }

    /// The name, if this is a property of an object.
    pub(super) fn property(&self) -> Option<&'a str> {
        match self.step? {
            (_, Step { place: Place::Property, key: Key::Name(name), .. }) => Some(name),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct Tree<'a> {
    /// Parents before children, in document order.
    pub(super) nodes: Vec<Node<'a>>,
    base: &'static str,
}

impl<'a> Tree<'a> {
    /// `base` is where the schema stands in the definition: `/inputSchema`.
    pub(super) fn new(base: &'static str, root: &'a Value) -> Self {
        let mut tree = Self { nodes: Vec::new(), base };
        tree.push(root, None, 0);
        tree
    }

    fn push(&mut self, schema: &'a Value, step: Option<(usize, Step<'a>)>, depth: usize) {
        if self.nodes.len() >= MAX_NODES || depth > MAX_SCHEMA_DEPTH {
            return;
        }
        let index = self.nodes.len();
        self.nodes.push(Node { schema, step });
        if let Value::Object(map) = schema {
            for step in subschemas(map) {
                self.push(step.schema, Some((index, step)), depth + 1);
            }
        }
    }

    pub(super) fn parent(&self, node: &Node<'a>) -> Option<&Node<'a>> {
        node.step.and_then(|(parent, _)| self.nodes.get(parent))
    }

    /// The node that describes the same instance, as far up as that goes: out of `allOf`, `anyOf`, `if` …
    pub(super) fn instance_root<'t>(&'t self, node: &'t Node<'a>) -> &'t Node<'a> {
        let mut node = node;
        while node.place().is_some_and(Place::same_instance)
            && let Some(parent) = self.parent(node)
        {
            node = parent;
        }
        node
    }

    /// JSON pointer into the definition.
    pub(super) fn path(&self, node: &Node<'a>) -> String {
        let mut steps = Vec::new();
        let mut at = node;
        while let Some((parent, step)) = at.step {
            steps.push(step);
            at = &self.nodes[parent];
        }
        let mut path = self.base.to_owned();
        for step in steps.into_iter().rev() {
            push_token(&mut path, step.keyword);
            match step.key {
                Key::None => {}
                Key::Name(name) => push_token(&mut path, name),
                Key::Index(index) => push_token(&mut path, &index.to_string()),
            }
        }
        path
    }
}

/// Appends one escaped part to a JSON pointer.
pub(super) fn push_token(path: &mut String, token: &str) {
    path.push('/');
    path.push_str(&token.replace('~', "~0").replace('/', "~1"));
}
