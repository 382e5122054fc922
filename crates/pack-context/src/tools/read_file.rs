//! `read_file`: returns one file as text with its metadata and, on request, the files it imports.
//!
//! `output.rs` defines the output types, `dependencies.rs` resolves and reads imports, `file_text.rs` reads a file.

mod dependencies;
mod file_text;
mod output;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use contract::{
    CallContext, Caller, Constraints, Contract, ContractError, ErrorCode, Tool, ToolDefinition,
    ToolError, ToolExample, ToolOutput, derive_schema, parse_arguments, time, to_output,
};
use guard::{Guard, PathRefusal, display_path};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};
use source::{Language, detect_role};

use self::dependencies::DependencyLoader;
use self::output::{FileMetadataOutput, FileTextOutput, ReadFileOutput};

/// Maximum file size: "1MB per file" in the contract, taken as a binary megabyte.
const MAX_FILE_BYTES: u64 = 1_048_576;
/// Maximum file size served directly on the connection thread, as for `read_repo_file`.
#[cfg(all(target_os = "linux", not(vouch_portable)))]
const MAX_INSTANT_BYTES: usize = 64 * 1024;
/// Output limit: control characters grow sixfold when escaped as JSON, in the file and its dependencies.
const MAX_OUTPUT_BYTES: usize = 10 * 1024 * 1024;

/// Project information that the tool needs.
///
/// Methods run on connection threads and must not block, except for the first module lookup.
pub(crate) trait ProjectContext: Send + Sync + 'static {
    /// Returns the module of a file.
    fn module_of(&self, path: &str) -> Option<String>;

    /// Returns true once modules are loaded, so that lookups no longer block.
    fn has_loaded_modules(&self) -> bool;

    /// Records that the caller read this file.
    fn record_read(&self, path: &str, caller: &Caller);
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ReadFileInput {
    /// File path relative to project root
    #[schemars(length(min = 1))]
    path: String,
    /// Include level 1 dependencies (imports)
    #[serde(default)]
    include_deps: bool,
    /// Dependency tree depth (MVP: max 1)
    #[serde(default = "default_max_depth")]
    #[schemars(schema_with = "max_depth_schema")]
    max_depth: u8,
}

fn default_max_depth() -> u8 {
    1
}

/// Written by hand, because a derived schema drops the minimum of 0 that the contract states.
fn max_depth_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "minimum": 0, "maximum": 1})
}

/// The `read_file` tool.
pub(crate) struct ReadFile {
    contract: Arc<Contract>,
    guard: Arc<Guard>,
    dependencies: DependencyLoader,
    surroundings: Arc<dyn ProjectContext>,
}

/// The bytes and metadata of a file that was read.
struct LoadedFile {
    /// Normalized path.
    path: String,
    bytes: Vec<u8>,
    modified: SystemTime,
}

