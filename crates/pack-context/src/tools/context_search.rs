//! `context_search`: searches discoveries, code, documentation and earlier sessions of the project.

mod wire;

use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::{
    CallContext, Constraints, Contract, ContractError, ErrorCode, SchemaViolation, Tool,
    ToolDefinition, ToolError, ToolExample, ToolOutput, derive_schema, parse_arguments, to_output,
};
use embed::EmbedError;
use serde_json::{Value, json};

use self::wire::{
    ContextSearchInput, ContextSearchOutput, ContextSearchResult, IndexStateName, IndexStateOutput,
    ResultLineRange, ResultSource, ResultType,
};
use crate::IndexPhase;
use crate::discover::{Discovery, DiscoverySource, digest_id};
use crate::index::{ContextQuery, Index, IndexFreshness, SearchError, SearchHit, SearchHitContent};
use crate::sessions::SessionTracker;

const TOO_SHORT: &str = "Query must be at least 3 characters";
const TOO_LONG: &str = "Query must be at most 500 characters";
const FALLBACK: &str = "Use grep_codebase for text search";
/// Maximum characters shown of a discovery or session; code snippets have their own limit.
const MAX_CONTENT: usize = 1_200;
/// Safety limit; twenty complete results are far smaller.
const MAX_OUTPUT_BYTES: usize = 256 * 1024;
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// Time limit for embedding the query, below [`TIME_LIMIT`] so that a specific error can still be returned.
const EMBEDDING_TIME_LIMIT: Duration = Duration::from_millis(4_500);
/// Maximum module names listed in a hint.
const MAX_NAMES: usize = 20;

/// The `context_search` tool.
pub(crate) struct ContextSearch {
    contract: Arc<Contract>,
    index: Arc<Index>,
    sessions: Arc<SessionTracker>,
}

impl ContextSearch {
    pub(crate) fn new(
        index: Arc<Index>,
        sessions: Arc<SessionTracker>,
    ) -> Result<Self, ContractError> {
        let uses_remote_embedder = index.is_embedder_remote();
        let definition = ToolDefinition {
            name: "context_search".into(),
            title: Some("Search the project's context".into()),
            description: Some(
                "Searches the project's context: recorded decisions, rules, patterns and issues, snippets of code and \
                 documentation, and earlier sessions, ranked by words and by meaning. Ask in plain words or with a name \
                 from the code. Use grep_codebase for exact text, read_file for a whole file."
                    .into(),
            ),
            input_schema: Some(derive_schema::<ContextSearchInput>()),
            output_schema: Some(derive_schema::<ContextSearchOutput>()),
            constraints: Some(Constraints {
                access: "project text files that are not ignored or blocked, git history, discoveries and sessions".into(),
                rate_per_minute: 30,
                timeout: TIME_LIMIT,
                max_output_bytes: MAX_OUTPUT_BYTES,
                // A remote embedding endpoint receives the query.
                open_world: uses_remote_embedder,
                rules: vec![
                    "Results include every change made before the call; if some are missing, `index` is set.".into(),
                    "A `type` other than `all` returns only discoveries of that type; `module` matches names \
                     case-insensitively."
                        .into(),
                    format!("Each result shows at most {MAX_CONTENT} characters, cut at line ends."),
                    "Identical texts are returned once.".into(),
                    "The query and its number of results are recorded in the session; no file is changed.".into(),
                ],
                ..Constraints::default()
            }),
            examples: build_examples(),
            ..ToolDefinition::default()
        };
        let errors = [
            ErrorCode::InvalidInput,
            ErrorCode::NotFound,
            ErrorCode::RateLimited,
            ErrorCode::UpstreamUnavailable,
        ];
        Ok(Self { contract: Arc::new(Contract::new(definition, &errors)?), index, sessions })
    }
}

