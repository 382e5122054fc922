//! Sequences of calls written by callers, with their sender and value.

use alloy_primitives::{Address, U256};
use contract::{ErrorCode, SchemaViolation, ToolError};
use fuzz::script::{self, ScriptStep};
use fuzz::target::FuzzTarget;
use serde::Deserialize;

use super::invalid_argument;

/// Arguments shared by `inject_transaction` and `execute_sequence`.
#[derive(Deserialize)]
pub(super) struct SequenceInput {
    pub(super) sequence: Vec<String>,
    pub(super) sender: Address,
    pub(super) value: String,
}

/// A parsed sequence with its sender and value.
pub(super) struct CallSequence {
    pub(super) steps: Vec<ScriptStep>,
    pub(super) sender: Address,
    pub(super) value: U256,
}

impl SequenceInput {
    pub(super) fn parse_sequence(&self, target: &FuzzTarget) -> Result<CallSequence, ToolError> {
        let step = |(index, text): (usize, &String)| {
            script::parse_call(text, target).map_err(|error| {
                invalid_argument(
                    &format!("sequence.{index}"),
                    format!("call {}: {error}", index + 1),
                )
                .with_detail("call", index + 1)
            })
        };
        let steps: Vec<ScriptStep> =
            self.sequence.iter().enumerate().map(step).collect::<Result<_, _>>()?;
        let value = parse_wei("value", &self.value)?;
        let takes_value = |step: &ScriptStep| target.function(step.function).is_payable;
        if !value.is_zero() && !steps.iter().any(takes_value) {
            let message = "`value` requires a payable function, and no call of the sequence is payable; \
                           omit it, or call a function that campaign_target lists as payable";
            return Err(invalid_argument("value", message));
        }
        Ok(CallSequence { steps, sender: self.sender, value })
    }
}

/// Parses a number of wei. Some schemas have no pattern for it, so any text can arrive here.
pub(super) fn parse_wei(field: &str, text: &str) -> Result<U256, ToolError> {
    let is_decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_decimal {
        let message = format!(
            "`{field}` must be a decimal number of wei, such as \"1000000000000000000\", without hex, unit or sign"
        );
        return Err(invalid_argument(field, message));
    }
    U256::from_str_radix(text, 10)
        .map_err(|_| invalid_argument(field, format!("`{field}` exceeds 256 bits")))
}

/// Rewords a violation of the call pattern, which ends a call at its first `)`. The pattern alone would not help a
/// caller.
pub(super) fn reword_call_pattern(violation: &SchemaViolation) -> Option<ToolError> {
    let index = violation.path.strip_prefix("/sequence/")?.parse::<usize>().ok()?;
    let message = format!(
        "call {} of `sequence` must have the form name(arguments), without a contract prefix and with one `)` at its \
         end: write a tuple as {{1, 2}}, and a `)` in a string as \\x29",
        index + 1
    );
    let is_pattern = violation.keyword == "pattern";
    is_pattern.then(|| {
        ToolError::new(ErrorCode::InvalidInput, message)
            .with_detail("field", violation.field())
            .with_detail("call", index + 1)
    })
}
