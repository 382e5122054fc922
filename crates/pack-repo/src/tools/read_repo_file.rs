//! `read_repo_file`: one regular file below the root, as text or as base64.

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use contract::{
    CallContext, Constraints, Contract, ContractError, ErrorCode, SchemaViolation, Tool,
    ToolDefinition, ToolError, ToolExample, ToolOutput, derive_schema, parse_arguments, to_output,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use contract::time;
use guard::{Guard, OpenedFile, PathRefusal, display_path};

/// Maximum file size: the contract's "1MB maximum", taken as a binary megabyte.
const MAX_FILE_BYTES: u64 = 1_048_576;
/// Largest file that `call_now` answers while other connections wait. Copying, checking and escaping 64 KiB of
/// source text was measured at 0.1 ms, close to the cost of the thread switch that this saves. Beyond that size
/// there is little to save and other connections wait longer.
#[cfg(all(target_os = "linux", not(vouch_portable)))]
const MAX_INSTANT_BYTES: usize = 64 * 1024;
/// Maximum output size: a file of control characters grows sixfold as JSON text, and the other fields are small.
const MAX_OUTPUT_BYTES: usize = 8 * 1024 * 1024;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
enum FileEncoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

#[derive(Deserialize, JsonSchema)]
struct ReadRepoFileInput {
    /// Relative path from repo root
    #[schemars(regex(pattern = r"^[a-zA-Z0-9_./-]+$"))]
    path: String,
    /// Encoding of the returned content: `utf-8` for text, `base64` for arbitrary bytes
    #[serde(default)]
    encoding: FileEncoding,
}

#[derive(Serialize, JsonSchema)]
struct ReadRepoFileOutput {
    /// File contents
    content: String,
    /// Normalized path
    path: String,
    /// File size in bytes
    size: u64,
    /// Last modified timestamp
    #[schemars(extend("format" = "date-time"))]
    modified: String,
    /// Encoding of `content`
    encoding: FileEncoding,
}

pub(crate) struct ReadRepoFileTool {
    contract: Arc<Contract>,
    guard: Arc<Guard>,
}

impl ReadRepoFileTool {
    pub(crate) fn new(guard: Arc<Guard>) -> Result<Self, ContractError> {
        let blocked = guard.deny_list().describe();
        let definition = ToolDefinition {
            name: "read_repo_file".into(),
            title: Some("Read a repository file".into()),
            description: Some(
                "Reads one file of the repository, up to 1 MB, by its path relative to the repository root. Use \
                 encoding `base64` for files that are not UTF-8 text. Environment files, keys, secrets and the \
                 contents of `.git` are blocked."
                    .into(),
            ),
            input_schema: Some(derive_schema::<ReadRepoFileInput>()),
            output_schema: Some(derive_schema::<ReadRepoFileOutput>()),
            constraints: Some(Constraints {
                access: "files below the repository root, except blocked names".into(),
                rate_per_minute: 100,
                timeout: Duration::from_millis(500),
                max_output_bytes: MAX_OUTPUT_BYTES,
                audit_values: true,
                rules: vec![
                    "Paths are relative to the repository root; `..`, absolute paths and links that lead outside \
                     the root are blocked."
                        .into(),
                    format!(
                        "Names blocked anywhere in a path, case-insensitively and whether or not they exist: {blocked}"
                    ),
                    format!(
                        "Only regular files of at most {MAX_FILE_BYTES} bytes can be read; folders, pipes, sockets \
                         and devices are refused."
                    ),
                    "A file that is not UTF-8 text must be read with encoding `base64`.".into(),
                    "Read-only: files are never changed.".into(),
                ],
                ..Constraints::default()
            }),
            examples: build_examples(),
            ..ToolDefinition::default()
        };
        let errors = [
            ErrorCode::InvalidInput,
            ErrorCode::AccessDenied,
            ErrorCode::NotFound,
            ErrorCode::TooLarge,
        ];
        Ok(Self { contract: Arc::new(Contract::new(definition, &errors)?), guard })
    }
}

fn build_examples() -> Vec<ToolExample> {
    let example = |title: &str, input, output| ToolExample {
        title: Some(title.into()),
        input,
        output: Some(output),
    };
    vec![
        example(
            "a memory file",
            json!({"path": ".claude/memory/progress_log.jsonl"}),
            json!({
                "content": "{\"timestamp\": \"2026-01-01...\n",
                "path": ".claude/memory/progress_log.jsonl",
                "size": 29,
                "modified": "2026-01-09T10:00:00Z",
                "encoding": "utf-8",
            }),
        ),
        example(
            "a file in a folder",
            json!({"path": "paths/Advanced/tracker.md"}),
            json!({
                "content": "# Progress Tracker\n\n...",
                "path": "paths/Advanced/tracker.md",
                "size": 23,
                "modified": "2026-01-09T10:00:00Z",
                "encoding": "utf-8",
            }),
        ),
        example(
            "binary content, with a path that is normalized",
            json!({"path": "./assets//dot.gif", "encoding": "base64"}),
            json!({
                "content": "R0lGODlhAQABAIAAAP///w==",
                "path": "assets/dot.gif",
                "size": 16,
                "modified": "2026-01-09T10:00:00Z",
                "encoding": "base64",
            }),
        ),
    ]
}

impl Tool for ReadRepoFileTool {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn reword_violation(&self, violation: &SchemaViolation) -> Option<ToolError> {
        (violation.keyword == "pattern" && violation.path == "/path").then(|| {
            ToolError::new(
                ErrorCode::InvalidInput,
                "`path` must not be empty and may contain only letters, digits, `_`, `.`, `/` and `-` \
                 (pattern ^[a-zA-Z0-9_./-]+$)",
            )
            .with_detail("field", "path")
        })
    }

    fn check_arguments(&self, arguments: &Value) -> Result<(), ToolError> {
        let path = arguments.get("path").and_then(Value::as_str).unwrap_or_default();
        self.guard.check_file(path).map(drop).map_err(|refusal| refusal.to_tool_error(path))
    }

    fn call(&self, arguments: Value, ctx: &CallContext) -> Result<ToolOutput, ToolError> {
        let ReadRepoFileInput { path: asked, encoding } = parse_arguments(arguments)?;
        let opened =
            self.guard.open_file(&asked).map_err(|refusal| refusal.to_tool_error(&asked))?;
        ctx.check_cancelled()?;
        let modified = opened.metadata.modified();
        let modified =
            modified.map_err(|error| PathRefusal::IoFailed(error).to_tool_error(&asked))?;
        let path = opened.path.clone();
        let bytes = read_bounded(opened, &asked)?;
        build_output(&asked, encoding, path, modified, bytes)
    }

    #[cfg(all(target_os = "linux", not(vouch_portable)))]
    fn call_now(
        &self,
        arguments: &Value,
        _: &CallContext,
    ) -> Option<Result<ToolOutput, ToolError>> {
        let ReadRepoFileInput { path: asked, encoding } =
            ReadRepoFileInput::deserialize(arguments).ok()?;
        let file = self.guard.read_cached(&asked, MAX_INSTANT_BYTES)?;
        Some(build_output(&asked, encoding, file.path, file.modified, file.bytes))
    }
}

/// Builds the tool output for a file that was read, by either `call` or `call_now`.
fn build_output(
    asked: &str,
    encoding: FileEncoding,
    path: String,
    modified: SystemTime,
    bytes: Vec<u8>,
) -> Result<ToolOutput, ToolError> {
    let size = bytes.len() as u64;
    let content = match encoding {
        FileEncoding::Base64 => STANDARD.encode(bytes),
        FileEncoding::Utf8 => String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let asked = display_path(asked);
            let message = format!(
                "`{asked}` is not UTF-8 text (invalid byte at offset {at}); read it with encoding `base64`"
            );
            ToolError::new(ErrorCode::InvalidInput, message)
                .with_detail("fallback", json!({"path": asked, "encoding": "base64"}))
                .with_detail("path", asked)
        })?,
    };
    to_output(&ReadRepoFileOutput {
        content,
        path,
        size,
        modified: time::format_system_time(modified),
        encoding,
    })
}

/// Returns the whole file, or an error if it exceeds the limit. A file that grows while it is read is not followed
/// past the limit.
fn read_bounded(opened: OpenedFile, asked: &str) -> Result<Vec<u8>, ToolError> {
    let OpenedFile { file, metadata, .. } = opened;
    let too_large = |size: u64| {
        let asked = display_path(asked);
        ToolError::new(
            ErrorCode::TooLarge,
            format!("`{asked}` is {size} bytes, over the limit of {MAX_FILE_BYTES} for one read"),
        )
        .with_detail("path", asked)
        .with_detail("limit", MAX_FILE_BYTES)
        .with_detail("size", size)
    };
    if metadata.len() > MAX_FILE_BYTES {
        return Err(too_large(metadata.len()));
    }
    let expected = usize::try_from(metadata.len()).unwrap_or_default();
    let mut bytes = Vec::with_capacity(expected + 1);
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| PathRefusal::IoFailed(error).to_tool_error(asked))?;
    match bytes.len() as u64 {
        size if size > MAX_FILE_BYTES => Err(too_large(size)),
        _ => Ok(bytes),
    }
}
