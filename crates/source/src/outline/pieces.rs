//! Along the syntax tree: where one piece of a file ends and the next begins.
//!
//! A piece begins where the one before ends, so that comments, attributes and decorators go to what follows them. A
//! definition is a piece; one that is too long is cut between its members or statements, and those that are too long
//! again between theirs.

use tree_sitter::Node;

use super::ChunkKind;
use super::names::{Definition, define, part_of};
use super::prose;
use super::table::{Class, Table};

/// A type up to this size stays whole, with its methods.
const WHOLE_TYPE_BYTES: usize = 1500;
/// Anything else up to this size stays whole.
const WHOLE_BYTES: usize = 3000;
/// Deeper, a text is cut by lines: no reader looks for a boundary there.
const MAX_DEPTH: usize = 60;

#[derive(Debug)]
pub(super) struct Piece {
    pub(super) end: u32,
    pub(super) kind: ChunkKind,
    pub(super) name: Option<String>,
    pub(super) defines: Vec<String>,
    /// Pieces of one group may be joined; each class and each long function is a group.
    pub(super) group: u32,
    /// A whole definition; it is not joined to anything unless it is small.
    pub(super) definition: bool,
    /// The head of a type whose members follow.
    pub(super) head: bool,
}

impl Piece {
    pub(super) fn text(end: u32) -> Self {
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

/// What surrounds a piece that has no name of its own.
#[derive(Clone)]
struct Owner {
    /// With what it is part of, written as the language does.
    path: Option<String>,
    kind: ChunkKind,
    group: u32,
}

struct Cutter<'a> {
    table: &'a Table,
    text: &'a str,
    pieces: Vec<Piece>,
    groups: u32,
}

pub(super) fn of_tree(table: &Table, root: Node<'_>, text: &str) -> Vec<Piece> {
    let mut cutter = Cutter { table, text, pieces: Vec::new(), groups: 0 };
    let top = Owner { path: None, kind: ChunkKind::Text, group: 0 };
    cutter.cut_children(root, &top, 0);
    cutter.pieces
}

impl Cutter<'_> {
    fn cut_children(&mut self, parent: Node<'_>, owner: &Owner, depth: usize) {
        let mut cursor = parent.walk();
        for child in parent.children(&mut cursor) {
            self.cut(child, owner, depth);
        }
    }

    fn cut(&mut self, node: Node<'_>, owner: &Owner, depth: usize) {
        if node.is_extra() || is_prefix(node) {
            return self.comment(node, owner);
        }
        if !node.is_named() && node.byte_range().len() <= 8 {
            return self.token(node);
        }
        if self.table.class(node) == Class::Group {
            return if depth < MAX_DEPTH {
                self.cut_children(node, owner, depth + 1)
            } else {
                self.slice(node, owner)
            };
        }
        let size = node.byte_range().len();
        let definition = define(self.table, node, self.text);
        let Some(definition) = definition else {
            return if size <= WHOLE_BYTES {
                self.push_plain(node, owner)
            } else {
                self.cut_long(node, owner, depth)
            };
        };
        let named = self.named(&definition, owner);
        let limit = if definition.body.is_some() { WHOLE_TYPE_BYTES } else { WHOLE_BYTES };
        if size <= limit {
            return self.push_definition(node, named, definition);
        }
        let inside = Owner { group: self.next_group(), ..named };
        match definition.body {
            Some(body) if depth < MAX_DEPTH => {
                self.cut_members(node, body, definition, &inside, depth);
            }
            _ => {
                let first = self.pieces.len();
                self.cut_long(node, &inside, depth);
                // The first part has the signature.
                if let Some(piece) = self.pieces.get_mut(first) {
                    piece.defines.splice(0..0, definition.defines);
                }
            }
        }
    }