fn build_examples() -> Vec<ToolExample> {
    let result = |kind: &str, content: &str, score: f64| {
        json!({
            "id": "4h7c2m9xk1qe", "type": kind, "content": content, "module": "auth",
            "date": "2026-01-15T10:00:00Z", "score": score, "source": "discovery",
            "session": null, "path": ".claude/memory/decisions.jsonl", "lines": null,
            "why": ["words auth, token"],
        })
    };
    let example = |title: &str, input: Value, results: Value, total: usize| ToolExample {
        title: Some(title.into()),
        output: Some(json!({
            "results": results, "query": input["query"], "totalFound": total, "searchTime": 12,
        })),
        input,
    };
    vec![
        example(
            "general search",
            json!({"query": "how does authentication work", "type": "all", "limit": 5}),
            json!([
                result("pattern", "Use JWT tokens stored in httpOnly cookies for auth", 0.95),
                result(
                    "pattern",
                    "Implement token refresh with mutex locks to prevent race conditions",
                    0.88
                ),
            ]),
            2,
        ),
        example(
            "filtered search",
            json!({"query": "token refresh issue", "type": "issue", "module": "auth", "limit": 3}),
            json!([result("issue", "Token refresh race condition fixed with mutex lock", 0.96)]),
            1,
        ),
    ]
}

impl Tool for ContextSearch {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn reword_violation(&self, violation: &SchemaViolation) -> Option<ToolError> {
        match (violation.path.as_str(), violation.keyword.as_str()) {
            ("/query", "minLength") => Some(invalid_query_error(TOO_SHORT, 3)),
            ("/query", "maxLength") => Some(invalid_query_error(TOO_LONG, 500)),
            _ => None,
        }
    }

    fn check_arguments(&self, arguments: &Value) -> Result<(), ToolError> {
        let query = arguments.get("query").and_then(Value::as_str).unwrap_or_default();
        match query.trim().chars().count() {
            ..3 => Err(invalid_query_error(TOO_SHORT, 3)),
            3.. => Ok(()),
        }
    }

    fn call(&self, arguments: Value, ctx: &CallContext) -> Result<ToolOutput, ToolError> {
        let began = Instant::now();
        let _running = self.index.begin_call();
        let input: ContextSearchInput = parse_arguments(arguments)?;
        let cancelled = || ctx.is_cancelled();
        let fresh = self.index.refresh_for_query(&input.query, &cancelled);
        ctx.check_cancelled()?;
        if self.index.is_empty() {
            return Err(empty_index_error(&fresh));
        }
        let session = self.sessions.session_id(&ctx.caller);
        let question = ContextQuery {
            text: &input.query,
            kind: input.r#type.kind(),
            module: input.module.as_deref(),
            principal: &ctx.caller.principal,
            session: &session,
            limit: input.limit,
            until: began + EMBEDDING_TIME_LIMIT,
        };
        let answer = self.index.search(&question, &cancelled).map_err(|reason| match reason {
            SearchError::NotEmbedded(error) => to_embedding_error(&error),
            SearchError::Cancelled => ctx
                .check_cancelled()
                .err()
                .unwrap_or_else(|| query_embedding_error(ErrorCode::Cancelled)),
        })?;
        self.sessions.record_search(&ctx.caller, &input.query, answer.found.len());
        to_output(&ContextSearchOutput {
            hint: answer.found.is_empty().then(|| self.empty_result_hint(input.module.as_deref())),
            results: answer.found.into_iter().map(to_search_result).collect(),
            total_found: answer.total,
            search_time: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            index: self.index_state(&fresh),
            query: input.query,
        })
    }
}

impl ContextSearch {
    fn index_state(&self, fresh: &IndexFreshness) -> Option<IndexStateOutput> {
        let IndexFreshness { phase, done, all } = *fresh;
        if done < all {
            let state = if phase == IndexPhase::Ready {
                IndexStateName::Updating
            } else {
                IndexStateName::Building
            };
            return Some(IndexStateOutput { state, done, all });
        }
        let (done, all) = self.index.vector_progress()?;
        (done < all).then_some(IndexStateOutput { state: IndexStateName::Embedding, done, all })
    }

