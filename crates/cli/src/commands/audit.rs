//! `vouch audit`: verifies, prints, seals and exports the audit log, which records every call.

mod export;
mod seal;
mod verify;

use std::io::Write;
use std::time::Duration;

use app::project::{self, audit_log_path};
use clap::Subcommand;
use contract::text::one_line;
use store::audit::{
    AuditEntry, AuditLogEvent, AuditOutcome, AuditRecord, read_last_records, rotate_key,
};

use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::report::Result;
use crate::ui::{DIM, ERROR, GOOD, WARN};

/// Poll interval of `tail --follow`.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Verify, print, seal or export the audit log
#[derive(Debug, clap::Args)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    action: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    Verify(verify::VerifyArgs),
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
    Seal(seal::SealArgs),
    Export(export::ExportArgs),
    /// Use a new key from the next line on
    ///
    /// The log records the change under the old key, which stays in the key file to verify earlier lines. Running servers
    /// continue with the new key.
    RotateKey {
        #[command(flatten)]
        format: JsonOutputArgs,
    },
}

pub(crate) fn run_audit(ctx: &CommandContext, args: &AuditArgs) -> Result<ExitStatus> {
    let settings = ctx.app.settings()?;
    match &args.action {
        AuditCommand::Verify(args) => verify::run_verify(ctx, &settings, args),
        AuditCommand::Seal(args) => seal::run_seal(ctx, &settings, args),
        AuditCommand::Export(args) => export::run_export(ctx, &settings, args),
        AuditCommand::RotateKey { format } => {
            let state = project::open_state(&settings)?;
            let rotation = rotate_key(state.audit_log_path(), &project::audit_options(&settings))?;
            if format.json {
                ctx.ui.print_json(&rotation)?;
            } else {
                let mut out = ctx.ui.stdout();
                writeln!(
                    out,
                    "{GOOD}ok{GOOD:#}    key {} follows {}",
                    rotation.after, rotation.before
                )?;
                let file = project::audit_key_location(&settings).key_file();
                ctx.ui.print_note(format_args!("Back up {}.", file.display()));
            }
            Ok(ExitStatus::Success)
        }
        AuditCommand::Tail { lines, follow, format } => {
            let log = audit_log_path(&settings);
            let mut last = 0;
            let mut show = |count: u64| -> Result {
                let (mut out, printed) = (ctx.ui.stdout(), last);
                // An intent precedes its call, so twice as many lines may be needed.
                let extra = if format.json { count } else { count.saturating_mul(2) + 1 };
                let records = read_last_records(&log, extra)?;
                let is_shown = |line: &&AuditRecord| {
                    line.seq > printed && (format.json || is_shown_in_text(&line.entry))
                };
                let shown: Vec<_> = records.iter().filter(is_shown).collect();
                let skipped =
                    shown.len().saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
                for line in &shown[skipped..] {
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

/// Returns true unless the line says nothing to people: an intent, or the beginning of a file.
fn is_shown_in_text(entry: &AuditEntry) -> bool {
    match entry {
        AuditEntry::Call(_) => true,
        AuditEntry::Intent(_) => false,
        AuditEntry::Event { event, .. } => {
            !matches!(event, AuditLogEvent::Chain { .. } | AuditLogEvent::File { .. })
        }
    }
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
        AuditEntry::Intent(intent) => {
            let (tool, caller) = (one_line(&intent.tool), one_line(&intent.caller));
            writeln!(out, "{DIM}{time:.0}{DIM:#}  begins            {tool} by {caller}")?;
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
