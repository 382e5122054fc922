//! `vouch trace`: shows what each gate decided about past asks.

use std::io::Write;

use app::traces::{TraceFiles, group_by_ask};
use clap::Subcommand;
use contract::text::one_line;
use host::trace::{AskTraceLine, GateVerdict, render_trace};
use serde_json::{Value, json};

use crate::commands::audit::format_duration;
use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::report::{Failure, FailureKind, Result};
use crate::ui::TextTable;

/// Show the decisions of past asks, gate by gate
///
/// A trace contains names, reasons, digests and sizes. It does not contain the query, and contains arguments only if
/// the tool's contract allows them to be recorded.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch trace list
  vouch trace show
  vouch trace show 3f9a")]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    action: TraceCommand,
}

#[derive(Debug, Subcommand)]
enum TraceCommand {
    /// List the last asks
    List {
        /// Number of asks to list
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
        lines: usize,
        #[command(flatten)]
        format: JsonOutputArgs,
    },
    /// Show the gates of an ask
    Show {
        /// ID of the ask, a unique prefix of it, or `last`
        #[arg(default_value = "last")]
        id: String,
        #[command(flatten)]
        format: JsonOutputArgs,
    },
}

pub(crate) fn run_trace(ctx: &CommandContext, args: &TraceArgs) -> Result<ExitStatus> {
    let traces = TraceFiles::in_project(&ctx.app.settings()?).read_lines()?;
    if traces.unreadable > 0 {
        ctx.ui.print_note(format_args!("skipped {} unreadable lines", traces.unreadable));
    }
    let asks = group_by_ask(traces.lines);
    match &args.action {
        TraceCommand::List { lines, format } => {
            print_traces(ctx, &asks[asks.len().saturating_sub(*lines)..], format.json)
        }
        TraceCommand::Show { id, format } => {
            let lines = find_trace(&asks, id)?;
            if format.json {
                write_json(
                    ctx,
                    &json!({"ask": lines.first().map(|line| &line.ask), "lines": lines}),
                )?;
            } else {
                write!(ctx.ui.stdout(), "{}", render_trace(lines))?;
            }
            Ok(ExitStatus::Success)
        }
    }
}

/// Returns the trace lines of an ask. Errors if no id or more than one begins with `id`.
fn find_trace<'a>(asks: &'a [Vec<AskTraceLine>], id: &str) -> Result<&'a [AskTraceLine]> {
    let fail = |message: String| Failure::new(message).with_kind(FailureKind::Negative);
    if id == "last" {
        let last = asks.last().map(Vec::as_slice);
        return last.ok_or_else(|| {
            fail("no asks recorded yet".into()).with_hint("run `vouch ask \"…\"` first")
        });
    }
    let begins =
        |lines: &&Vec<AskTraceLine>| lines.first().is_some_and(|line| line.ask.starts_with(id));
    match asks.iter().filter(begins).collect::<Vec<_>>()[..] {
        [one] => Ok(one),
        [] => Err(fail(format!("unknown trace \"{}\"", one_line(id)))
            .with_hint("run `vouch trace list` to see the ids")),
        _ => Err(fail(format!("more than one trace id starts with \"{}\"", one_line(id)))),
    }
}

fn print_traces(
    ctx: &CommandContext,
    asks: &[Vec<AskTraceLine>],
    json: bool,
) -> Result<ExitStatus> {
    if json {
        return write_json(ctx, &asks.iter().map(|lines| summary_json(lines)).collect());
    }
    if asks.is_empty() {
        ctx.ui.print_note("No asks recorded yet.");
        return Ok(ExitStatus::Success);
    }
    let mut table = TextTable::new(["ASK", "TIME", "DURATION", "TOOL", "RESULT"]);
    for lines in asks {
        let Some(first) = lines.first() else { continue };
        let decision = decisive_line(lines);
        table.add_row([
            one_line(&first.ask),
            one_line(&first.time),
            format_duration(total_elapsed(lines)),
            one_line(chosen_tool(lines).unwrap_or("-")),
            one_line(&format!("{}: {}", decision.name, decision.detail)),
        ]);
    }
    table.write_to(&mut ctx.ui.stdout())?;
    ctx.ui.print_note("\nRun `vouch trace show <ask>` to see all gates of an ask.");
    Ok(ExitStatus::Success)
}

fn summary_json(lines: &[AskTraceLine]) -> Value {
    let decision = decisive_line(lines);
    json!({
        "ask": decision.ask,
        "time": lines.first().map(|line| &line.time),
        "tool": chosen_tool(lines),
        "elapsedUs": total_elapsed(lines),
        "verdict": decision.verdict,
        "gate": decision.gate,
        "name": decision.name,
        "detail": decision.detail,
    })
}

/// Returns the line of the gate that stopped the ask, else of the last gate that it passed. The gate that counts calls
/// is ignored.
fn decisive_line(lines: &[AskTraceLine]) -> &AskTraceLine {
    let stopped = lines.iter().find(|line| line.verdict == GateVerdict::Stop);
    let once = host::AskGate::SingleCall.number();
    let last = lines.iter().rev().find(|line| line.gate != once);
    stopped.or(last).unwrap_or(&lines[0])
}

fn chosen_tool(lines: &[AskTraceLine]) -> Option<&str> {
    lines.iter().rev().find_map(|line| line.tool.as_deref())
}

fn total_elapsed(lines: &[AskTraceLine]) -> u64 {
    lines.iter().fold(0, |sum, line| sum.saturating_add(line.elapsed_us))
}

/// Prints a value as JSON with hidden characters escaped, because the content of the trace file is untrusted.
fn write_json(ctx: &CommandContext, value: &Value) -> Result<ExitStatus> {
    write!(ctx.ui.stdout(), "{}", contract::text::to_visible_json(value))?;
    Ok(ExitStatus::Success)
}
