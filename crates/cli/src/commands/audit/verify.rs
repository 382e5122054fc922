//! `vouch audit verify`: checks the chain of the log, and compares it with checkpoints.

use std::io::Write;
use std::path::{Path, PathBuf};

use app::audit_seal::find_public_key;
use app::config::Settings;
use app::project::{audit_key_location, audit_log_path};
use contract::text::one_line;
use store::audit::{
    CheckpointKey, VerificationFinding, VerificationReport, read_checkpoints, verify_checkpoints,
    verify_log,
};

use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::report::{Failure, Result};
use crate::ui::{ERROR, GOOD, WARN};

/// Verify that no line was changed, removed, inserted or moved
///
/// Exits with 1 and lists the invalid lines if there are any. Calls with side effects that have no outcome are listed as
/// unknown. With `--against`, also finds what a holder of the log's key rewrote before the last checkpoint, and says from
/// which line on nothing is proven.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch audit verify
  vouch audit verify --against /mnt/checkpoints/app.jsonl --public-key ed25519:…")]
pub(super) struct VerifyArgs {
    /// Compare the log with the checkpoints in this file or folder
    #[arg(long, value_name = "PATH")]
    against: Option<PathBuf>,
    /// Public key of the checkpoints [default: that of the signing key on this machine]
    #[arg(long, value_name = "KEY", requires = "against")]
    public_key: Option<CheckpointKey>,
    /// Verify the log at this path instead of the project's
    #[arg(long, value_name = "PATH")]
    log: Option<PathBuf>,
    #[command(flatten)]
    format: JsonOutputArgs,
}

pub(super) fn run_verify(
    ctx: &CommandContext,
    settings: &Settings,
    args: &VerifyArgs,
) -> Result<ExitStatus> {
    let log = args.log.clone().unwrap_or_else(|| audit_log_path(settings));
    let mut report = verify_log(&log, audit_key_location(settings))?;
    if let Some(path) = &args.against {
        let key = match args.public_key {
            Some(key) => key,
            None => find_public_key(settings)?.ok_or_else(|| {
                Failure::usage("no public key to check the checkpoints with").with_hint(
                    "pass `--public-key`, as `vouch audit seal --public-key` printed it on the machine of the log",
                )
            })?,
        };
        let checkpoints = read_checkpoints(path)?;
        if checkpoints.is_empty() {
            return Err(Failure::usage(format!("no checkpoints in {}", path.display()))
                .with_hint("name the file or folder that `vouch audit seal --to` wrote to"));
        }
        verify_checkpoints(&log, &checkpoints, &key, &mut report)?;
    }
    if args.format.json {
        ctx.ui.print_json(&report)?;
    } else {
        print_report(ctx, &log, &report)?;
    }
    Ok(if report.ok { ExitStatus::Success } else { ExitStatus::Negative })
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
    let VerificationReport { lines, files, last_seq, last_hash, .. } = report;
    let log = log.display();
    if report.ok && *lines == 0 {
        writeln!(out, "{GOOD}ok{GOOD:#}    no calls recorded in {log}")?;
    } else if report.ok {
        let files = if *files > 1 { format!(" in {files} files") } else { String::new() };
        writeln!(out, "{GOOD}ok{GOOD:#}    {lines} lines of {log}{files} are unmodified")?;
        writeln!(out, "      last: {last_seq} {last_hash}")?;
    } else {
        writeln!(out, "{ERROR}bad{ERROR:#}   {log} was changed, or cannot be verified completely")?;
    }
    if let Some(proof) = report.checkpoints.as_ref().filter(|proof| proof.proven_through > 0) {
        let (checkpoints, seq) = (proof.checkpoints, proof.proven_through);
        writeln!(out, "      proven up to seq {seq} by {checkpoints} checkpoints")?;
    }
    Ok(())
}
