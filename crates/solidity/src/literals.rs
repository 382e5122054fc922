//! Extracts constants that a program compares with, because random values rarely hit them.
//!
//! ASTs provide literals with their units and signs, and constants folded by the compiler. Bytecode provides the
//! operands of `PUSH`. The sets are ordered, so the result is deterministic.

mod number;

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, U256, hex};
use serde_json::Value;

use crate::ast_node::{AstNode, walk_ast};
use crate::{SolidityBuild, instruction_offsets};

/// Constants in the sources of a build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceLiterals {
    /// Numbers in wei and seconds; negative numbers in two's complement.
    pub numbers: BTreeSet<U256>,
    /// String literals and `hex"…"`.
    pub strings: BTreeSet<Vec<u8>>,
    pub addresses: BTreeSet<Address>,
    /// Number of members of each `enum`, by canonical name.
    pub enums: BTreeMap<String, usize>,
}

/// Returns the constants in the ASTs of a build.
pub fn collect_literals(build: &SolidityBuild) -> SourceLiterals {
    let mut found = SourceLiterals::default();
    for ast in build.sources.iter().filter_map(|source| source.ast.as_deref()) {
        walk_ast(ast, |node| found.visit_node(node));
    }
    found
}

impl SourceLiterals {
    fn visit_node(&mut self, node: AstNode<'_>) {
        match node.kind() {
            Some("Literal" | "YulLiteral") => self.add_literal(node),
            Some("UnaryOperation") => self.add_negative(node),
            Some("EnumDefinition") => self.add_enum(node),
            _ => {}
        }
        // The compiler folds constant expressions; the type contains the result.
        if let Some(number) = node.type_name().and_then(number::parse_folded_constant) {
            self.numbers.insert(number);
        }
    }

    fn add_literal(&mut self, node: AstNode<'_>) {
        match node.attribute("kind").or(node.attribute("token")) {
            Some("number") => self.add_number(node),
            Some("string" | "unicodeString" | "hexString") => {
                let digits = node.attribute("hexValue").or(node.attribute("hexvalue"));
                if let Some(bytes) = digits.and_then(|digits| hex::decode(digits).ok()) {
                    self.strings.insert(bytes);
                }
            }
            _ => {}
        }
    }

    fn add_number(&mut self, node: AstNode<'_>) {
        let Some(text) = node.attribute("value") else { return };
        let is_address = node.type_name().is_some_and(|name| name.starts_with("address"));
        match is_address.then(|| text.parse::<Address>().ok()).flatten() {
            Some(address) => {
                self.addresses.insert(address);
            }
            None => {
                self.numbers.extend(number::parse_literal(text, node.attribute("subdenomination")))
            }
        }
    }

    /// Adds a negated literal. The type name of a long constant is truncated, so the sign is taken from the AST.
    fn add_negative(&mut self, node: AstNode<'_>) {
        let operand = node.0.get("subExpression").map(AstNode);
        let (Some("-"), Some(operand)) = (node.attribute("operator"), operand) else { return };
        let value = operand.attribute("value").filter(|_| operand.kind() == Some("Literal"));
        let number = value
            .and_then(|text| number::parse_literal(text, operand.attribute("subdenomination")));
        self.numbers.extend(number.map(U256::wrapping_neg));
    }

    fn add_enum(&mut self, node: AstNode<'_>) {
        let members = node.0.get("members").and_then(Value::as_array);
        let name = node.attribute("canonicalName").or(node.attribute("name"));
        if let (Some(members), Some(name)) = (members, name) {
            self.enums.insert(name.to_owned(), members.len());
        }
    }
}

/// Returns the operands of the `PUSH` instructions in bytecode, except for the metadata that solc appends.
pub fn collect_push_operands(code: &[u8]) -> BTreeSet<U256> {
    let code = strip_metadata(code);
    let operands =
        instruction_offsets(code).zip(instruction_offsets(code).skip(1).chain([code.len()]));
    operands
        .filter_map(|(start, end)| code.get(start + 1..end.min(code.len())))
        .filter_map(|operand| (!operand.is_empty()).then(|| U256::try_from_be_slice(operand))?)
        .collect()
}

/// Strips the metadata: a CBOR map whose length is in the last two bytes.
fn strip_metadata(code: &[u8]) -> &[u8] {
    let Some((rest, length)) = code.split_last_chunk::<2>() else { return code };
    let length = usize::from(u16::from_be_bytes(*length));
    let start = rest.len().checked_sub(length);
    match start.and_then(|start| Some((start, rest.get(start)?))) {
        Some((start, 0xa1..=0xa4)) => &code[..start],
        _ => code,
    }
}
