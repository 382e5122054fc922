//! Tests the pack through its tools as the pipeline calls them: defaults, input schema, rules, work, output schema.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod bad_input;
#[cfg(all(target_os = "linux", not(vouch_portable)))]
mod call_now;
mod contracts;
mod durability;
mod memory;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use contract::{CallContext, Caller, ErrorCode, Tool, ToolError, ToolOutput};
use pack_repo::{RepoOptions, build_tools};
use serde_json::Value;
use tempfile::TempDir;

/// A temporary repository. The folder above its root counts as outside and also belongs to the test.
struct TestRepo {
    folder: TempDir,
    tools: Vec<Arc<dyn Tool>>,
}

impl TestRepo {
    fn new() -> Self {
        Self::with_options(RepoOptions::default())
    }

    fn with_options(options: RepoOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir(&root).unwrap();
        Self { tools: build_tools(&root, options).unwrap(), folder }
    }

    fn outside(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("root").join(path)
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn tool(&self, name: &str) -> &dyn Tool {
        find_tool(&self.tools, name)
    }

    fn call(&self, name: &str, arguments: Value) -> Result<Value, ToolError> {
        call_tool(self.tool(name), arguments, &test_context())
    }
}

fn find_tool<'a>(tools: &'a [Arc<dyn Tool>], name: &str) -> &'a dyn Tool {
    &**tools.iter().find(|tool| tool.contract().name == name).unwrap()
}

fn test_context() -> CallContext {
    CallContext::new(Caller::new("test"))
}

fn call_tool(tool: &dyn Tool, mut arguments: Value, ctx: &CallContext) -> Result<Value, ToolError> {
    let contract = tool.contract();
    contract.input.fill_defaults(&mut arguments);
    contract.input.validate(&arguments).map_err(|violation| {
        tool.reword_violation(&violation)
            .unwrap_or_else(|| ToolError::new(ErrorCode::InvalidInput, violation.message))
    })?;
    tool.check_arguments(&arguments)?;
    let output = call_now_or_later(tool, arguments, ctx)?.structured.unwrap();
    contract.output.as_ref().unwrap().validate(&output).unwrap();
    Ok(output)
}

/// Calls the tool with `call_now` if it can answer, and otherwise with `call`.
fn call_now_or_later(
    tool: &dyn Tool,
    arguments: Value,
    ctx: &CallContext,
) -> Result<ToolOutput, ToolError> {
    tool.call_now(&arguments, ctx).unwrap_or_else(|| tool.call(arguments, ctx))
}
