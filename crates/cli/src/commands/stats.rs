//! `vouch stats`: counts, failures and durations from the record.

use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};

use crate::commands::audit::duration;
use crate::commands::{Context, Format};
use crate::exit::Exit;
use crate::report::Result;
use crate::ui::Table;
use app::project::audit_log;

/// Show calls, failures and times by tool
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch stats
  vouch stats --since 1h
  vouch stats --since 2026-01-15T10:00:00Z --json")]
pub(crate) struct Args {
    /// Only calls since then: 30m, 1h, 7d, or a time
    #[arg(long, value_name = "WHEN", value_parser = when)]
    since: Option<Timestamp>,
    #[command(flatten)]
    format: Format,
}

fn when(text: &str) -> std::result::Result<Timestamp, String> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    let ago = text
        .parse::<Span>()
        .and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()))
        .ok()
        .filter(|ago| *ago >= SignedDuration::ZERO);
    ago.and_then(|ago| Timestamp::now().checked_sub(ago).ok()).ok_or_else(|| {
        "give how long ago (30m, 1h, 7d) or a time (2026-01-15T10:00:00Z)".to_owned()
    })
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let stats = store::audit::stats(audit_log(&ctx.app.settings()?), args.since)?;
    if args.format.json {
        ctx.ui.json(&stats)?;
        return Ok(Exit::Success);
    }
    if stats.is_empty() {
        ctx.ui.note("No call was recorded yet.");
        return Ok(Exit::Success);
    }
    let mut table =
        Table::new(["TOOL", "CALLS", "FAILED", "RATE", "P50", "P95", "P99", "MAX", "WHY"]);
    for tool in &stats {
        let why = tool.by_code.iter().map(|(code, count)| format!("{code} {count}"));
        table.row([
            contract::text::one_line(tool.tool.as_deref().unwrap_or("(no tool)")),
            tool.calls.to_string(),
            tool.failures.to_string(),
            format!("{:.1} %", tool.failure_rate * 100.0),
            duration(tool.p50_us),
            duration(tool.p95_us),
            duration(tool.p99_us),
            duration(tool.max_us),
            why.collect::<Vec<_>>().join(", "),
        ]);
    }
    table.print(&mut ctx.ui.out())?;
    Ok(Exit::Success)
}
