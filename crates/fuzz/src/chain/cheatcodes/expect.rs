//! Expected reverts: the next call, or the next calls, must revert.

use alloy_primitives::{Address, Bytes, hex};
use revm::handler::FrameResult;
use revm::interpreter::interpreter_action::FrameInit;
use revm::interpreter::{FrameInput, InstructionResult, InterpreterResult};

use super::args::CheatcodeArgs;
use super::table::CheatcodeEntry;
use super::{CheatcodeCall, CheatcodeError, CheatcodeResult, CheatcodeState, encoding};

/// A revert expected of the next call.
#[derive(Clone, Debug)]
pub(super) struct ExpectedRevert {
    /// Depth of the call that must revert.
    depth: usize,
    reason: RevertMatcher,
    /// Number of calls that must revert in this way; the next call must not if it is 0.
    count: u64,
    /// Account whose code must be the first to revert.
    reverter: Option<Address>,
    /// The call has started.
    is_armed: bool,
    /// Accounts of the frames that are running, by depth, from that of the call.
    running: Vec<Address>,
    /// Account of the first frame that reverted in the call.
    reverted_by: Option<Address>,
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

/// Expands each kind of expectation to its forms with a reverter and a count.
macro_rules! revert_forms {
    ($($name:literal ($($types:literal)?) $read:expr;)*) => {
        &[$(
            (concat!($name, "(", $($types,)? ")"), |call, args| {
                let reason = $read(args)?;
                expect_revert(call, args, reason, false, false)
            }),
            (concat!($name, "(", $($types, ",",)? "uint64)"), |call, args| {
                let reason = $read(args)?;
                expect_revert(call, args, reason, false, true)
            }),
            (concat!($name, "(", $($types, ",",)? "address)"), |call, args| {
                let reason = $read(args)?;
                expect_revert(call, args, reason, true, false)
            }),
            (concat!($name, "(", $($types, ",",)? "address,uint64)"), |call, args| {
                let reason = $read(args)?;
                expect_revert(call, args, reason, true, true)
            }),
        )*]
    };
}

pub(super) const TABLE: &[CheatcodeEntry] = revert_forms! {
    "expectRevert"() read_any;
    "expectRevert"("bytes4") read_selector;
    "expectRevert"("bytes") read_data;
    "expectPartialRevert"("bytes4") read_prefix;
};

fn read_any(_: &mut CheatcodeArgs<'_>) -> Result<RevertMatcher, CheatcodeError> {
    Ok(RevertMatcher::Any)
}

fn read_selector(args: &mut CheatcodeArgs<'_>) -> Result<RevertMatcher, CheatcodeError> {
    Ok(RevertMatcher::Exactly(Bytes::copy_from_slice(&args.read_selector()?)))
}

fn read_data(args: &mut CheatcodeArgs<'_>) -> Result<RevertMatcher, CheatcodeError> {
    Ok(RevertMatcher::Exactly(Bytes::copy_from_slice(args.read_bytes()?)))
}

fn read_prefix(args: &mut CheatcodeArgs<'_>) -> Result<RevertMatcher, CheatcodeError> {
    Ok(RevertMatcher::StartsWith(args.read_selector()?))
}

fn expect_revert(
    call: &mut CheatcodeCall<'_>,
    args: &mut CheatcodeArgs<'_>,
    reason: RevertMatcher,
    has_reverter: bool,
    has_count: bool,
) -> CheatcodeResult {
    let reverter = if has_reverter { Some(args.read_address()?) } else { None };
    let count = if has_count { args.read_small("a count")? } else { 1 };
    let expected = &mut call.context.chain.cheats.expected;
    if !expected.is_empty() {
        let text = "a revert is already expected; make the reverting call first";
        return Err(CheatcodeError::InvalidUse(text.to_owned()));
    }
    expected.push(ExpectedRevert {
        depth: call.depth,
        reason,
        count,
        reverter,
        is_armed: false,
        running: Vec::new(),
        reverted_by: None,
    });
    Ok(Bytes::new())
}

/// Arms the expected reverts of a frame that is about to start.
pub(super) fn arm_expected_reverts(cheats: &mut CheatcodeState, init: &FrameInit) {
    let account = match &init.frame_input {
        FrameInput::Call(call) => call.target_address,
        _ => Address::ZERO,
    };
    for expected in &mut cheats.expected {
        expected.is_armed |= expected.depth == init.depth;
        if expected.is_armed && expected.reverter.is_some() && init.depth >= expected.depth {
            expected.running.truncate(init.depth - expected.depth);
            expected.running.push(account);
        }
    }
}

/// The result of a frame after the check of expected reverts.
pub(super) enum RevertCheck {
    /// No revert was expected.
    Unexpected(FrameResult),
    /// A revert was expected, and the result tells whether it happened. Nothing else is expected of the frame then.
    Checked(FrameResult),
}

/// Checks the result of a frame against the reverts expected of it and of its calls.
pub(super) fn check_expected_reverts(
    cheats: &mut CheatcodeState,
    depth: usize,
    mut result: FrameResult,
) -> RevertCheck {
    let before = cheats.expected.len();
    // Calls of this frame are deeper by one: it ended without the call that had to revert.
    while let Some(unmet) = cheats.expected.pop_if(|expected| expected.depth > depth) {
        if result.instruction_result().is_ok() && unmet.count > 0 {
            convert_to_failure(cheats, &mut result, "a revert was expected, but no call followed");
        }
    }
    if cheats.expected.len() < before {
        return RevertCheck::Checked(result);
    }
    let has_reverted = !result.instruction_result().is_ok();
    for expected in cheats.expected.iter_mut().filter(|expected| expected.is_armed) {
        if has_reverted && expected.reverted_by.is_none() && depth >= expected.depth {
            expected.reverted_by = expected.running.get(depth - expected.depth).copied();
        }
    }
    let met = cheats.expected.pop_if(|expected| expected.depth == depth && expected.is_armed);
    let Some(mut expected) = met else { return RevertCheck::Unexpected(result) };
    match expected.describe_mismatch(result.interpreter_result()) {
        None if expected.count == 0 => {
            convert_to_failure(cheats, &mut result, "the call reverted, but must not");
        }
        Some(_) if expected.count == 0 => {}
        None => {
            convert_to_success(&mut result);
            expected.count -= 1;
            if expected.count > 0 {
                expected.is_armed = false;
                expected.reverted_by = None;
                cheats.expected.push(expected);
            }
        }
        Some(text) => convert_to_failure(cheats, &mut result, &text),
    }
    RevertCheck::Checked(result)
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

pub(super) fn convert_to_failure(
    cheats: &mut CheatcodeState,
    result: &mut FrameResult,
    text: &str,
) {
    let result = result.interpreter_result_mut();
    result.result = InstructionResult::Revert;
    result.output = cheats.fail_check(text, true);
}

impl ExpectedRevert {
    /// Returns the reason if the result does not match.
    fn describe_mismatch(&self, result: &InterpreterResult) -> Option<String> {
        self.reason.describe_mismatch(result).or_else(|| {
            let reverter = self.reverter.filter(|reverter| Some(*reverter) != self.reverted_by)?;
            Some(format!("{reverter} was expected to revert, but another contract did"))
        })
    }
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
