//! `vouch audit export`: writes records as JSON Lines or OpenTelemetry logs.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use app::config::Settings;
use app::project::audit_log_path;
use jiff::Timestamp;
use store::audit::{OtlpWriter, read_records};

use crate::commands::CommandContext;
use crate::commands::stats::parse_since;
use crate::exit::ExitStatus;
use crate::report::{FailureExt, Result};

/// Write records as JSON Lines or OpenTelemetry logs
///
/// JSON Lines are the lines of the log itself. OpenTelemetry logs are OTLP in JSON, one request with up to 512 records per
/// line, which collectors read from a file or take at /v1/logs.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch audit export --since 1d > calls.jsonl
  vouch audit export --format otlp --output calls.otlp.jsonl")]
pub(super) struct ExportArgs {
    /// Format of the records
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    format: ExportFormat,
    /// Export only records since then: a duration (30m, 1h, 7d) or a timestamp
    #[arg(long, value_name = "WHEN", value_parser = parse_since)]
    since: Option<Timestamp>,
    /// File to write to; an existing one is replaced [default: stdout]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ExportFormat {
    Jsonl,
    Otlp,
}

pub(super) fn run_export(
    ctx: &CommandContext,
    settings: &Settings,
    args: &ExportArgs,
) -> Result<ExitStatus> {
    match &args.output {
        None => write_records(settings, args, ctx.ui.stdout())?,
        Some(path) => {
            let mut text = Vec::new();
            write_records(settings, args, &mut text)?;
            store::files::replace_private_file(path, &text)
                .explain(format!("failed to write {}", path.display()))?;
        }
    }
    Ok(ExitStatus::Success)
}

fn write_records(settings: &Settings, args: &ExportArgs, out: impl Write) -> Result {
    let mut out = BufWriter::new(out);
    let records = read_records(audit_log_path(settings))?;
    let wanted = |time: Timestamp| args.since.is_none_or(|since| time >= since);
    match args.format {
        ExportFormat::Jsonl => {
            for record in records {
                let record = record?;
                if wanted(record.entry.time()) {
                    serde_json::to_writer(&mut out, &record)?;
                    out.write_all(b"\n")?;
                }
            }
            out.flush()?;
        }
        ExportFormat::Otlp => {
            let mut otlp = OtlpWriter::new(out, env!("CARGO_PKG_VERSION"));
            for record in records {
                let record = record?;
                if wanted(record.entry.time()) {
                    otlp.add_record(&record)?;
                }
            }
            otlp.finish()?;
        }
    }
    Ok(())
}
