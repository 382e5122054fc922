//! Reverts that are expected: the next call fails if it does not fail.

use alloy_primitives::{Address, Bytes, hex};
use revm::handler::FrameResult;
use revm::interpreter::{InstructionResult, InterpreterResult};

use super::args::Args;
use super::table::Entry;
use super::{Answer, Call, Cheats, Refusal, answer};

/// A revert that was announced.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    /// How deep the call is that it applies to.
    depth: usize,
    reason: Reason,
    /// The call has started.
    is_armed: bool,
}

#[derive(Clone, Debug)]
enum Reason {
    Any,
    /// The whole data, or the text of an error that is one.
    Exactly(Bytes),
    StartsWith([u8; 4]),
}

/// `Error(string)`
const ERROR: [u8; 4] = hex!("08c379a0");

/// What a call returns that reverted as it should: its caller goes on and decodes whatever the function returns.
static ZEROS: [u8; 8192] = [0; 8192];

/// Where a contract seems to be whose constructor reverted as it should.
const NOWHERE: Address = Address::with_last_byte(1);

pub(super) const TABLE: &[Entry] = &[
    ("expectRevert()", |call, _| expect(call, Reason::Any)),
    ("expectRevert(bytes4)", |call, args| {
        let selector = args.selector()?;
        expect(call, Reason::Exactly(Bytes::copy_from_slice(&selector)))
    }),
    ("expectRevert(bytes)", |call, args| {
        let data = Bytes::copy_from_slice(args.bytes()?);
        expect(call, Reason::Exactly(data))
    }),
    ("expectPartialRevert(bytes4)", |call, args| {
        let selector = args.selector()?;
        expect(call, Reason::StartsWith(selector))
    }),
];

fn expect(call: &mut Call<'_>, reason: Reason) -> Answer {
    let expected = &mut call.context.chain.cheats.expected;
    if expected.iter().any(|expected| expected.depth == call.depth) {
        let text = "a revert is expected already; make the call that reverts first";
        return Err(Refusal::Misuse(text.to_owned()));
    }
    expected.push(Expected { depth: call.depth, reason, is_armed: false });
    Ok(Bytes::new())
}

/// A frame at the depth is about to start.
pub(super) fn arm(cheats: &mut Cheats, depth: usize) {
    for expected in &mut cheats.expected {
        expected.is_armed |= expected.depth == depth;
    }
}

/// Compares what a frame gives back with what was expected of it and of the calls that it made.
pub(super) fn judge(cheats: &mut Cheats, depth: usize, mut result: FrameResult) -> FrameResult {
    // Calls of this frame are deeper by one: it has ended without the call that was to revert.
    while cheats.expected.pop_if(|expected| expected.depth > depth).is_some() {
        if result.instruction_result().is_ok() {
            fail(cheats, &mut result, "a revert was expected, but no call followed");
        }
    }
    if let Some(expected) =
        cheats.expected.pop_if(|expected| expected.depth == depth && expected.is_armed)
    {
        match expected.reason.misses(result.interpreter_result()) {
            None => pass(&mut result),
            Some(text) => fail(cheats, &mut result, &text),
        }
    }
    result
}

fn pass(result: &mut FrameResult) {
    result.interpreter_result_mut().result = InstructionResult::Return;
    match result {
        FrameResult::Call(call) => call.result.output = Bytes::from_static(&ZEROS),
        FrameResult::Create(create) => {
            create.result.output = Bytes::new();
            create.address = Some(NOWHERE);
        }
    }
}

fn fail(cheats: &mut Cheats, result: &mut FrameResult, text: &str) {
    cheats.verdict.breaks_assertion = true;
    let result = result.interpreter_result_mut();
    result.result = InstructionResult::Revert;
    result.output = answer::error(text);
}

impl Reason {
    /// What is wrong with the result, if it is not the one.
    fn misses(&self, result: &InterpreterResult) -> Option<String> {
        if result.result.is_ok() {
            return Some("the call was expected to revert, but it did not".to_owned());
        }
        let actual = &result.output;
        match self {
            Self::Any => None,
            Self::StartsWith(selector) if actual.starts_with(selector) => None,
            Self::Exactly(data) if actual == data || text(actual) == Some(data) => None,
            Self::StartsWith(selector) => Some(differs(actual, selector)),
            Self::Exactly(data) => Some(differs(actual, data)),
        }
    }
}

/// The text of an error that is one, as bytes.
fn text(output: &[u8]) -> Option<&[u8]> {
    let (selector, rest) = output.split_at_checked(4)?;
    if selector != ERROR && selector != answer::ERROR {
        return None;
    }
    Args::new(rest).bytes().ok()
}

fn differs(actual: &[u8], expected: &[u8]) -> String {
    format!("the call reverted with {}, but {} was expected", show(actual), show(expected))
}

/// Data of a revert for people, who know it by its beginning.
fn show(data: &[u8]) -> String {
    const MAX: usize = 1024;
    let readable = text(data).unwrap_or(data);
    match std::str::from_utf8(readable) {
        Ok("") => "no data".to_owned(),
        Ok(text) if text.len() <= MAX && !text.contains(char::is_control) => format!("\"{text}\""),
        _ => hex::encode_prefixed(data.get(..MAX).unwrap_or(data)),
    }
}
