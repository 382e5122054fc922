//! `write_memory_entry`: appends one entry to a memory file.

use std::sync::Arc;
use std::time::Duration;

use contract::{
    CallContext, Code, Constraints, Contract, ContractError, Definition, Example, Output,
    SideEffects, Tool, ToolError, Violation, parse, schema_of, to_output,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::memory::{MAX_ENTRY_BYTES, Memory, MemoryFile, too_large};
use contract::time;

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Target memory file
    file: MemoryFile,
    /// Content to append
    #[schemars(length(max = 10000))]
    entry: String,
}

#[derive(Serialize, JsonSchema)]
struct Written {
    /// True: the entry is stored and survives a crash
    success: bool,
    /// The memory file that was appended to
    file: MemoryFile,
    /// Size of the stored line in bytes, its newline included
    bytes_written: u64,
    /// When the entry was stored
    #[schemars(extend("format" = "date-time"))]
    timestamp: String,
}

pub(crate) struct WriteMemoryEntry {
    contract: Arc<Contract>,
    memory: Memory,
}

impl WriteMemoryEntry {
    pub(crate) fn new(memory: Memory) -> Result<Self, ContractError> {
        let definition = Definition {
            name: "write_memory_entry".into(),
            title: Some("Append to a memory file".into()),
            description: Some(
                "Appends one entry to a memory file of the project; nothing that is there can be changed or \
                 deleted. A person may be asked to approve it first. Entries for `.jsonl` files are one JSON value, \
                 entries for `best_practices.md` are Markdown. Leave secrets out: entries that hold one are \
                 refused."
                    .into(),
            ),
            input_schema: Some(schema_of::<Input>()),
            output_schema: Some(schema_of::<Written>()),
            constraints: Some(Constraints {
                access: format!("the three memory files in `{}`", memory.folder()),
                side_effects: SideEffects::Append,
                approval: true,
                rate_per_minute: 30,
                timeout: Duration::from_secs(1),
                idempotent: false,
                rules: vec![
                    "Append-only: no entry is overwritten or deleted.".into(),
                    "`.jsonl` files: the entry is one valid JSON value; it is stored on one line, without the \
                     white space between its parts."
                        .into(),
                    "`.md` files: the entry is stored as it is, followed by a newline; control characters other \
                     than line breaks and tabs are refused."
                        .into(),
                    format!("An entry has at most {MAX_ENTRY_BYTES} bytes, and is not empty."),
                    "Entries that hold a recognisable secret (cloud keys, tokens, private keys, passwords) are \
                     refused."
                        .into(),
                    "Entries written at the same time never mix, and an acknowledged entry survives a crash."
                        .into(),
                ],
                ..Constraints::default()
            }),
            examples: examples(),
            ..Definition::default()
        };
        let errors = [
            Code::InvalidInput,
            Code::AccessDenied,
            Code::ApprovalRequired,
            Code::ApprovalDenied,
            Code::TooLarge,
        ];
        Ok(Self { contract: Arc::new(Contract::new(definition, &errors)?), memory })
    }
}

fn examples() -> Vec<Example> {
    let example = |title: &str, file: &str, entry: &str, bytes: u64| Example {
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

impl Tool for WriteMemoryEntry {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn reword(&self, violation: &Violation) -> Option<ToolError> {
        (violation.keyword == "maxLength" && violation.path == "/entry").then(too_large)
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolError> {
        let Input { file, entry } = parse(arguments.clone())?;
        Memory::check(file, &entry)
    }

    fn call(&self, arguments: Value, ctx: &CallContext) -> Result<Output, ToolError> {
        let Input { file, entry } = parse(arguments)?;
        let bytes_written = self.memory.append(file, &entry, ctx)?;
        to_output(&Written { success: true, file, bytes_written, timestamp: time::now() })
    }
}
