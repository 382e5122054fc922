//! `vouch call`: one call through the same pipeline as every other door, or to a running server.

use std::path::PathBuf;
use std::sync::Arc;

use app::call_arguments;
use app::config::{Endpoint, Layer, Settings, nearest};
use app::env::Var;
use app::project::{self, Project};
use app::upstreams;
use contract::{Caller, Code, Content, Output, ToolError};
use runtime::client::{self, Answer, ClientError, Target};
use runtime::doors::http::is_loopback;
use runtime::{Abilities, Ask, Call, Catalog, Person, Pipeline, Refusal, Reply};
use serde_json::{Map, Value, json};

use crate::commands::Context;
use crate::commands::tools::unknown;
use crate::exit::Exit;
use crate::logging::{self, LogFormat};
use crate::prompt::Terminal;
use crate::report::{Failure, FailureKind, Result};
use crate::ui;

/// Call a tool
///
/// The call is checked, limited, approved and recorded as any other. Where it needs a person's approval, you are asked
/// here; without a terminal it is queued for `vouch approvals`. The answer is JSON on standard output.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch call hello
  vouch call read_repo_file path=README.md
  vouch call write_memory_entry --json '{\"file\": \"decisions.jsonl\", \"entry\": \"{}\"}'
  vouch call files__read_text_file path=README.md
  vouch call hello name=Ada --url http://127.0.0.1:8377/mcp")]
pub(crate) struct Args {
    /// Which tool
    tool: String,

    /// Arguments: key=value, or key:=JSON
    ///
    /// A value is read as the tool's input schema says: text for strings, JSON for numbers, lists and the like.
    #[arg(value_name = "KEY=VALUE")]
    arguments: Vec<String>,

    /// All arguments as one JSON object
    #[arg(long, alias = "json-args", value_name = "OBJECT", conflicts_with = "arguments")]
    json: Option<String>,

    /// Call a running server instead
    #[arg(long, value_name = "URL")]
    url: Option<Endpoint>,

    /// File with the server's token (or set VOUCH_TOKEN)
    #[arg(long, value_name = "FILE", requires = "url")]
    token_file: Option<PathBuf>,
}

pub(crate) fn run(ctx: &Context, args: Args) -> Result<Exit> {
    let layer = Layer::from_server(None, None, args.token_file.clone());
    let settings = Arc::new(ctx.app.settings_with(layer)?);
    logging::init(ctx, LogFormat::Text, None)?;
    ctx.block_on(async {
        match &args.url {
            Some(Endpoint(url)) => at_server(ctx, &args, &settings, url).await,
            None => here(ctx, &args, &settings).await,
        }
    })
}

async fn here(ctx: &Context, args: &Args, settings: &Arc<Settings>) -> Result<Exit> {
    if settings.upstream_of(&args.tool).is_some() {
        let (gateway, pipeline) = upstreams::of_tool(&ctx.app, settings, &args.tool).await?;
        let called = through(ctx, args, &pipeline).await;
        gateway.close().await;
        return called;
    }
    let Project { pipeline, seats, .. } = project::project(settings).await?;
    upstreams::rules(&ctx.app, settings, &pipeline.catalog(), &upstreams::absent(settings, None))?;
    for seat in seats {
        seat.prepare_failed(
            "none runs here; name the server that has it with --url: `vouch fuzz --mcp-port` or `vouch serve` says it",
        );
    }
    through(ctx, args, &pipeline).await
}

async fn through(ctx: &Context, args: &Args, pipeline: &Pipeline) -> Result<Exit> {
    let mut call = Call::new(&args.tool, arguments(args, &pipeline.catalog())?, Caller::new("cli"));
    if let Some(ask) = terminal(ctx) {
        let abilities = Abilities { elicitation: true, ..Abilities::default() };
        call.person = Person::Connected { abilities, ask };
    }
    let cancel = call.cancel.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            cancel.cancel();
        }
    });
    let reply = pipeline.call(call).await;
    pipeline.drain().await;
    match reply {
        Reply::Done(output) => match output.failure() {
            Some(error) => failure(ctx, args, &error, &pipeline.catalog()),
            None => success(ctx, &output),
        },
        Reply::Failed(error) => failure(ctx, args, &error, &pipeline.catalog()),
        Reply::Refused(Refusal::BadState(message)) => Err(Failure::new(message)),
        Reply::Refused(Refusal::MissingAbility(ability)) => Err(Failure::new(format!(
            "the tool asks its client for {ability}, which a terminal has not"
        ))),
        // Only clients that come again in rounds are answered so.
        Reply::InputRequired { .. } => {
            Err(Failure::new("the tool asks for more than a terminal can answer"))
        }
    }
}

