//! Expected reverts: the next call must revert.

use alloy_primitives::{Address, Bytes, hex};
use revm::handler::FrameResult;
use revm::interpreter::{InstructionResult, InterpreterResult};

use super::args::CheatcodeArgs;
use super::table::CheatcodeEntry;
use super::{CheatcodeCall, CheatcodeError, CheatcodeResult, CheatcodeState, encoding};

/// A revert expected of the next call.
#[derive(Clone, Debug)]
pub(super) struct ExpectedRevert {
    /// Depth of the call that must revert.
    depth: usize,
    reason: RevertMatcher,
    /// The call has started.
    is_armed: bool,
}

#[derive(Clone, Debug)]
enum RevertMatcher {
    Any,
    /// The whole revert data, or the text of an error with a string.
    Exactly(Bytes),
    StartsWith([u8; 4]),
}

/// `Error(string)`
const ERROR: [u8; 4] = hex!("08c379a0");

/// Return data of a call that reverted as expected: its caller continues and decodes any return type.
static ZEROS: [u8; 8192] = [0; 8192];

/// Address returned for a contract whose constructor reverted as expected.
const NOWHERE: Address = Address::with_last_byte(1);

pub(super) const TABLE: &[CheatcodeEntry] = &[
    ("expectRevert()", |call, _| expect_revert(call, RevertMatcher::Any)),
    ("expectRevert(bytes4)", |call, args| {
        let selector = args.read_selector()?;
        expect_revert(call, RevertMatcher::Exactly(Bytes::copy_from_slice(&selector)))
    }),
    ("expectRevert(bytes)", |call, args| {
        let data = Bytes::copy_from_slice(args.read_bytes()?);
        expect_revert(call, RevertMatcher::Exactly(data))
    }),
    ("expectPartialRevert(bytes4)", |call, args| {
        let selector = args.read_selector()?;
        expect_revert(call, RevertMatcher::StartsWith(selector))
    }),
];

fn expect_revert(call: &mut CheatcodeCall<'_>, reason: RevertMatcher) -> CheatcodeResult {
    let expected = &mut call.context.chain.cheats.expected;
    if expected.iter().any(|expected| expected.depth == call.depth) {
        let text = "a revert is already expected; make the reverting call first";
        return Err(CheatcodeError::InvalidUse(text.to_owned()));
    }
    expected.push(ExpectedRevert { depth: call.depth, reason, is_armed: false });
    Ok(Bytes::new())
}

/// Arms the expected reverts of a frame that is about to start.
pub(super) fn arm_expected_reverts(cheats: &mut CheatcodeState, depth: usize) {
    for expected in &mut cheats.expected {
        expected.is_armed |= expected.depth == depth;
    }
}

/// Checks the result of a frame against the reverts expected of it and of its calls.
pub(super) fn check_expected_reverts(
    cheats: &mut CheatcodeState,
    depth: usize,
    mut result: FrameResult,
) -> FrameResult {
    // Calls of this frame are deeper by one: it ended without the call that had to revert.
    while cheats.expected.pop_if(|expected| expected.depth > depth).is_some() {
        if result.instruction_result().is_ok() {
            convert_to_failure(cheats, &mut result, "a revert was expected, but no call followed");
        }
    }
    if let Some(expected) =
        cheats.expected.pop_if(|expected| expected.depth == depth && expected.is_armed)
    {
        match expected.reason.describe_mismatch(result.interpreter_result()) {
            None => convert_to_success(&mut result),
            Some(text) => convert_to_failure(cheats, &mut result, &text),
        }
    }
    result
}

fn convert_to_success(result: &mut FrameResult) {
    result.interpreter_result_mut().result = InstructionResult::Return;
    match result {
        FrameResult::Call(call) => call.result.output = Bytes::from_static(&ZEROS),
        FrameResult::Create(create) => {
            create.result.output = Bytes::new();
            create.address = Some(NOWHERE);
        }
    }
}

fn convert_to_failure(cheats: &mut CheatcodeState, result: &mut FrameResult, text: &str) {
    cheats.verdict.breaks_assertion = true;
    let result = result.interpreter_result_mut();
    result.result = InstructionResult::Revert;
    result.output = encoding::encode_error(text);
}

impl RevertMatcher {
    /// Returns the reason if the result does not match.
    fn describe_mismatch(&self, result: &InterpreterResult) -> Option<String> {
        if result.result.is_ok() {
            return Some("the call was expected to revert, but it did not".to_owned());
        }
        let actual = &result.output;
        match self {
            Self::Any => None,
            Self::StartsWith(selector) if actual.starts_with(selector) => None,
            Self::Exactly(data) if actual == data || decode_error_text(actual) == Some(data) => {
                None
            }
            Self::StartsWith(selector) => Some(describe_difference(actual, selector)),
            Self::Exactly(data) => Some(describe_difference(actual, data)),
        }
    }
}

/// Returns the text of an error with a string, as bytes.
fn decode_error_text(output: &[u8]) -> Option<&[u8]> {
    let (selector, rest) = output.split_at_checked(4)?;
    if selector != ERROR && selector != encoding::CHEATCODE_ERROR {
        return None;
    }
    CheatcodeArgs::new(rest).read_bytes().ok()
}

fn describe_difference(actual: &[u8], expected: &[u8]) -> String {
    format!(
        "the call reverted with {}, but {} was expected",
        format_revert_data(actual),
        format_revert_data(expected)
    )
}

/// Formats revert data for people, truncated.
fn format_revert_data(data: &[u8]) -> String {
    const MAX: usize = 1024;
    let readable = decode_error_text(data).unwrap_or(data);
    match std::str::from_utf8(readable) {
        Ok("") => "no data".to_owned(),
        Ok(text) if text.len() <= MAX && !text.contains(char::is_control) => format!("\"{text}\""),
        _ => hex::encode_prefixed(data.get(..MAX).unwrap_or(data)),
    }
}
