//! Arithmetic that wraps without a word, as it did before Solidity 0.8.
//!
//! The syntax tree says of which type a sum is, the source map which instruction makes it. Only code of compilers that do
//! not check is looked at: where one checks, `unchecked` is what the author meant.

use std::collections::BTreeMap;

use crate::node::{Node, walk};
use crate::{Build, Code};

/// An instruction that adds, subtracts or multiplies numbers of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arithmetic {
    pub offset: usize,
    /// The source subtracts, and the optimiser adds the opposite.
    pub adds_opposite: bool,
    pub bits: u16,
    pub is_signed: bool,
}

/// The first version whose arithmetic is checked.
const CHECKED: (u32, u32) = (0, 8);

mod opcode {
    pub(super) const ADD: u8 = 0x01;
    pub(super) const MUL: u8 = 0x02;
    pub(super) const SUB: u8 = 0x03;
}

/// An expression: its instruction, and the type of its outcome.
#[derive(Clone, Copy)]
struct Expression {
    opcode: u8,
    bits: u16,
    is_signed: bool,
    /// It stores its outcome, too, with instructions of which some may look the same.
    assigns: bool,
}

/// The source's number, the first byte and the length of an expression.
type Place = (u32, u32, u32);

/// The expressions of a build whose outcome nobody checks.
#[derive(Default)]
pub struct Unchecked(BTreeMap<Place, Expression>);

impl Unchecked {
    /// Empty where the compiler checks, or nobody knows which one it was.
    pub fn of(build: &Build) -> Self {
        let told = build.compiler.as_deref().and_then(version);
        let mut codes = build.contracts.iter().map(|contract| &contract.runtime.bytes);
        let version = told.or_else(|| codes.find_map(|code| embedded_version(code)));
        let mut found = Self::default();
        if version.is_none_or(|version| version >= CHECKED) {
            return found;
        }
        for source in &build.sources {
            let Some(ast) = source.ast.as_deref() else { continue };
            walk(ast, |node| {
                if let (Some((start, length)), Some(expression)) = (node.place(), expression(node))
                {
                    found.0.insert((source.id, start, length), expression);
                }
            });
        }
        found
    }

    /// Where code makes them.
    pub fn instructions(&self, code: &Code) -> Vec<Arithmetic> {
        let mut found = Vec::new();
        let mut last = None;
        for (offset, span) in code.source_map.by_offset(&code.bytes) {
            let Some(source) = span.source else { continue };
            let place = (source, span.start, span.length);
            let Some(expression) = self.0.get(&place) else { continue };
            let opcode = code.bytes[offset];
            let adds_opposite = (expression.opcode, opcode) == (opcode::SUB, opcode::ADD);
            let is_meant = opcode == expression.opcode || adds_opposite;
            if !is_meant || expression.assigns && last == Some(place) {
                continue;
            }
            last = Some(place);
            let Expression { bits, is_signed, .. } = *expression;
            found.push(Arithmetic { offset, adds_opposite, bits, is_signed });
        }
        found
    }
}

fn expression(node: Node<'_>) -> Option<Expression> {
    let assigns = match node.kind()? {
        "BinaryOperation" => false,
        "Assignment" | "UnaryOperation" => true,
        _ => return None,
    };
    let opcode = match node.text("operator")? {
        "+" | "+=" | "++" => opcode::ADD,
        "-" | "-=" | "--" => opcode::SUB,
        "*" | "*=" => opcode::MUL,
        _ => return None,
    };
    let name = node.type_name()?;
    let (is_signed, digits) = match name.strip_prefix("uint") {
        Some(digits) => (false, digits),
        None => (true, name.strip_prefix("int")?),
    };
    let bits = digits.parse().ok().filter(|bits| (8..=256).contains(bits))?;
    Some(Expression { opcode, bits, is_signed, assigns })
}

/// The version that solc puts behind its code since 0.5.9: the name, then three bytes.
fn embedded_version(code: &[u8]) -> Option<(u32, u32)> {
    const KEY: &[u8] = b"\x64solc\x43";
    let at = code.windows(KEY.len()).rposition(|window| window == KEY)?;
    let [major, minor, _] = code.get(at + KEY.len()..)?.first_chunk()?;
    Some((u32::from(*major), u32::from(*minor)))
}

/// The first two numbers of a version such as `0.7.6+commit.7338295f`.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim_start_matches('v').split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_where_they_stand() {
        assert_eq!(version("0.7.6+commit.7338295f"), Some((0, 7)));
        assert_eq!(version("v0.8.37"), Some((0, 8)));
        assert_eq!(version("nightly"), None);
        let code = b"\x60\x80\xa1\x64solc\x43\x00\x07\x06\x00\x0a";
        assert_eq!(embedded_version(code), Some((0, 7)));
        assert_eq!(embedded_version(b"\x60\x80\x64solc\x43\x00"), None);
    }
}
