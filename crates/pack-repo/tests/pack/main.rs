//! The pack through its tools, as the pipeline calls them: defaults, input schema, rules, work, output schema.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod bad_input;
mod contracts;
mod memory;
#[cfg(all(target_os = "linux", not(vouch_portable)))]
mod now;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use contract::{CallContext, Caller, Code, Output, Tool, ToolError};
use pack_repo::{RepoOptions, tools};
use serde_json::Value;
use tempfile::TempDir;

/// A temporary repository; the folder above its root is outside and belongs to the test too.
struct Repo {
    folder: TempDir,
    tools: Vec<Arc<dyn Tool>>,
}

impl Repo {
    fn new() -> Self {
        Self::with(RepoOptions::default())
    }

    fn with(options: RepoOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir(&root).unwrap();
        Self { tools: tools(&root, options).unwrap(), folder }
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
        find(&self.tools, name)
    }

    fn call(&self, name: &str, arguments: Value) -> Result<Value, ToolError> {
        call(self.tool(name), arguments, &context())
    }
}

fn find<'a>(tools: &'a [Arc<dyn Tool>], name: &str) -> &'a dyn Tool {
    &**tools.iter().find(|tool| tool.contract().name == name).unwrap()
}

fn context() -> CallContext {
    CallContext::new(Caller::new("test"))
}

fn call(tool: &dyn Tool, mut arguments: Value, ctx: &CallContext) -> Result<Value, ToolError> {
    let contract = tool.contract();
    contract.input.fill_defaults(&mut arguments);
    contract.input.validate(&arguments).map_err(|violation| {
        tool.reword(&violation)
            .unwrap_or_else(|| ToolError::new(Code::InvalidInput, violation.message))
    })?;
    tool.check(&arguments)?;
    let output = serve(tool, arguments, ctx)?.structured.unwrap();
    contract.output.as_ref().unwrap().validate(&output).unwrap();
    Ok(output)
}

/// On the spot if that can be done, and else where waiting is allowed.
fn serve(tool: &dyn Tool, arguments: Value, ctx: &CallContext) -> Result<Output, ToolError> {
    tool.call_now(&arguments, ctx).unwrap_or_else(|| tool.call(arguments, ctx))
}
