//! `grep_codebase`: searches the lines of the project's files with a regular expression.

use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::{
    CallContext, Constraints, Contract, ContractError, ErrorCode, Tool, ToolDefinition, ToolError,
    ToolExample, ToolOutput, derive_schema, parse_arguments, to_output,
};
use guard::display_path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tree::grep::{
    CONTEXT_LINES, FilterError, GrepPatternError, GrepQuery, GrepResults, MAX_GLOB, MAX_LINE_BYTES,
    MAX_TEXT, search_files,
};
use tree::{EXCLUDED_FOLDERS, FileTree};

use crate::index::Index;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GrepCodebaseInput {
    /// Regex pattern to search for
    #[schemars(length(min = 1, max = 200))]
    pattern: String,
    /// Glob pattern to filter files (e.g., "**/*.ts")
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    file_pattern: Option<String>,
    /// Case-sensitive search
    #[serde(default)]
    case_sensitive: bool,
    /// Maximum number of matches to return
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: usize,
}

fn default_limit() -> usize {
    50
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GrepCodebaseOutput {
    /// First matching lines, ordered by path and line
    matches: Vec<GrepMatchOutput>,
    /// The pattern as given
    pattern: String,
    /// Number of matching lines in all files, including those beyond `limit`
    total_matches: u64,
    /// Number of files searched
    files_searched: u64,
    /// Duration of the search in milliseconds
    search_time: u64,
    /// Number of files and folders that could not be read; absent if zero
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    skipped: Option<u64>,
    /// Message if nothing matches
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    message: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct GrepMatchOutput {
    /// File path relative to the project root
    file: String,
    /// Line number, starting at 1
    line: u64,
    /// Column of the first match on the line, in characters starting at 1
    column: u64,
    /// The line; a long line is shortened around the match, with `…` for omitted text
    text: String,
    /// Surrounding lines
    context: GrepMatchContext,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct GrepMatchContext {
    /// Up to two lines before the match
    before: Vec<String>,
    /// Up to two lines after the match
    after: Vec<String>,
}

/// The `grep_codebase` tool.
pub(crate) struct GrepCodebase {
    contract: Arc<Contract>,
    tree: Arc<FileTree>,
    index: Arc<Index>,
}

impl GrepCodebase {
    pub(crate) fn new(tree: Arc<FileTree>, index: Arc<Index>) -> Result<Self, ContractError> {
        let blocked = tree.guard().deny_list().describe();
        let excluded = EXCLUDED_FOLDERS.map(|folder| format!("`{folder}/`"));
        let definition = ToolDefinition {
            name: "grep_codebase".into(),
            title: Some("Search the code by pattern".into()),
            description: Some(
                "Fast text search across codebase using regex. Good for exact matches and when semantic search \
                 unavailable. Lines are searched one by one; totals are exact even past `limit`."
                    .into(),
            ),
            input_schema: Some(derive_schema::<GrepCodebaseInput>()),
            output_schema: Some(derive_schema::<GrepCodebaseOutput>()),
            constraints: Some(Constraints {
                access: "text files below the project root that are neither ignored nor blocked".into(),
                rate_per_minute: 60,
                timeout: Duration::from_secs(3),
                audit_values: true,
                rules: vec![
                    "Files ignored by `.gitignore`, `.ignore` or `.rgignore`, hidden files, and binary files (from \
                     their first NUL byte) are not searched; symbolic links are not followed."
                        .into(),
                    format!("Folders never searched: {}.", excluded.join(", ")),
                    format!("Names blocked anywhere in a path, case-insensitively: {blocked}"),
                    format!(
                        "`filePattern` is one glob of at most {MAX_GLOB} characters. Without a slash it matches file \
                         names at any depth, with a slash it matches paths from the root; a leading `!` excludes. \
                         Absolute globs and `..` are blocked."
                    ),
                    format!(
                        "Each line is returned with at most {MAX_TEXT} characters and {CONTEXT_LINES} lines before \
                         and after. Files with a line over {MAX_LINE_BYTES} bytes are skipped."
                    ),
                    "Patterns support neither look-around nor back-references, so search time is linear in the text; \
                     the compiled size of a pattern is limited."
                        .into(),
                    "Read-only: no file is changed.".into(),
                ],
                ..Constraints::default()
            }),
            examples: build_examples(),
            ..ToolDefinition::default()
        };
        let errors = [ErrorCode::InvalidInput, ErrorCode::AccessDenied];
        let contract = Arc::new(Contract::new(definition, &errors)?);
        Ok(Self { contract, tree, index })
    }
}

fn build_examples() -> Vec<ToolExample> {
    let line = |line, column, text: &str, before: &[&str], after: &[&str]| {
        json!({
            "file": "src/server/auth/AuthService.ts",
            "line": line,
            "column": column,
            "text": text,
            "context": {"before": before, "after": after},
        })
    };
    let function = "  function generateToken(payload) {";
    let sign = "    const token = jwt.sign(payload, SECRET);";
    let example = |title: &str, input: Value, matches: Vec<Value>| {
        let total = matches.len();
        let mut output = json!({
            "matches": matches,
            "pattern": input["pattern"],
            "totalMatches": total,
            "filesSearched": 1,
            "searchTime": 4,
        });
        if total == 0 {
            output["message"] = "No matches found for pattern 'nonexistent'".into();
        }
        ToolExample { title: Some(title.into()), input, output: Some(output) }
    };
    vec![
        example(
            "uses of a function, case-insensitive",
            json!({"pattern": r"jwt\.sign"}),
            vec![line(
                3,
                19,
                sign,
                &["  // Generate JWT token", function],
                &["    return token;", "  }"],
            )],
        ),
        example(
            "TypeScript files below one folder, case-sensitive",
            json!({
                "pattern": "function generate",
                "caseSensitive": true,
                "filePattern": "src/server/**/*.ts",
                "limit": 20,
            }),
            vec![line(2, 3, function, &["  // Generate JWT token"], &[sign, "    return token;"])],
        ),
        example("no matches", json!({"pattern": "nonexistent"}), vec![]),
    ]
}

impl Tool for GrepCodebase {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn call(&self, arguments: Value, ctx: &CallContext) -> Result<ToolOutput, ToolError> {
        let started = Instant::now();
        let _running = self.index.begin_call();
        let GrepCodebaseInput { pattern, file_pattern, case_sensitive, limit } =
            parse_arguments(arguments)?;
        let query = GrepQuery::new(&pattern, case_sensitive)
            .map_err(|error| invalid_pattern_error(&pattern, &error))?
            .with_limit(limit);
        let query = match file_pattern {
            Some(glob) => {
                query.with_glob(&glob).map_err(|error| invalid_filter_error(&glob, &error))?
            }
            None => query,
        };
        let Ok(found) =
            search_files(&self.tree, &query, Some(&*self.index), &|| ctx.is_cancelled())
        else {
            ctx.check_cancelled()?;
            return Err(ToolError::new(ErrorCode::Cancelled, "search cancelled"));
        };
        to_output(&to_grep_output(found, pattern, started.elapsed()))
    }
}

fn to_grep_output(found: GrepResults, pattern: String, took: Duration) -> GrepCodebaseOutput {
    let GrepResults { matches, total, files, skipped } = found;
    let line = |found: tree::grep::GrepMatch| GrepMatchOutput {
        file: found.file,
        line: found.line,
        column: found.column,
        text: found.text,
        context: GrepMatchContext { before: found.before, after: found.after },
    };
    GrepCodebaseOutput {
        message: (total == 0).then(|| format!("No matches found for pattern '{pattern}'")),
        matches: matches.into_iter().map(line).collect(),
        pattern,
        total_matches: total,
        files_searched: files,
        search_time: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        skipped: (skipped > 0).then_some(skipped),
    }
}

fn invalid_pattern_error(pattern: &str, error: &GrepPatternError) -> ToolError {
    let failure = ToolError::new(ErrorCode::InvalidInput, "Invalid regex pattern")
        .with_detail("field", "pattern")
        .with_detail("pattern", display_path(pattern))
        .with_detail("reason", error.to_string());
    match error.position() {
        Some(position) => failure.with_detail("position", position),
        None => failure,
    }
}

fn invalid_filter_error(glob: &str, error: &FilterError) -> ToolError {
    match error {
        FilterError::OutsideProject(refusal) => {
            refusal.to_tool_error(glob).with_detail("field", "filePattern")
        }
        FilterError::TooLong => {
            let message = format!("`filePattern` {error}");
            ToolError::new(ErrorCode::InvalidInput, message)
                .with_detail("field", "filePattern")
                .with_detail("limit", MAX_GLOB)
        }
        FilterError::InvalidGlob(_) => {
            let glob = display_path(glob);
            ToolError::new(ErrorCode::InvalidInput, format!("`filePattern` `{glob}` {error}"))
                .with_detail("field", "filePattern")
                .with_detail("filePattern", glob)
        }
    }
}
