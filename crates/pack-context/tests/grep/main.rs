//! `grep_codebase` as the pipeline calls it, with and without an index; both must return the same results.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod bad_input;
mod changes;
#[path = "../common/pipeline_call.rs"]
mod pipeline_call;
mod published_contract;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use contract::{Tool, ToolError};
use pack_context::{ContextOptions, ContextPack};
use serde_json::Value;
use store::StateDir;
use tempfile::TempDir;

struct Project {
    folder: TempDir,
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("root")).unwrap();
        Self { folder }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("root").join(path)
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn open(&self) -> ContextPack {
        let state = StateDir::open(self.folder.path().join("state")).unwrap();
        ContextPack::open(&self.path(""), &state, ContextOptions::default()).unwrap()
    }

    /// Returns the result, after checking that it is the same with and without an index.
    #[track_caller]
    fn grep(&self, arguments: Value) -> Result<Value, ToolError> {
        let without = call(&*tool(&self.open()), arguments.clone());
        let pack = self.open();
        pack.start();
        assert!(pack.index().run_to_completion(&|_| (), &|| false));
        let with = call(&*tool(&pack), arguments);
        assert_eq!(with, without);
        with
    }
}

fn tool(pack: &ContextPack) -> Arc<dyn Tool> {
    let mut tools = pack.tools().unwrap().into_iter();
    tools.find(|tool| tool.contract().name == "grep_codebase").unwrap()
}

/// Calls the tool and clears the search time, which differs between runs.
fn call(tool: &dyn Tool, arguments: Value) -> Result<Value, ToolError> {
    let mut output = pipeline_call::call_tool(tool, arguments)?;
    output["searchTime"] = 0.into();
    Ok(output)
}
