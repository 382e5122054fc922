//! Expected events: the next call must emit them.
//!
//! A test emits each event itself after `expectEmit`, as a template, and then makes the call.

use alloy_primitives::{Address, Bytes, Log};
use revm::handler::FrameResult;
use revm::interpreter::FrameInput;
use revm::interpreter::interpreter_action::FrameInit;

use super::super::machine::EvmContext;
use super::args::CheatcodeArgs;
use super::expect::convert_to_failure;
use super::table::CheatcodeEntry;
use super::{CheatcodeCall, CheatcodeError, CheatcodeResult};

/// An event that the next call must emit.
#[derive(Clone, Debug)]
pub(super) struct ExpectedEmit {
    /// Depth of the call.
    depth: usize,
    /// Length of the log list when the event was announced; the template is the next one.
    announced_at: usize,
    /// Which of the topics after the first, and whether the data must be equal.
    checks: [bool; 4],
    emitter: Option<Address>,
    /// Exact number of events; at least one if `None`.
    count: Option<u64>,
    armed: Option<ArmedEmit>,
}

#[derive(Clone, Debug)]
struct ArmedEmit {
    template: Option<Log>,
    /// Length of the log list when the call began.
    start: usize,
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
    let count = if has_count { Some(args.read_small("a count")?) } else { None };
    let announced_at = call.context.journaled_state.logs.len();
    let emits = &mut call.context.chain.cheats.emits;
    if emits.len() >= super::MAX_EXPECTATIONS {
        return Err(CheatcodeError::InvalidUse("too many expected events".to_owned()));
    }
    let depth = call.depth;
    emits.push(ExpectedEmit { depth, announced_at, checks, emitter, count, armed: None });
    Ok(Bytes::new())
}

/// Arms the expected events of a frame that is about to start. A static call cannot emit any.
pub(super) fn arm_expected_emits(context: &mut EvmContext, init: &FrameInit) {
    if matches!(&init.frame_input, FrameInput::Call(call) if call.is_static) {
        return;
    }
    let logs = &context.journaled_state.logs;
    for expected in &mut context.chain.cheats.emits {
        if expected.depth == init.depth && expected.armed.is_none() {
            let template = logs.get(expected.announced_at).cloned();
            expected.armed = Some(ArmedEmit { template, start: logs.len() });
        }
    }
}

/// Checks the events of a frame that ended against those that were expected of it.
pub(super) fn check_expected_emits(
    context: &mut EvmContext,
    depth: usize,
    mut result: FrameResult,
) -> FrameResult {
    let cheats = &mut context.chain.cheats;
    let is_success = result.instruction_result().is_ok();
    let before = cheats.emits.len();
    // Calls of this frame are deeper by one: it ended without the call that had to emit.
    cheats.emits.retain(|expected| expected.depth <= depth);
    if cheats.emits.len() < before && is_success {
        convert_to_failure(cheats, &mut result, "an event was expected, but no call followed");
    }
    let is_armed = |it: &ExpectedEmit| it.depth == depth && it.armed.is_some();
    if !cheats.emits.iter().any(is_armed) {
        return result;
    }
    let (armed, others) = std::mem::take(&mut cheats.emits).into_iter().partition(is_armed);
    cheats.emits = others;
    if is_success && let Some(text) = find_missing_event(&armed, &context.journaled_state.logs) {
        convert_to_failure(&mut context.chain.cheats, &mut result, text);
    }
    result
}

/// Returns why the events do not match, or `None` if they do. Events are expected in order, others may be between them.
fn find_missing_event(expected: &[ExpectedEmit], logs: &[Log]) -> Option<&'static str> {
    let mut position = 0;
    for expected in expected {
        let Some(ArmedEmit { template, start }) = &expected.armed else { continue };
        let Some(template) = template else {
            return Some("no event was emitted as a template after expectEmit");
        };
        let emitted = logs.get(*start..).unwrap_or_default();
        if let Some(count) = expected.count {
            let found = emitted.iter().filter(|log| expected.matches(template, log)).count();
            if found as u64 != count {
                return Some("the call emitted the expected event another number of times");
            }
            continue;
        }
        let rest = emitted.get(position..).unwrap_or_default();
        match rest.iter().position(|log| expected.matches(template, log)) {
            Some(index) => position += index + 1,
            None => return Some("the call did not emit the expected event"),
        }
    }
    None
}

impl ExpectedEmit {
    fn matches(&self, template: &Log, log: &Log) -> bool {
        let (expected, found) = (template.topics(), log.topics());
        let topics = expected.iter().zip(found).enumerate();
        let is_checked = |index: usize| index == 0 || self.checks[index - 1];
        self.emitter.is_none_or(|emitter| emitter == log.address)
            && expected.len() == found.len()
            && topics.into_iter().all(|(index, (left, right))| !is_checked(index) || left == right)
            && (!self.checks[3] || template.data.data == log.data.data)
    }
}
