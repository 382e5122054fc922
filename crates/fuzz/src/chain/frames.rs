//! The loop over frames: one for each contract that is called. Pranks and expected reverts apply between them.

use std::convert::Infallible;

use alloy_primitives::Bytes;
use revm::context::{ContextTr as _, LocalContextTr as _};
use revm::context_interface::context::ContextError;
use revm::handler::{EvmTr as _, FrameData, FrameResult, ItemOrResult};
use revm::interpreter::interpreter_action::FrameInit;
use revm::interpreter::{
    CallOutcome, FrameInput, Gas, InstructionResult, InterpreterResult, SharedMemory,
};

use super::code::Part;
use super::machine::Machine;

impl Machine {
    /// Runs the frame and all that it calls to their end.
    pub(super) fn run(&mut self, input: FrameInput) -> FrameResult {
        let buffer = self.engine.ctx.local.shared_memory_buffer().clone();
        let mut memory = SharedMemory::new_with_buffer(buffer);
        memory.set_memory_limit(self.engine.ctx.cfg.memory_limit);
        let result = self.run_frames(FrameInit { depth: 0, memory, frame_input: input });
        self.engine.ctx.local_mut().clear();
        self.engine.frame_stack.clear();
        result.unwrap_or_else(|_| fatal())
    }

    fn run_frames(&mut self, first: FrameInit) -> Result<FrameResult, ContextError<Infallible>> {
        let mut ended = None;
        if let Some(result) = self.start(first)? {
            return Ok(result);
        }
        loop {
            let result = match ended.take() {
                Some(result) => result,
                None => match self.engine.frame_run()? {
                    ItemOrResult::Item(init) => {
                        ended = self.start(init)?;
                        continue;
                    }
                    ItemOrResult::Result(result) => self.end(result),
                },
            };
            if let Some(last) = self.engine.frame_return_result(result)? {
                return Ok(last);
            }
            self.enter(false);
        }
    }

    /// Starts a frame; its result if there is nothing to run.
    fn start(
        &mut self,
        mut init: FrameInit,
    ) -> Result<Option<FrameResult>, ContextError<Infallible>> {
        if !self.engine.ctx.chain.cheats.is_idle() {
            self.prepare(&mut init);
        }
        if let (Some(reads), FrameInput::Call(call)) =
            (&mut self.engine.ctx.chain.probe.reads, &init.frame_input)
        {
            reads.call(call.bytecode_address);
        }
        let depth = init.depth;
        if let Some(trace) = &mut self.trace {
            trace.begin(&self.engine.ctx, &init);
        }
        match self.engine.frame_init(init)? {
            ItemOrResult::Item(_) => {
                self.enter(true);
                Ok(None)
            }
            ItemOrResult::Result(result) => Ok(Some(self.meet(depth, result))),
        }
    }

    /// What a frame that ran gives back.
    #[inline]
    fn end(&mut self, result: FrameResult) -> FrameResult {
        let frame = self.engine.frame_stack.get();
        let depth = frame.depth;
        if result.instruction_result().is_halt() {
            let offset =
                revm::interpreter::interpreter_types::Jumps::pc(&frame.interpreter.bytecode);
            self.engine.ctx.chain.probe.halt(offset);
        }
        self.engine.ctx.chain.probe.signs.leave(depth, result.instruction_result().is_ok());
        if let FrameResult::Create(outcome) = &result
            && let Some(address) = outcome.address
            && outcome.result.is_ok()
        {
            self.engine.ctx.chain.probe.created.push(address);
        }
        self.meet(depth, result)
    }

    /// Compares a result with what was expected of it.
    #[inline]
    fn meet(&mut self, depth: usize, result: FrameResult) -> FrameResult {
        let cheats = &self.engine.ctx.chain.cheats;
        let result = if cheats.is_idle() { result } else { self.judge(depth, result) };
        if let Some(trace) = &mut self.trace {
            trace.end(depth, &result);
        }
        result
    }

    /// Tells the probe which code runs next.
    #[inline]
    fn enter(&mut self, is_new: bool) {
        let frame = self.engine.frame_stack.get();
        let part = match frame.data {
            FrameData::Call(_) => Part::Runtime,
            FrameData::Create(_) => Part::Creation,
        };
        let hash = frame.interpreter.bytecode.get_or_calculate_hash();
        let code = frame.interpreter.bytecode.original_byte_slice();
        self.engine.ctx.chain.probe.enter(part, hash, code, is_new);
    }
}

/// The result of a call that the engine itself gave up. Only a cheat code that discards the whole call does so, and a
/// precompile without its library.
fn fatal() -> FrameResult {
    let result = InstructionResult::FatalExternalError;
    FrameResult::Call(CallOutcome::new(
        InterpreterResult::new(result, Bytes::new(), Gas::new(0)),
        0..0,
    ))
}
