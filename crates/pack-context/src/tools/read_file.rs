//! `read_file`: one file as text, with what is known about it, and on demand the files it imports.
//!
//! `answer.rs` holds the shape of an answer, `dependencies.rs` finds and reads what is imported, `text.rs` reads a file.

mod answer;
mod dependencies;
mod text;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use contract::{
    CallContext, Caller, Code, Constraints, Contract, ContractError, Definition, Example, Output,
    Tool, ToolError, parse, schema_of, time, to_output,
};
use guard::{Guard, Refusal, shown};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};
use source::{Language, role_of};

use self::answer::{Answer, FileText, Metadata};
use self::dependencies::Dependencies;

/// "1MB per file" of the contract, as the binary megabyte.
const MAX_FILE_BYTES: u64 = 1_048_576;
/// What is answered on the spot, while other connections wait: as for `read_repo_file`.
#[cfg(all(target_os = "linux", not(vouch_portable)))]
const MAX_INSTANT_BYTES: usize = 64 * 1024;
/// A file of control characters grows sixfold as JSON text, and so do its dependencies.
const MAX_OUTPUT_BYTES: usize = 10 * 1024 * 1024;

/// What the tool needs of the project around it. It is asked on the threads that serve connections and may not wait,
/// but for the first question about modules.
pub(crate) trait Surroundings: Send + Sync + 'static {
    /// The module that a file belongs to.
    fn module_of(&self, path: &str) -> Option<String>;

    /// Whether the first question about modules was answered.
    fn knows_modules(&self) -> bool;

    /// A caller has been given this file.
    fn was_read(&self, path: &str, caller: &Caller);
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Input {
    /// File path relative to project root
    #[schemars(length(min = 1))]
    path: String,
    /// Include level 1 dependencies (imports)
    #[serde(default)]
    include_deps: bool,
    /// Dependency tree depth (MVP: max 1)
    #[serde(default = "one")]
    #[schemars(schema_with = "none_or_one")]
    max_depth: u8,
}

fn one() -> u8 {
    1
}

/// Spelt out: a derived schema drops a minimum of 0, which the contract states.
fn none_or_one(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "minimum": 0, "maximum": 1})
}

pub(crate) struct ReadFile {
    contract: Arc<Contract>,
    guard: Arc<Guard>,
    dependencies: Dependencies,
    surroundings: Arc<dyn Surroundings>,
}

/// A file that was read, however that was done.
struct Read {
    /// Normalized.
    path: String,
    bytes: Vec<u8>,
    modified: SystemTime,
}

impl ReadFile {
    /// `guard` opens what is read. `packages` only looks where imports lead; it lets `node_modules` through, so that an
    /// installed package can be told from a missing file.
    pub(crate) fn new(
        guard: Arc<Guard>,
        packages: Arc<Guard>,
        surroundings: Arc<dyn Surroundings>,
    ) -> Result<Self, ContractError> {
        let blocked: Vec<_> =
            guard.deny().patterns().map(|pattern| format!("`{pattern}`")).collect();
        let definition = Definition {
            name: "read_file".into(),
            title: Some("Read a file with its imports".into()),
            description: Some(
                "Read file content with optional dependency tree loading. Returns the text of one file, at most 1 MB, \
                 with its language, module and role; with `includeDeps` also the project files that it imports, with \
                 their content, and the external packages by name. Tracks file access for context scoring."
                    .into(),
            ),
            input_schema: Some(schema_of::<Input>()),
            output_schema: Some(schema_of::<Answer>()),
            constraints: Some(Constraints {
                access: "text files below the project root that are not blocked".into(),
                rate_per_minute: 100,
                timeout: Duration::from_secs(2),
                max_output_bytes: MAX_OUTPUT_BYTES,
                audit_values: true,
                rules: rules(&blocked),
                ..Constraints::default()
            }),
            examples: examples(),
            ..Definition::default()
        };
        let errors = [Code::InvalidInput, Code::AccessDenied, Code::NotFound, Code::TooLarge];
        Ok(Self {
            contract: Arc::new(Contract::new(definition, &errors)?),
            dependencies: Dependencies::new(Arc::clone(&guard), packages),
            guard,
            surroundings,
        })
    }

