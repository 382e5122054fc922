//! The instructions that tell the probe what they see. Everything else runs as `revm` has it.

use alloy_primitives::{B256, Bytes, U256};
use revm::bytecode::opcode;
use revm::handler::instructions::EthInstructions;
use revm::interpreter::instructions::{bitwise, block_info, control, host};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::{InputsTr, Jumps};
use revm::interpreter::{
    Instruction, InstructionContext, InstructionExecResult, InstructionResult, Interpreter,
};
use revm::primitives::hardfork::SpecId;

use super::machine::Context;
use super::probe::Kind;
use super::signs::Operation;

type Hook = fn(Hooked<'_>) -> InstructionExecResult;

type Hooked<'a> = InstructionContext<'a, Context, EthInterpreter>;

pub(super) type Instructions = EthInstructions<EthInterpreter, Context>;

/// Words of one event that are worth trying as arguments.
const NOTED_WORDS: usize = 16;

/// The instruction table with hooks.
pub(super) fn instructions(spec: SpecId, watches_arithmetic: bool) -> Instructions {
    let mut table = Instructions::new_mainnet_with_spec(spec);
    let hooks: [(u8, Hook); 25] = [
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

/// The offset of the instruction that runs; the interpreter has already gone on by one.
#[inline(always)]
fn offset(interpreter: &Interpreter<EthInterpreter>) -> usize {
    interpreter.bytecode.pc() - 1
}

/// The `depth`th value from the top.
#[inline(always)]
fn peek(interpreter: &Interpreter<EthInterpreter>, depth: usize) -> Option<U256> {
    let stack = interpreter.stack.data();
    stack.len().checked_sub(depth + 1).map(|index| stack[index])
}

fn jumpi(context: Hooked<'_>) -> InstructionExecResult {
    if let [.., condition, _] = context.interpreter.stack.data().as_slice() {
        context.host.chain.probe.branch(offset(context.interpreter), !condition.is_zero());
    }
    control::jumpi(context)
}

fn jumpdest(context: Hooked<'_>) -> InstructionExecResult {
    if context.host.chain.probe.block(offset(context.interpreter)) {
        Ok(())
    } else {
        // To the contract it looks as if it had used up its gas, which nothing can catch at the top.
        Err(InstructionResult::OutOfGas)
    }
}

macro_rules! comparison {
    ($name:ident, $kind:expr, $run:path) => {
        fn $name(context: Hooked<'_>) -> InstructionExecResult {
            if let [.., right, left] = context.interpreter.stack.data().as_slice() {
                let offset = offset(context.interpreter);
                context.host.chain.probe.compare(offset, $kind, left, right);
            }
            $run(context)
        }
    };
}

comparison!(lt, Kind::Less, bitwise::lt);
comparison!(gt, Kind::Greater, bitwise::gt);
comparison!(slt, Kind::SignedLess, bitwise::slt);
comparison!(sgt, Kind::SignedGreater, bitwise::sgt);
comparison!(eq, Kind::Equal, bitwise::eq);
comparison!(sub, Kind::Equal, revm::interpreter::instructions::arithmetic::sub);
comparison!(xor, Kind::Equal, bitwise::bitxor);

macro_rules! arithmetic {
    ($name:ident, $operation:expr, $run:path) => {
        fn $name(context: Hooked<'_>) -> InstructionExecResult {
            if let [.., right, left] = *context.interpreter.stack.data().as_slice() {
                let offset = offset(context.interpreter);
                let depth = context.host.journaled_state.depth;
                context.host.chain.probe.calculate(depth, offset, $operation, [left, right]);
            }
            $run(context)
        }
    };
}

arithmetic!(watched_add, Operation::Add, revm::interpreter::instructions::arithmetic::add);
arithmetic!(watched_sub, Operation::Subtract, sub);
arithmetic!(watched_mul, Operation::Multiply, revm::interpreter::instructions::arithmetic::mul);

/// A number that is compared with zero; for what is true or false another instruction has compared already.
fn iszero(context: Hooked<'_>) -> InstructionExecResult {
    if let Some(number) = context.interpreter.stack.data().last() {
        let offset = offset(context.interpreter);
        context.host.chain.probe.compare(offset, Kind::Equal, number, &U256::ZERO);
    }
    bitwise::iszero(context)
}

/// Notes which slot is read or written, if somebody wants to know.
#[inline(always)]
fn note_slot(context: &mut Hooked<'_>) {
    if let Some(reads) = &mut context.host.chain.probe.reads
        && let Some(key) = peek(context.interpreter, 0)
    {
        reads.slot(context.interpreter.input.target_address(), key);
    }
}

fn sload(mut context: Hooked<'_>) -> InstructionExecResult {
    note_slot(&mut context);
    host::sload(context)
}

fn sstore(mut context: Hooked<'_>) -> InstructionExecResult {
    note_slot(&mut context);
    if let Some(value) = peek(context.interpreter, 1) {
        context.host.chain.probe.value(value);
    }
    host::sstore(context)
}

macro_rules! of_block {
    ($name:ident, $run:path) => {
        fn $name(context: Hooked<'_>) -> InstructionExecResult {
            if let Some(reads) = &mut context.host.chain.probe.reads {
                reads.block();
            }
            $run(context)
        }
    };
}

of_block!(timestamp, block_info::timestamp);
of_block!(number, block_info::block_number);
of_block!(blockhash, host::blockhash);
of_block!(coinbase, block_info::coinbase);
of_block!(difficulty, block_info::difficulty);
of_block!(gaslimit, block_info::gaslimit);
of_block!(basefee, block_info::basefee);
of_block!(blob_basefee, block_info::blob_basefee);

/// Since Cancun most contracts keep their code, so that this is the only moment to see it.
fn selfdestruct(context: Hooked<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let address = interpreter.input.target_address();
    let result = host::selfdestruct(InstructionContext { interpreter, host });
    if result == Err(InstructionResult::SelfDestruct) {
        let depth = host.journaled_state.depth;
        host.chain.probe.signs.destroy(depth, address);
    }
    result
}

/// Events of calls that revert later are lost, so they are told where they are emitted.
fn log<const TOPICS: usize>(context: Hooked<'_>) -> InstructionExecResult {
    let (start, length, topic) = (
        peek(context.interpreter, 0),
        peek(context.interpreter, 1),
        peek(context.interpreter, 2).map(B256::from),
    );
    let offset = offset(context.interpreter);
    let address = context.interpreter.input.target_address();
    let is_watched = topic.is_some_and(|topic| context.host.chain.probe.watches(&topic));
    if !is_watched && !context.host.chain.probe.notes {
        return host::log::<TOPICS, Context>(context);
    }
    // The instruction takes them off the stack.
    let topics = if is_watched { TOPICS } else { 0 };
    let topics = (2..2 + topics).filter_map(|at| peek(context.interpreter, at));
    let topics: Vec<_> = topics.map(B256::from).collect();
    let InstructionContext { interpreter, host } = context;
    host::log::<TOPICS, Context>(InstructionContext { interpreter, host })?;
    // The instruction has paid for its memory, so the range is there.
    let data = match (start.map(usize::try_from), length.map(usize::try_from)) {
        (Some(Ok(start)), Some(Ok(length))) if length > 0 => {
            Bytes::copy_from_slice(&interpreter.memory.slice_len(start, length))
        }
        _ => Bytes::new(),
    };
    let probe = &mut host.chain.probe;
    if probe.notes {
        let words = data.chunks_exact(32).take(NOTED_WORDS);
        probe.values.extend(words.map(U256::from_be_slice));
    }
    probe.emit(offset, address, &topics, data);
    Ok(())
}
