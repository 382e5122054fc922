//! Calls a tool as the pipeline does: defaults, input schema, checks, call, output schema.

use contract::{CallContext, Caller, ErrorCode, Tool, ToolError};
use serde_json::Value;

/// Calls the tool, with `call_now` if it can answer immediately, else with `call`.
pub(crate) fn call_tool(tool: &dyn Tool, mut arguments: Value) -> Result<Value, ToolError> {
    let contract = tool.contract();
    contract.input.fill_defaults(&mut arguments);
    contract.input.validate(&arguments).map_err(|violation| {
        tool.reword_violation(&violation)
            .unwrap_or_else(|| ToolError::new(ErrorCode::InvalidInput, violation.message))
    })?;
    tool.check_arguments(&arguments)?;
    let ctx = CallContext::new(Caller::new("test"));
    let output = tool.call_now(&arguments, &ctx).unwrap_or_else(|| tool.call(arguments, &ctx))?;
    let output = output.structured.unwrap();
    contract.output.as_ref().unwrap().validate(&output).unwrap();
    Ok(output)
}