async fn at_server(ctx: &Context, args: &Args, settings: &Settings, url: &str) -> Result<Exit> {
    // The server decides what is valid; our own contract of that name only helps to read the arguments.
    let catalog = project::catalog(settings)?;
    let arguments = arguments(args, &catalog)?;
    let token = settings.server.token.as_ref().filter(|_| may_send_token(ctx, args, url));
    let token = project::first_token(token)?;
    let target = Target { url: url.to_owned(), token, ask: terminal(ctx) };
    let called = client::call(target, &args.tool, arguments).await;
    let Answer { output, failed } = called.map_err(no_answer)?;
    if !failed {
        return success(ctx, &output);
    }
    let envelope = output.structured.clone().unwrap_or_else(|| json!(texts(&output)));
    let message = envelope.pointer("/error/message").and_then(Value::as_str).map(str::to_owned);
    let code = envelope.pointer("/error/code").and_then(Value::as_str).unwrap_or("the call failed");
    print_envelope(ctx, args, &envelope)?;
    Err(Failure::new(format!("{code}: {}", message.unwrap_or_else(|| texts(&output))))
        .with_kind(FailureKind::Negative))
}

fn no_answer(error: ClientError) -> Failure {
    let (hint, kind) = match &error {
        ClientError::Unreachable { .. } => {
            ("start it with `vouch serve`, and use the URL that it prints", FailureKind::Operation)
        }
        ClientError::Unauthenticated { .. } => {
            ("give the server's token: --token-file <FILE>, or VOUCH_TOKEN", FailureKind::Operation)
        }
        ClientError::NotMcp { .. } => {
            ("use the URL that `vouch serve` prints; it ends in /mcp", FailureKind::Operation)
        }
        ClientError::Refused { .. } => {
            ("what it offers: run `vouch tools` in the server's folder", FailureKind::Negative)
        }
        ClientError::Connect { .. } | ClientError::Call { .. } => {
            ("what was said in detail: add -v", FailureKind::Operation)
        }
    };
    Failure::from(error).with_hint(hint).with_kind(kind)
}

/// The project's own token goes to servers on this machine; any other gets one only if it was given for this call.
fn may_send_token(ctx: &Context, args: &Args, url: &str) -> bool {
    let given =
        [Var::Token, Var::TokenFile].iter().any(|var| ctx.app.environment.get(*var).is_some());
    let uri: Option<http::Uri> = url.parse().ok();
    let host = uri.as_ref().and_then(http::Uri::host).unwrap_or_default().trim_matches(['[', ']']);
    given || args.token_file.is_some() || is_loopback(host)
}

pub(crate) fn terminal(ctx: &Context) -> Option<Arc<dyn Ask>> {
    ui::is_interactive().then(|| Arc::new(Terminal { ui: ctx.ui }) as Arc<dyn Ask>)
}

fn arguments(args: &Args, catalog: &Catalog) -> Result<Map<String, Value>> {
    let schema = catalog.get(&args.tool).map(|entry| entry.contract.input.as_value());
    match &args.json {
        Some(text) => call_arguments::from_json(text),
        None => call_arguments::from_pairs(&args.arguments, schema.unwrap_or(&Value::Null)),
    }
    .map_err(|message| {
        Failure::usage(message).with_hint(format!("what it takes: vouch tools {}", args.tool))
    })
}

fn success(ctx: &Context, output: &Output) -> Result<Exit> {
    match &output.structured {
        Some(value) => ctx.ui.json(value)?,
        None => ctx.ui.json(&texts(output))?,
    }
    Ok(Exit::Success)
}

fn texts(output: &Output) -> String {
    let text = |content: &Content| match content {
        Content::Text(text) => text.clone(),
        Content::Block(block) => block.to_string(),
    };
    output.content.iter().map(text).collect::<Vec<_>>().join("\n")
}

fn failure(ctx: &Context, args: &Args, error: &ToolError, catalog: &Catalog) -> Result<Exit> {
    print_envelope(ctx, args, &error.envelope())?;
    if error.code == Code::ToolNotFound {
        return Err(unknown(&args.tool, catalog.names()));
    }
    let failure = Failure::new(error).with_kind(FailureKind::Negative);
    let approval = error.details.get("approvalId").and_then(Value::as_str);
    Err(match (error.code, approval) {
        (Code::ApprovalRequired, Some(id)) => {
            failure.with_hint(format!("vouch approvals approve {id}"))
        }
        (Code::InvalidInput, _) => failure.with_hint(meant(args, catalog)),
        (code, _) => failure.with_hint(format!("more about it: vouch explain {code}")),
    })
}

/// The parameter that a mistyped one was meant to be, or where to read about them.
fn meant(args: &Args, catalog: &Catalog) -> String {
    let schema = catalog.get(&args.tool).map(|entry| entry.contract.input.as_value());
    let known = schema.and_then(|schema| schema["properties"].as_object());
    let known: Vec<_> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    let given = args.arguments.iter().filter_map(|pair| pair.split_once('='));
    let mut given = given.map(|(key, _)| key.trim_end_matches(':'));
    match given.find(|key| !known.contains(key)).and_then(|key| nearest(key, known.iter().copied()))
    {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("what it takes: vouch tools {}", args.tool),
    }
}

/// A script reads the envelope; a person reads the message on standard error.
fn print_envelope(ctx: &Context, args: &Args, envelope: &Value) -> Result {
    if args.json.is_some() || !ui::out_is_terminal() {
        ctx.ui.json(envelope)?;
    }
    Ok(())
}
