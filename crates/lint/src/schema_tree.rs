//! A flattened schema: every subschema once, with a link to its parent.
//!
//! References are not followed; their targets are visited under `$defs`. Paths are built only for findings, because
//! building ten thousand long paths would cost more than the checks.

use contract::MAX_SCHEMA_DEPTH;
use contract::keywords::{SubschemaEntry, SubschemaKey, SubschemaRole, direct_subschemas};
use serde_json::{Map, Value};

/// Maximum subschemas visited; the size rule reports such a schema much earlier.
const MAX_NODES: usize = 20_000;

#[derive(Debug)]
pub(super) struct SubschemaNode<'a> {
    pub(super) schema: &'a Value,
    /// Parent index and location below the parent; `None` for the root.
    pub(super) step: Option<(usize, SubschemaEntry<'a>)>,
}

impl<'a> SubschemaNode<'a> {
    pub(super) fn as_object(&self) -> Option<&'a Map<String, Value>> {
        self.schema.as_object()
    }

    pub(super) fn role(&self) -> Option<SubschemaRole> {
        self.step.map(|(_, step)| step.role)
    }

    /// Returns the property name if this is a property of an object.
    pub(super) fn property_name(&self) -> Option<&'a str> {
        match self.step? {
            (
                _,
                SubschemaEntry {
                    role: SubschemaRole::Property, key: SubschemaKey::Name(name), ..
                },
            ) => Some(name),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct SchemaTree<'a> {
    /// Parents before children, in document order.
    pub(super) nodes: Vec<SubschemaNode<'a>>,
    base: &'static str,
}

impl<'a> SchemaTree<'a> {
    /// Flattens a schema. `base` is the location of the schema in the definition: `/inputSchema`.
    pub(super) fn new(base: &'static str, root: &'a Value) -> Self {
        let mut tree = Self { nodes: Vec::new(), base };
        tree.push_subschemas(root, None, 0);
        tree
    }

    fn push_subschemas(
        &mut self,
        schema: &'a Value,
        step: Option<(usize, SubschemaEntry<'a>)>,
        depth: usize,
    ) {
        if self.nodes.len() >= MAX_NODES || depth > MAX_SCHEMA_DEPTH {
            return;
        }
        let index = self.nodes.len();
        self.nodes.push(SubschemaNode { schema, step });
        if let Value::Object(map) = schema {
            for step in direct_subschemas(map) {
                self.push_subschemas(step.schema, Some((index, step)), depth + 1);
            }
        }
    }

    pub(super) fn parent(&self, node: &SubschemaNode<'a>) -> Option<&SubschemaNode<'a>> {
        node.step.and_then(|(parent, _)| self.nodes.get(parent))
    }

    /// Returns the topmost node that describes the same instance: out of `allOf`, `anyOf`, `if` …
    pub(super) fn instance_root<'t>(
        &'t self,
        node: &'t SubschemaNode<'a>,
    ) -> &'t SubschemaNode<'a> {
        let mut node = node;
        while node.role().is_some_and(SubschemaRole::is_same_instance)
            && let Some(parent) = self.parent(node)
        {
            node = parent;
        }
        node
    }

    /// Returns the JSON pointer of a node into the definition.
    pub(super) fn pointer_to(&self, node: &SubschemaNode<'a>) -> String {
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
                SubschemaKey::None => {}
                SubschemaKey::Name(name) => push_token(&mut path, name),
                SubschemaKey::Index(index) => push_token(&mut path, &index.to_string()),
            }
        }
        path
    }
}

/// Appends one escaped token to a JSON pointer.
pub(super) fn push_token(path: &mut String, token: &str) {
    path.push('/');
    path.push_str(&token.replace('~', "~0").replace('/', "~1"));
}
