//! Steps as texts that are read back as the same steps.
//!
//! Nothing but the end of the argument list is written with `)`: some who send calls look for the first one.

use std::fmt::Write as _;

use super::{Pattern, Step, read};
use crate::abi::{Type, Value, text};
use crate::target::Target;

/// The shortest of the ways to write the step that means this step and no other.
pub(super) fn step(step: &Step, target: &Target) -> String {
    let function = target.function(step.function);
    let contract = &target.contracts[function.contract].name;
    let prefixes = [String::new(), format!("{contract}."), format!("{:#x}.", function.address)];
    // A name that no other function has means it for certain; to read the text takes longer than to write it.
    let is_only = target.functions.iter().filter(|it| it.name == function.name).count() == 1;
    let mut written = String::new();
    for prefix in prefixes {
        for is_typed in [false, true] {
            written = format!("{prefix}{}(", function.name);
            let mut writer = Writer { out: &mut written, is_typed };
            writer.list(function.inputs.iter(), step.args.iter().map(Part::Pattern));
            written.push(')');
            if is_only || read(&written, target).as_ref() == Ok(step) {
                return written;
            }
        }
    }
    written
}

struct Writer<'a> {
    out: &'a mut String,
    /// Each value has its type in front.
    is_typed: bool,
}

#[derive(Clone, Copy)]
enum Part<'a> {
    Pattern(&'a Pattern),
    Value(&'a Value),
}

impl Writer<'_> {
    fn list<'t, 'p>(
        &mut self,
        types: impl Iterator<Item = &'t Type>,
        parts: impl Iterator<Item = Part<'p>>,
    ) {
        for (index, (ty, part)) in types.zip(parts).enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            self.part(ty, part);
        }
    }

    fn part(&mut self, ty: &Type, part: Part<'_>) {
        if self.is_typed && has_name(ty) {
            let _ = write!(self.out, "{ty} ");
        }
        match part {
            Part::Pattern(Pattern::Value(value)) => self.value(ty, value),
            Part::Pattern(Pattern::Any) => self.out.push('?'),
            Part::Pattern(Pattern::Array(inner) | Pattern::Tuple(inner)) => {
                self.inner(ty, inner.iter().map(Part::Pattern));
            }
            Part::Value(value) => self.value(ty, value),
        }
    }

    fn value(&mut self, ty: &Type, value: &Value) {
        match (ty, value) {
            (_, Value::List(values)) => self.inner(ty, values.iter().map(Part::Value)),
            (Type::String, Value::Bytes(_)) => {
                self.out.push_str(&text::value(ty, value).replace(')', r"\x29"));
            }
            _ => self.out.push_str(&text::value(ty, value)),
        }
    }

    fn inner<'a>(&mut self, ty: &Type, parts: impl Iterator<Item = Part<'a>>) {
        match ty {
            Type::Array(element) | Type::FixedArray(element, _) => {
                self.out.push('[');
                self.list(std::iter::repeat(&**element), parts);
                self.out.push(']');
            }
            Type::Tuple(fields) => {
                self.out.push('{');
                self.list(fields.iter(), parts);
                self.out.push('}');
            }
            // Only these have values inside.
            _ => {}
        }
    }
}

/// Types of tuples have brackets and no name; the values in them have.
fn has_name(ty: &Type) -> bool {
    match ty {
        Type::Array(element) | Type::FixedArray(element, _) => has_name(element),
        Type::Tuple(_) => false,
        _ => true,
    }
}
