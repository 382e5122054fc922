//! Nodes of the compiler's syntax trees, in the form that they have now and in that of old compilers.

use serde_json::Value;

/// A node of a tree. Before solc 0.5 its kind was `name`, and everything else in `attributes`.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a>(pub(crate) &'a Value);

impl<'a> Node<'a> {
    pub(crate) fn kind(self) -> Option<&'a str> {
        let old = || self.0.get("attributes").and_then(|_| self.0.get("name"));
        self.0.get("nodeType").or_else(old)?.as_str()
    }

    pub(crate) fn text(self, name: &str) -> Option<&'a str> {
        self.0.get("attributes").unwrap_or(self.0).get(name)?.as_str()
    }

    pub(crate) fn type_name(self) -> Option<&'a str> {
        let new = self.0.get("typeDescriptions").and_then(|names| names.get("typeString"));
        new.and_then(Value::as_str).or_else(|| self.text("type"))
    }

    /// Where it stands in its source: the first byte, and how many.
    pub(crate) fn place(self) -> Option<(u32, u32)> {
        let mut numbers = self.0.get("src")?.as_str()?.split(':').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    }
}

/// Shows every object of the tree. Without recursion, so that it does not matter how deep the tree nests.
pub(crate) fn walk<'a>(root: &'a Value, mut visit: impl FnMut(Node<'a>)) {
    let mut waiting = vec![root];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Object(fields) => {
                visit(Node(value));
                waiting.extend(fields.values());
            }
            Value::Array(items) => waiting.extend(items),
            _ => {}
        }
    }
}
