//! Expected events: a call must emit them.
//!
//! A test emits each event itself after `expectEmit`, as a template, and then makes the call. As in forge, events are
//! compared when they are emitted, also those of frames that revert later, and an event that a call did not emit stays
//! expected until the transaction ends. A caught revert therefore hides nothing.

use std::collections::VecDeque;

use alloy_primitives::{Address, Bytes, Log, LogData};
use revm::handler::FrameResult;

use super::args::CheatcodeArgs;
use super::expect::convert_to_failure;
use super::table::CheatcodeEntry;
use super::{CheatcodeCall, CheatcodeError, CheatcodeResult, CheatcodeState, EndedFrame};

/// The events that are expected: first those that were not found, in the order in which they were announced.
pub(super) type ExpectedEmits = VecDeque<ExpectedEmit>;

/// An event that a call must emit.
#[derive(Clone, Debug)]
pub(super) struct ExpectedEmit {
    /// Depth of the calls of which one must emit it.
    depth: usize,
    /// Which of the topics after the first, and whether the data must be equal.
    checks: [bool; 4],
    emitter: Option<Address>,
    /// Minimum number of events; there must be none if it is 0.
    count: u64,
    template: Option<LogData>,
    /// Number of equal events that each account emitted until they were enough.
    emitted: Vec<(Address, u64)>,
    is_found: bool,
}

pub(super) const TABLE: &[CheatcodeEntry] = &[
    ("expectEmit()", |call, args| expect_emit(call, args, false, false, false)),
    ("expectEmit(uint64)", |call, args| expect_emit(call, args, false, false, true)),
    ("expectEmit(address)", |call, args| expect_emit(call, args, false, true, false)),
    ("expectEmit(address,uint64)", |call, args| expect_emit(call, args, false, true, true)),
    ("expectEmit(bool,bool,bool,bool)", |call, args| expect_emit(call, args, true, false, false)),
    ("expectEmit(bool,bool,bool,bool,uint64)", |call, args| {
        expect_emit(call, args, true, false, true)
    }),
    ("expectEmit(bool,bool,bool,bool,address)", |call, args| {
        expect_emit(call, args, true, true, false)
    }),
    ("expectEmit(bool,bool,bool,bool,address,uint64)", |call, args| {
        expect_emit(call, args, true, true, true)
    }),
];

fn expect_emit(
    call: &mut CheatcodeCall<'_>,
    args: &mut CheatcodeArgs<'_>,
    has_checks: bool,
    has_emitter: bool,
    has_count: bool,
) -> CheatcodeResult {
    let mut checks = [true; 4];
    if has_checks {
        for check in &mut checks {
            *check = args.read_bool()?;
        }
    }
    let emitter = if has_emitter { Some(args.read_address()?) } else { None };
    let count = if has_count { args.read_small("a count")? } else { 1 };
    let emits = &mut call.context.chain.cheats.emits;
    if emits.len() >= super::MAX_EXPECTATIONS {
        return Err(CheatcodeError::InvalidUse("too many expected events".to_owned()));
    }
    let expected = ExpectedEmit {
        depth: call.depth,
        checks,
        emitter,
        count,
        template: None,
        emitted: Vec::new(),
        is_found: false,
    };
    emits.insert(count_unfound(emits), expected);
    Ok(Bytes::new())
}

/// Returns the number of events that were not found, which are those in front.
fn count_unfound(emits: &ExpectedEmits) -> usize {
    emits.iter().position(|expected| expected.is_found).unwrap_or(emits.len())
}

