//! `grep_codebase`: a regular expression over the lines of the project's files.

use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::{
    CallContext, Code, Constraints, Contract, ContractError, Definition, Example, Output, Tool,
    ToolError, parse, schema_of, to_output,
};
use guard::shown;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tree::grep::{
    CONTEXT_LINES, FilterError, Found, MAX_GLOB, MAX_LINE_BYTES, MAX_TEXT, PatternError, Query,
    search,
};
use tree::{EXCLUDED_FOLDERS, Tree};

use crate::index::Index;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Input {
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
struct GrepResult {
    /// The first matching lines, by path and line
    matches: Vec<Match>,
    /// The pattern that was searched for
    pattern: String,
    /// How many lines match in all files, also past `limit`
    total_matches: u64,
    /// How many files were searched
    files_searched: u64,
    /// How long the search took, in milliseconds
    search_time: u64,
    /// How many files and folders could not be read, if any
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    skipped: Option<u64>,
    /// Said when nothing matches
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    message: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Match {
    /// Path from the project root
    file: String,
    /// Line number, from 1
    line: u64,
    /// Where the first match on the line begins, in characters from 1
    column: u64,
    /// The line; a long one is cut around the match, with `…` where something is left out
    text: String,
    /// The lines around it
    context: Context,
}

#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Context {
    /// Up to two lines before
    before: Vec<String>,
    /// Up to two lines after
    after: Vec<String>,
}

pub(crate) struct GrepCodebase {
    contract: Arc<Contract>,
    tree: Arc<Tree>,
    index: Arc<Index>,
}

impl GrepCodebase {
    pub(crate) fn new(tree: Arc<Tree>, index: Arc<Index>) -> Result<Self, ContractError> {
        let blocked: Vec<_> =
            tree.guard().deny().patterns().map(|pattern| format!("`{pattern}`")).collect();
        let excluded = EXCLUDED_FOLDERS.map(|folder| format!("`{folder}/`"));
        let definition = Definition {
            name: "grep_codebase".into(),
            title: Some("Search the code by pattern".into()),
            description: Some(
                "Fast text search across codebase using regex. Good for exact matches and when semantic search \
                 unavailable. Lines are searched one by one; totals are exact even past `limit`."
                    .into(),
            ),
            input_schema: Some(schema_of::<Input>()),
            output_schema: Some(schema_of::<GrepResult>()),
            constraints: Some(Constraints {
                access: "text files below the project root that are neither ignored nor blocked".into(),
                rate_per_minute: 60,
                timeout: Duration::from_secs(3),
                audit_values: true,
                rules: vec![
                    "Files that `.gitignore`, `.ignore` or `.rgignore` name, hidden files, and binary files (from \
                     their first NUL byte) are not searched; links are not followed."
                        .into(),
                    format!("Never entered: {}.", excluded.join(", ")),
                    format!(
                        "Names blocked anywhere in a path, in any letter case: {}.",
                        blocked.join(", ")
                    ),
                    format!(
                        "`filePattern` is one glob of at most {MAX_GLOB} characters: without a slash it matches \
                         names at any depth, with one paths from the root; `!` in front excludes. Absolute \
                         globs and `..` are blocked."
                    ),
                    format!(
                        "Lines are shown with at most {MAX_TEXT} characters, and with {CONTEXT_LINES} lines before \
                         and after. Files with a line over {MAX_LINE_BYTES} bytes are skipped."
                    ),
                    "Patterns are regular expressions without look-around and back-references, so time grows \
                     with the text only; their compiled size is bounded."
                        .into(),
                    "Read-only: no file is changed.".into(),
                ],
                ..Constraints::default()
            }),
            examples: examples(),
            ..Definition::default()
        };
        let errors = [Code::InvalidInput, Code::AccessDenied];
        let contract = Arc::new(Contract::new(definition, &errors)?);
        Ok(Self { contract, tree, index })
    }
}

fn examples() -> Vec<Example> {
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
        Example { title: Some(title.into()), input, output: Some(output) }
    };
    vec![
        example(
            "uses of a function, in any letter case",
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
            "TypeScript files below one folder, letter case as given",
            json!({
                "pattern": "function generate",
                "caseSensitive": true,
                "filePattern": "src/server/**/*.ts",
                "limit": 20,
            }),
            vec![line(2, 3, function, &["  // Generate JWT token"], &[sign, "    return token;"])],
        ),
        example("nothing found", json!({"pattern": "nonexistent"}), vec![]),
    ]
}

impl Tool for GrepCodebase {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn call(&self, arguments: Value, ctx: &CallContext) -> Result<Output, ToolError> {
        let started = Instant::now();
        let _running = self.index.call();
        let Input { pattern, file_pattern, case_sensitive, limit } = parse(arguments)?;
        let query = Query::new(&pattern, case_sensitive)
            .map_err(|error| not_a_pattern(&pattern, &error))?
            .limit(limit);
        let query = match file_pattern {
            Some(glob) => query.in_files(&glob).map_err(|error| not_a_filter(&glob, &error))?,
            None => query,
        };
        let Ok(found) = search(&self.tree, &query, Some(&*self.index), &|| ctx.is_cancelled())
        else {
            ctx.check_cancelled()?;
            return Err(ToolError::new(Code::Cancelled, "the search was given up"));
        };
        to_output(&answer(found, pattern, started.elapsed()))
    }
}

fn answer(found: Found, pattern: String, took: Duration) -> GrepResult {
    let Found { matches, total, files, skipped } = found;
    let line = |found: tree::grep::Match| Match {
        file: found.file,
        line: found.line,
        column: found.column,
        text: found.text,
        context: Context { before: found.before, after: found.after },
    };
    GrepResult {
        message: (total == 0).then(|| format!("No matches found for pattern '{pattern}'")),
        matches: matches.into_iter().map(line).collect(),
        pattern,
        total_matches: total,
        files_searched: files,
        search_time: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        skipped: (skipped > 0).then_some(skipped),
    }
}

fn not_a_pattern(pattern: &str, error: &PatternError) -> ToolError {
    let answer = ToolError::new(Code::InvalidInput, "Invalid regex pattern")
        .with("field", "pattern")
        .with("pattern", shown(pattern))
        .with("reason", error.to_string());
    match error.position() {
        Some(position) => answer.with("position", position),
        None => answer,
    }
}

fn not_a_filter(glob: &str, error: &FilterError) -> ToolError {
    match error {
        FilterError::LeadsOut(refusal) => refusal.to_tool_error(glob).with("field", "filePattern"),
        FilterError::TooLong => {
            let message = format!("`filePattern` {error}");
            ToolError::new(Code::InvalidInput, message)
                .with("field", "filePattern")
                .with("limit", MAX_GLOB)
        }
        FilterError::NotAGlob(_) => {
            let glob = shown(glob);
            ToolError::new(Code::InvalidInput, format!("`filePattern` `{glob}` {error}"))
                .with("field", "filePattern")
                .with("filePattern", glob)
        }
    }
}
