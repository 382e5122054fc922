//! Names and kinds of the definitions in a syntax tree.

use tree_sitter::Node;

use super::ChunkKind;
use super::node_class::{NodeClass, NodeClassTable};
use crate::language::Language;

/// Maximum length of an unqualified name; longer names are dropped.
pub(super) const MAX_NAME_BYTES: usize = 120;
/// Maximum length of a qualified name, which every fragment stores.
const MAX_PATH_BYTES: usize = 2 * MAX_NAME_BYTES;
/// Maximum number of defined names per fragment, for example in a long table of constants.
const MAX_DEFINES: usize = 64;

/// The definition made by a node.
pub(super) struct NodeDefinition<'tree> {
    pub(super) kind: ChunkKind,
    pub(super) name: Option<String>,
    /// Unqualified names of the definition itself.
    pub(super) own: Vec<String>,
    /// Unqualified names of the definition and its members.
    pub(super) defines: Vec<String>,
    /// Node that contains the members of a type or module.
    pub(super) body: Option<Node<'tree>>,
}

/// Returns the definition made by a node, or `None` if it defines nothing.
pub(super) fn find_definition<'tree>(
    table: &NodeClassTable,
    node: Node<'tree>,
    text: &str,
) -> Option<NodeDefinition<'tree>> {
    let inner = unwrap_definition(table, node);
    let (kind, names) = match table.classify(inner) {
        NodeClass::Function => (ChunkKind::Function, function_names(table, inner, text)),
        NodeClass::Type => (ChunkKind::Type, type_names(table, inner, text)),
        NodeClass::Module => {
            (ChunkKind::Module, field_text(inner, "name", text).into_iter().collect())
        }
        NodeClass::Constant => classify_constant(table, inner, text),
        NodeClass::Other => classify_statement(table, inner, text)?,
        NodeClass::Import | NodeClass::Wrapper | NodeClass::Group => return None,
    };
    let body = match kind {
        ChunkKind::Type | ChunkKind::Module => find_body(inner),
        _ => None,
    };
    let own: Vec<String> = names.iter().map(|name| last_segment(name).to_owned()).collect();
    let mut defines = own.clone();
    if let Some(body) = body {
        collect_member_names(table, body, text, &mut defines);
    }
    defines.truncate(MAX_DEFINES);
    Some(NodeDefinition { kind, name: names.into_iter().next(), own, defines, body })
}

/// Joins a path and a name. If the result is too long, the outermost parts of the path are dropped.
pub(super) fn qualify_name(path: &str, separator: &str, name: &str) -> String {
    let room = MAX_PATH_BYTES.saturating_sub(separator.len() + name.len());
    let mut path = path;
    while path.len() > room {
        match path.split_once(separator) {
            Some((_, inner)) => path = inner,
            None => return name.to_owned(),
        }
    }
    format!("{path}{separator}{name}")
}

