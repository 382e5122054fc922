//! What `vouch gateway` says when it is up: each server with what became of its tools. All on standard error.

use std::io::{self, Write};
use std::net::SocketAddr;

use admit::State;
use app::clients::Launch;
use app::config::Settings;
use gateway::{Gateway, Upstream};
use runtime::Catalog;

use crate::commands::Context;
use crate::commands::serve::{connect, head};
use crate::ui::{BOLD, GOOD, HINT, WARN};

pub(super) fn print(
    ctx: &Context,
    settings: &Settings,
    gateway: &Gateway,
    catalog: &Catalog,
    address: Option<SocketAddr>,
) {
    let write = || -> io::Result<()> {
        let mut out = ctx.ui.err();
        let count = catalog.names().count();
        let servers = gateway.upstreams().len();
        let does =
            format!("offers {count} tool{} of {servers} server{}", plural(count), plural(servers));
        head(&mut out, settings, does, address)?;
        writeln!(
            out,
            "\n{BOLD}Servers{BOLD:#}  (each tool with its reasons: vouch upstream tools)"
        )?;
        let names = gateway.upstreams().iter().map(|upstream| upstream.name().len());
        let width = names.max().unwrap_or_default();
        for upstream in gateway.upstreams() {
            let (style, state) = state(upstream);
            writeln!(out, "  {:width$}  {style}{state}{style:#}", upstream.name())?;
        }
        if let Ok((_, clashes)) = gateway.catalog() {
            for clash in clashes {
                writeln!(out, "  {WARN}not offered:{WARN:#} {clash}")?;
            }
        }
        if gateway.upstreams().iter().any(|upstream| count_of(upstream, State::Quarantined) > 0) {
            writeln!(out, "  what changed, and to let it in: {HINT}vouch accept{HINT:#}")?;
        }
        let stdio = Launch::new(settings, ctx.app.place.config.as_deref(), &ctx.app.environment);
        connect(&mut out, settings, address, stdio.of_gateway())
    };
    // There is nobody left to tell if that fails.
    let _ = write();
}

pub(crate) fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn count_of(upstream: &Upstream, state: State) -> usize {
    let view = upstream.view();
    let counts = view.admission.as_ref().map(|admission| admission.counts());
    counts.and_then(|counts| counts.get(&state).copied()).unwrap_or_default()
}

/// `3 ready, 1 refused`, or why there is nothing to count.
fn state(upstream: &Upstream) -> (anstyle::Style, String) {
    let view = upstream.view();
    let Some(admission) = &view.admission else {
        let why = view.failure.clone();
        return (
            WARN,
            why.unwrap_or_else(|| "has not answered yet; its tools come when it does".into()),
        );
    };
    let runs = admission.running().count();
    let mut parts = vec![format!("{runs} ready")];
    let observed = admission.running().filter(|tool| tool.observed).count();
    if observed > 0 {
        parts.push(format!("{observed} of them only observed"));
    }
    for (state, word) in [
        (State::Refused, "refused"),
        (State::Quarantined, "quarantined"),
        (State::NotAllowed, "not allowed"),
    ] {
        let count =
            admission.tools.iter().filter(|tool| tool.state == state && !tool.runs()).count();
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    let style = if parts.len() == 1 { GOOD } else { WARN };
    (style, parts.join(", "))
}
