//! `read_repo_file`: one regular file below the root, as text or as base64.

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use contract::{
    CallContext, Code, Constraints, Contract, ContractError, Definition, Example, Output, Tool,
    ToolError, Violation, parse, schema_of, to_output,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use contract::time;
use guard::{Guard, OpenedFile, Refusal, shown};

/// "1MB maximum" of the contract, as the binary megabyte.
const MAX_FILE_BYTES: u64 = 1_048_576;
/// What is answered on the spot, while other connections wait. Copying, checking and escaping 64 KiB of source text was
/// measured at a tenth of a millisecond, near what the change of threads costs that this saves; beyond it there is little
/// to save and more to wait for.
#[cfg(all(target_os = "linux", not(vouch_portable)))]
const MAX_INSTANT_BYTES: usize = 64 * 1024;
/// A file of control characters grows sixfold as JSON text; the rest of the answer is small.
const MAX_OUTPUT_BYTES: usize = 8 * 1024 * 1024;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
enum Encoding {
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    #[serde(rename = "base64")]
    Base64,
}

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Relative path from repo root
    #[schemars(regex(pattern = r"^[a-zA-Z0-9_./-]+$"))]
    path: String,
    /// How the contents are returned: `utf-8` for text, `base64` for any bytes
    #[serde(default)]
    encoding: Encoding,
}

#[derive(Serialize, JsonSchema)]
struct FileContents {
    /// File contents
    content: String,
    /// Normalized path
    path: String,
    /// File size in bytes
    size: u64,
    /// Last modified timestamp
    #[schemars(extend("format" = "date-time"))]
    modified: String,
    /// How `content` is encoded
    encoding: Encoding,
}

pub(crate) struct ReadRepoFile {
    contract: Arc<Contract>,
    guard: Arc<Guard>,
}

impl ReadRepoFile {
    pub(crate) fn new(guard: Arc<Guard>) -> Result<Self, ContractError> {
        let blocked: Vec<_> =
            guard.deny().patterns().map(|pattern| format!("`{pattern}`")).collect();
        let definition = Definition {
            name: "read_repo_file".into(),
            title: Some("Read a repository file".into()),
            description: Some(
                "Reads one file of the repository, at most 1 MB, given its path from the repository root. Use \
                 encoding `base64` for files that are not UTF-8 text. Environment files, keys, secrets and the \
                 insides of `.git` are blocked."
                    .into(),
            ),
            input_schema: Some(schema_of::<Input>()),
            output_schema: Some(schema_of::<FileContents>()),
            constraints: Some(Constraints {
                access: "files below the repository root that are not blocked".into(),
                rate_per_minute: 100,
                timeout: Duration::from_millis(500),
                max_output_bytes: MAX_OUTPUT_BYTES,
                audit_values: true,
                rules: vec![
                    "Paths are relative to the repository root; `..`, absolute paths and links that lead out of \
                     the root are blocked."
                        .into(),
                    format!(
                        "Names blocked anywhere in a path, in any letter case, whether they exist or not: {}.",
                        blocked.join(", ")
                    ),
                    format!(
                        "Only regular files of at most {MAX_FILE_BYTES} bytes; no folders, pipes, sockets or \
                         devices."
                    ),
                    "A file that is not UTF-8 text is read with encoding `base64`.".into(),
                    "Read-only: no file is changed.".into(),
                ],
                ..Constraints::default()
            }),
            examples: examples(),
            ..Definition::default()
        };
        let errors = [Code::InvalidInput, Code::AccessDenied, Code::NotFound, Code::TooLarge];
        Ok(Self { contract: Arc::new(Contract::new(definition, &errors)?), guard })
    }
}

fn examples() -> Vec<Example> {
    let example = |title: &str, input, output| Example {
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
            "bytes that are not text, and a path that is normalized",
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

impl Tool for ReadRepoFile {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn reword(&self, violation: &Violation) -> Option<ToolError> {
        (violation.keyword == "pattern" && violation.path == "/path").then(|| {
            ToolError::new(
                Code::InvalidInput,
                "`path` may hold letters, digits, `_`, `.`, `/` and `-` only, and not be empty \
                 (pattern ^[a-zA-Z0-9_./-]+$)",
            )
            .with("field", "path")
        })
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolError> {
        let path = arguments.get("path").and_then(Value::as_str).unwrap_or_default();
        self.guard.check_file(path).map(drop).map_err(|refusal| refusal.to_tool_error(path))
    }

    fn call(&self, arguments: Value, ctx: &CallContext) -> Result<Output, ToolError> {
        let Input { path: asked, encoding } = parse(arguments)?;
        let opened =
            self.guard.open_file(&asked).map_err(|refusal| refusal.to_tool_error(&asked))?;
        ctx.check_cancelled()?;
        let modified = opened.metadata.modified();
        let modified = modified.map_err(|error| Refusal::Failed(error).to_tool_error(&asked))?;
        let path = opened.path.clone();
        let bytes = read_bounded(opened, &asked)?;
        answer(&asked, encoding, path, modified, bytes)
    }

    #[cfg(all(target_os = "linux", not(vouch_portable)))]
    fn call_now(&self, arguments: &Value, _: &CallContext) -> Option<Result<Output, ToolError>> {
        let Input { path: asked, encoding } = Input::deserialize(arguments).ok()?;
        let file = self.guard.read_cached(&asked, MAX_INSTANT_BYTES)?;
        Some(answer(&asked, encoding, file.path, file.modified, file.bytes))
    }
}

/// What is said of a file that was read, however that was done.
fn answer(
    asked: &str,
    encoding: Encoding,
    path: String,
    modified: SystemTime,
    bytes: Vec<u8>,
) -> Result<Output, ToolError> {
    let size = bytes.len() as u64;
    let content = match encoding {
        Encoding::Base64 => STANDARD.encode(bytes),
        Encoding::Utf8 => String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let asked = shown(asked);
            let message = format!(
                "`{asked}` is not UTF-8 text (byte {at} is not); read it with encoding `base64`"
            );
            ToolError::new(Code::InvalidInput, message)
                .with("fallback", json!({"path": asked, "encoding": "base64"}))
                .with("path", asked)
        })?,
    };
    to_output(&FileContents { content, path, size, modified: time::of_file(modified), encoding })
}

/// The whole file, unless it is over the limit; a file that grows meanwhile is cut off at the limit, not followed.
fn read_bounded(opened: OpenedFile, asked: &str) -> Result<Vec<u8>, ToolError> {
    let OpenedFile { file, metadata, .. } = opened;
    let too_large = |size: u64| {
        let asked = shown(asked);
        ToolError::new(
            Code::TooLarge,
            format!("`{asked}` has {size} bytes, over the limit of {MAX_FILE_BYTES} for one read"),
        )
        .with("path", asked)
        .with("limit", MAX_FILE_BYTES)
        .with("size", size)
    };
    if metadata.len() > MAX_FILE_BYTES {
        return Err(too_large(metadata.len()));
    }
    let expected = usize::try_from(metadata.len()).unwrap_or_default();
    let mut bytes = Vec::with_capacity(expected + 1);
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Refusal::Failed(error).to_tool_error(asked))?;
    match bytes.len() as u64 {
        size if size > MAX_FILE_BYTES => Err(too_large(size)),
        _ => Ok(bytes),
    }
}
