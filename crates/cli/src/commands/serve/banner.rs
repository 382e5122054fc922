//! Startup banner of `vouch serve`, on standard error: URLs, tools and how to connect clients.

use std::fmt::Display;
use std::io::{self, Write};
use std::net::SocketAddr;

use app::clients::{ClientConnection, LaunchCommand, McpClient, server_url};
use app::config::{ApprovalPolicy, CampaignTarget, Settings, TokenSource, ToolPack};
use contract::SideEffects;
use contract::text::one_line;
use runtime::Catalog;
use store::ProjectToken;

use crate::commands::CommandContext;
use crate::commands::tools::tool_title;
use crate::ui::{BOLD, DIM, HINT, WARN, format_path};

/// Prints the banner. Without an address, the server uses standard input and output.
pub(super) fn print_banner(
    ctx: &CommandContext,
    settings: &Settings,
    catalog: &Catalog,
    address: Option<SocketAddr>,
    new_token: Option<&ProjectToken>,
) {
    let write = || -> io::Result<()> {
        let mut out = ctx.ui.stderr();
        let root = format_path(&settings.root);
        write_header(&mut out, settings, format_args!("serves {root}"), address)?;
        if address.is_some() {
            write_token(&mut out, settings, new_token)?;
        }
        write_index(&mut out, settings)?;
        write_campaigns(&mut out, settings)?;
        write_tools(&mut out, settings, catalog)?;
        let stdio =
            LaunchCommand::new(settings, ctx.app.location.config.as_deref(), &ctx.app.environment);
        write_connect_help(&mut out, settings, address, stdio)
    };
    // A write error cannot be reported anywhere.
    let _ = write();
}

/// Writes the version, what is served, and the URLs.
pub(crate) fn write_header(
    out: &mut impl Write,
    settings: &Settings,
    activity: impl Display,
    address: Option<SocketAddr>,
) -> io::Result<()> {
    writeln!(out, "{BOLD}vouch {}{BOLD:#} {activity}\n", env!("CARGO_PKG_VERSION"))?;
    let Some(address) = address else {
        return writeln!(out, "  MCP   on standard input and output, for an MCP client");
    };
    let mcp = server_url(settings, address);
    let base = mcp.trim_end_matches("/mcp");
    writeln!(out, "  MCP   {HINT}{mcp}{HINT:#}")?;
    writeln!(out, "  REST  {HINT}{base}/v1/tools{HINT:#}  (described in {base}/openapi.json)")
}

/// Writes which token requests need, and the token itself if it is new.
pub(crate) fn write_token(
    out: &mut impl Write,
    settings: &Settings,
    new_token: Option<&ProjectToken>,
) -> io::Result<()> {
    match (&settings.server.token, new_token) {
        (None, _) => {
            writeln!(
                out,
                "  {WARN}No token: every user and program of this machine can call.{WARN:#}"
            )
        }
        (Some(TokenSource::Project), Some(token)) => {
            let secret = token.expose_secret();
            writeln!(out, "  TOKEN {secret}")?;
            let again = format!("{HINT}vouch token{HINT:#}");
            writeln!(
                out,
                "        Requests require it. It is shown only now; {again} prints it again."
            )
        }
        (Some(TokenSource::Project), None) => {
            let path = ProjectToken::path_in(&settings.state_folder);
            let path = format_path(&path);
            writeln!(
                out,
                "  TOKEN {HINT}vouch token{HINT:#} prints it; requests require it  ({path})"
            )
        }
        (Some(_), _) => {
            writeln!(out, "  Requests require a token: Authorization: Bearer $VOUCH_TOKEN")
        }
    }
}

/// Writes how to connect clients and how to stop the server.
pub(crate) fn write_connect_help(
    out: &mut impl Write,
    settings: &Settings,
    address: Option<SocketAddr>,
    stdio: LaunchCommand,
) -> io::Result<()> {
    let Some(address) = address else {
        return writeln!(
            out,
            "\n{DIM}Press Ctrl-D to stop. Run `vouch connect <client>` to connect a client.{DIM:#}"
        );
    };
    let http = ClientConnection::over_http(settings, address);
    let stdio = ClientConnection::Stdio(stdio);
    writeln!(
        out,
        "\n{BOLD}Connect{BOLD:#} over HTTP, or let the client start vouch (see `vouch connect --help`)"
    )?;
    if matches!(settings.server.token, Some(TokenSource::Project)) {
        writeln!(
            out,
            "  over HTTP, first run {HINT}export VOUCH_TOKEN=\"$(vouch token)\"{HINT:#}"
        )?;
    }
    for client in [McpClient::ClaudeCode, McpClient::Cursor, McpClient::VsCode, McpClient::Codex] {
        writeln!(out, "  {}", client.display_name())?;
        for way in [&http, &stdio] {
            writeln!(out, "    {HINT}{}{HINT:#}", one_line(&connect_snippet(client, way)))?;
        }
    }
    writeln!(out, "\n{DIM}Press Ctrl-C to stop.{DIM:#}")
}

/// Returns the client's own command to add the server, or the entry for its file if it has no such command.
fn connect_snippet(client: McpClient, way: &ClientConnection) -> String {
    client.add_command("vouch", way).unwrap_or_else(|| {
        let entry = serde_json::json!({"mcpServers": {"vouch": client.server_entry(way)}});
        format!(".cursor/mcp.json  {entry}")
    })
}

fn write_index(out: &mut impl Write, settings: &Settings) -> io::Result<()> {
    if !settings.packs.contains(&ToolPack::Context) {
        return Ok(());
    }
    let status = format!("{HINT}vouch index status{HINT:#}");
    writeln!(out, "  INDEX built in the background; search works meanwhile  ({status})")
}

fn write_campaigns(out: &mut impl Write, settings: &Settings) -> io::Result<()> {
    for CampaignTarget { path, .. } in &settings.campaign.targets {
        let target = path.as_ref().map_or("the demo".to_owned(), |path| format_path(path));
        writeln!(out, "  FUZZ  {}, once it is compiled and deployed", one_line(&target))?;
    }
    Ok(())
}

fn write_tools(out: &mut impl Write, settings: &Settings, catalog: &Catalog) -> io::Result<()> {
    writeln!(out, "\n{BOLD}Tools{BOLD:#}")?;
    let width = catalog.names().map(str::len).max().unwrap_or_default();
    for contract in catalog.contracts() {
        let policy = settings.approval_policy(&contract.name, contract.constraints.approval);
        let mark = match policy {
            Some(ApprovalPolicy::Ask | ApprovalPolicy::Queue) => "  (requires approval)",
            Some(ApprovalPolicy::Never) => "  (always denied by policy)",
            _ if contract.constraints.side_effects != SideEffects::None => {
                "  (runs without approval)"
            }
            _ => "",
        };
        writeln!(out, "  {:width$}  {}{WARN}{mark}{WARN:#}", contract.name, tool_title(contract))?;
    }
    Ok(())
}
