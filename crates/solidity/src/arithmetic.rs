//! Finds arithmetic that wraps silently, as it did before Solidity 0.8.
//!
//! The AST provides the type of an expression, the source map its instruction. Only bytecode of compilers without
//! overflow checks is considered: with checks, wrapping in `unchecked` blocks is intended.

use std::collections::BTreeMap;

use crate::ast_node::{AstNode, walk_ast};
use crate::{ContractBytecode, SolidityBuild};

/// An instruction that adds, subtracts or multiplies integers of a known type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArithmeticInstruction {
    pub offset: usize,
    /// True if the source subtracts, but the optimizer emitted an addition of the negated operand.
    pub adds_opposite: bool,
    pub bits: u16,
    pub is_signed: bool,
}

/// First compiler version with checked arithmetic.
const FIRST_CHECKED_VERSION: (u32, u32) = (0, 8);

mod opcode {
    pub(super) const ADD: u8 = 0x01;
    pub(super) const MUL: u8 = 0x02;
    pub(super) const SUB: u8 = 0x03;
}

/// An arithmetic expression: its opcode and the type of its result.
#[derive(Clone, Copy)]
struct ArithmeticExpression {
    opcode: u8,
    bits: u16,
    is_signed: bool,
    /// True if it also stores the result, with instructions that may include the same opcode.
    assigns: bool,
}

/// Source id, start offset and length of an expression.
type ExpressionKey = (u32, u32, u32);

/// Arithmetic expressions of a build without overflow checks.
#[derive(Default)]
pub struct UncheckedArithmetic(BTreeMap<ExpressionKey, ArithmeticExpression>);

impl UncheckedArithmetic {
    /// Collects the expressions of a build. Empty if the compiler checks arithmetic, or if its version is unknown.
    pub fn from_build(build: &SolidityBuild) -> Self {
        let stated = build.compiler.as_deref().and_then(parse_version);
        let mut codes = build.contracts.iter().map(|contract| &contract.runtime.bytes);
        let version = stated.or_else(|| codes.find_map(|code| read_embedded_version(code)));
        let mut found = Self::default();
        if version.is_none_or(|version| version >= FIRST_CHECKED_VERSION) {
            return found;
        }
        for source in &build.sources {
            let Some(ast) = source.ast.as_deref() else { continue };
            walk_ast(ast, |node| {
                if let (Some((start, length)), Some(expression)) =
                    (node.source_range(), parse_expression(node))
                {
                    found.0.insert((source.id, start, length), expression);
                }
            });
        }
        found
    }

    /// Returns the instructions of these expressions in a bytecode.
    pub fn find_instructions(&self, code: &ContractBytecode) -> Vec<ArithmeticInstruction> {
        let mut found = Vec::new();
        let mut last = None;
        for (offset, span) in code.source_map.spans_by_offset(&code.bytes) {
            let Some(source) = span.source else { continue };
            let key = (source, span.start, span.length);
            let Some(expression) = self.0.get(&key) else { continue };
            let opcode = code.bytes[offset];
            let adds_opposite = (expression.opcode, opcode) == (opcode::SUB, opcode::ADD);
            let is_match = opcode == expression.opcode || adds_opposite;
            if !is_match || expression.assigns && last == Some(key) {
                continue;
            }
            last = Some(key);
            let ArithmeticExpression { bits, is_signed, .. } = *expression;
            found.push(ArithmeticInstruction { offset, adds_opposite, bits, is_signed });
        }
        found
    }
}

fn parse_expression(node: AstNode<'_>) -> Option<ArithmeticExpression> {
    let assigns = match node.kind()? {
        "BinaryOperation" => false,
        "Assignment" | "UnaryOperation" => true,
        _ => return None,
    };
    let opcode = match node.attribute("operator")? {
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
    Some(ArithmeticExpression { opcode, bits, is_signed, assigns })
}

/// Returns the version that solc embeds after the bytecode since 0.5.9: the name, then three bytes.
fn read_embedded_version(code: &[u8]) -> Option<(u32, u32)> {
    const KEY: &[u8] = b"\x64solc\x43";
    let at = code.windows(KEY.len()).rposition(|window| window == KEY)?;
    let [major, minor, _] = code.get(at + KEY.len()..)?.first_chunk()?;
    Some((u32::from(*major), u32::from(*minor)))
}

/// Returns the first two numbers of a version such as `0.7.6+commit.7338295f`.
fn parse_version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.trim_start_matches('v').split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stated_and_embedded_versions() {
        assert_eq!(parse_version("0.7.6+commit.7338295f"), Some((0, 7)));
        assert_eq!(parse_version("v0.8.37"), Some((0, 8)));
        assert_eq!(parse_version("nightly"), None);
        let code = b"\x60\x80\xa1\x64solc\x43\x00\x07\x06\x00\x0a";
        assert_eq!(read_embedded_version(code), Some((0, 7)));
        assert_eq!(read_embedded_version(b"\x60\x80\x64solc\x43\x00"), None);
    }
}
