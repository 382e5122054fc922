//! `vouch audit`: verifies and prints the audit log, which records every call.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use app::project::audit_log_path;
use clap::Subcommand;
use contract::text::one_line;
use store::audit::{
    AuditEntry, AuditOutcome, AuditRecord, VerificationFinding, VerificationReport,
    read_last_records, verify_log,
};

use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::report::Result;
use crate::ui::{DIM, ERROR, GOOD, WARN};

/// Poll interval of `tail --follow`.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Verify or print the audit log
#[derive(Debug, clap::Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    action: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Verify that no line was changed, removed, inserted or moved
    ///
    /// Exits with 1 and lists the invalid lines if there are any. Store the last hash elsewhere to prove later that the
    /// log still begins with these lines.
    Verify {
        #[command(flatten)]
        format: JsonOutputArgs,
    },
    /// Print the last calls
    Tail {
        /// Number of calls to print
        #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
        lines: u64,
        /// Keep printing new calls as they are recorded
        #[arg(short, long)]
        follow: bool,
        #[command(flatten)]
        format: JsonOutputArgs,
    },
}

pub(crate) fn run_audit(ctx: &CommandContext, args: &AuditArgs) -> Result<ExitStatus> {
    let log = audit_log_path(&ctx.app.settings()?);
    match &args.action {
        AuditCommand::Verify { format } => {
            let report = verify_log(&log)?;
            if format.json {
                ctx.ui.print_json(&report)?;
            } else {
                print_report(ctx, &log, &report)?;
            }
            Ok(if report.ok { ExitStatus::Success } else { ExitStatus::Negative })
        }
        AuditCommand::Tail { lines, follow, format } => {
            let mut last = 0;
            let mut show = |count| -> Result {
                let (mut out, printed) = (ctx.ui.stdout(), last);
                for line in read_last_records(&log, count)?.iter().filter(|line| line.seq > printed)
                {
                    last = line.seq;
                    print_line(&mut out, line, format.json)?;
                }
                Ok(())
            };
            show(*lines)?;
            if !follow {
                return Ok(ExitStatus::Success);
            }
            loop {
                std::thread::sleep(POLL_INTERVAL);
                // More lines than are written between two polls; printed lines are skipped.
                show(10_000)?;
            }
        }
    }
}

fn print_report(ctx: &CommandContext, log: &Path, report: &VerificationReport) -> Result {
    let mut out = ctx.ui.stdout();
    for VerificationFinding { message, .. } in &report.problems {
        writeln!(out, "{ERROR}bad{ERROR:#}   {}", one_line(message))?;
    }
    for VerificationFinding { message, .. } in &report.notes {
        writeln!(out, "{WARN}note{WARN:#}  {}", one_line(message))?;
    }
    if report.unlisted > 0 {
        writeln!(out, "      and {} more", report.unlisted)?;
    }
    let VerificationReport { lines, last_seq, last_hash, .. } = report;
    let log = log.display();
    if report.ok && *lines == 0 {
        writeln!(out, "{GOOD}ok{GOOD:#}    no calls recorded in {log}")?;
    } else if report.ok {
        writeln!(out, "{GOOD}ok{GOOD:#}    {lines} lines of {log} are unmodified")?;
        writeln!(out, "      last: {last_seq} {last_hash}")?;
    } else {
        writeln!(out, "{ERROR}bad{ERROR:#}   {log} was changed after it was written")?;
    }
    Ok(())
}

fn print_line(out: &mut impl Write, line: &AuditRecord, json: bool) -> Result {
    if json {
        writeln!(out, "{}", serde_json::to_string(line)?)?;
        return Ok(());
    }
    let time = line.entry.time();
    match &line.entry {
        AuditEntry::Call(record) => {
            let (style, outcome) = match record.outcome {
                AuditOutcome::Ok => (GOOD, "ok"),
                AuditOutcome::Error => (ERROR, record.code.as_deref().unwrap_or("error")),
                AuditOutcome::InputRequired => (WARN, "input required"),
                AuditOutcome::Unknown => (WARN, "outcome unknown"),
            };
            let tool = one_line(record.tool.as_deref().unwrap_or("-"));
            let caller = one_line(&record.caller);
            let time_taken = format_duration(record.duration_us);
            let values = record.arguments.as_ref().map(|arguments| {
                one_line(&arguments.values.as_ref().unwrap_or(&arguments.shape).to_string())
            });
            let values = values.unwrap_or_default();
            let outcome = one_line(outcome);
            let approval = record.approval.as_ref().map(|approval| {
                let by = one_line(&approval.by);
                format!(" approved by {by} ({}, {})", approval.channel, one_line(&approval.id))
            });
            let approval = approval.unwrap_or_default();
            writeln!(
                out,
                "{DIM}{time:.0}{DIM:#}  {style}{outcome:<17}{style:#} {tool} {DIM}{values}{DIM:#} by {caller} in {time_taken}{approval}"
            )?;
        }
        AuditEntry::Event { event, .. } => {
            let event = one_line(&serde_json::to_string(event)?);
            writeln!(out, "{DIM}{time:.0}{DIM:#}  {WARN}log{WARN:#} {event}")?;
        }
    }
    Ok(())
}

/// Returns a duration in µs, ms or s, depending on its size.
pub(crate) fn format_duration(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{:.1} ms", micros as f64 / 1e3),
        _ => format!("{:.2} s", micros as f64 / 1e6),
    }
}
