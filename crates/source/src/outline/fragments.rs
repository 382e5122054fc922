//! Splitting of a syntax tree into fragments.
//!
//! A fragment begins where the previous one ends, so comments, attributes and decorators belong to the node that
//! follows them. A definition is one fragment. A definition that is too long is split between its members or statements,
//! and this is repeated for members that are too long.

use tree_sitter::Node;

use super::ChunkKind;
use super::definitions::{NodeDefinition, find_definition, qualify_name};
use super::node_class::{NodeClass, NodeClassTable};
use super::prose;

/// Maximum size of a type that stays in one fragment with its methods.
const WHOLE_TYPE_BYTES: usize = 1500;
/// Maximum size of any other node that stays in one fragment.
const WHOLE_BYTES: usize = 3000;
/// Maximum nesting depth; deeper nodes are split by size.
const MAX_DEPTH: usize = 60;

/// A part of a text that becomes a chunk, alone or merged with its neighbors.
#[derive(Debug)]
pub(super) struct OutlineFragment {
    pub(super) end: u32,
    pub(super) kind: ChunkKind,
    pub(super) name: Option<String>,
    pub(super) defines: Vec<String>,
    /// Only fragments of the same group are merged. Each class and each long function has its own group.
    pub(super) group: u32,
    /// `true` for a complete definition, which is merged only if it is small.
    pub(super) definition: bool,
    /// `true` for the head of a type whose members are separate fragments.
    pub(super) head: bool,
}

impl OutlineFragment {
    /// Returns an unnamed text fragment that ends at `end`.
    pub(super) fn unnamed_text(end: u32) -> Self {
        Self {
            end,
            kind: ChunkKind::Text,
            name: None,
            defines: Vec::new(),
            group: 0,
            definition: false,
            head: false,
        }
    }
}

/// The definition around a node, which names fragments without a name.
#[derive(Clone)]
struct EnclosingScope {
    /// Qualified name in the syntax of the language.
    path: Option<String>,
    kind: ChunkKind,
    group: u32,
}

struct TreeSplitter<'a> {
    table: &'a NodeClassTable,
    text: &'a str,
    fragments: Vec<OutlineFragment>,
    groups: u32,
}

/// Splits a syntax tree into fragments that cover the text.
pub(super) fn split_tree(
    table: &NodeClassTable,
    root: Node<'_>,
    text: &str,
) -> Vec<OutlineFragment> {
    let mut splitter = TreeSplitter { table, text, fragments: Vec::new(), groups: 0 };
    let top = EnclosingScope { path: None, kind: ChunkKind::Text, group: 0 };
    splitter.split_children(root, &top, 0);
    splitter.fragments
}