    /// A type or module that is too long: its head, then its members.
    fn cut_members(
        &mut self,
        node: Node<'_>,
        body: Node<'_>,
        definition: Definition<'_>,
        inside: &Owner,
        depth: usize,
    ) {
        let brace = body.child(0).filter(|token| !token.is_named());
        let end = brace.map_or(body.start_byte(), |token| token.end_byte());
        self.push(Piece {
            end: self.line_end(end),
            kind: inside.kind,
            name: inside.path.clone(),
            defines: definition.own,
            group: inside.group,
            definition: false,
            head: true,
        });
        let mut cursor = body.walk();
        for child in body.children(&mut cursor).skip(usize::from(brace.is_some())) {
            self.cut(child, inside, depth + 1);
        }
        self.extend_to(node.end_byte());
    }

    fn cut_long(&mut self, node: Node<'_>, owner: &Owner, depth: usize) {
        if depth < MAX_DEPTH && node.child_count() > 0 {
            self.cut_children(node, owner, depth + 1);
            self.extend_to(node.end_byte());
        } else {
            self.slice(node, owner);
        }
    }

    fn slice(&mut self, node: Node<'_>, owner: &Owner) {
        for end in prose::slices(self.text, node.start_byte(), node.end_byte()) {
            self.push(Piece { group: owner.group, ..Piece::text(end) });
            self.name_last(owner);
        }
    }

    fn push_plain(&mut self, node: Node<'_>, owner: &Owner) {
        let import = self.table.class(node) == Class::Import;
        let end = self.line_end(node.end_byte());
        self.push(Piece { group: owner.group, ..Piece::text(end) });
        match self.pieces.last_mut() {
            Some(piece) if import => piece.kind = ChunkKind::Imports,
            _ => self.name_last(owner),
        }
    }

    fn push_definition(&mut self, node: Node<'_>, named: Owner, definition: Definition<'_>) {
        self.push(Piece {
            end: self.line_end(node.end_byte()),
            kind: named.kind,
            name: named.path,
            defines: definition.defines,
            group: named.group,
            definition: true,
            head: false,
        });
    }

    /// Parts of a long function carry its name.
    fn name_last(&mut self, owner: &Owner) {
        if let Some(piece) = self.pieces.last_mut() {
            piece.kind = owner.kind;
            piece.name.clone_from(&owner.path);
        }
    }

    fn push(&mut self, piece: Piece) {
        // Nodes without text (missing ones, automatic semicolons) are no pieces.
        if piece.end > self.end() {
            self.pieces.push(piece);
        }
    }

    /// A comment goes to what follows, unless it ends a line that a piece begins.
    fn comment(&mut self, node: Node<'_>, owner: &Owner) {
        let before = self.end() as usize;
        let same_line = before > 0
            && node.start_byte() >= before
            && !self.text[before..node.start_byte()].contains('\n')
            && !self.text[..before].ends_with('\n');
        if same_line {
            self.extend_to(node.end_byte());
        } else if node.byte_range().len() > WHOLE_BYTES {
            for end in prose::slices(self.text, node.start_byte(), node.end_byte()) {
                self.push(Piece { group: owner.group, ..Piece::text(end) });
            }
        }
    }

    /// What closes or separates goes to what it ends; what opens goes to what follows.
    fn token(&mut self, node: Node<'_>) {
        if matches!(node.kind(), "}" | ")" | "]" | ";" | "," | "end" | "#endif") {
            self.extend_to(node.end_byte());
        }
    }

    fn extend_to(&mut self, end: usize) {
        let end = self.line_end(end);
        if let Some(last) = self.pieces.last_mut() {
            last.end = last.end.max(end);
        }
    }

    fn end(&self) -> u32 {
        self.pieces.last().map_or(0, |piece| piece.end)
    }

    /// Over the line's end, if only what ends a statement is left of the line.
    fn line_end(&self, end: usize) -> u32 {
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

    fn named(&self, definition: &Definition<'_>, owner: &Owner) -> Owner {
        let path = match (&owner.path, &definition.name) {
            (Some(path), Some(name)) => Some(part_of(path, self.table.separator(), name)),
            (path, None) => path.clone(),
            (None, name) => name.clone(),
        };
        Owner { path, kind: definition.kind, group: owner.group }
    }
}

/// Named nodes that belong to what follows them although the grammar sets them beside it.
fn is_prefix(node: Node<'_>) -> bool {
    matches!(node.kind(), "attribute_item" | "decorator" | "access_specifier")
}
