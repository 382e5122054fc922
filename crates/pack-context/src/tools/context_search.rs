//! `context_search`: what the project knows that answers a question.

mod wire;

use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::{
    CallContext, Code, Constraints, Contract, ContractError, Definition, Example, Output, Tool,
    ToolError, Violation, parse, schema_of, to_output,
};
use embed::EmbedError;
use serde_json::{Value, json};

use self::wire::{
    IndexState, Input, Lines, Origin, ResultType, SearchResult, SearchResults, StateName,
};
use crate::Phase;
use crate::discover::{Discovery, Source, id_of};
use crate::index::{Found, Freshness, Index, Question, Unanswered, What};
use crate::sessions::Sessions;

const TOO_SHORT: &str = "Query must be at least 3 characters";
const TOO_LONG: &str = "Query must be at most 500 characters";
const FALLBACK: &str = "Use grep_codebase for text search";
/// Discoveries are shown as far as this, in characters; a snippet of code has a bound of its own.
const MAX_CONTENT: usize = 1_200;
/// Twenty results with all they carry are far below; it is a bound for what nobody thought of.
const MAX_OUTPUT_BYTES: usize = 256 * 1024;
const TIME_LIMIT: Duration = Duration::from_secs(5);
/// A vector that is not there by then is given up, while there is still time to say so.
const FOR_A_VECTOR: Duration = Duration::from_millis(4_500);
/// Names of modules that a hint lists.
const MAX_NAMES: usize = 20;

pub(crate) struct ContextSearch {
    contract: Arc<Contract>,
    index: Arc<Index>,
    sessions: Arc<Sessions>,
}

impl ContextSearch {
    pub(crate) fn new(index: Arc<Index>, sessions: Arc<Sessions>) -> Result<Self, ContractError> {
        let elsewhere = index.asks_elsewhere();
        let definition = Definition {
            name: "context_search".into(),
            title: Some("Search the project's context".into()),
            description: Some(
                "Finds what the project knows about a question: decisions, rules, patterns and issues that people \
                 noted, pieces of code and documentation, and earlier sessions, ranked by words and by meaning. Ask in \
                 plain words or with a name from the code. Use grep_codebase for exact text, read_file for a whole file."
                    .into(),
            ),
            input_schema: Some(schema_of::<Input>()),
            output_schema: Some(schema_of::<SearchResults>()),
            constraints: Some(Constraints {
                access: "texts of the project that are not ignored or blocked, its history, and what was noted".into(),
                rate_per_minute: 30,
                timeout: TIME_LIMIT,
                max_output_bytes: MAX_OUTPUT_BYTES,
                // The query goes to the endpoint that embeds it.
                open_world: elsewhere,
                rules: vec![
                    "An answer knows of every change that was made before the call; where it does not, `index` says so."
                        .into(),
                    "`type` other than `all` finds discoveries of that type only; `module` compares names without \
                     letter case."
                        .into(),
                    format!("Each result shows at most {MAX_CONTENT} characters, cut at line ends."),
                    "Texts that say the same are shown once.".into(),
                    "The query is remembered with its number of results, for the session; no file is changed.".into(),
                ],
                ..Constraints::default()
            }),
            examples: examples(),
            ..Definition::default()
        };
        let errors =
            [Code::InvalidInput, Code::NotFound, Code::RateLimited, Code::UpstreamUnavailable];
        Ok(Self { contract: Arc::new(Contract::new(definition, &errors)?), index, sessions })
    }
}

fn examples() -> Vec<Example> {
    let found = |kind: &str, content: &str, score: f64| {
        json!({
            "id": "4h7c2m9xk1qe", "type": kind, "content": content, "module": "auth",
            "date": "2026-01-15T10:00:00Z", "score": score, "source": "discovery",
            "session": null, "path": ".claude/memory/decisions.jsonl", "lines": null,
            "why": ["words auth, token"],
        })
    };
    let example = |title: &str, input: Value, results: Value, total: usize| Example {
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
                found("pattern", "Use JWT tokens stored in httpOnly cookies for auth", 0.95),
                found(
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
            json!([found("issue", "Token refresh race condition fixed with mutex lock", 0.96)]),
            1,
        ),
    ]
}

impl Tool for ContextSearch {
    fn contract(&self) -> &Arc<Contract> {
        &self.contract
    }

    fn reword(&self, violation: &Violation) -> Option<ToolError> {
        match (violation.path.as_str(), violation.keyword.as_str()) {
            ("/query", "minLength") => Some(bad_query(TOO_SHORT, 3)),
            ("/query", "maxLength") => Some(bad_query(TOO_LONG, 500)),
            _ => None,
        }
    }

    fn check(&self, arguments: &Value) -> Result<(), ToolError> {
        let query = arguments.get("query").and_then(Value::as_str).unwrap_or_default();
        match query.trim().chars().count() {
            ..3 => Err(bad_query(TOO_SHORT, 3)),
            3.. => Ok(()),
        }
    }