    /// Returns advice for a search without results.
    fn empty_result_hint(&self, module: Option<&str>) -> String {
        let names = self.index.module_names();
        match module {
            Some(module) if !names.iter().any(|name| name.eq_ignore_ascii_case(module)) => {
                let module = guard::display_path(module);
                let more = names.len().saturating_sub(MAX_NAMES);
                let known: Vec<_> = names.into_iter().take(MAX_NAMES).collect();
                match (known.is_empty(), more) {
                    (true, _) => format!("unknown module `{module}`; no modules are known"),
                    (false, 0) => {
                        format!("unknown module `{module}`; known modules: {}", known.join(", "))
                    }
                    (false, _) => {
                        format!(
                            "unknown module `{module}`; known modules: {} and {more} more",
                            known.join(", ")
                        )
                    }
                }
            }
            _ => "no results; try other words, no filter, or grep_codebase for exact text".into(),
        }
    }
}

fn to_search_result(found: SearchHit) -> ContextSearchResult {
    let SearchHit { what, module, score, mut why } = found;
    // Digits beyond the third are noise.
    let score = (f64::from(score) * 1_000.0).round() / 1_000.0;
    match what {
        SearchHitContent::Code { path, lines, text, date } => ContextSearchResult {
            id: digest_id(&["code", &path, &text]),
            r#type: ResultType::Code,
            content: text,
            module,
            session: None,
            date,
            score,
            source: ResultSource::Code,
            path: Some(path.into()),
            lines: Some(ResultLineRange { start: lines.start, end: lines.end.saturating_sub(1) }),
            why,
        },
        SearchHitContent::Discovery(discovery) => {
            let content = truncate_content(&discovery.searchable_text());
            // Discoveries outside files have no path, so `why` names their source.
            if !matches!(discovery.source, DiscoverySource::File { .. }) {
                why.push(discovery.source.to_string());
            }
            let path = discovery.path().map(str::to_owned);
            let Discovery { id, kind, session, date, .. } = discovery;
            let (source, lines) = (ResultSource::Discovery, None);
            let r#type = kind.into();
            ContextSearchResult {
                id,
                r#type,
                content,
                module,
                session,
                date,
                score,
                source,
                path,
                lines,
                why,
            }
        }
        SearchHitContent::Session(session) => ContextSearchResult {
            content: truncate_content(&session.text),
            session: Some(session.id.clone()),
            id: session.id,
            r#type: ResultType::Session,
            module,
            date: session.date,
            score,
            source: ResultSource::Session,
            path: None,
            lines: None,
            why,
        },
    }
}

/// Truncates at a line end if one is in the second half, else at the limit.
fn truncate_content(text: &str) -> String {
    match text.char_indices().nth(MAX_CONTENT) {
        Some((at, _)) => {
            let at = text[..at].rfind('\n').filter(|line| line * 2 > at).unwrap_or(at);
            format!("{}…", text[..secrets::cut_before_secret(text, at)].trim_end())
        }
        None => text.to_owned(),
    }
}

fn invalid_query_error(message: &str, limit: usize) -> ToolError {
    ToolError::new(ErrorCode::InvalidInput, message)
        .with_detail("field", "query")
        .with_detail("limit", limit)
}

fn empty_index_error(fresh: &IndexFreshness) -> ToolError {
    let message = "No embeddings found. Run initial session to generate context.";
    ToolError::new(ErrorCode::NotFound, message)
        .with_detail("fallback", FALLBACK)
        .with_detail("files", json!({"done": fresh.done, "all": fresh.all}))
}

/// Maps an embedding error to the error required by the seed contract; `details` holds the endpoint's message.
fn to_embedding_error(error: &EmbedError) -> ToolError {
    let failure = match error {
        EmbedError::RateLimited { retry_after } => {
            let failure = query_embedding_error(ErrorCode::RateLimited);
            let wait = retry_after.unwrap_or(Duration::from_secs(1)).as_millis();
            failure.with_detail("retryAfterMs", u64::try_from(wait).unwrap_or(u64::MAX))
        }
        EmbedError::Model(_) => query_embedding_error(ErrorCode::InternalError),
        _ => query_embedding_error(ErrorCode::UpstreamUnavailable),
    };
    failure.with_detail("details", error.to_string())
}

fn query_embedding_error(code: ErrorCode) -> ToolError {
    ToolError::new(code, "Failed to generate query embedding").with_detail("fallback", FALLBACK)
}
