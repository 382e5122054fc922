//! Expected and mocked calls.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U256};
use revm::bytecode::Bytecode;
use revm::context::JournalTr as _;
use revm::handler::FrameResult;
use revm::interpreter::interpreter_action::FrameInit;
use revm::interpreter::{
    CallInputs, CallOutcome, FrameInput, Gas, InstructionResult, InterpreterResult,
};

use super::super::machine::EvmContext;
use super::args::CheatcodeArgs;
use super::expect::convert_to_failure;
use super::table::CheatcodeEntry;
use super::{CheatcodeCall, CheatcodeError, CheatcodeResult, CheatcodeState};

/// A call that must be made before the transaction ends.
#[derive(Clone, Debug)]
pub(super) struct ExpectedCall {
    pattern: CallPattern,
    /// Minimum number of calls, or their exact number.
    count: u64,
    is_exact: bool,
    made: u64,
}

/// Calls with a prefix of their calldata.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CallPattern {
    callee: Address,
    value: Option<U256>,
    /// Gas of the call, and whether it is exact; otherwise it is the minimum.
    gas: Option<(u64, bool)>,
    data: Bytes,
}

/// Arguments of an expected call before its calldata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallForm {
    Data,
    Value,
    /// A value and the exact gas.
    Gas,
    /// A value and the minimum gas.
    MinGas,
}

/// Gas that a call with value gets on top.
const STIPEND: u64 = 2_300;

/// A call that is answered without running code.
#[derive(Clone, Debug)]
pub(in super::super) struct MockedCall {
    pattern: CallPattern,
    output: Bytes,
    reverts: bool,
}

/// The mocks of a chain. Checkpoints share them until one is added.
pub(in super::super) type CallMocks = Option<Arc<Vec<MockedCall>>>;

pub(super) const TABLE: &[CheatcodeEntry] = &[
    ("expectCall(address,bytes)", |call, args| expect_call(call, args, CallForm::Data, false)),
    ("expectCall(address,bytes,uint64)", |call, args| {
        expect_call(call, args, CallForm::Data, true)
    }),
    ("expectCall(address,uint256,bytes)", |call, args| {
        expect_call(call, args, CallForm::Value, false)
    }),
    ("expectCall(address,uint256,bytes,uint64)", |call, args| {
        expect_call(call, args, CallForm::Value, true)
    }),
    ("expectCall(address,uint256,uint64,bytes)", |call, args| {
        expect_call(call, args, CallForm::Gas, false)
    }),
    ("expectCall(address,uint256,uint64,bytes,uint64)", |call, args| {
        expect_call(call, args, CallForm::Gas, true)
    }),
    ("expectCallMinGas(address,uint256,uint64,bytes)", |call, args| {
        expect_call(call, args, CallForm::MinGas, false)
    }),
    ("expectCallMinGas(address,uint256,uint64,bytes,uint64)", |call, args| {
        expect_call(call, args, CallForm::MinGas, true)
    }),
    ("mockCall(address,bytes,bytes)", |call, args| mock_call(call, args, false, false, false)),
    ("mockCall(address,bytes4,bytes)", |call, args| mock_call(call, args, false, true, false)),
    ("mockCall(address,uint256,bytes,bytes)", |call, args| {
        mock_call(call, args, true, false, false)
    }),
    ("mockCall(address,uint256,bytes4,bytes)", |call, args| {
        mock_call(call, args, true, true, false)
    }),
    ("mockCallRevert(address,bytes,bytes)", |call, args| mock_call(call, args, false, false, true)),
    ("mockCallRevert(address,bytes4,bytes)", |call, args| mock_call(call, args, false, true, true)),
    ("mockCallRevert(address,uint256,bytes,bytes)", |call, args| {
        mock_call(call, args, true, false, true)
    }),
    ("mockCallRevert(address,uint256,bytes4,bytes)", |call, args| {
        mock_call(call, args, true, true, true)
    }),
    ("clearMockedCalls()", |call, _| {
        call.context.chain.cheats.mocks = None;
        Ok(Bytes::new())
    }),
];

fn expect_call(
    call: &mut CheatcodeCall<'_>,
    args: &mut CheatcodeArgs<'_>,
    form: CallForm,
    has_count: bool,
) -> CheatcodeResult {
    let callee = args.read_address()?;
    let value = if form == CallForm::Data { None } else { Some(args.read_uint()?) };
    // A call with value has the stipend on top of the gas that it names.
    let stipend = if value.is_some_and(|value| !value.is_zero()) { STIPEND } else { 0 };
    let gas = match form {
        CallForm::Data | CallForm::Value => None,
        CallForm::Gas => Some((stipend.saturating_add(args.read_small("gas")?), true)),
        CallForm::MinGas => Some((stipend.saturating_add(args.read_small("gas")?), false)),
    };
    let data = Bytes::copy_from_slice(args.read_bytes()?);
    let count: Option<u64> = if has_count { Some(args.read_small("a count")?) } else { None };
    let pattern = CallPattern { callee, value, gas, data };
    let calls = &mut call.context.chain.cheats.calls;
    if let Some(known) = calls.iter_mut().find(|known| known.pattern == pattern) {
        if known.is_exact || count.is_some() {
            let text = "a number of such calls is already expected";
            return Err(CheatcodeError::InvalidUse(text.to_owned()));
        }
        known.count += 1;
        return Ok(Bytes::new());
    }
    if calls.len() >= super::MAX_EXPECTATIONS {
        return Err(CheatcodeError::InvalidUse("too many expected calls".to_owned()));
    }
    let is_exact = count.is_some();
    calls.push(ExpectedCall { pattern, count: count.unwrap_or(1), is_exact, made: 0 });
    Ok(Bytes::new())
}

