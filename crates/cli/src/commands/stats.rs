//! `vouch stats`: call counts, failures and durations by tool, from the audit log.

use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};

use crate::commands::audit::format_duration;
use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::report::Result;
use crate::ui::TextTable;
use app::project::audit_log_path;

/// Show calls, failures and durations by tool
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch stats
  vouch stats --since 1h
  vouch stats --since 2026-01-15T10:00:00Z --json")]
pub(crate) struct StatsArgs {
    /// Count only calls since then: a duration (30m, 1h, 7d) or a timestamp
    #[arg(long, value_name = "WHEN", value_parser = parse_since)]
    since: Option<Timestamp>,
    #[command(flatten)]
    format: JsonOutputArgs,
}

/// Parses a timestamp, or a duration before now.
pub(crate) fn parse_since(text: &str) -> std::result::Result<Timestamp, String> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time);
    }
    let ago = text
        .parse::<Span>()
        .and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()))
        .ok()
        .filter(|ago| *ago >= SignedDuration::ZERO);
    ago.and_then(|ago| Timestamp::now().checked_sub(ago).ok()).ok_or_else(|| {
        "expected a duration (30m, 1h, 7d) or a timestamp (2026-01-15T10:00:00Z)".to_owned()
    })
}

pub(crate) fn run_stats(ctx: &CommandContext, args: &StatsArgs) -> Result<ExitStatus> {
    let stats = store::audit::compute_tool_stats(audit_log_path(&ctx.app.settings()?), args.since)?;
    if args.format.json {
        ctx.ui.print_json(&stats)?;
        return Ok(ExitStatus::Success);
    }
    if stats.is_empty() {
        ctx.ui.print_note("No calls recorded yet.");
        return Ok(ExitStatus::Success);
    }
    let mut table =
        TextTable::new(["TOOL", "CALLS", "FAILED", "RATE", "P50", "P95", "P99", "MAX", "ERRORS"]);
    for tool in &stats {
        let errors = tool.by_code.iter().map(|(code, count)| format!("{code} {count}"));
        table.add_row([
            contract::text::one_line(tool.tool.as_deref().unwrap_or("(no tool)")),
            tool.calls.to_string(),
            tool.failures.to_string(),
            format!("{:.1} %", tool.failure_rate * 100.0),
            format_duration(tool.p50_us),
            format_duration(tool.p95_us),
            format_duration(tool.p99_us),
            format_duration(tool.max_us),
            errors.collect::<Vec<_>>().join(", "),
        ]);
    }
    table.write_to(&mut ctx.ui.stdout())?;
    Ok(ExitStatus::Success)
}
