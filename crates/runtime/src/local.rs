//! Invoker for local tools: runs a [`Tool`]'s blocking code off the threads that serve connections.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use async_trait::async_trait;
use contract::{CallContext, ErrorCode, SchemaViolation, Tool, ToolError, ToolOutput};
use serde_json::Value;

use crate::blocking::spawn_blocking;
use crate::call::CallInterruption;
use crate::catalog::Invoker;
use crate::elicitation::ElicitationBroker;

/// Runs a tool of this process.
pub struct LocalTool {
    tool: Arc<dyn Tool>,
}

impl LocalTool {
    pub fn new(tool: Arc<dyn Tool>) -> Self {
        Self { tool }
    }
}

#[async_trait]
impl Invoker for LocalTool {
    fn reword(&self, violation: &SchemaViolation) -> Option<ToolError> {
        self.tool.reword_violation(violation)
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolError> {
        self.tool.check_arguments(arguments)
    }

    async fn invoke(
        &self,
        arguments: Value,
        _broker: &ElicitationBroker,
        ctx: &CallContext,
    ) -> Result<ToolOutput, CallInterruption> {
        if let Some(answer) = catch_panic(|| self.tool.call_now(&arguments, ctx))
            .unwrap_or_else(|error| Some(Err(error)))
        {
            return answer.map_err(CallInterruption::Fail);
        }
        let (tool, ctx) = (Arc::clone(&self.tool), ctx.clone());
        run_blocking(move || {
            ctx.check_cancelled()?;
            tool.call(arguments, &ctx)
        })
        .await
        .map_err(CallInterruption::Fail)
    }
}

/// Runs blocking code of a pack on the blocking thread pool, within the current tracing span. Returns an internal error
/// if it panics.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let span = tracing::Span::current();
    spawn_blocking(move || span.in_scope(|| catch_panic(work)?))
        .await
        .unwrap_or_else(|_| Err(tool_failure_error()))
}

/// Runs `work` and converts a panic into an internal error. The panic hook has already logged the panic.
fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, ToolError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| tool_failure_error())
}

fn tool_failure_error() -> ToolError {
    ToolError::new(
        ErrorCode::InternalError,
        "the tool failed unexpectedly; see the server log for the cause",
    )
}
