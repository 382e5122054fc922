//! `read_file` as the pipeline calls it: defaults, input schema, checks, call, output schema.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod bad_input;
mod dependencies;
#[path = "../common/pipeline_call.rs"]
mod pipeline_call;
mod published_contract;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use contract::{Tool, ToolError};
use pack_context::{ContextOptions, ContextPack};
use serde_json::{Value, json};
use store::StateDir;
use tempfile::TempDir;

/// A temporary project; the folder above its root also belongs to the test, as a location outside the project.
struct Project {
    folder: TempDir,
    tool: Arc<dyn Tool>,
    _pack: ContextPack,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir(&root).unwrap();
        for (path, content) in files {
            write(&root.join(path), content);
        }
        let state = StateDir::open(root.join(".vouch")).unwrap();
        let pack = ContextPack::open(&root, &state, ContextOptions::default()).unwrap();
        let mut tools = pack.tools().unwrap().into_iter();
        let tool = tools.find(|tool| tool.contract().name == "read_file").unwrap();
        Self { folder, tool, _pack: pack }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("root").join(path)
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        write(&self.path(path), content);
    }

    fn call(&self, arguments: Value) -> Result<Value, ToolError> {
        pipeline_call::call_tool(&*self.tool, arguments)
    }

    fn read(&self, path: &str) -> Result<Value, ToolError> {
        self.call(json!({"path": path}))
    }

    fn read_with_dependencies(&self, path: &str) -> Result<Value, ToolError> {
        self.call(json!({"path": path, "includeDeps": true}))
    }
}

fn write(path: &std::path::Path, content: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Renders a response without its modification time, which differs between runs.
fn render_response(response: Result<Value, ToolError>) -> String {
    match response {
        Ok(mut value) => {
            let modified = &mut value["metadata"]["lastModified"];
            assert!(modified.as_str().unwrap().ends_with('Z'));
            *modified = "<time>".into();
            format!("{value:#}")
        }
        Err(error) => format!("{} {} {}", error.code, error.message, Value::from(error.details)),
    }
}
