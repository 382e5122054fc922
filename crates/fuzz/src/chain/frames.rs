//! The frame loop: one frame per call. Pranks and expected reverts apply between frames.

use std::convert::Infallible;

use alloy_primitives::Bytes;
use revm::context::{ContextTr as _, LocalContextTr as _};
use revm::context_interface::context::ContextError;
use revm::handler::{EvmTr as _, FrameData, FrameResult, ItemOrResult};
use revm::interpreter::interpreter_action::FrameInit;
use revm::interpreter::interpreter_types::RuntimeFlag as _;
use revm::interpreter::{
    CallOutcome, FrameInput, Gas, InstructionResult, InterpreterResult, SharedMemory,
};

use super::NotRunReason;
use super::cheatcodes::{self, EndedFrame};
use super::code::CodePart;
use super::machine::EvmMachine;

impl EvmMachine {
    /// Runs the frame and all of its subcalls to completion.
    pub(super) fn run_to_completion(&mut self, input: FrameInput) -> FrameResult {
        let buffer = self.engine.ctx.local.shared_memory_buffer().clone();
        let mut memory = SharedMemory::new_with_buffer(buffer);
        memory.set_memory_limit(self.engine.ctx.cfg.memory_limit);
        let result = self.run_frames(FrameInit { depth: 0, memory, frame_input: input });
        self.engine.ctx.local_mut().clear();
        self.engine.frame_stack.clear();
        result.unwrap_or_else(|_| fatal_frame_result())
    }

    fn run_frames(&mut self, first: FrameInit) -> Result<FrameResult, ContextError<Infallible>> {
        let mut ended = None;
        if let Some(result) = self.start_frame(first)? {
            return Ok(result);
        }
        loop {
            let result = match ended.take() {
                Some(result) => result,
                None => match self.engine.frame_run()? {
                    ItemOrResult::Item(init) => {
                        ended = self.start_frame(init)?;
                        continue;
                    }
                    ItemOrResult::Result(result) => self.end_frame(result),
                },
            };
            if let Some(last) = self.engine.frame_return_result(result)? {
                return Ok(last);
            }
            self.enter_frame(false);
        }
    }

    /// Starts a frame. Returns its result if there is no code to run.
    fn start_frame(
        &mut self,
        mut init: FrameInit,
    ) -> Result<Option<FrameResult>, ContextError<Infallible>> {
        if !self.engine.ctx.chain.cheats.is_idle() {
            self.apply_cheatcodes_to_frame(&mut init);
        }
        if let (Some(reads), FrameInput::Call(call)) =
            (&mut self.engine.ctx.chain.probe.reads, &init.frame_input)
        {
            reads.record_call(call.bytecode_address);
        }
        let ended = describe_end(&init);
        let depth = init.depth;
        if let Some(trace) = &mut self.trace {
            trace.begin_frame(&self.engine.ctx, &init);
        }
        if let Some(result) = self.find_mocked_result(&init) {
            return Ok(Some(self.finish_frame(ended, result)));
        }
        match self.engine.frame_init(init)? {
            ItemOrResult::Item(_) => {
                self.enter_frame(true);
                if self.engine.ctx.chain.forks.is_used() {
                    let address = self.engine.frame_stack.get().interpreter.input.target_address;
                    self.engine.ctx.chain.forks.enter_frame(depth, address);
                }
                Ok(None)
            }
            ItemOrResult::Result(result) => Ok(Some(self.finish_frame(ended, result))),
        }
    }

    /// Records the end of a frame that ran and returns its result.
    #[inline]
    fn end_frame(&mut self, result: FrameResult) -> FrameResult {
        let frame = self.engine.frame_stack.get();
        let depth = frame.depth;
        let is_static = frame.interpreter.runtime_flag.is_static();
        let ended = EndedFrame { depth, is_static, is_cheatcode: false };
        if result.instruction_result().is_halt() {
            let offset =
                revm::interpreter::interpreter_types::Jumps::pc(&frame.interpreter.bytecode);
            self.engine.ctx.chain.probe.record_halt(offset);
        }
        self.engine.ctx.chain.probe.signs.leave_frame(depth, result.instruction_result().is_ok());
        if let FrameResult::Create(outcome) = &result
            && let Some(address) = outcome.address
            && outcome.result.is_ok()
        {
            self.engine.ctx.chain.probe.created.push(address);
        }
        let is_ok = result.instruction_result().is_ok();
        if !is_ok {
            let journal = self.engine.ctx.journaled_state.journal.len();
            self.engine.ctx.chain.cheats.drop_undone_snapshots(journal);
        }
        if self.engine.ctx.chain.forks.end_frame(depth, is_ok) {
            let text = "a nested call that selected a fork was reverted";
            let reason = NotRunReason::RefusedCheatcode(text.to_owned());
            self.engine.ctx.chain.cheats.discard(reason);
        }
        self.finish_frame(ended, result)
    }

    /// Applies expected reverts to a result and records it in the trace.
    #[inline]
    fn finish_frame(&mut self, ended: EndedFrame, result: FrameResult) -> FrameResult {
        let cheats = &self.engine.ctx.chain.cheats;
        let result = if cheats.is_idle() { result } else { self.check_frame_result(ended, result) };
        if let Some(trace) = &mut self.trace {
            trace.end_frame(ended.depth, &result);
        }
        result
    }

    /// Tells the probe which code runs next.
    #[inline]
    fn enter_frame(&mut self, is_new: bool) {
        let frame = self.engine.frame_stack.get();
        let part = match frame.data {
            FrameData::Call(_) => CodePart::Runtime,
            FrameData::Create(_) => CodePart::Creation,
        };
        let hash = frame.interpreter.bytecode.get_or_calculate_hash();
        let code = frame.interpreter.bytecode.original_byte_slice();
        self.engine.ctx.chain.probe.enter_code(part, hash, code, is_new);
    }
}

/// Returns what is known of the end of a frame before it starts.
fn describe_end(init: &FrameInit) -> EndedFrame {
    let is_static = matches!(&init.frame_input, FrameInput::Call(call) if call.is_static);
    let is_cheatcode = cheatcodes::is_cheatcode_frame(init);
    EndedFrame { depth: init.depth, is_static, is_cheatcode }
}

/// Returns the result of a call that the engine aborted. The only causes are a cheat code that discards the transaction
/// and a precompile without its library.
fn fatal_frame_result() -> FrameResult {
    let result = InstructionResult::FatalExternalError;
    FrameResult::Call(CallOutcome::new(
        InterpreterResult::new(result, Bytes::new(), Gas::new(0)),
        0..0,
    ))
}
