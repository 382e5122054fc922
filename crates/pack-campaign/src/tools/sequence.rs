//! Sequences of calls that callers write, with who makes them and what goes with them.

use alloy_primitives::{Address, U256};
use contract::{Code, ToolError, Violation};
use fuzz::script::{self, Step};
use fuzz::target::Target;
use serde::Deserialize;

use super::invalid;

/// The arguments that `inject_transaction` and `execute_sequence` share.
#[derive(Deserialize)]
pub(super) struct Input {
    pub(super) sequence: Vec<String>,
    pub(super) sender: Address,
    pub(super) value: String,
}

/// The same, understood.
pub(super) struct Sequence {
    pub(super) steps: Vec<Step>,
    pub(super) sender: Address,
    pub(super) value: U256,
}

impl Input {
    pub(super) fn read(&self, target: &Target) -> Result<Sequence, ToolError> {
        let step = |(index, text): (usize, &String)| {
            script::read(text, target).map_err(|error| {
                invalid(&format!("sequence.{index}"), format!("call {}: {error}", index + 1))
                    .with("call", index + 1)
            })
        };
        let steps: Vec<Step> =
            self.sequence.iter().enumerate().map(step).collect::<Result<_, _>>()?;
        let value = wei("value", &self.value)?;
        let takes_value = |step: &Step| target.function(step.function).is_payable;
        if !value.is_zero() && !steps.iter().any(takes_value) {
            let message = "`value` goes with payable functions, and no call of the sequence is one; \
                           leave it out, or call a function that campaign_target lists as payable";
            return Err(invalid("value", message));
        }
        Ok(Sequence { steps, sender: self.sender, value })
    }
}

/// A number of wei. Schemas that have no pattern for it let anything through.
pub(super) fn wei(field: &str, text: &str) -> Result<U256, ToolError> {
    let is_decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_decimal {
        let message = format!(
            "`{field}` must be wei as decimal digits, such as \"1000000000000000000\"; no hex, unit or sign"
        );
        return Err(invalid(field, message));
    }
    U256::from_str_radix(text, 10)
        .map_err(|_| invalid(field, format!("`{field}` is more wei than 256 bits can hold")))
}

/// The contract's pattern ends a call at its first `)`. The pattern alone would not tell a caller what to do about it.
pub(super) fn reword(violation: &Violation) -> Option<ToolError> {
    let index = violation.path.strip_prefix("/sequence/")?.parse::<usize>().ok()?;
    let message = format!(
        "call {} of `sequence` must be name(arguments), with no contract in front and one `)`, at its end: write a tuple as {{1, 2}}, and a `)` in \
         a string as \\x29",
        index + 1
    );
    let is_pattern = violation.keyword == "pattern";
    is_pattern.then(|| {
        ToolError::new(Code::InvalidInput, message)
            .with("field", violation.field())
            .with("call", index + 1)
    })
}
