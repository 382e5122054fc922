//! What came of an ask, for the person who asked: the answer on standard output, everything else beside it.

use std::io::Write;

use contract::text::{one_line, visible};
use contract::{Code, ToolError};
use host::summary::{Bullet, Rejected, Summary};
use serde_json::{Map, Value};

use super::outcome::{Told, What};
use crate::commands::Context;
use crate::report::{Failure, Result, print_failure};
use crate::ui::{self, BOLD, DIM, WARN};

/// Of a withheld answer; more is no look but a flood.
const MAX_RAW: usize = 16 * 1024;

pub(super) fn put(ctx: &Context, told: &Told) -> Result {
    let mut out = ctx.ui.out();
    match &told.what {
        What::Answered { arguments, result, summary } => {
            ctx.ui.note(format_args!("{DIM}called {}{DIM:#}", call(told, arguments)));
            write!(out, "{}", contract::text::json(result))?;
            match summary {
                Some(Ok(summary)) => summarised(&mut out, summary)?,
                Some(Err(reason)) => {
                    ctx.ui.note(format_args!("\nThere is no summary: {}", one_line(reason)));
                }
                None => {}
            }
        }
        What::NeedsMoreInfo { question } => writeln!(out, "{}", visible(question))?,
        What::NoTool { reason } => {
            let failure = Failure::new(format_args!("no tool fits: {}", one_line(reason)));
            print_failure(ctx.ui, &failure);
        }
        What::Stopped { gate, reason } => {
            let said = format!("stopped at gate {}, {}: {reason}", gate.number(), gate.name());
            print_failure(ctx.ui, &Failure::new(one_line(&said)));
        }
        What::BrokeDown { reason, .. } => print_failure(ctx.ui, &Failure::new(one_line(reason))),
        What::Failed { error } => print_failure(ctx.ui, &failed(told, error)),
        What::Withheld { violation, raw, kept } => {
            withheld(ctx, told, violation, raw.as_deref(), kept.as_deref())?;
        }
    }
    ctx.ui.note(format_args!("{DIM}how it went: vouch trace show {}{DIM:#}", told.ask));
    Ok(())
}

fn name(told: &Told) -> String {
    let (server, tool) = told.tool.clone().unwrap_or_default();
    one_line(&format!("{server}/{tool}"))
}

fn call(told: &Told, arguments: &Map<String, Value>) -> String {
    const SHOWN: usize = 200;
    let arguments = one_line(&Value::Object(arguments.clone()).to_string());
    let short: String = arguments.chars().take(SHOWN).collect();
    let more = if short.len() < arguments.len() { "…" } else { "" };
    format!("{} {short}{more}", name(told))
}

fn summarised(out: &mut impl Write, summary: &Summary) -> Result {
    writeln!(out, "\n{BOLD}Summary{BOLD:#}")?;
    for Bullet { claim, evidence, place } in &summary.bullets {
        writeln!(out, "- {}", one_line(claim))?;
        let pointer = if place.pointer.is_empty() { "/" } else { &place.pointer };
        writeln!(
            out,
            "  {DIM}\"{}\" at {}, bytes {} to {}{DIM:#}",
            one_line(evidence),
            one_line(pointer),
            place.start,
            place.end
        )?;
    }
    for Rejected { number, reason, .. } in &summary.rejected {
        writeln!(out, "  {WARN}left out{WARN:#} bullet {number}: {}", one_line(reason))?;
    }
    Ok(())
}

fn failed(told: &Told, error: &ToolError) -> Failure {
    let failure = Failure::new(format_args!("{}: {error}", name(told)));
    let approval = error.details.get("approvalId").and_then(Value::as_str);
    match (error.code, approval) {
        (Code::ApprovalRequired, Some(id)) => {
            failure.with_hint(format!("vouch approvals approve {id}   then ask again"))
        }
        (code, _) => failure.with_hint(format!("more about it: vouch explain {code}")),
    }
}

/// A stranger's words, each line marked, so that none can pass for ours.
fn withheld(
    ctx: &Context,
    told: &Told,
    violation: &str,
    raw: Option<&str>,
    kept: Option<&str>,
) -> Result {
    let message = format!("the answer of {} is withheld: {}", name(told), one_line(violation));
    let mut failure = Failure::new(message);
    if let Some(id) = kept {
        failure = failure.with_hint(format!("what came is kept: vouch calls show {id}"));
    }
    print_failure(ctx.ui, &failure);
    let Some(raw) = raw else { return Ok(()) };
    // A script or a model may read what is not a terminal.
    if !ui::out_is_terminal() {
        return Ok(());
    }
    let mut out = ctx.ui.out();
    writeln!(
        out,
        "\n{WARN}What came, as it came.{WARN:#} It breaks its contract; do not act on what it says. No model has seen it."
    )?;
    let cut = raw.char_indices().nth(MAX_RAW).map_or(raw.len(), |(end, _)| end);
    for line in visible(&raw[..cut]).lines() {
        writeln!(out, "  {DIM}|{DIM:#} {line}")?;
    }
    if cut < raw.len() {
        writeln!(out, "  {DIM}| … and {} bytes more{DIM:#}", raw.len() - cut)?;
    }
    Ok(())
}
