//! The constants that a program compares with: they are what random values never hit.
//!
//! From syntax trees come literals, with their units and signs, and what the compiler folded; from code come the
//! operands of `PUSH`. Sets are ordered, so that the same build gives the same values in the same order.

mod number;

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, U256, hex};
use serde_json::Value;

use crate::node::{Node, walk};
use crate::{Build, offsets};

/// Constants of a build's sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Literals {
    /// In wei and seconds; negative ones in two's complement.
    pub numbers: BTreeSet<U256>,
    /// Texts and `hex"…"`.
    pub strings: BTreeSet<Vec<u8>>,
    pub addresses: BTreeSet<Address>,
    /// The number of members of each `enum`, by its full name.
    pub enums: BTreeMap<String, usize>,
}

/// The constants in the syntax trees of a build.
pub fn literals(build: &Build) -> Literals {
    let mut found = Literals::default();
    for ast in build.sources.iter().filter_map(|source| source.ast.as_deref()) {
        walk(ast, |node| found.visit(node));
    }
    found
}

impl Literals {
    fn visit(&mut self, node: Node<'_>) {
        match node.kind() {
            Some("Literal" | "YulLiteral") => self.literal(node),
            Some("UnaryOperation") => self.negative(node),
            Some("EnumDefinition") => self.enumeration(node),
            _ => {}
        }
        // The compiler folds constant expressions, and says the outcome as their type.
        if let Some(number) = node.type_name().and_then(number::folded) {
            self.numbers.insert(number);
        }
    }

    fn literal(&mut self, node: Node<'_>) {
        match node.text("kind").or(node.text("token")) {
            Some("number") => self.number(node),
            Some("string" | "unicodeString" | "hexString") => {
                let digits = node.text("hexValue").or(node.text("hexvalue"));
                if let Some(bytes) = digits.and_then(|digits| hex::decode(digits).ok()) {
                    self.strings.insert(bytes);
                }
            }
            _ => {}
        }
    }

    fn number(&mut self, node: Node<'_>) {
        let Some(text) = node.text("value") else { return };
        let is_address = node.type_name().is_some_and(|name| name.starts_with("address"));
        match is_address.then(|| text.parse::<Address>().ok()).flatten() {
            Some(address) => {
                self.addresses.insert(address);
            }
            None => self.numbers.extend(number::literal(text, node.text("subdenomination"))),
        }
    }

    /// Long negative constants are cut in the name of their type, so the sign is taken from the tree.
    fn negative(&mut self, node: Node<'_>) {
        let operand = node.0.get("subExpression").map(Node);
        let (Some("-"), Some(operand)) = (node.text("operator"), operand) else { return };
        let value = operand.text("value").filter(|_| operand.kind() == Some("Literal"));
        let number = value.and_then(|text| number::literal(text, operand.text("subdenomination")));
        self.numbers.extend(number.map(U256::wrapping_neg));
    }

    fn enumeration(&mut self, node: Node<'_>) {
        let members = node.0.get("members").and_then(Value::as_array);
        let name = node.text("canonicalName").or(node.text("name"));
        if let (Some(members), Some(name)) = (members, name) {
            self.enums.insert(name.to_owned(), members.len());
        }
    }
}

/// The operands of the `PUSH` instructions in code, without the metadata that solc puts behind it.
pub fn push_operands(code: &[u8]) -> BTreeSet<U256> {
    let code = without_metadata(code);
    let operands = offsets(code).zip(offsets(code).skip(1).chain([code.len()]));
    operands
        .filter_map(|(start, end)| code.get(start + 1..end.min(code.len())))
        .filter_map(|operand| (!operand.is_empty()).then(|| U256::try_from_be_slice(operand))?)
        .collect()
}

/// The metadata is a CBOR map, and its length is in the last two bytes.
fn without_metadata(code: &[u8]) -> &[u8] {
    let Some((rest, length)) = code.split_last_chunk::<2>() else { return code };
    let length = usize::from(u16::from_be_bytes(*length));
    let start = rest.len().checked_sub(length);
    match start.and_then(|start| Some((start, rest.get(start)?))) {
        Some((start, 0xa1..=0xa4)) => &code[..start],
        _ => code,
    }
}
