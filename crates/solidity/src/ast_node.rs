//! AST nodes, in the current format and in that of old compilers.

use serde_json::Value;

/// An AST node. Before solc 0.5, its kind was in `name` and all other fields in `attributes`.
#[derive(Clone, Copy)]
pub(crate) struct AstNode<'a>(pub(crate) &'a Value);

impl<'a> AstNode<'a> {
    pub(crate) fn kind(self) -> Option<&'a str> {
        let old = || self.0.get("attributes").and_then(|_| self.0.get("name"));
        self.0.get("nodeType").or_else(old)?.as_str()
    }

    pub(crate) fn attribute(self, name: &str) -> Option<&'a str> {
        self.0.get("attributes").unwrap_or(self.0).get(name)?.as_str()
    }

    pub(crate) fn type_name(self) -> Option<&'a str> {
        let new = self.0.get("typeDescriptions").and_then(|names| names.get("typeString"));
        new.and_then(Value::as_str).or_else(|| self.attribute("type"))
    }

    /// Returns the start offset and the length of its source.
    pub(crate) fn source_range(self) -> Option<(u32, u32)> {
        let mut numbers = self.0.get("src")?.as_str()?.split(':').map(str::parse);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    }
}

/// Calls `visit` for every object of the tree. It does not recurse, so the nesting depth is not limited by the stack.
pub(crate) fn walk_ast<'a>(root: &'a Value, mut visit: impl FnMut(AstNode<'a>)) {
    let mut pending = vec![root];
    while let Some(value) = pending.pop() {
        match value {
            Value::Object(fields) => {
                visit(AstNode(value));
                pending.extend(fields.values());
            }
            Value::Array(items) => pending.extend(items),
            _ => {}
        }
    }
}
