//! Startup banner of `vouch gateway`, on standard error: the upstream servers with the states of their tools.

use std::io::{self, Write};
use std::net::SocketAddr;

use admit::ToolStatus;
use app::clients::LaunchCommand;
use app::config::Settings;
use gateway::{Gateway, GatewayUpstream};
use runtime::Catalog;
use store::ProjectToken;

use crate::commands::CommandContext;
use crate::commands::serve::{write_connect_help, write_header, write_token};
use crate::ui::{BOLD, GOOD, HINT, WARN};

pub(super) fn print_banner(
    ctx: &CommandContext,
    settings: &Settings,
    gateway: &Gateway,
    catalog: &Catalog,
    address: Option<SocketAddr>,
    new_token: Option<&ProjectToken>,
) {
    let write = || -> io::Result<()> {
        let mut out = ctx.ui.stderr();
        let count = catalog.names().count();
        let servers = gateway.upstreams().len();
        let does = format!(
            "serves {count} tool{} of {servers} server{}",
            plural_suffix(count),
            plural_suffix(servers)
        );
        write_header(&mut out, settings, does, address)?;
        if address.is_some() {
            write_token(&mut out, settings, new_token)?;
        }
        writeln!(out, "\n{BOLD}Servers{BOLD:#}  (run `vouch upstream tools` to see each tool)")?;
        let names = gateway.upstreams().iter().map(|upstream| upstream.name().len());
        let width = names.max().unwrap_or_default();
        for upstream in gateway.upstreams() {
            let (style, state) = format_state(upstream);
            writeln!(out, "  {:width$}  {style}{state}{style:#}", upstream.name())?;
        }
        if let Ok((_, clashes)) = gateway.build_catalog() {
            for clash in clashes {
                writeln!(out, "  {WARN}not served:{WARN:#} {clash}")?;
            }
        }
        if gateway
            .upstreams()
            .iter()
            .any(|upstream| count_tools(upstream, ToolStatus::Quarantined) > 0)
        {
            writeln!(out, "  review and accept changed tools: {HINT}vouch accept{HINT:#}")?;
        }
        let stdio =
            LaunchCommand::new(settings, ctx.app.location.config.as_deref(), &ctx.app.environment);
        write_connect_help(&mut out, settings, address, stdio.for_gateway())
    };
    // A write error cannot be reported anywhere.
    let _ = write();
}

pub(crate) fn plural_suffix(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn count_tools(upstream: &GatewayUpstream, state: ToolStatus) -> usize {
    let view = upstream.snapshot();
    let counts = view.admission.as_ref().map(|admission| admission.count_by_status());
    counts.and_then(|counts| counts.get(&state).copied()).unwrap_or_default()
}

/// Returns the style and text of an upstream's state: `3 ready, 1 refused`, or the reason for having no tools.
fn format_state(upstream: &GatewayUpstream) -> (anstyle::Style, String) {
    let view = upstream.snapshot();
    let Some(admission) = &view.admission else {
        let why = view.failure.clone();
        return (
            WARN,
            why.unwrap_or_else(|| "no response yet; its tools are added once it responds".into()),
        );
    };
    let runs = admission.runnable_tools().count();
    let mut parts = vec![format!("{runs} ready")];
    let observed = admission.runnable_tools().filter(|tool| tool.observed).count();
    if observed > 0 {
        parts.push(format!("{observed} of them observed only"));
    }
    for (state, word) in [
        (ToolStatus::Refused, "refused"),
        (ToolStatus::Quarantined, "quarantined"),
        (ToolStatus::NotAllowed, "not allowed"),
    ] {
        let count =
            admission.tools.iter().filter(|tool| tool.state == state && !tool.can_run()).count();
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    let style = if parts.len() == 1 { GOOD } else { WARN };
    (style, parts.join(", "))
}