fn mock_call(
    call: &mut CheatcodeCall<'_>,
    args: &mut CheatcodeArgs<'_>,
    has_value: bool,
    has_selector: bool,
    reverts: bool,
) -> CheatcodeResult {
    let callee = args.read_address()?;
    let value = if has_value { Some(args.read_uint()?) } else { None };
    let data = match has_selector {
        true => Bytes::copy_from_slice(&args.read_selector()?),
        false => Bytes::copy_from_slice(args.read_bytes()?),
    };
    let output = Bytes::copy_from_slice(args.read_bytes()?);
    let journal = &mut call.context.journaled_state;
    let Ok(account) = journal.load_account_with_code(callee);
    if account.info.is_empty_code_hash() {
        // Solidity checks for code before it calls.
        journal.set_code(callee, Bytecode::new_legacy(Bytes::from_static(&[0])));
    }
    let pattern = CallPattern { callee, value, gas: None, data };
    let mocks = Arc::make_mut(call.context.chain.cheats.mocks.get_or_insert_default());
    mocks.retain(|mock| mock.pattern != pattern);
    if mocks.len() >= super::MAX_EXPECTATIONS {
        return Err(CheatcodeError::InvalidUse("too many mocked calls".to_owned()));
    }
    mocks.push(MockedCall { pattern, output, reverts });
    Ok(Bytes::new())
}

impl CallPattern {
    fn matches(&self, call: &CallInputs, data: &[u8]) -> bool {
        self.callee == call.bytecode_address
            && data.starts_with(&self.data)
            && self.gas.is_none_or(|(gas, is_exact)| match is_exact {
                true => call.gas_limit == gas,
                false => call.gas_limit >= gas,
            })
            && self.value.is_none_or(|value| call.value.transfer().unwrap_or_default() == value)
    }
}

/// Counts a frame that is about to start for the expected calls.
pub(super) fn count_expected_calls(context: &mut EvmContext, init: &FrameInit) {
    let FrameInput::Call(call) = &init.frame_input else { return };
    if context.chain.cheats.calls.is_empty() {
        return;
    }
    let data = call.input.bytes(context);
    for expected in &mut context.chain.cheats.calls {
        expected.made += u64::from(expected.pattern.matches(call, &data));
    }
}

/// Fails a transaction that ends without an expected call.
pub(super) fn check_expected_calls(
    cheats: &mut CheatcodeState,
    mut result: FrameResult,
) -> FrameResult {
    if !result.instruction_result().is_ok() {
        return result;
    }
    let is_met = |call: &ExpectedCall| match call.is_exact {
        true => call.made == call.count,
        false => call.made >= call.count,
    };
    if let Some(unmet) = cheats.calls.iter().find(|call| !is_met(call)) {
        let ExpectedCall { pattern, count, made, .. } = unmet;
        let text = format!("{count} calls of {} were expected, but {made} made", pattern.callee);
        convert_to_failure(cheats, &mut result, &text);
    }
    result
}

/// Returns the answer of a mock, if there is one for the frame. The longest calldata wins, and one with a value.
pub(super) fn find_mocked_result(
    context: &mut EvmContext,
    init: &FrameInit,
) -> Option<FrameResult> {
    let FrameInput::Call(call) = &init.frame_input else { return None };
    let mocks = context.chain.cheats.mocks.clone()?;
    let data = call.input.bytes(context);
    let matching = mocks.iter().filter(|mock| mock.pattern.matches(call, &data));
    let best = matching.max_by_key(|it| (it.pattern.data.len(), it.pattern.value.is_some()))?;
    let gas = Gas::new_with_regular_gas_and_reservoir(call.gas_limit, call.reservoir);
    let result = if best.reverts { InstructionResult::Revert } else { InstructionResult::Return };
    let mut answer = InterpreterResult::new(result, best.output.clone(), gas);
    if let Some(value) = call.value.transfer().filter(|value| !best.reverts && !value.is_zero()) {
        let journal = &mut context.journaled_state;
        let Ok(error) = journal.transfer(call.caller, call.target_address, value);
        if let Some(error) = error {
            answer = InterpreterResult::new(error.into(), Bytes::new(), gas);
        }
    }
    Some(FrameResult::Call(CallOutcome::new(answer, call.return_memory_offset.clone())))
}