impl ReadFile {
    /// Creates the tool. `guard` opens the files that are read. `packages` only resolves imports; it allows
    /// `node_modules`, to distinguish an installed package from a missing file.
    pub(crate) fn new(
        guard: Arc<Guard>,
        packages: Arc<Guard>,
        surroundings: Arc<dyn ProjectContext>,
    ) -> Result<Self, ContractError> {
        let blocked = guard.deny_list().describe();
        let definition = ToolDefinition {
            name: "read_file".into(),
            title: Some("Read a file with its imports".into()),
            description: Some(
                "Read file content with optional dependency tree loading. Returns the text of one file, at most 1 MB, \
                 with its language, module and role; with `includeDeps` also the project files that it imports, with \
                 their content, and the external packages by name. Tracks file access for context scoring."
                    .into(),
            ),
            input_schema: Some(derive_schema::<ReadFileInput>()),
            output_schema: Some(derive_schema::<ReadFileOutput>()),
            constraints: Some(Constraints {
                access: "text files below the project root that are not blocked".into(),
                rate_per_minute: 100,
                timeout: Duration::from_secs(2),
                max_output_bytes: MAX_OUTPUT_BYTES,
                audit_values: true,
                rules: build_rules(&blocked),
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
        Ok(Self {
            contract: Arc::new(Contract::new(definition, &errors)?),
            dependencies: DependencyLoader::new(Arc::clone(&guard), packages),
            guard,
            surroundings,
        })
    }

    /// Builds the output for a file that was read and records the read.
    fn build_output(
        &self,
        requested: &str,
        read: LoadedFile,
        with_dependencies: bool,
        ctx: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let LoadedFile { path, bytes, modified } = read;
        let size = bytes.len() as u64;
        let content = file_text::decode_utf8(requested, bytes)?;
        let language = Language::detect(&path, &content);
        let mut output = ReadFileOutput {
            dependencies: Vec::new(),
            externals: None,
            unresolved: None,
            metadata: FileMetadataOutput {
                module: self.surroundings.module_of(&path),
                role: detect_role(&path, &content).name(),
                last_modified: time::format_system_time(modified),
                details: None,
            },
            file: FileTextOutput {
                size,
                lines: file_text::count_lines(&content),
                language: language.map_or("text", Language::name).to_owned(),
                content,
                path,
            },
        };
        if let Some(language) =
            language.filter(|language| with_dependencies && language.has_imports())
        {
            self.dependencies.add_dependencies(&mut output, language, requested, ctx)?;
        }
        self.surroundings.record_read(&output.file.path, &ctx.caller);
        to_output(&output)
    }
}

fn build_rules(blocked: &str) -> Vec<String> {
    vec![
        "Paths are relative to the project root; `..`, absolute paths and links that point outside the root are blocked."
            .into(),
        format!(
            "Names blocked anywhere in a path, case-insensitively, even if they do not exist: {blocked}"
        ),
        format!(
            "Only UTF-8 text of at most {MAX_FILE_BYTES} bytes; for other content use `read_repo_file` with encoding \
             `base64`."
        ),
        dependencies::size_limit_rule(),
        "`externals` lists external packages, `unresolved` lists imports that match no file or package.".into(),
        "Read-only: no file is changed. The read is recorded and makes the file rank slightly higher in \
         `context_search`."
            .into(),
    ]
}

fn build_examples() -> Vec<ToolExample> {
    let example = |title: &str, input, output| ToolExample {
        title: Some(title.into()),
        input,
        output: Some(output),
    };
    let file = json!({
        "path": "src/server/auth/AuthService.ts",
        "content": "import { sign } from './TokenManager';\n",
        "size": 39,
        "lines": 1,
        "language": "typescript",
    });
    let metadata = json!({
        "module": "server",
        "role": "core",
        "lastModified": "2025-01-15T09:00:00Z",
    });
    vec![
        example(
            "a file without its imports",
            json!({"path": "src/server/auth/AuthService.ts", "includeDeps": false}),
            json!({"file": file, "dependencies": [], "metadata": metadata}),
        ),
        example(
            "a file and its imports",
            json!({"path": "src/server/auth/AuthService.ts", "includeDeps": true, "maxDepth": 1}),
            json!({
                "file": file,
                "dependencies": [{
                    "path": "src/server/auth/TokenManager.ts",
                    "type": "import",
                    "level": 1,
                    "line": 1,
                    "content": "export const sign = () => '';\n",
                }],
                "externals": [],
                "unresolved": [],
                "metadata": metadata,
            }),
        ),
    ]
}

impl Tool for ReadFile {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn check_arguments(&self, arguments: &Value) -> Result<(), ToolError> {
        let path = arguments.get("path").and_then(Value::as_str).unwrap_or_default();
        self.guard.check_file(path).map(drop).map_err(|refusal| refusal_to_error(&refusal, path))
    }

    fn call(&self, arguments: Value, ctx: &CallContext) -> Result<ToolOutput, ToolError> {
        let ReadFileInput { path: requested, include_deps, max_depth } =
            parse_arguments(arguments)?;
        let read = file_text::read_whole_file(&self.guard, &requested)?;
        ctx.check_cancelled()?;
        self.build_output(&requested, read, include_deps && max_depth > 0, ctx)
    }

    #[cfg(all(target_os = "linux", not(vouch_portable)))]
    fn call_now(
        &self,
        arguments: &Value,
        ctx: &CallContext,
    ) -> Option<Result<ToolOutput, ToolError>> {
        let ReadFileInput { path: requested, include_deps, max_depth } =
            ReadFileInput::deserialize(arguments).ok()?;
        // The first module lookup reads the disk.
        if include_deps && max_depth > 0 || !self.surroundings.has_loaded_modules() {
            return None;
        }
        let file = self.guard.read_cached(&requested, MAX_INSTANT_BYTES)?;
        let read = LoadedFile { path: file.path, bytes: file.bytes, modified: file.modified };
        Some(self.build_output(&requested, read, false, ctx))
    }
}

/// Returns the error message required by the seed contract, with the guard's reason in `details`.
fn refusal_to_error(refusal: &PathRefusal, path: &str) -> ToolError {
    let error = refusal.to_tool_error(path);
    let message = match refusal.code() {
        ErrorCode::NotFound => "File not found",
        ErrorCode::AccessDenied => "Permission denied",
        _ => return error,
    };
    let reason = error.message.clone();
    let with_pattern = error.details.get("pattern").cloned();
    let error = ToolError::new(refusal.code(), message)
        .with_detail("path", display_path(path))
        .with_detail("details", reason);
    match with_pattern {
        Some(pattern) => error.with_detail("pattern", pattern),
        None => error,
    }
}
