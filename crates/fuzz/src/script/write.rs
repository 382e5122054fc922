//! Formats steps so that they parse to equal steps.
//!
//! The character `)` ends the argument list and appears nowhere else: some clients look for the first one.

use std::fmt::Write as _;

use super::{ArgumentPattern, ScriptStep, parse_call};
use crate::abi::{AbiType, AbiValue, text};
use crate::target::FuzzTarget;

/// Returns the shortest form that is parsed as this step and no other.
pub(super) fn format_step(step: &ScriptStep, target: &FuzzTarget) -> String {
    let function = target.function(step.function);
    let contract = &target.contracts[function.contract].name;
    let prefixes = [String::new(), format!("{contract}."), format!("{:#x}.", function.address)];
    // A unique name is unambiguous; checking by parsing costs more than formatting.
    let is_only = target.functions.iter().filter(|it| it.name == function.name).count() == 1;
    let mut written = String::new();
    for prefix in prefixes {
        for is_typed in [false, true] {
            written = format!("{prefix}{}(", function.name);
            let mut writer = StepWriter { out: &mut written, is_typed };
            writer.write_list(function.inputs.iter(), step.args.iter().map(StepPart::Pattern));
            written.push(')');
            if is_only || parse_call(&written, target).as_ref() == Ok(step) {
                return written;
            }
        }
    }
    written
}

struct StepWriter<'a> {
    out: &'a mut String,
    /// Prefixes each value with its type.
    is_typed: bool,
}

#[derive(Clone, Copy)]
enum StepPart<'a> {
    Pattern(&'a ArgumentPattern),
    Value(&'a AbiValue),
}

impl StepWriter<'_> {
    fn write_list<'t, 'p>(
        &mut self,
        types: impl Iterator<Item = &'t AbiType>,
        parts: impl Iterator<Item = StepPart<'p>>,
    ) {
        for (index, (ty, part)) in types.zip(parts).enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            self.write_part(ty, part);
        }
    }

    fn write_part(&mut self, ty: &AbiType, part: StepPart<'_>) {
        if self.is_typed && has_name(ty) {
            let _ = write!(self.out, "{ty} ");
        }
        match part {
            StepPart::Pattern(ArgumentPattern::Value(value)) => self.write_value(ty, value),
            StepPart::Pattern(ArgumentPattern::Any) => self.out.push('?'),
            StepPart::Pattern(ArgumentPattern::Array(inner) | ArgumentPattern::Tuple(inner)) => {
                self.write_inner(ty, inner.iter().map(StepPart::Pattern));
            }
            StepPart::Value(value) => self.write_value(ty, value),
        }
    }

    fn write_value(&mut self, ty: &AbiType, value: &AbiValue) {
        match (ty, value) {
            (_, AbiValue::List(values)) => self.write_inner(ty, values.iter().map(StepPart::Value)),
            (AbiType::String, AbiValue::Bytes(_)) => {
                self.out.push_str(&text::format_value(ty, value).replace(')', r"\x29"));
            }
            _ => self.out.push_str(&text::format_value(ty, value)),
        }
    }

    fn write_inner<'a>(&mut self, ty: &AbiType, parts: impl Iterator<Item = StepPart<'a>>) {
        match ty {
            AbiType::Array(element) | AbiType::FixedArray(element, _) => {
                self.out.push('[');
                self.write_list(std::iter::repeat(&**element), parts);
                self.out.push(']');
            }
            AbiType::Tuple(fields) => {
                self.out.push('{');
                self.write_list(fields.iter(), parts);
                self.out.push('}');
            }
            // Only these types contain values.
            _ => {}
        }
    }
}

/// Returns true if the type can prefix a value. Tuple types have no name; their fields are prefixed instead.
fn has_name(ty: &AbiType) -> bool {
    match ty {
        AbiType::Array(element) | AbiType::FixedArray(element, _) => has_name(element),
        AbiType::Tuple(_) => false,
        _ => true,
    }
}
