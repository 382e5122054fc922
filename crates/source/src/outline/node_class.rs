//! Classification of the node kinds of each grammar, looked up by node kind id.

use std::sync::OnceLock;

use tree_sitter::Node;

use crate::language::Language;

/// The role of a syntax node in an outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeClass {
    /// Any other statement or token.
    Other,
    Import,
    Function,
    /// A definition with members: class, trait, contract.
    Type,
    /// A module or namespace.
    Module,
    /// A named value, alias, field or macro.
    Constant,
    /// A node around one definition: `export`, decorators, `template<…>`.
    Wrapper,
    /// A node around any number of definitions: `#ifdef`, `extern "C"`.
    Group,
}

use NodeClass::{Constant, Function, Group, Import, Module, Type, Wrapper};

const ECMA: &[(NodeClass, &[&str])] = &[
    (Import, &["import_statement"]),
    (Function, &["function_declaration", "generator_function_declaration", "function_signature"]),
    (Function, &["method_definition", "method_signature", "abstract_method_signature"]),
    (Type, &["class_declaration", "abstract_class_declaration", "class", "interface_declaration"]),
    (Type, &["enum_declaration"]),
    (Module, &["module", "internal_module"]),
    (Constant, &["lexical_declaration", "variable_declaration", "type_alias_declaration"]),
    (Constant, &["public_field_definition", "field_definition", "property_signature"]),
    (Wrapper, &["export_statement", "ambient_declaration"]),
];
const PYTHON: &[(NodeClass, &[&str])] = &[
    (Import, &["import_statement", "import_from_statement", "future_import_statement"]),
    (Function, &["function_definition"]),
    (Type, &["class_definition"]),
    (Constant, &["type_alias_statement"]),
    (Wrapper, &["decorated_definition"]),
];
const RUST: &[(NodeClass, &[&str])] = &[
    (Import, &["use_declaration", "extern_crate_declaration"]),
    (Function, &["function_item", "function_signature_item"]),
    (Type, &["struct_item", "enum_item", "union_item", "trait_item", "impl_item"]),
    (Module, &["mod_item", "foreign_mod_item"]),
    (Constant, &["const_item", "static_item", "type_item", "macro_definition", "associated_type"]),
];
const GO: &[(NodeClass, &[&str])] = &[
    (Import, &["import_declaration", "package_clause"]),
    (Function, &["function_declaration", "method_declaration"]),
    (Type, &["type_declaration"]),
    (Constant, &["const_declaration", "var_declaration"]),
];
const JAVA: &[(NodeClass, &[&str])] = &[
    (Import, &["import_declaration", "package_declaration"]),
    (
        Function,
        &["method_declaration", "constructor_declaration", "compact_constructor_declaration"],
    ),
    (Type, &["class_declaration", "interface_declaration", "enum_declaration"]),
    (Type, &["record_declaration", "annotation_type_declaration"]),
    (Module, &["module_declaration"]),
    (Constant, &["field_declaration", "constant_declaration"]),
    (Group, &["enum_body_declarations"]),
];
const SOLIDITY: &[(NodeClass, &[&str])] = &[
    (Import, &["import_directive", "pragma_directive"]),
    (Function, &["function_definition", "modifier_definition", "constructor_definition"]),
    (Function, &["fallback_receive_definition"]),
    (Type, &["contract_declaration", "interface_declaration", "library_declaration"]),
    (Type, &["struct_declaration", "enum_declaration"]),
    (Constant, &["event_definition", "error_declaration", "state_variable_declaration"]),
    (Constant, &["constant_variable_declaration", "user_defined_type_definition"]),
];
const C: &[(NodeClass, &[&str])] = &[
    (Import, &["preproc_include"]),
    (Function, &["function_definition"]),
    (Type, &["struct_specifier", "union_specifier", "enum_specifier", "class_specifier"]),
    (Module, &["namespace_definition"]),
    (Constant, &["declaration", "type_definition", "preproc_def", "preproc_function_def"]),
    (Constant, &["alias_declaration", "concept_definition", "field_declaration"]),
    (Wrapper, &["template_declaration"]),
    (Group, &["preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif"]),
    (Group, &["linkage_specification", "declaration_list"]),
];

/// The node classes of one grammar.
pub(super) struct NodeClassTable {
    pub(super) language: Language,
    classes: Vec<NodeClass>,
}

impl NodeClassTable {
    /// Returns the table of a language, built on first use.
    pub(super) fn for_language(language: Language, root: Node<'_>) -> &'static Self {
        macro_rules! cached {
            ($kinds:expr) => {{
                static TABLE: OnceLock<NodeClassTable> = OnceLock::new();
                TABLE.get_or_init(|| NodeClassTable::new(language, root, $kinds))
            }};
        }
        match language {
            Language::TypeScript => cached!(ECMA),
            Language::Tsx => cached!(ECMA),
            Language::JavaScript => cached!(ECMA),
            Language::Python => cached!(PYTHON),
            Language::Rust => cached!(RUST),
            Language::Go => cached!(GO),
            Language::Java => cached!(JAVA),
            Language::Solidity => cached!(SOLIDITY),
            Language::C => cached!(C),
            Language::Cpp => cached!(C),
            Language::Markdown | Language::Plain(_) => cached!(&[]),
        }
    }

    fn new(language: Language, root: Node<'_>, kinds: &[(NodeClass, &[&str])]) -> Self {
        let grammar = root.language();
        let mut classes = vec![NodeClass::Other; grammar.node_kind_count()];
        for (id, class) in classes.iter_mut().enumerate() {
            let id = id as u16;
            // A kind can have several ids (aliases), so every id is looked up.
            let Some(kind) =
                grammar.node_kind_for_id(id).filter(|_| grammar.node_kind_is_named(id))
            else {
                continue;
            };
            if let Some((found, _)) = kinds.iter().find(|(_, kinds)| kinds.contains(&kind)) {
                *class = *found;
            }
        }
        Self { language, classes }
    }

    pub(super) fn classify(&self, node: Node<'_>) -> NodeClass {
        self.classes.get(node.kind_id() as usize).copied().unwrap_or(NodeClass::Other)
    }

    /// Returns the separator between a type and its member.
    pub(super) fn path_separator(&self) -> &'static str {
        match self.language {
            Language::Rust | Language::Cpp | Language::C => "::",
            _ => ".",
        }
    }
}