    fn call(&self, arguments: Value, ctx: &CallContext) -> Result<Output, ToolError> {
        let began = Instant::now();
        let _running = self.index.call();
        let input: Input = parse(arguments)?;
        let cancelled = || ctx.is_cancelled();
        let fresh = self.index.refresh(&input.query, &cancelled);
        ctx.check_cancelled()?;
        if self.index.is_empty() {
            return Err(nothing_there(&fresh));
        }
        let session = self.sessions.id_of(&ctx.caller);
        let question = Question {
            text: &input.query,
            kind: input.r#type.kind(),
            module: input.module.as_deref(),
            session: &session,
            limit: input.limit,
            until: began + FOR_A_VECTOR,
        };
        let answer = self.index.answer(&question, &cancelled).map_err(|why| match why {
            Unanswered::NotEmbedded(error) => not_embedded(&error),
            Unanswered::Cancelled => {
                ctx.check_cancelled().err().unwrap_or_else(|| no_vector(Code::Cancelled))
            }
        })?;
        self.sessions.record_search(&ctx.caller, &input.query, answer.found.len());
        to_output(&SearchResults {
            hint: answer.found.is_empty().then(|| self.hint(input.module.as_deref())),
            results: answer.found.into_iter().map(result).collect(),
            total_found: answer.total,
            search_time: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            index: self.index_state(&fresh),
            query: input.query,
        })
    }
}

impl ContextSearch {
    fn index_state(&self, fresh: &Freshness) -> Option<IndexState> {
        let Freshness { phase, done, all } = *fresh;
        if done < all {
            let state =
                if phase == Phase::Ready { StateName::Updating } else { StateName::Building };
            return Some(IndexState { state, done, all });
        }
        let (done, all) = self.index.vectors()?;
        (done < all).then_some(IndexState { state: StateName::Embedding, done, all })
    }

    fn hint(&self, module: Option<&str>) -> String {
        let names = self.index.modules();
        match module {
            Some(asked) if !names.iter().any(|name| name.eq_ignore_ascii_case(asked)) => {
                let asked = guard::shown(asked);
                let more = names.len().saturating_sub(MAX_NAMES);
                let known: Vec<_> = names.into_iter().take(MAX_NAMES).collect();
                match (known.is_empty(), more) {
                    (true, _) => format!("no module is named `{asked}`: this project has none"),
                    (false, 0) => {
                        format!("no module is named `{asked}`; there are {}", known.join(", "))
                    }
                    (false, _) => {
                        format!(
                            "no module is named `{asked}`; there are {} and {more} more",
                            known.join(", ")
                        )
                    }
                }
            }
            _ => {
                "nothing answers this; try other words, no filter, or grep_codebase for exact text"
                    .into()
            }
        }
    }
}

fn result(found: Found) -> SearchResult {
    let Found { what, module, score, mut why } = found;
    // Three digits: more are noise.
    let score = (f64::from(score) * 1_000.0).round() / 1_000.0;
    match what {
        What::Code { path, lines, text, date } => SearchResult {
            id: id_of(&["code", &path, &text]),
            r#type: ResultType::Code,
            content: text,
            module,
            session: None,
            date,
            score,
            source: Origin::Code,
            path: Some(path.into()),
            lines: Some(Lines { start: lines.start, end: lines.end.saturating_sub(1) }),
            why,
        },
        What::Discovery(discovery) => {
            let content = cut(&discovery.text());
            // Whatever lies in no file has no path to say where it is from.
            if !matches!(discovery.source, Source::File { .. }) {
                why.push(discovery.source.to_string());
            }
            let path = discovery.path().map(str::to_owned);
            let Discovery { id, kind, session, date, .. } = discovery;
            let (source, lines) = (Origin::Discovery, None);
            let r#type = kind.into();
            SearchResult {
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
        What::Session(session) => SearchResult {
            content: cut(&session.text),
            session: Some(session.id.clone()),
            id: session.id,
            r#type: ResultType::Session,
            module,
            date: session.date,
            score,
            source: Origin::Session,
            path: None,
            lines: None,
            why,
        },
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_CONTENT) {
        Some((at, _)) => {
            let at = text[..at].rfind('\n').filter(|line| line * 2 > at).unwrap_or(at);
            format!("{}…", text[..at].trim_end())
        }
        None => text.to_owned(),
    }
}

fn bad_query(message: &str, limit: usize) -> ToolError {
    ToolError::new(Code::InvalidInput, message).with("field", "query").with("limit", limit)
}

fn nothing_there(fresh: &Freshness) -> ToolError {
    let message = "No embeddings found. Run initial session to generate context.";
    ToolError::new(Code::NotFound, message)
        .with("fallback", FALLBACK)
        .with("files", json!({"done": fresh.done, "all": fresh.all}))
}

/// The seed's error; an endpoint's own words are in `details`.
fn not_embedded(error: &EmbedError) -> ToolError {
    let refused = match error {
        EmbedError::RateLimited { retry_after } => {
            let refused = no_vector(Code::RateLimited);
            let wait = retry_after.unwrap_or(Duration::from_secs(1)).as_millis();
            refused.with("retryAfterMs", u64::try_from(wait).unwrap_or(u64::MAX))
        }
        EmbedError::Model(_) => no_vector(Code::InternalError),
        _ => no_vector(Code::UpstreamUnavailable),
    };
    refused.with("details", error.to_string())
}

fn no_vector(code: Code) -> ToolError {
    ToolError::new(code, "Failed to generate query embedding").with("fallback", FALLBACK)
}
