//! `write_memory_entry`: appends one entry to a memory file.

use std::sync::Arc;
use std::time::Duration;

use contract::{
    CallContext, Constraints, Contract, ContractError, ErrorCode, SchemaViolation, SideEffects,
    Tool, ToolDefinition, ToolError, ToolExample, ToolOutput, derive_schema, parse_arguments,
    to_output,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::memory::{MAX_ENTRY_BYTES, MemoryFile, MemoryFolder, entry_too_large};
use contract::time;

#[derive(Deserialize, JsonSchema)]
struct WriteMemoryEntryInput {
    /// Target memory file
    file: MemoryFile,
    /// Content to append
    #[schemars(length(max = 10000))]
    entry: String,
}

#[derive(Serialize, JsonSchema)]
struct WriteMemoryEntryOutput {
    /// Always true: the entry is stored and survives a crash
    success: bool,
    /// The memory file that was appended to
    file: MemoryFile,
    /// Size of the stored line in bytes, including its newline
    bytes_written: u64,
    /// Time at which the entry was stored
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
}

pub(crate) struct WriteMemoryEntryTool {
    contract: Arc<Contract>,
    memory: MemoryFolder,
}

impl WriteMemoryEntryTool {
    pub(crate) fn new(memory: MemoryFolder) -> Result<Self, ContractError> {
        let definition = ToolDefinition {
            name: "write_memory_entry".into(),
            title: Some("Append to a memory file".into()),
            description: Some(
                "Appends one entry to a memory file of the project. Existing entries cannot be changed or \
                 deleted. A person may have to approve the call first. An entry for a `.jsonl` file is one JSON \
                 value; an entry for `best_practices.md` is Markdown. Entries must not contain secrets and are \
                 refused if they do."
                    .into(),
            ),
            input_schema: Some(derive_schema::<WriteMemoryEntryInput>()),
            output_schema: Some(derive_schema::<WriteMemoryEntryOutput>()),
            constraints: Some(Constraints {
                access: format!("the three memory files in `{}`", memory.folder()),
                side_effects: SideEffects::Append,
                approval: true,
                rate_per_minute: 30,
                timeout: Duration::from_secs(1),
                idempotent: false,
                rules: vec![
                    "Append-only: entries are never overwritten or deleted.".into(),
                    "`.jsonl` files: the entry must be one valid JSON value; it is stored on one line, without \
                     whitespace between tokens."
                        .into(),
                    "`.md` files: the entry is stored verbatim, followed by a newline; control characters other \
                     than line breaks and tabs are refused."
                        .into(),
                    format!("An entry must not be empty and has at most {MAX_ENTRY_BYTES} bytes."),
                    "Entries that contain a recognizable secret (cloud key, token, private key, password) are \
                     refused."
                        .into(),
                    "Concurrent writes never interleave, and an acknowledged entry survives a crash."
                        .into(),
                ],
                ..Constraints::default()
            }),
            examples: build_examples(),
            ..ToolDefinition::default()
        };
        let errors = [
            ErrorCode::InvalidInput,
            ErrorCode::AccessDenied,
            ErrorCode::ApprovalRequired,
            ErrorCode::ApprovalDenied,
            ErrorCode::TooLarge,
        ];
        Ok(Self { contract: Arc::new(Contract::new(definition, &errors)?), memory })
    }
}

fn build_examples() -> Vec<ToolExample> {
    let example = |title: &str, file: &str, entry: &str, bytes: u64| ToolExample {
        title: Some(title.into()),
        input: json!({"file": file, "entry": entry}),
        output: Some(json!({
            "success": true,
            "file": file,
            "bytes_written": bytes,
            "timestamp": "2026-01-15T10:30:00Z",
        })),
    };
    vec![
        example(
            "log a milestone",
            "progress_log.jsonl",
            r#"{"timestamp": "2026-01-15T10:00:00Z", "event": "milestone", "description": "Completed EDA"}"#,
            87,
        ),
        example(
            "log a finished task",
            "progress_log.jsonl",
            r#"{"timestamp": "2026-01-09T10:30:00Z", "event": "task_complete", "task": "EDA notebook"}"#,
            83,
        ),
        example("note a practice", "best_practices.md", "- Write the test first.", 24),
    ]
}

impl Tool for WriteMemoryEntryTool {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn reword_violation(&self, violation: &SchemaViolation) -> Option<ToolError> {
        (violation.keyword == "maxLength" && violation.path == "/entry").then(entry_too_large)
    }

    fn check_arguments(&self, arguments: &Value) -> Result<(), ToolError> {
        let WriteMemoryEntryInput { file, entry } = parse_arguments(arguments.clone())?;
        MemoryFolder::check_entry(file, &entry)
    }

    fn call(&self, arguments: Value, ctx: &CallContext) -> Result<ToolOutput, ToolError> {
        let WriteMemoryEntryInput { file, entry } = parse_arguments(arguments)?;
        let bytes_written = self.memory.append_entry(file, &entry, ctx)?;
        to_output(&WriteMemoryEntryOutput {
            success: true,
            file,
            bytes_written,
            timestamp: time::now_rfc3339(),
        })
    }
}