/// Takes an event as a template, or compares it with the expected ones.
///
/// Returns an error with the text if the frame that emitted it must revert.
pub(super) fn note_emitted(emits: &mut ExpectedEmits, log: &Log) -> Result<(), &'static str> {
    if emits.iter().all(|expected| expected.is_found) {
        return Ok(());
    }
    let is_forbidden = |it: &ExpectedEmit| it.count == 0 && !it.is_found && it.is_met_by(log);
    if emits.iter().any(is_forbidden) {
        return Err("an event was emitted that must not be");
    }
    let lacks_template = emits.iter().any(|expected| expected.template.is_none());
    let index = if lacks_template {
        Some(count_unfound(emits).saturating_sub(1))
    } else {
        emits.iter().position(|expected| !expected.is_found && expected.count > 0)
    };
    let Some(mut expected) = index.and_then(|index| emits.remove(index)) else { return Ok(()) };
    if expected.template.is_none() {
        if log.topics().is_empty() {
            return Err("an anonymous event is no template of expectEmit");
        }
        expected.template = Some(log.data.clone());
        emits.insert(index.unwrap_or_default(), expected);
        return Ok(());
    }
    expected.count_event(log);
    if expected.is_found {
        emits.push_back(expected);
    } else {
        emits.push_front(expected);
    }
    Ok(())
}

/// Checks the events that were expected of a call that ended. They stay expected if one is missing.
pub(super) fn check_expected_emits(
    cheats: &mut CheatcodeState,
    frame: EndedFrame,
    mut result: FrameResult,
) -> FrameResult {
    let is_expected = |expected: &ExpectedEmit| expected.depth == frame.depth;
    let is_call = matches!(result, FrameResult::Call(_));
    let is_concerned = is_call && !frame.is_static && cheats.emits.iter().any(is_expected);
    if !is_concerned || !result.instruction_result().is_ok() {
        return result;
    }
    if cheats.emits.iter().any(ExpectedEmit::is_missing) {
        convert_to_failure(cheats, &mut result, "the call did not emit the expected event");
    } else if cheats.emits.iter().any(|it| it.total() != it.count) {
        let text = "the call emitted the expected event another number of times";
        convert_to_failure(cheats, &mut result, text);
    } else {
        cheats.emits.clear();
    }
    result
}

/// Fails a transaction that ends without an expected event.
pub(super) fn check_emits_at_end(
    cheats: &mut CheatcodeState,
    mut result: FrameResult,
) -> FrameResult {
    if result.instruction_result().is_ok() && cheats.emits.iter().any(ExpectedEmit::is_missing) {
        convert_to_failure(cheats, &mut result, "an event was expected, but not emitted");
    }
    result
}

impl ExpectedEmit {
    fn is_missing(&self) -> bool {
        !self.is_found && self.count > 0
    }

    /// Returns the number of equal events, of the emitter if one was named.
    fn total(&self) -> u64 {
        let is_counted = |by: &Address| self.emitter.is_none_or(|emitter| emitter == *by);
        self.emitted.iter().filter(|(by, _)| is_counted(by)).map(|(_, count)| count).sum()
    }

    /// Counts an event if it is equal to the template.
    fn count_event(&mut self, log: &Log) {
        if !self.is_equal_to(&log.data) {
            return;
        }
        let known = self.emitted.iter_mut().find(|(emitter, _)| *emitter == log.address);
        let count = match known {
            Some((_, count)) => {
                *count += 1;
                *count
            }
            None => {
                self.emitted.push((log.address, 1));
                1
            }
        };
        self.is_found = self.is_met_by(log) && count >= self.count;
    }

    fn is_met_by(&self, log: &Log) -> bool {
        self.emitter.is_none_or(|emitter| emitter == log.address) && self.is_equal_to(&log.data)
    }

    fn is_equal_to(&self, data: &LogData) -> bool {
        let Some(template) = &self.template else { return false };
        let (expected, found) = (template.topics(), data.topics());
        let is_checked = |index: usize| index == 0 || self.checks[index - 1];
        let mut topics = expected.iter().zip(found).enumerate();
        expected.len() == found.len()
            && topics.all(|(index, (left, right))| !is_checked(index) || left == right)
            && (!self.checks[3] || template.data == data.data)
    }
}
