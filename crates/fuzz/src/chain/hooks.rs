//! Instructions that report to the probe. All other instructions are `revm`'s own.

use alloy_primitives::{B256, Bytes, U256};
use revm::bytecode::opcode;
use revm::handler::instructions::EthInstructions;
use revm::interpreter::instructions::{bitwise, block_info, control, host};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::{InputsTr, Jumps, LoopControl};
use revm::interpreter::{
    Instruction, InstructionContext, InstructionExecResult, InstructionResult, Interpreter,
    InterpreterAction,
};
use revm::primitives::hardfork::SpecId;

use super::incidents::ArithmeticOperation;
use super::machine::EvmContext;
use super::probe::ComparisonKind;

type Hook = fn(HookContext<'_>) -> InstructionExecResult;

type HookContext<'a> = InstructionContext<'a, EvmContext, EthInterpreter>;

pub(super) type Instructions = EthInstructions<EthInterpreter, EvmContext>;

/// Maximum words of one event that are recorded as candidate arguments.
const NOTED_WORDS: usize = 16;

/// Builds the instruction table with hooks.
pub(super) fn build_instruction_table(spec: SpecId, watches_arithmetic: bool) -> Instructions {
    let mut table = Instructions::new_mainnet_with_spec(spec);
    let hooks: [(u8, Hook); 26] = [
        (opcode::JUMPI, jumpi),
        (opcode::JUMPDEST, jumpdest),
        (opcode::LT, lt),
        (opcode::GT, gt),
        (opcode::SLT, slt),
        (opcode::SGT, sgt),
        (opcode::EQ, eq),
        (opcode::ISZERO, iszero),
        (opcode::SUB, sub),
        (opcode::XOR, xor),
        (opcode::SLOAD, sload),
        (opcode::SSTORE, sstore),
        (opcode::SELFDESTRUCT, selfdestruct),
        (opcode::TIMESTAMP, timestamp),
        (opcode::NUMBER, number),
        (opcode::BLOCKHASH, blockhash),
        (opcode::COINBASE, coinbase),
        (opcode::DIFFICULTY, difficulty),
        (opcode::GASLIMIT, gaslimit),
        (opcode::BASEFEE, basefee),
        (opcode::BLOBBASEFEE, blob_basefee),
        (opcode::LOG0, emit::<0>),
        (opcode::LOG1, log::<1>),
        (opcode::LOG2, log::<2>),
        (opcode::LOG3, log::<3>),
        (opcode::LOG4, log::<4>),
    ];
    for (opcode, hook) in hooks {
        table.instruction_table_mut()[usize::from(opcode)] = Instruction::new(hook);
    }
    if watches_arithmetic {
        let hooks: [(u8, Hook); 3] =
            [(opcode::ADD, watched_add), (opcode::SUB, watched_sub), (opcode::MUL, watched_mul)];
        for (opcode, hook) in hooks {
            table.instruction_table_mut()[usize::from(opcode)] = Instruction::new(hook);
        }
    }
    table
}

/// Returns the offset of the running instruction; the interpreter has already advanced by one.
#[inline(always)]
fn offset(interpreter: &Interpreter<EthInterpreter>) -> usize {
    interpreter.bytecode.pc() - 1
}

/// Returns the stack value at `depth` from the top.
#[inline(always)]
fn peek_stack(interpreter: &Interpreter<EthInterpreter>, depth: usize) -> Option<U256> {
    let stack = interpreter.stack.data();
    stack.len().checked_sub(depth + 1).map(|index| stack[index])
}

fn jumpi(context: HookContext<'_>) -> InstructionExecResult {
    if let [.., condition, _] = context.interpreter.stack.data().as_slice() {
        context.host.chain.probe.record_branch(offset(context.interpreter), !condition.is_zero());
    }
    control::jumpi(context)
}

fn jumpdest(context: HookContext<'_>) -> InstructionExecResult {
    if context.host.chain.probe.record_block(offset(context.interpreter)) {
        Ok(())
    } else {
        // Waiting for the state of a fork takes no time of the call.
        let waited = context.host.journaled_state.database.take_waiting();
        if context.host.chain.probe.extend_deadline(waited) {
            return Ok(());
        }
        // The result is unknown. The calling frames end in the same way at their next block.
        context.host.chain.probe.is_timed_out = true;
        Err(InstructionResult::OutOfGas)
    }
}

macro_rules! comparison_hook {
    ($name:ident, $kind:expr, $run:path) => {
        fn $name(context: HookContext<'_>) -> InstructionExecResult {
            if let [.., right, left] = context.interpreter.stack.data().as_slice() {
                let offset = offset(context.interpreter);
                context.host.chain.probe.record_comparison(offset, $kind, left, right);
            }
            $run(context)
        }
    };
}

comparison_hook!(lt, ComparisonKind::Less, bitwise::lt);
comparison_hook!(gt, ComparisonKind::Greater, bitwise::gt);
comparison_hook!(slt, ComparisonKind::SignedLess, bitwise::slt);
comparison_hook!(sgt, ComparisonKind::SignedGreater, bitwise::sgt);
comparison_hook!(eq, ComparisonKind::Equal, bitwise::eq);
comparison_hook!(sub, ComparisonKind::Equal, revm::interpreter::instructions::arithmetic::sub);
comparison_hook!(xor, ComparisonKind::Equal, bitwise::bitxor);

macro_rules! arithmetic_hook {
    ($name:ident, $operation:expr, $run:path) => {
        fn $name(context: HookContext<'_>) -> InstructionExecResult {
            if let [.., right, left] = *context.interpreter.stack.data().as_slice() {
                let offset = offset(context.interpreter);
                let depth = context.host.journaled_state.depth;
                context.host.chain.probe.record_arithmetic(
                    depth,
                    offset,
                    $operation,
                    [left, right],
                );
            }
            $run(context)
        }
    };
}

arithmetic_hook!(
    watched_add,
    ArithmeticOperation::Add,
    revm::interpreter::instructions::arithmetic::add
);
arithmetic_hook!(watched_sub, ArithmeticOperation::Subtract, sub);
arithmetic_hook!(
    watched_mul,
    ArithmeticOperation::Multiply,
    revm::interpreter::instructions::arithmetic::mul
);

/// Records a comparison with zero. The probe ignores operands that are already the result of a comparison.
fn iszero(context: HookContext<'_>) -> InstructionExecResult {
    if let Some(number) = context.interpreter.stack.data().last() {
        let offset = offset(context.interpreter);
        context.host.chain.probe.record_comparison(
            offset,
            ComparisonKind::Equal,
            number,
            &U256::ZERO,
        );
    }
    bitwise::iszero(context)
}

/// Records the accessed storage slot if reads are being recorded.
#[inline(always)]
fn record_slot(context: &mut HookContext<'_>) {
    if let Some(reads) = &mut context.host.chain.probe.reads
        && let Some(key) = peek_stack(context.interpreter, 0)
    {
        reads.record_slot(context.interpreter.input.target_address(), key);
    }
}

fn sload(mut context: HookContext<'_>) -> InstructionExecResult {
    record_slot(&mut context);
    host::sload(context)
}

fn sstore(mut context: HookContext<'_>) -> InstructionExecResult {
    record_slot(&mut context);
    if let Some(value) = peek_stack(context.interpreter, 1) {
        context.host.chain.probe.record_value(value);
    }
    host::sstore(context)
}

macro_rules! block_hook {
    ($name:ident, $run:path) => {
        fn $name(context: HookContext<'_>) -> InstructionExecResult {
            if let Some(reads) = &mut context.host.chain.probe.reads {
                reads.record_block();
            }
            $run(context)
        }
    };
}

block_hook!(timestamp, block_info::timestamp);
block_hook!(number, block_info::block_number);
block_hook!(blockhash, host::blockhash);
block_hook!(coinbase, block_info::coinbase);
block_hook!(difficulty, block_info::difficulty);
block_hook!(gaslimit, block_info::gaslimit);
block_hook!(basefee, block_info::basefee);
block_hook!(blob_basefee, block_info::blob_basefee);

/// Records a self-destruct. Since Cancun most contracts keep their code, so it cannot be detected afterwards.
fn selfdestruct(context: HookContext<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let address = interpreter.input.target_address();
    let result = host::selfdestruct(InstructionContext { interpreter, host });
    if result == Err(InstructionResult::SelfDestruct) {
        let depth = host.journaled_state.depth;
        host.chain.probe.signs.record_self_destruct(depth, address);
    }
    result
}

/// Records events when they are emitted, because events of frames that revert later are lost.
fn log<const TOPICS: usize>(context: HookContext<'_>) -> InstructionExecResult {
    let (start, length, topic) = (
        peek_stack(context.interpreter, 0),
        peek_stack(context.interpreter, 1),
        peek_stack(context.interpreter, 2).map(B256::from),
    );
    let offset = offset(context.interpreter);
    let address = context.interpreter.input.target_address();
    let is_watched = topic.is_some_and(|topic| context.host.chain.probe.watches_topic(&topic));
    if !is_watched && !context.host.chain.probe.notes {
        return emit::<TOPICS>(context);
    }
    // The instruction pops the topics off the stack.
    let topics = if is_watched { TOPICS } else { 0 };
    let topics = (2..2 + topics).filter_map(|at| peek_stack(context.interpreter, at));
    let topics: Vec<_> = topics.map(B256::from).collect();
    let InstructionContext { interpreter, host } = context;
    emit::<TOPICS>(InstructionContext { interpreter, host })?;
    // The instruction has paid for its memory, so the range exists.
    let data = match (start.map(usize::try_from), length.map(usize::try_from)) {
        (Some(Ok(start)), Some(Ok(length))) if length > 0 => {
            Bytes::copy_from_slice(&interpreter.memory.slice_len(start, length))
        }
        _ => Bytes::new(),
    };
    let probe = &mut host.chain.probe;
    for word in data.chunks_exact(32).take(NOTED_WORDS) {
        probe.record_value(U256::from_be_slice(word));
    }
    probe.record_event(offset, address, &topics, data);
    Ok(())
}

/// Emits an event, which may be one that a cheat code announced.
fn emit<const TOPICS: usize>(context: HookContext<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    host::log::<TOPICS, EvmContext>(InstructionContext { interpreter, host })?;
    let Some(log) = host.journaled_state.logs.last() else { return Ok(()) };
    host.chain.cheats.note_emitted(log).map_err(|output| {
        let result = InstructionResult::Revert;
        let action = InterpreterAction::new_return(result, output, interpreter.gas);
        interpreter.bytecode.set_action(action);
        result
    })
}
