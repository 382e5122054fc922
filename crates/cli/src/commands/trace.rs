//! `vouch trace`: what each gate decided about an ask.

use std::io::Write;

use app::traces::{Traces, by_ask};
use clap::Subcommand;
use contract::text::one_line;
use host::trace::{Line, Verdict, render};
use serde_json::{Value, json};

use crate::commands::audit::duration;
use crate::commands::{Context, Format};
use crate::exit::Exit;
use crate::report::{Failure, FailureKind, Result};
use crate::ui::Table;

/// See how asks went, gate by gate
///
/// A trace holds names, reasons, digests and sizes. It holds no query, and no argument unless the contract of the tool
/// lets its values be recorded.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch trace list
  vouch trace show
  vouch trace show 3f9a")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the last asks
    List {
        /// How many
        #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
        lines: usize,
        #[command(flatten)]
        format: Format,
    },
    /// Show the gates of one
    Show {
        /// Its id, or the beginning of it, or `last`
        #[arg(default_value = "last")]
        id: String,
        #[command(flatten)]
        format: Format,
    },
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let kept = Traces::of(&ctx.app.settings()?).read()?;
    if kept.unreadable > 0 {
        ctx.ui.note(format_args!("{} lines could not be read", kept.unreadable));
    }
    let asks = by_ask(kept.lines);
    match &args.action {
        Action::List { lines, format } => {
            list(ctx, &asks[asks.len().saturating_sub(*lines)..], format.json)
        }
        Action::Show { id, format } => {
            let lines = find(&asks, id)?;
            if format.json {
                put(ctx, &json!({"ask": lines.first().map(|line| &line.ask), "lines": lines}))?;
            } else {
                write!(ctx.ui.out(), "{}", render(lines))?;
            }
            Ok(Exit::Success)
        }
    }
}

fn find<'a>(asks: &'a [Vec<Line>], id: &str) -> Result<&'a [Line]> {
    let fail = |message: String| Failure::new(message).with_kind(FailureKind::Negative);
    if id == "last" {
        let last = asks.last().map(Vec::as_slice);
        return last.ok_or_else(|| {
            fail("nothing was asked yet".into()).with_hint("ask something: vouch ask \"…\"")
        });
    }
    let begins = |lines: &&Vec<Line>| lines.first().is_some_and(|line| line.ask.starts_with(id));
    match asks.iter().filter(begins).collect::<Vec<_>>()[..] {
        [one] => Ok(one),
        [] => Err(fail(format!("no trace has the id {}", one_line(id)))
            .with_hint("those that are kept: vouch trace list")),
        _ => Err(fail(format!("more than one id begins with {}", one_line(id)))),
    }
}

fn list(ctx: &Context, asks: &[Vec<Line>], json: bool) -> Result<Exit> {
    if json {
        return put(ctx, &asks.iter().map(|lines| view(lines)).collect());
    }
    if asks.is_empty() {
        ctx.ui.note("Nothing was asked yet.");
        return Ok(Exit::Success);
    }
    let mut table = Table::new(["ASK", "WHEN", "TOOK", "TOOL", "HOW IT WENT"]);
    for lines in asks {
        let Some(first) = lines.first() else { continue };
        let decided = decisive(lines);
        table.row([
            one_line(&first.ask),
            one_line(&first.time),
            duration(took(lines)),
            one_line(tool(lines).unwrap_or("-")),
            one_line(&format!("{}: {}", decided.name, decided.detail)),
        ]);
    }
    table.print(&mut ctx.ui.out())?;
    ctx.ui.note("\nall gates of one: vouch trace show <ask>");
    Ok(Exit::Success)
}

fn view(lines: &[Line]) -> Value {
    let decided = decisive(lines);
    json!({
        "ask": decided.ask,
        "time": lines.first().map(|line| &line.time),
        "tool": tool(lines),
        "elapsedUs": took(lines),
        "verdict": decided.verdict,
        "gate": decided.gate,
        "name": decided.name,
        "detail": decided.detail,
    })
}

/// The gate that stopped the ask, or the last one that let it through; the count of calls says nothing of that.
fn decisive(lines: &[Line]) -> &Line {
    let stopped = lines.iter().find(|line| line.verdict == Verdict::Stop);
    let once = host::Gate::Once.number();
    let last = lines.iter().rev().find(|line| line.gate != once);
    stopped.or(last).unwrap_or(&lines[0])
}

fn tool(lines: &[Line]) -> Option<&str> {
    lines.iter().rev().find_map(|line| line.tool.as_deref())
}

fn took(lines: &[Line]) -> u64 {
    lines.iter().fold(0, |sum, line| sum.saturating_add(line.elapsed_us))
}

/// The file may hold what anybody wrote there.
fn put(ctx: &Context, value: &Value) -> Result<Exit> {
    write!(ctx.ui.out(), "{}", contract::text::json(value))?;
    Ok(Exit::Success)
}