/// Returns the definition inside `export` statements, decorators and templates.
fn unwrap_definition<'tree>(table: &NodeClassTable, node: Node<'tree>) -> Node<'tree> {
    let mut node = node;
    for _ in 0..4 {
        if table.classify(node) != NodeClass::Wrapper {
            break;
        }
        let field = ["declaration", "definition", "value"]
            .into_iter()
            .find_map(|field| node.child_by_field_name(field));
        let mut cursor = node.walk();
        let last = node.named_children(&mut cursor).filter(|child| !child.is_extra()).last();
        match field.or(last) {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node
}

fn find_body(node: Node<'_>) -> Option<Node<'_>> {
    node.child_by_field_name("body").or_else(|| {
        let mut cursor = node.walk();
        node.named_children(&mut cursor)
            .find(|child| child.kind().ends_with("_body") || child.kind() == "declaration_list")
    })
}

fn function_names(table: &NodeClassTable, node: Node<'_>, text: &str) -> Vec<String> {
    if is_c_family(table) {
        return declarator_name(node, text).into_iter().collect();
    }
    let Some(name) = field_text(node, "name", text) else {
        let known = match node.kind() {
            "constructor_definition" => Some("constructor"),
            "fallback_receive_definition" => {
                node.child(0).and_then(|token| token.utf8_text(text.as_bytes()).ok())
            }
            _ => None,
        };
        return known.map(str::to_owned).into_iter().collect();
    };
    match receiver_type(node, text) {
        Some(receiver) => vec![format!("{receiver}.{name}")],
        None => vec![name],
    }
}

/// Returns the receiver type of a Go method.
fn receiver_type(node: Node<'_>, text: &str) -> Option<String> {
    let receiver = node.child_by_field_name("receiver")?.utf8_text(text.as_bytes()).ok()?;
    let inner = receiver.trim_matches(['(', ')']);
    let named = inner.rsplit([' ', '*']).find(|word| !word.is_empty())?;
    let name = inner.split('[').next().and_then(|head| head.rsplit([' ', '*']).next());
    let name = name.filter(|name| !name.is_empty()).unwrap_or(named);
    (name.len() <= MAX_NAME_BYTES).then(|| name.to_owned())
}

fn type_names(table: &NodeClassTable, node: Node<'_>, text: &str) -> Vec<String> {
    if node.kind() == "impl_item" {
        return field_text(node, "type", text)
            .map(|name| strip_generics(&name))
            .into_iter()
            .collect();
    }
    if table.language == Language::Go {
        return declared_names(node, "name", text);
    }
    field_text(node, "name", text).map(|name| strip_generics(&name)).into_iter().collect()
}

fn classify_constant(
    table: &NodeClassTable,
    node: Node<'_>,
    text: &str,
) -> (ChunkKind, Vec<String>) {
    match node.kind() {
        "lexical_declaration" | "variable_declaration" => {
            let mut kind = ChunkKind::Constant;
            let mut cursor = node.walk();
            for declared in node.named_children(&mut cursor) {
                if declared.child_by_field_name("value").is_some_and(is_function) {
                    kind = ChunkKind::Function;
                }
            }
            (kind, declared_names(node, "name", text))
        }
        "public_field_definition" | "field_definition" => {
            let function = node.child_by_field_name("value").is_some_and(is_function);
            let kind = if function { ChunkKind::Function } else { ChunkKind::Constant };
            let name =
                field_text(node, "name", text).or_else(|| field_text(node, "property", text));
            (kind, name.into_iter().collect())
        }
        "const_declaration" | "var_declaration" => {
            (ChunkKind::Constant, declared_names(node, "name", text))
        }
        "declaration" | "type_definition" | "field_declaration" if is_c_family(table) => {
            // `struct point { … };` and `typedef struct { … } point;` define a type.
            let inner =
                node.child_by_field_name("type").filter(|inner| find_body(*inner).is_some());
            let names = inner.and_then(|inner| field_text(inner, "name", text));
            let kind = if inner.is_some() || node.kind() == "type_definition" {
                ChunkKind::Type
            } else {
                ChunkKind::Constant
            };
            (kind, names.into_iter().chain(declarator_name(node, text)).collect())
        }
        "field_declaration" | "constant_declaration" => {
            (ChunkKind::Constant, declared_names(node, "name", text))
        }
        "type_alias_declaration" | "type_alias_statement" | "type_item" => {
            let name = field_text(node, "name", text).or_else(|| field_text(node, "left", text));
            (ChunkKind::Type, name.map(|name| strip_generics(&name)).into_iter().collect())
        }
        "macro_definition" | "preproc_function_def" => {
            (ChunkKind::Function, field_text(node, "name", text).into_iter().collect())
        }
        _ => (ChunkKind::Constant, field_text(node, "name", text).into_iter().collect()),
    }
}

/// Recognizes definitions written as statements: `NAME = …` in Python, `Router.prototype.route = function …` in
/// JavaScript.
fn classify_statement(
    table: &NodeClassTable,
    node: Node<'_>,
    text: &str,
) -> Option<(ChunkKind, Vec<String>)> {
    if node.kind() != "expression_statement" {
        return None;
    }
    let assignment = node.named_child(0)?;
    if table.classify(assignment) == NodeClass::Module {
        return Some((
            ChunkKind::Module,
            field_text(assignment, "name", text).into_iter().collect(),
        ));
    }
    let left = assignment.child_by_field_name("left")?;
    match (table.language, assignment.kind()) {
        (Language::Python, "assignment") if left.kind() == "identifier" => {
            Some((ChunkKind::Constant, vec![node_text(left, text)?]))
        }
        (Language::JavaScript | Language::TypeScript | Language::Tsx, "assignment_expression") => {
            is_function(assignment.child_by_field_name("right")?).then_some(())?;
            let name = node_text(left, text)?.replace(".prototype.", ".");
            let name = name.strip_prefix("module.exports.").or(name.strip_prefix("exports."));
            let name = name.map(str::to_owned).or_else(|| node_text(left, text))?;
            Some((ChunkKind::Function, vec![name.replace(".prototype.", ".")]))
        }
        _ => None,
    }
}

fn is_function(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "arrow_function" | "function_expression" | "generator_function" | "class" | "function"
    )
}

fn is_c_family(table: &NodeClassTable) -> bool {
    matches!(table.language, Language::C | Language::Cpp)
}

/// Returns the names in a declaration with several: `const a = 1, b = 2`, or `const ( … )` in Go.
fn declared_names(node: Node<'_>, field: &str, text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            let kind = child.kind();
            if kind.ends_with("_spec") || kind.ends_with("declarator") || kind == "type_alias" {
                let mut cursor = child.walk();
                names.extend(
                    child
                        .children_by_field_name(field, &mut cursor)
                        .filter(|name| name.kind().contains("identifier"))
                        .filter_map(|name| node_text(name, text)),
                );
            } else if kind.ends_with("_spec_list") {
                open.push(child);
            }
        }
    }
    names.truncate(MAX_DEFINES);
    names
}

