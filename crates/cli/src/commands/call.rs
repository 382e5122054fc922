//! `vouch call`: makes one call through the local pipeline, which every transport uses, or to a running server.

use std::path::PathBuf;
use std::sync::Arc;

use app::call_arguments;
use app::config::{ConfigLayer, EndpointUrl, Settings, nearest_name};
use app::env::EnvVar;
use app::project::{self, AssembledProject};
use app::upstreams;
use contract::{Caller, ContentBlock, ErrorCode, ToolError, ToolOutput};
use runtime::client::{self, ClientError, RemoteAnswer, RemoteServer};
use runtime::transports::http::is_loopback;
use runtime::{
    CallOrigin, Catalog, ClientCapabilities, ElicitationChannel, ElicitationHandler, Pipeline,
    ProtocolRefusal, ToolCall, ToolReply,
};
use serde_json::{Map, Value, json};

use crate::commands::CommandContext;
use crate::commands::approvals::local_principal;
use crate::commands::tools::unknown_tool;
use crate::exit::ExitStatus;
use crate::logging::{self, LogFormat};
use crate::prompt::TerminalPrompt;
use crate::report::{Failure, FailureKind, Result};
use crate::ui;

/// Port of a URL that names none.
const DEFAULT_HTTP_PORT: u16 = 80;

/// Call a tool
///
/// The call is checked, rate-limited, approved and recorded like any other. If it requires approval, you are prompted;
/// without a terminal, it is queued for `vouch approvals`. The result is printed to standard output as JSON.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch call hello
  vouch call read_repo_file path=README.md
  vouch call write_memory_entry --json '{\"file\": \"decisions.jsonl\", \"entry\": \"{}\"}'
  vouch call files__read_text_file path=README.md
  vouch call hello name=Ada --url http://127.0.0.1:8377/mcp")]
pub(crate) struct CallArgs {
    /// Name of the tool
    tool: String,

    /// Arguments, as key=value or key:=JSON
    ///
    /// A value is parsed according to the tool's input schema: as text for strings, as JSON for other types.
    #[arg(value_name = "KEY=VALUE")]
    arguments: Vec<String>,

    /// All arguments as a JSON object
    #[arg(long, alias = "json-args", value_name = "OBJECT", conflicts_with = "arguments")]
    json: Option<String>,

    /// Call the tool on a running server
    #[arg(long, value_name = "URL")]
    url: Option<EndpointUrl>,

    /// File with the server's token [default: VOUCH_TOKEN; on this machine, the token of this project]
    #[arg(long, value_name = "FILE", requires = "url")]
    token_file: Option<PathBuf>,
}

pub(crate) fn run_call(ctx: &CommandContext, args: CallArgs) -> Result<ExitStatus> {
    let layer = ConfigLayer::from_server_flags(None, None, args.token_file.clone());
    let settings = Arc::new(ctx.app.settings_with(layer)?);
    logging::init_logging(ctx, LogFormat::Text, None)?;
    ctx.block_on(async {
        match &args.url {
            Some(EndpointUrl(url)) => call_server(ctx, &args, &settings, url).await,
            None => call_locally(ctx, &args, &settings).await,
        }
    })
}

async fn call_locally(
    ctx: &CommandContext,
    args: &CallArgs,
    settings: &Arc<Settings>,
) -> Result<ExitStatus> {
    if settings.upstream_of(&args.tool).is_some() {
        let (gateway, pipeline) =
            upstreams::connect_tool_upstream(&ctx.app, settings, &args.tool).await?;
        let called = call_pipeline(ctx, args, &pipeline).await;
        gateway.close().await;
        return called;
    }
    let AssembledProject { pipeline, slots, .. } = project::assemble_project(settings).await?;
    upstreams::check_rules(
        &ctx.app,
        settings,
        &pipeline.catalog(),
        &upstreams::list_absent_upstreams(settings, None),
    )?;
    for slot in slots {
        slot.set_failed(
            "no campaign runs in this process; pass --url with the URL that `vouch fuzz --mcp-port` or `vouch serve` prints",
        );
    }
    call_pipeline(ctx, args, &pipeline).await
}

