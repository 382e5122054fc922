//! From settings to working parts: the tools of a project, its store, and the pipeline over both.

use std::path::Path;
use std::sync::Arc;

use contract::Tool;
use pack_repo::RepoOptions;
use pack_repo::guard::DenyList;
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
                    deny: deny_list(settings),
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

/// Our own state holds keys, and a token file holds tokens: no tool may read them.
fn deny_list(settings: &Settings) -> DenyList {
    let token_file = match &settings.server.token {
        Some(TokenSource::File(path)) => Some(path.as_path()),
        _ => None,
    };
    let private = [Some(Path::new(".vouch")), Some(&settings.state_folder), token_file];
    let names = private.into_iter().flatten().filter_map(Path::file_name);
    let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.dedup();
    names.iter().fold(DenyList::default(), |list, name| list.with(name))
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
    let (text, what) = match source {
        None => return Ok(Tokens::default()),
        Some(TokenSource::Variable(token)) => (token.reveal().to_owned(), "VOUCH_TOKEN".to_owned()),
        Some(TokenSource::File(path)) => (read_tokens(path)?, path.display().to_string()),
    };
    Tokens::parse(&text)
        .explain(format!("cannot use the tokens in {what}"))
        .hint(NEW_TOKEN)
        .map_err(|failure| failure.with_exit(Exit::Usage))
}

/// The first token, for calling a server that wants one.
pub(crate) fn first_token(source: Option<&TokenSource>) -> Result<Option<String>> {
    let text = match source {
        None => return Ok(None),
        Some(TokenSource::Variable(token)) => return Ok(Some(token.reveal().trim().to_owned())),
        Some(TokenSource::File(path)) => read_tokens(path)?,
    };
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(line.and_then(|line| line.split_whitespace().last()).map(str::to_owned))
}

pub(crate) const NEW_TOKEN: &str =
    "a new one: (umask 077; mkdir -p .vouch; openssl rand -hex 32 > .vouch/tokens)";

fn read_tokens(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(Failure::from)
        .explain(format!("cannot read the token file {}", path.display()))
        .hint(NEW_TOKEN)
}