    /// What is said of a file that was read, however that was done.
    fn answer(
        &self,
        asked: &str,
        read: Read,
        with_dependencies: bool,
        ctx: &CallContext,
    ) -> Result<Output, ToolError> {
        let Read { path, bytes, modified } = read;
        let size = bytes.len() as u64;
        let content = text::decode(asked, bytes)?;
        let language = Language::of(&path, &content);
        let mut answer = Answer {
            dependencies: Vec::new(),
            externals: None,
            unresolved: None,
            metadata: Metadata {
                module: self.surroundings.module_of(&path),
                role: role_of(&path, &content).name(),
                last_modified: time::of_file(modified),
                details: None,
            },
            file: FileText {
                size,
                lines: text::lines(&content),
                language: language.map_or("text", Language::name).to_owned(),
                content,
                path,
            },
        };
        if let Some(language) =
            language.filter(|language| with_dependencies && language.has_imports())
        {
            self.dependencies.add_to(&mut answer, language, asked, ctx)?;
        }
        self.surroundings.was_read(&answer.file.path, &ctx.caller);
        to_output(&answer)
    }
}

fn rules(blocked: &[String]) -> Vec<String> {
    vec![
        "Paths are relative to the project root; `..`, absolute paths and links that lead out of the root are blocked."
            .into(),
        format!(
            "Names blocked anywhere in a path, in any letter case, whether they exist or not: {}.",
            blocked.join(", ")
        ),
        format!(
            "Only UTF-8 text of at most {MAX_FILE_BYTES} bytes; for other bytes use `read_repo_file` with encoding \
             `base64`."
        ),
        dependencies::rule(),
        "External packages are named in `externals`, imports that lead nowhere in `unresolved`.".into(),
        "Read-only: no file is changed. That the file was read is remembered and makes it rank a little higher in \
         `context_search`."
            .into(),
    ]
}

fn examples() -> Vec<Example> {
    let example = |title: &str, input, output| Example {
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
            "a file",
            json!({"path": "src/server/auth/AuthService.ts", "includeDeps": false}),
            json!({"file": file, "dependencies": [], "metadata": metadata}),
        ),
        example(
            "a file and what it imports",
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

    fn check(&self, arguments: &Value) -> Result<(), ToolError> {
        let path = arguments.get("path").and_then(Value::as_str).unwrap_or_default();
        self.guard.check_file(path).map(drop).map_err(|refusal| refused(&refusal, path))
    }

    fn call(&self, arguments: Value, ctx: &CallContext) -> Result<Output, ToolError> {
        let Input { path: asked, include_deps, max_depth } = parse(arguments)?;
        let read = text::read(&self.guard, &asked)?;
        ctx.check_cancelled()?;
        self.answer(&asked, read, include_deps && max_depth > 0, ctx)
    }

    #[cfg(all(target_os = "linux", not(vouch_portable)))]
    fn call_now(&self, arguments: &Value, ctx: &CallContext) -> Option<Result<Output, ToolError>> {
        let Input { path: asked, include_deps, max_depth } = Input::deserialize(arguments).ok()?;
        // Finding the modules needs a look at the disk, once.
        if include_deps && max_depth > 0 || !self.surroundings.knows_modules() {
            return None;
        }
        let file = self.guard.read_cached(&asked, MAX_INSTANT_BYTES)?;
        let read = Read { path: file.path, bytes: file.bytes, modified: file.modified };
        Some(self.answer(&asked, read, false, ctx))
    }
}

/// The contract's own words for what it names; the reason stands beside them.
fn refused(refusal: &Refusal, path: &str) -> ToolError {
    let error = refusal.to_tool_error(path);
    let message = match refusal.code() {
        Code::NotFound => "File not found",
        Code::AccessDenied => "Permission denied",
        _ => return error,
    };
    let reason = error.message.clone();
    let with_pattern = error.details.get("pattern").cloned();
    let error =
        ToolError::new(refusal.code(), message).with("path", shown(path)).with("details", reason);
    match with_pattern {
        Some(pattern) => error.with("pattern", pattern),
        None => error,
    }
}
