//! `read_file` as the pipeline calls it: defaults, input schema, rules, work, output schema.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[path = "../common/as_a_user.rs"]
mod as_a_user;
mod bad_input;
#[path = "../common/call.rs"]
mod calling;
mod contract_of;
mod dependencies;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use contract::{Tool, ToolError};
use pack_context::{ContextOptions, ContextPack};
use serde_json::{Value, json};
use store::StateDir;
use tempfile::TempDir;

/// A temporary project; the folder above its root is outside and belongs to the test too.
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
        calling::call(&*self.tool, arguments)
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

/// An answer with the times taken out, which differ from run to run.
fn shown(answer: Result<Value, ToolError>) -> String {
    match answer {
        Ok(mut value) => {
            let modified = &mut value["metadata"]["lastModified"];
            assert!(modified.as_str().unwrap().ends_with('Z'));
            *modified = "<time>".into();
            format!("{value:#}")
        }
        Err(error) => format!("{} {} {}", error.code, error.message, Value::from(error.details)),
    }
}