impl TreeSplitter<'_> {
    fn split_children(&mut self, parent: Node<'_>, scope: &EnclosingScope, depth: usize) {
        let mut cursor = parent.walk();
        for child in parent.children(&mut cursor) {
            self.split_node(child, scope, depth);
        }
    }

    fn split_node(&mut self, node: Node<'_>, scope: &EnclosingScope, depth: usize) {
        if node.is_extra() || is_prefix(node) {
            return self.attach_comment(node, scope);
        }
        if !node.is_named() && node.byte_range().len() <= 8 {
            return self.attach_token(node);
        }
        if self.table.classify(node) == NodeClass::Group {
            return if depth < MAX_DEPTH {
                self.split_children(node, scope, depth + 1)
            } else {
                self.split_by_size(node, scope)
            };
        }
        let size = node.byte_range().len();
        let definition = find_definition(self.table, node, self.text);
        let Some(definition) = definition else {
            return if size <= WHOLE_BYTES {
                self.push_statement(node, scope)
            } else {
                self.split_long_node(node, scope, depth)
            };
        };
        let named = self.scope_for(&definition, scope);
        let limit = if definition.body.is_some() { WHOLE_TYPE_BYTES } else { WHOLE_BYTES };
        if size <= limit {
            return self.push_definition(node, named, definition);
        }
        let inside = EnclosingScope { group: self.next_group(), ..named };
        match definition.body {
            Some(body) if depth < MAX_DEPTH => {
                self.split_members(node, body, definition, &inside, depth);
            }
            _ => {
                let first = self.fragments.len();
                self.split_long_node(node, &inside, depth);
                // The first fragment contains the signature.
                if let Some(fragment) = self.fragments.get_mut(first) {
                    fragment.defines.splice(0..0, definition.defines);
                }
            }
        }
    }

    /// Splits a long type or module into its head and its members.
    fn split_members(
        &mut self,
        node: Node<'_>,
        body: Node<'_>,
        definition: NodeDefinition<'_>,
        inside: &EnclosingScope,
        depth: usize,
    ) {
        let brace = body.child(0).filter(|token| !token.is_named());
        let end = brace.map_or(body.start_byte(), |token| token.end_byte());
        self.push_fragment(OutlineFragment {
            end: self.extend_to_line_end(end),
            kind: inside.kind,
            name: inside.path.clone(),
            defines: definition.own,
            group: inside.group,
            definition: false,
            head: true,
        });
        let mut cursor = body.walk();
        for child in body.children(&mut cursor).skip(usize::from(brace.is_some())) {
            self.split_node(child, inside, depth + 1);
        }
        self.extend_last(node.end_byte());
    }

    fn split_long_node(&mut self, node: Node<'_>, scope: &EnclosingScope, depth: usize) {
        if depth < MAX_DEPTH && node.child_count() > 0 {
            self.split_children(node, scope, depth + 1);
            self.extend_last(node.end_byte());
        } else {
            self.split_by_size(node, scope);
        }
    }

    fn split_by_size(&mut self, node: Node<'_>, scope: &EnclosingScope) {
        for end in prose::slice_ends(self.text, node.start_byte(), node.end_byte()) {
            self.push_fragment(OutlineFragment {
                group: scope.group,
                ..OutlineFragment::unnamed_text(end)
            });
            self.name_last_fragment(scope);
        }
    }

    fn push_statement(&mut self, node: Node<'_>, scope: &EnclosingScope) {
        let import = self.table.classify(node) == NodeClass::Import;
        let end = self.extend_to_line_end(node.end_byte());
        self.push_fragment(OutlineFragment {
            group: scope.group,
            ..OutlineFragment::unnamed_text(end)
        });
        match self.fragments.last_mut() {
            Some(fragment) if import => fragment.kind = ChunkKind::Imports,
            _ => self.name_last_fragment(scope),
        }
    }

    fn push_definition(
        &mut self,
        node: Node<'_>,
        named: EnclosingScope,
        definition: NodeDefinition<'_>,
    ) {
        self.push_fragment(OutlineFragment {
            end: self.extend_to_line_end(node.end_byte()),
            kind: named.kind,
            name: named.path,
            defines: definition.defines,
            group: named.group,
            definition: true,
            head: false,
        });
    }

    /// Gives the last fragment the name and kind of the enclosing definition.
    fn name_last_fragment(&mut self, scope: &EnclosingScope) {
        if let Some(fragment) = self.fragments.last_mut() {
            fragment.kind = scope.kind;
            fragment.name.clone_from(&scope.path);
        }
    }

    fn push_fragment(&mut self, fragment: OutlineFragment) {
        // Skips nodes without text, such as missing nodes and automatic semicolons.
        if fragment.end > self.last_end() {
            self.fragments.push(fragment);
        }
    }

    /// Attaches a comment to the next node, or to the previous fragment if it trails on the same line.
    fn attach_comment(&mut self, node: Node<'_>, scope: &EnclosingScope) {
        let before = self.last_end() as usize;
        let same_line = before > 0
            && node.start_byte() >= before
            && !self.text[before..node.start_byte()].contains('\n')
            && !self.text[..before].ends_with('\n');
        if same_line {
            self.extend_last(node.end_byte());
        } else if node.byte_range().len() > WHOLE_BYTES {
            for end in prose::slice_ends(self.text, node.start_byte(), node.end_byte()) {
                self.push_fragment(OutlineFragment {
                    group: scope.group,
                    ..OutlineFragment::unnamed_text(end)
                });
            }
        }
    }

    /// Attaches closing and separating tokens to the previous fragment. Opening tokens belong to the next one.
    fn attach_token(&mut self, node: Node<'_>) {
        if matches!(node.kind(), "}" | ")" | "]" | ";" | "," | "end" | "#endif") {
            self.extend_last(node.end_byte());
        }
    }

    fn extend_last(&mut self, end: usize) {
        let end = self.extend_to_line_end(end);
        if let Some(last) = self.fragments.last_mut() {
            last.end = last.end.max(end);
        }
    }

    fn last_end(&self) -> u32 {
        self.fragments.last().map_or(0, |fragment| fragment.end)
    }

    /// Returns the offset after the line break if only whitespace and separators follow on the line, else `end`.
    fn extend_to_line_end(&self, end: usize) -> u32 {
        let rest = &self.text.as_bytes()[end..];
        let skipped = rest.iter().take_while(|byte| b" \t\r;,".contains(byte)).count();
        match rest.get(skipped) {
            Some(b'\n') => (end + skipped + 1) as u32,
            None => (end + skipped) as u32,
            Some(_) => end as u32,
        }
    }

    fn next_group(&mut self) -> u32 {
        self.groups += 1;
        self.groups
    }

    fn scope_for(&self, definition: &NodeDefinition<'_>, scope: &EnclosingScope) -> EnclosingScope {
        let path = match (&scope.path, &definition.name) {
            (Some(path), Some(name)) => Some(qualify_name(path, self.table.path_separator(), name)),
            (path, None) => path.clone(),
            (None, name) => name.clone(),
        };
        EnclosingScope { path, kind: definition.kind, group: scope.group }
    }
}

/// Returns `true` for nodes that belong to the next sibling, such as attributes and decorators.
fn is_prefix(node: Node<'_>) -> bool {
    matches!(node.kind(), "attribute_item" | "decorator" | "access_specifier")
}
