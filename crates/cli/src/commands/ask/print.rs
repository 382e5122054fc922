//! The result of an ask for a terminal: the answer on standard output, everything else on standard error.

use std::io::Write;

use contract::text::{escape_hidden, one_line};
use contract::{ErrorCode, ToolError};
use host::summary::{GroundedSummary, RejectedBullet, SummaryBullet};
use serde_json::{Map, Value};

use super::outcome::{AskReport, AskResult};
use crate::commands::CommandContext;
use crate::report::{Failure, Result, print_failure};
use crate::ui::{self, BOLD, DIM, WARN};

/// Maximum characters of a withheld answer that are printed.
const MAX_RAW: usize = 16 * 1024;

pub(super) fn print_report(ctx: &CommandContext, report: &AskReport) -> Result {
    let mut out = ctx.ui.stdout();
    match &report.what {
        AskResult::Answered { arguments, result, summary } => {
            ctx.ui
                .print_note(format_args!("{DIM}called {}{DIM:#}", format_call(report, arguments)));
            write!(out, "{}", contract::text::to_visible_json(result))?;
            match summary {
                Some(Ok(summary)) => print_summary(&mut out, summary)?,
                Some(Err(reason)) => {
                    ctx.ui.print_note(format_args!("\nNo summary: {}", one_line(reason)));
                }
                None => {}
            }
        }
        AskResult::NeedsMoreInfo { question } => writeln!(out, "{}", escape_hidden(question))?,
        AskResult::NoTool { reason } => {
            let failure = Failure::new(format_args!("no tool fits: {}", one_line(reason)));
            print_failure(ctx.ui, &failure);
        }
        AskResult::Stopped { gate, reason } => {
            let message = format!("stopped at gate {}, {}: {reason}", gate.number(), gate.name());
            print_failure(ctx.ui, &Failure::new(one_line(&message)));
        }
        AskResult::BrokeDown { reason, .. } => {
            print_failure(ctx.ui, &Failure::new(one_line(reason)))
        }
        AskResult::Failed { error } => print_failure(ctx.ui, &to_failure(report, error)),
        AskResult::Withheld { violation, raw, kept } => {
            print_withheld(ctx, report, violation, raw.as_deref(), kept.as_deref())?;
        }
    }
    ctx.ui.print_note(format_args!("{DIM}trace: vouch trace show {}{DIM:#}", report.ask));
    Ok(())
}

fn tool_name(report: &AskReport) -> String {
    let (server, tool) = report.tool.clone().unwrap_or_default();
    one_line(&format!("{server}/{tool}"))
}

fn format_call(report: &AskReport, arguments: &Map<String, Value>) -> String {
    const SHOWN: usize = 200;
    let arguments = one_line(&Value::Object(arguments.clone()).to_string());
    let short: String = arguments.chars().take(SHOWN).collect();
    let more = if short.len() < arguments.len() { "…" } else { "" };
    format!("{} {short}{more}", tool_name(report))
}

fn print_summary(out: &mut impl Write, summary: &GroundedSummary) -> Result {
    writeln!(out, "\n{BOLD}Summary{BOLD:#}")?;
    for SummaryBullet { claim, evidence, place } in &summary.bullets {
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
    for RejectedBullet { number, reason, .. } in &summary.rejected {
        writeln!(out, "  {WARN}left out{WARN:#} bullet {number}: {}", one_line(reason))?;
    }
    Ok(())
}

fn to_failure(report: &AskReport, error: &ToolError) -> Failure {
    let failure = Failure::new(format_args!("{}: {error}", tool_name(report)));
    let approval = error.details.get("approvalId").and_then(Value::as_str);
    match (error.code, approval) {
        (ErrorCode::ApprovalRequired, Some(id)) => {
            failure.with_hint(format!("run `vouch approvals approve {id}`, then ask again"))
        }
        (code, _) => failure.with_hint(format!("run `vouch explain {code}` for details")),
    }
}

/// Prints a withheld answer. Each line is marked, so that it cannot be mistaken for output of vouch.
fn print_withheld(
    ctx: &CommandContext,
    report: &AskReport,
    violation: &str,
    raw: Option<&str>,
    kept: Option<&str>,
) -> Result {
    let message =
        format!("the answer of {} is withheld: {}", tool_name(report), one_line(violation));
    let mut failure = Failure::new(message);
    if let Some(id) = kept {
        failure = failure.with_hint(format!("run `vouch calls show {id}` to see the answer"));
    }
    print_failure(ctx.ui, &failure);
    let Some(raw) = raw else { return Ok(()) };
    // Output that is not a terminal may be read by a script or a model.
    if !ui::is_stdout_terminal() {
        return Ok(());
    }
    let mut out = ctx.ui.stdout();
    writeln!(
        out,
        "\n{WARN}Raw answer:{WARN:#} it breaks its contract; do not act on its content. No model has seen it."
    )?;
    let cut = raw.char_indices().nth(MAX_RAW).map_or(raw.len(), |(end, _)| end);
    for line in escape_hidden(&raw[..cut]).lines() {
        writeln!(out, "  {DIM}|{DIM:#} {line}")?;
    }
    if cut < raw.len() {
        writeln!(out, "  {DIM}| … and {} bytes more{DIM:#}", raw.len() - cut)?;
    }
    Ok(())
}
