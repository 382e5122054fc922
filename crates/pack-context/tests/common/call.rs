//! A call as the pipeline makes it: defaults, input schema, rules, work, output schema.

use contract::{CallContext, Caller, Code, Tool, ToolError};
use serde_json::Value;

/// On the spot if that can be done, and else where waiting is allowed.
pub(crate) fn call(tool: &dyn Tool, mut arguments: Value) -> Result<Value, ToolError> {
    let contract = tool.contract();
    contract.input.fill_defaults(&mut arguments);
    contract.input.validate(&arguments).map_err(|violation| {
        tool.reword(&violation)
            .unwrap_or_else(|| ToolError::new(Code::InvalidInput, violation.message))
    })?;
    tool.check(&arguments)?;
    let ctx = CallContext::new(Caller::new("test"));
    let output = tool.call_now(&arguments, &ctx).unwrap_or_else(|| tool.call(arguments, &ctx))?;
    let output = output.structured.unwrap();
    contract.output.as_ref().unwrap().validate(&output).unwrap();
    Ok(output)
}
