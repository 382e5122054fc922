//! Records every frame of a call, for display.

use alloy_primitives::{Address, Bytes, U256};
use revm::context_interface::CreateScheme;
use revm::handler::FrameResult;
use revm::interpreter::interpreter_action::FrameInit;
use revm::interpreter::{CallScheme, FrameInput, InstructionResult};

use super::machine::{EvmContext, EvmMachine, EvmTransaction, TransactionOutcome};

/// Maximum frames recorded per call.
const MAX_FRAMES: usize = 10_000;

/// Maximum bytes recorded per call. Calldata costs no gas, so that a contract could pass on the same megabytes many times.
const MAX_BYTES: usize = 1 << 25;

/// One frame of a call trace.
#[derive(Clone, Debug)]
pub struct CallFrame {
    /// 0 for the top-level call.
    pub depth: usize,
    pub kind: FrameKind,
    pub from: Address,
    /// The called account; for a creation the new address, if it succeeded.
    pub to: Option<Address>,
    /// Account that the code comes from, if it is not the called account.
    pub code: Option<Address>,
    pub value: U256,
    pub input: Bytes,
    /// None if the transaction was aborted before the frame ended.
    pub result: Option<InstructionResult>,
    pub output: Bytes,
    pub gas_used: u64,
}

/// Instruction that entered a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    Call,
    CallCode,
    DelegateCall,
    StaticCall,
    Create,
    Create2,
}

/// Records the frames of a traced call.
#[derive(Clone, Debug, Default)]
pub(super) struct CallTraceRecorder {
    frames: Vec<CallFrame>,
    /// Indices of the frames that have not ended.
    open: Vec<usize>,
    /// Bytes recorded so far.
    bytes: usize,
}

impl EvmMachine {
    /// Runs a call, keeps its changes, and returns its frames in the order in which they began.
    pub fn trace_call(
        &mut self,
        transaction: &EvmTransaction,
    ) -> (TransactionOutcome, Vec<CallFrame>) {
        self.trace = Some(CallTraceRecorder::default());
        let outcome = self.call(transaction);
        let frames = self.trace.take().unwrap_or_default().frames;
        (outcome, frames)
    }
}

impl CallTraceRecorder {
    pub(super) fn begin_frame(&mut self, context: &EvmContext, init: &FrameInit) {
        if self.frames.len() >= MAX_FRAMES {
            return;
        }
        let size = match &init.frame_input {
            FrameInput::Call(call) => call.input.len(),
            FrameInput::Create(create) => create.init_code().len(),
            FrameInput::Empty => 0,
        };
        if self.bytes.saturating_add(size) > MAX_BYTES {
            // Frames that this one calls would have no parent.
            self.bytes = usize::MAX;
            return;
        }
        let Some(frame) = build_frame(context, init) else { return };
        self.bytes += size;
        self.open.push(self.frames.len());
        self.frames.push(frame);
    }

    pub(super) fn end_frame(&mut self, depth: usize, result: &FrameResult) {
        let Some(index) = self.open.pop_if(|index| self.frames[*index].depth == depth) else {
            return;
        };
        let frame = &mut self.frames[index];
        let ended = result.interpreter_result();
        frame.result = Some(ended.result);
        // An output that is too large is shown as an empty one.
        if self.bytes.saturating_add(ended.output.len()) <= MAX_BYTES {
            self.bytes += ended.output.len();
            frame.output = ended.output.clone();
        }
        frame.gas_used = ended.gas.total_gas_spent();
        if let FrameResult::Create(created) = result {
            frame.to = created.address;
        }
    }
}

fn build_frame(context: &EvmContext, init: &FrameInit) -> Option<CallFrame> {
    let frame = match &init.frame_input {
        FrameInput::Call(call) => CallFrame {
            depth: init.depth,
            kind: match call.scheme {
                CallScheme::Call => FrameKind::Call,
                CallScheme::CallCode => FrameKind::CallCode,
                CallScheme::DelegateCall => FrameKind::DelegateCall,
                CallScheme::StaticCall => FrameKind::StaticCall,
            },
            from: call.caller,
            to: Some(call.target_address),
            code: (call.bytecode_address != call.target_address).then_some(call.bytecode_address),
            value: call.value.get(),
            input: call.input.bytes(context),
            result: None,
            output: Bytes::new(),
            gas_used: 0,
        },
        FrameInput::Create(create) => CallFrame {
            depth: init.depth,
            kind: match create.scheme() {
                CreateScheme::Create2 { .. } => FrameKind::Create2,
                CreateScheme::Create | CreateScheme::Custom { .. } => FrameKind::Create,
            },
            from: create.caller(),
            to: None,
            code: None,
            value: create.value(),
            input: create.init_code().clone(),
            result: None,
            output: Bytes::new(),
            gas_used: 0,
        },
        FrameInput::Empty => return None,
    };
    Some(frame)
}
