//! Runs a [`Tool`]: the blocking function of a pack, off the threads that serve connections.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use async_trait::async_trait;
use contract::{CallContext, Code, Output, Tool, ToolError, Violation};
use serde_json::Value;

use crate::call::Stop;
use crate::catalog::Invoker;
use crate::inquiry::Inquiry;

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
    fn reword(&self, violation: &Violation) -> Option<ToolError> {
        self.tool.reword(violation)
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolError> {
        self.tool.check(arguments)
    }

    async fn invoke(
        &self,
        arguments: Value,
        _inquiry: &Inquiry,
        ctx: &CallContext,
    ) -> Result<Output, Stop> {
        if let Some(answer) = unharmed(|| self.tool.call_now(&arguments, ctx))
            .unwrap_or_else(|error| Some(Err(error)))
        {
            return answer.map_err(Stop::Fail);
        }
        let (tool, ctx) = (Arc::clone(&self.tool), ctx.clone());
        off_the_connection(move || {
            ctx.check_cancelled()?;
            tool.call(arguments, &ctx)
        })
        .await
        .map_err(Stop::Fail)
    }
}

/// Runs a pack's blocking code where waiting is allowed, in the span of the call.
pub(crate) async fn off_the_connection<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let span = tracing::Span::current();
    tokio::task::spawn_blocking(move || span.in_scope(|| unharmed(work)?))
        .await
        .unwrap_or_else(|_| Err(defect()))
}

/// A panic in a tool is a defect of ours: the panic hook has logged it, the caller learns that it failed.
fn unharmed<T>(work: impl FnOnce() -> T) -> Result<T, ToolError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| defect())
}

fn defect() -> ToolError {
    ToolError::new(
        Code::InternalError,
        "the tool failed unexpectedly; the server's log has the cause",
    )
}