async fn call_pipeline(
    ctx: &CommandContext,
    args: &CallArgs,
    pipeline: &Pipeline,
) -> Result<ExitStatus> {
    let mut call =
        ToolCall::new(&args.tool, parse_arguments(args, &pipeline.catalog())?, Caller::new("cli"));
    call.origin = CallOrigin::Local;
    if let Some(ask) = terminal_prompt(ctx) {
        let abilities = ClientCapabilities { elicitation: true, ..ClientCapabilities::default() };
        call.channel = ElicitationChannel::Connected { capabilities: abilities, handler: ask };
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
        ToolReply::Done(output) => match output.to_tool_error() {
            Some(error) => report_failure(ctx, args, &error, &pipeline.catalog()),
            None => print_success(ctx, &output),
        },
        ToolReply::Failed(error) => report_failure(ctx, args, &error, &pipeline.catalog()),
        ToolReply::Refused(ProtocolRefusal::InvalidState(message)) => Err(Failure::new(message)),
        ToolReply::Refused(ProtocolRefusal::MissingCapability(ability)) => {
            Err(Failure::new(format!(
                "the tool requires the client capability {ability}, which a terminal does not support"
            )))
        }
        // This reply is only for clients that answer in a second request.
        ToolReply::InputRequired { .. } => {
            Err(Failure::new("the tool requires input that a terminal cannot provide"))
        }
    }
}

async fn call_server(
    ctx: &CommandContext,
    args: &CallArgs,
    settings: &Settings,
    url: &str,
) -> Result<ExitStatus> {
    // The server validates the arguments; a local contract of that name only helps to parse them.
    let catalog = project::build_catalog(settings)?;
    let arguments = parse_arguments(args, &catalog)?;
    let token = choose_token(ctx, args, settings, url)?;
    let target = RemoteServer { url: url.to_owned(), token, handler: terminal_prompt(ctx) };
    let called = client::call_remote_tool(target, &args.tool, arguments).await;
    let RemoteAnswer { output, failed } = called.map_err(client_failure)?;
    if !failed {
        return print_success(ctx, &output);
    }
    let envelope = output.structured.clone().unwrap_or_else(|| json!(content_text(&output)));
    let message = envelope.pointer("/error/message").and_then(Value::as_str).map(str::to_owned);
    let code = envelope.pointer("/error/code").and_then(Value::as_str).unwrap_or("the call failed");
    print_envelope(ctx, args, &envelope)?;
    let failure =
        Failure::new(format!("{code}: {}", message.unwrap_or_else(|| content_text(&output))))
            .with_kind(FailureKind::Negative);
    let approval = envelope.pointer("/error/details/approvalId").and_then(Value::as_str);
    Err(match approval.filter(|_| code == ErrorCode::ApprovalRequired.as_str()) {
        Some(id) => failure.with_hint(approval_hint(id)),
        None => failure,
    })
}

/// Returns the command that approves a call. The id comes from a server, so it is not trusted to be one.
fn approval_hint(id: &str) -> String {
    let id: String = id.chars().filter(char::is_ascii_alphanumeric).take(16).collect();
    format!("run `vouch approvals approve {id}` in the server's folder, then call again")
}

fn client_failure(error: ClientError) -> Failure {
    let (hint, kind) = match &error {
        ClientError::Unreachable { .. } => {
            ("start it with `vouch serve` and use the URL that it prints", FailureKind::Operation)
        }
        ClientError::Unauthenticated { .. } => (
            "run `vouch token` in the server's folder and set VOUCH_TOKEN, or pass `--token-file <FILE>`",
            FailureKind::Operation,
        ),
        ClientError::NotMcp { .. } => {
            ("use the URL that `vouch serve` prints; it ends in /mcp", FailureKind::Operation)
        }
        ClientError::Refused { .. } => {
            ("run `vouch tools` in the server's folder to list its tools", FailureKind::Negative)
        }
        ClientError::Connect { .. } | ClientError::Call { .. } => {
            ("pass `-v` for details", FailureKind::Operation)
        }
    };
    Failure::from(error).with_hint(hint).with_kind(kind)
}

