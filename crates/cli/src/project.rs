//! From settings to working parts: the tools of a project, its store, and the pipeline over both.

use std::sync::Arc;

use contract::Tool;
use guard::DenyList;
use pack_repo::RepoOptions;
use runtime::doors::http::Tokens;
use runtime::doors::mcp::Face;
use runtime::{Catalog, Pipeline, PipelineOptions};
use store::audit::AuditLog;
use store::{SqliteStore, StateDir, Store};

use crate::commands::wrong_config;
use crate::config::{Pack, Policy, Settings, TokenSource, ToolLayer};
use crate::exit::Exit;
use crate::report::{Explain, Failure, Result};

/// What the server says it is.
pub(crate) fn face() -> Face {
    Face {
        name: "vouchsafe".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instructions: Some(
            "Tools over one project folder. Every call is checked against the tool's contract; a refused call \
             says which rule it broke and what to change. Some calls wait for a person's approval."
                .to_owned(),
        ),
    }
}

/// The tools with the limits that the operator set. Nothing is written.
pub(crate) fn catalog(settings: &Settings) -> Result<Catalog> {
    let tools = tools(settings)?;
    let names: Vec<_> = tools.iter().map(|tool| tool.contract().name.as_str()).collect();
    settings.check_tools(&names).map_err(wrong_config)?;
    let mut catalog = Catalog::default();
    for tool in tools {
        let name = tool.contract().name.clone();
        let ToolLayer { enabled, rate_per_minute, timeout_ms, max_output_bytes, .. } =
            settings.tool(&name);
        if enabled == Some(false) {
            continue;
        }
        let policy = settings.policy(&name, tool.contract().constraints.approval);
        catalog.add_tool_with(tool, |constraints| {
            if let Some(rate) = rate_per_minute {
                constraints.rate_per_minute = rate.get();
            }
            if let Some(timeout) = timeout_ms {
                constraints.timeout = std::time::Duration::from_millis(timeout.get());
            }
            if let Some(bytes) = max_output_bytes {
                constraints.max_output_bytes = bytes.get();
            }
            // The published contract says what holds here.
            constraints.approval = policy.is_some_and(|policy| policy != Policy::Always);
        })?;
    }
    Ok(catalog)
}

fn tools(settings: &Settings) -> Result<Vec<Arc<dyn Tool>>> {
    let mut tools = Vec::new();
    for pack in &settings.packs {
        match pack {
            Pack::Repo => {
                let options = RepoOptions {
                    memory_folder: settings.memory_folder.clone(),
                    deny: settings
                        .private
                        .iter()
                        .map(String::as_str)
                        .fold(DenyList::default(), DenyList::with),
                };
                let pack = pack_repo::tools(&settings.root, options);
                let pack = pack
                    .hint("correct it in vouch.toml, then check: vouch doctor")
                    .map_err(|failure| failure.with_exit(Exit::Usage))?;
                tools.extend(pack);
            }
        }
    }
    Ok(tools)
}

/// The store, made where it is missing.
pub(crate) fn store(settings: &Settings) -> Result<(StateDir, Arc<SqliteStore>)> {
    let state = StateDir::open(&settings.state_folder)?;
    let store = SqliteStore::open(&state)?;
    Ok((state, Arc::new(store)))
}

/// Everything that a call goes through.
pub(crate) async fn pipeline(settings: &Settings) -> Result<Arc<Pipeline>> {
    let catalog = catalog(settings)?;
    let (state, store) = store(settings)?;
    let audit = AuditLog::open(state.audit_log())?;
    let policies = catalog.contracts().filter_map(|contract| {
        let policy = settings.policy(&contract.name, contract.constraints.approval)?;
        Some((contract.name.clone(), policy.into()))
    });
    let options = PipelineOptions { approve: policies.collect(), ..PipelineOptions::default() };
    let store: Arc<dyn Store> = store;
    Ok(Pipeline::new(catalog, store, audit, options).await?)
}

/// The tokens that open the HTTP door.
pub(crate) fn tokens(source: Option<&TokenSource>) -> Result<Tokens> {
    Ok(source.map(read_tokens).transpose()?.map_or_else(Tokens::default, |(tokens, _)| tokens))
}

/// The first token, for calling a server that wants one.
pub(crate) fn first_token(source: Option<&TokenSource>) -> Result<Option<String>> {
    Ok(source.map(read_tokens).transpose()?.map(|(_, first)| first))
}

pub(crate) const NEW_TOKEN: &str =
    "a new one: (umask 077; mkdir -p .vouch; openssl rand -hex 32 > .vouch/tokens)";

/// All tokens of a variable or a file, and the first of them in clear: the others are kept as digests only.
fn read_tokens(source: &TokenSource) -> Result<(Tokens, String)> {
    let (text, what) = match source {
        TokenSource::Variable(token) => (token.reveal().to_owned(), "VOUCH_TOKEN".to_owned()),
        TokenSource::File(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(Failure::from)
                .explain(format!("cannot read the token file {}", path.display()))
                .hint(NEW_TOKEN)?;
            (text, path.display().to_string())
        }
    };
    let tokens = Tokens::parse(&text)
        .explain(format!("cannot use the tokens in {what}"))
        .hint(NEW_TOKEN)
        .map_err(|failure| failure.with_exit(Exit::Usage))?;
    // As parsed above: a secret is the last word of its line, and there is one.
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or_default();
    Ok((tokens, line.split_whitespace().last().unwrap_or_default().to_owned()))
}
