//! What `vouch serve` says when it is up: where, what, and how to connect. All on standard error.

use std::fmt::Display;
use std::io::{self, Write};
use std::net::SocketAddr;

use app::clients::{Client, Launch, Way, url};
use app::config::{Aim, Pack, Policy, Settings};
use contract::SideEffects;
use contract::text::one_line;
use runtime::Catalog;

use crate::commands::Context;
use crate::commands::tools::title;
use crate::ui::{BOLD, DIM, HINT, WARN};

/// At an address, or on standard input and output.
pub(super) fn print(
    ctx: &Context,
    settings: &Settings,
    catalog: &Catalog,
    address: Option<SocketAddr>,
) {
    let write = || -> io::Result<()> {
        let mut out = ctx.ui.err();
        let root = settings.root.display();
        head(&mut out, settings, format_args!("serves {root}"), address)?;
        index(&mut out, settings)?;
        campaigns(&mut out, settings)?;
        tools(&mut out, settings, catalog)?;
        let stdio = Launch::new(settings, ctx.app.place.config.as_deref(), &ctx.app.environment);
        connect(&mut out, settings, address, stdio)
    };
    // There is nobody left to tell if that fails.
    let _ = write();
}

/// Who is there, and where.
pub(crate) fn head(
    out: &mut impl Write,
    settings: &Settings,
    does: impl Display,
    address: Option<SocketAddr>,
) -> io::Result<()> {
    writeln!(out, "{BOLD}vouch {}{BOLD:#} {does}\n", env!("CARGO_PKG_VERSION"))?;
    let Some(address) = address else {
        return writeln!(
            out,
            "  MCP   on standard input and output: this is for a client, not for typing"
        );
    };
    let mcp = url(address);
    let base = mcp.trim_end_matches("/mcp");
    writeln!(out, "  MCP   {HINT}{mcp}{HINT:#}")?;
    writeln!(out, "  REST  {HINT}{base}/v1/tools{HINT:#}  (described in {base}/openapi.json)")?;
    if settings.server.token.is_some() {
        writeln!(out, "  Requests must bear a token: Authorization: Bearer $VOUCH_TOKEN")?;
    }
    Ok(())
}

/// How clients are connected, and how it ends.
pub(crate) fn connect(
    out: &mut impl Write,
    settings: &Settings,
    address: Option<SocketAddr>,
    stdio: Launch,
) -> io::Result<()> {
    let Some(address) = address else {
        return writeln!(
            out,
            "\n{DIM}Ctrl-D ends it. To connect a client: vouch connect <client>{DIM:#}"
        );
    };
    let http = Way::Http { url: url(address), token: settings.server.token.is_some() };
    let stdio = Way::Stdio(stdio);
    writeln!(
        out,
        "\n{BOLD}Connect{BOLD:#}, over HTTP or by letting the client start vouch (more: vouch connect <client>)"
    )?;
    for client in [Client::ClaudeCode, Client::Cursor, Client::VsCode, Client::Codex] {
        writeln!(out, "  {}", client.title())?;
        for way in [&http, &stdio] {
            writeln!(out, "    {HINT}{}{HINT:#}", paste(client, way))?;
        }
    }
    writeln!(out, "\n{DIM}Ctrl-C stops it.{DIM:#}")
}

/// A command where the client has one, else the line for its file.
fn paste(client: Client, way: &Way) -> String {
    client.one_liner("vouch", way).unwrap_or_else(|| {
        let entry = serde_json::json!({"mcpServers": {"vouch": client.entry(way)}});
        format!(".cursor/mcp.json  {entry}")
    })
}

fn index(out: &mut impl Write, settings: &Settings) -> io::Result<()> {
    if !settings.packs.contains(&Pack::Context) {
        return Ok(());
    }
    let status = format!("{HINT}vouch index status{HINT:#}");
    writeln!(out, "  INDEX built in the background; searches answer meanwhile  ({status})")
}

fn campaigns(out: &mut impl Write, settings: &Settings) -> io::Result<()> {
    for Aim { path, .. } in &settings.campaign.aims {
        let what = path.as_ref().map_or("the demo".to_owned(), |path| path.display().to_string());
        writeln!(out, "  FUZZ  {}, as soon as it is compiled and deployed", one_line(&what))?;
    }
    Ok(())
}

fn tools(out: &mut impl Write, settings: &Settings, catalog: &Catalog) -> io::Result<()> {
    writeln!(out, "\n{BOLD}Tools{BOLD:#}")?;
    let width = catalog.names().map(str::len).max().unwrap_or_default();
    for contract in catalog.contracts() {
        let policy = settings.policy(&contract.name, contract.constraints.approval);
        let mark = match policy {
            Some(Policy::Ask) => "  (asks a person first)",
            Some(Policy::Never) => "  (always refused, by policy)",
            _ if contract.constraints.side_effects != SideEffects::None => {
                "  (runs without asking anybody)"
            }
            _ => "",
        };
        writeln!(out, "  {:width$}  {}{WARN}{mark}{WARN:#}", contract.name, title(contract))?;
    }
    Ok(())
}
