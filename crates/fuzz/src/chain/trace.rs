//! What called what: every frame of a call, for people to read.

use alloy_primitives::{Address, Bytes, U256};
use revm::context_interface::CreateScheme;
use revm::handler::FrameResult;
use revm::interpreter::interpreter_action::FrameInit;
use revm::interpreter::{CallScheme, FrameInput, InstructionResult};

use super::machine::{Context, Machine, Outcome, Transaction};

/// Frames that are kept of one call.
const MAX_FRAMES: usize = 10_000;

/// One frame.
#[derive(Clone, Debug)]
pub struct Frame {
    /// 0 for the call from outside.
    pub depth: usize,
    pub kind: FrameKind,
    pub from: Address,
    /// The account that is called; for a creation where it ends up, if it does.
    pub to: Option<Address>,
    /// Where the code comes from, if not from the account that is called.
    pub code: Option<Address>,
    pub value: U256,
    pub input: Bytes,
    /// None if the call ended before the frame did.
    pub result: Option<InstructionResult>,
    pub output: Bytes,
    pub gas_used: u64,
}

/// How a frame was entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    Call,
    CallCode,
    DelegateCall,
    StaticCall,
    Create,
    Create2,
}

/// The frames of a call that is watched.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace {
    frames: Vec<Frame>,
    /// The places of those that have not ended.
    open: Vec<usize>,
}

impl Machine {
    /// Runs a call, keeps what it did, and tells every frame of it in the order in which they began.
    pub fn trace(&mut self, transaction: &Transaction) -> (Outcome, Vec<Frame>) {
        self.trace = Some(Trace::default());
        let outcome = self.call(transaction);
        let frames = self.trace.take().unwrap_or_default().frames;
        (outcome, frames)
    }
}

impl Trace {
    pub(super) fn begin(&mut self, context: &Context, init: &FrameInit) {
        if self.frames.len() >= MAX_FRAMES {
            return;
        }
        let Some(frame) = describe(context, init) else { return };
        self.open.push(self.frames.len());
        self.frames.push(frame);
    }

    pub(super) fn end(&mut self, depth: usize, result: &FrameResult) {
        let Some(index) = self.open.pop_if(|index| self.frames[*index].depth == depth) else {
            return;
        };
        let frame = &mut self.frames[index];
        let ended = result.interpreter_result();
        frame.result = Some(ended.result);
        frame.output = ended.output.clone();
        frame.gas_used = ended.gas.total_gas_spent();
        if let FrameResult::Create(created) = result {
            frame.to = created.address;
        }
    }
}

fn describe(context: &Context, init: &FrameInit) -> Option<Frame> {
    let frame = match &init.frame_input {
        FrameInput::Call(call) => Frame {
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
        FrameInput::Create(create) => Frame {
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