/// Returns the token to send to `url`. A server on another machine, or of another user, gets a token only if it was given
/// for this call, by flag or variable. Errors if the project has a token and the port belongs to another user.
fn choose_token(
    ctx: &CommandContext,
    args: &CallArgs,
    settings: &Settings,
    url: &str,
) -> Result<Option<String>> {
    let by_variable = [EnvVar::Token, EnvVar::TokenFile]
        .iter()
        .any(|var| ctx.app.environment.get(*var).is_some());
    if by_variable || args.token_file.is_some() {
        return project::load_first_token(settings);
    }
    let uri: Option<http::Uri> = url.parse().ok();
    let host = uri.as_ref().and_then(http::Uri::host).unwrap_or_default().trim_matches(['[', ']']);
    if !is_loopback(host) {
        return Ok(None);
    }
    let token = project::load_first_token(settings)?;
    let port = uri.as_ref().and_then(http::Uri::port_u16).unwrap_or(DEFAULT_HTTP_PORT);
    if token.is_some() && project::is_foreign_port(port) {
        return Err(Failure::new(format!(
            "another user listens on port {port}; the token of this project is not sent there"
        ))
        .with_hint("pass the token of that server with `--token-file <FILE>`"));
    }
    Ok(token)
}

/// Returns a prompt for elicitations, or `None` if the command is not interactive.
pub(crate) fn terminal_prompt(ctx: &CommandContext) -> Option<Arc<dyn ElicitationHandler>> {
    ui::is_interactive().then(|| {
        Arc::new(TerminalPrompt { ui: ctx.ui, person: local_principal() })
            as Arc<dyn ElicitationHandler>
    })
}

fn parse_arguments(args: &CallArgs, catalog: &Catalog) -> Result<Map<String, Value>> {
    let schema = catalog.get(&args.tool).map(|entry| entry.contract.input.as_value());
    match &args.json {
        Some(text) => call_arguments::from_json(text),
        None => call_arguments::from_pairs(&args.arguments, schema.unwrap_or(&Value::Null)),
    }
    .map_err(|message| {
        Failure::usage(message)
            .with_hint(format!("run `vouch tools {}` to see its parameters", args.tool))
    })
}

fn print_success(ctx: &CommandContext, output: &ToolOutput) -> Result<ExitStatus> {
    match &output.structured {
        Some(value) => ctx.ui.print_json(value)?,
        None => ctx.ui.print_json(&content_text(output))?,
    }
    Ok(ExitStatus::Success)
}

fn content_text(output: &ToolOutput) -> String {
    let text = |content: &ContentBlock| match content {
        ContentBlock::Text(text) => text.clone(),
        ContentBlock::Block(block) => block.to_string(),
    };
    output.content.iter().map(text).collect::<Vec<_>>().join("\n")
}

fn report_failure(
    ctx: &CommandContext,
    args: &CallArgs,
    error: &ToolError,
    catalog: &Catalog,
) -> Result<ExitStatus> {
    print_envelope(ctx, args, &error.to_envelope())?;
    if error.code == ErrorCode::ToolNotFound {
        return Err(unknown_tool(&args.tool, catalog.names()));
    }
    let failure = Failure::new(error).with_kind(FailureKind::Negative);
    let approval = error.details.get("approvalId").and_then(Value::as_str);
    Err(match (error.code, approval) {
        (ErrorCode::ApprovalRequired, Some(id)) => {
            failure.with_hint(format!("run `vouch approvals approve {id}`"))
        }
        (ErrorCode::InvalidInput, _) => failure.with_hint(argument_hint(args, catalog)),
        (code, _) => failure.with_hint(format!("run `vouch explain {code}` for details")),
    })
}

/// Returns a hint for invalid arguments: the parameter nearest to a mistyped one, or the command that lists them.
fn argument_hint(args: &CallArgs, catalog: &Catalog) -> String {
    let schema = catalog.get(&args.tool).map(|entry| entry.contract.input.as_value());
    let known = schema.and_then(|schema| schema["properties"].as_object());
    let known: Vec<_> = known.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    let given = args.arguments.iter().filter_map(|pair| pair.split_once('='));
    let mut given = given.map(|(key, _)| key.trim_end_matches(':'));
    match given
        .find(|key| !known.contains(key))
        .and_then(|key| nearest_name(key, known.iter().copied()))
    {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("run `vouch tools {}` to see its parameters", args.tool),
    }
}

/// Prints the error envelope for scripts. On a terminal, the message on standard error is enough.
fn print_envelope(ctx: &CommandContext, args: &CallArgs, envelope: &Value) -> Result {
    if args.json.is_some() || !ui::is_stdout_terminal() {
        ctx.ui.print_json(envelope)?;
    }
    Ok(())
}