/// Returns the innermost name of a C declarator: `f` in `int *(*f)(void)`.
fn declarator_name(node: Node<'_>, text: &str) -> Option<String> {
    let mut node = node.child_by_field_name("declarator")?;
    for _ in 0..16 {
        match node.child_by_field_name("declarator").or_else(|| {
            let wraps = matches!(node.kind(), "parenthesized_declarator" | "reference_declarator");
            wraps.then(|| node.named_child(0)).flatten()
        }) {
            Some(inner) => node = inner,
            None => break,
        }
    }
    let name = node_text(node, text)?;
    Some(strip_generics(&name).replace(' ', ""))
}

/// Adds the names of the members in a body to `names`.
fn collect_member_names(
    table: &NodeClassTable,
    body: Node<'_>,
    text: &str,
    names: &mut Vec<String>,
) {
    let mut cursor = body.walk();
    for member in body.named_children(&mut cursor) {
        if names.len() >= MAX_DEFINES {
            return;
        }
        let inner = unwrap_definition(table, member);
        match table.classify(inner) {
            NodeClass::Function => names.extend(
                function_names(table, inner, text).iter().map(|name| last_segment(name).to_owned()),
            ),
            NodeClass::Type | NodeClass::Module => names.extend(type_names(table, inner, text)),
            NodeClass::Constant => {
                names.extend(
                    classify_constant(table, inner, text)
                        .1
                        .iter()
                        .map(|name| last_segment(name).to_owned()),
                );
            }
            _ => {}
        }
    }
}

/// Returns the last segment of a qualified name.
fn last_segment(name: &str) -> &str {
    name.rsplit(['.', ':']).next().unwrap_or(name)
}

fn strip_generics(name: &str) -> String {
    name.split('<').next().unwrap_or(name).trim().to_owned()
}

fn field_text(node: Node<'_>, field: &str, text: &str) -> Option<String> {
    node_text(node.child_by_field_name(field)?, text)
}

fn node_text(node: Node<'_>, text: &str) -> Option<String> {
    let name = node.utf8_text(text.as_bytes()).ok()?.trim_matches(['"', '\'', '`']);
    let one_line = !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.contains('\n');
    one_line.then(|| name.to_owned())
}
