//! `vouch audit verify`: checks the chain of the log, and compares it with checkpoints.

use std::io::Write;
use std::path::{Path, PathBuf};

use app::audit_seal::find_public_key;
use app::config::Settings;
use app::project::{audit_log_path, audit_options, find_audit_keys};
use contract::text::one_line;
use jiff::Timestamp;
use serde_json::json;
use store::audit::{
    CheckpointEvidence, CheckpointKey, SignedCheckpoint, VerificationFinding, VerificationReport,
    VerifiedLog, read_checkpoints, verify_checkpoints,
};

use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::report::{Failure, Result};
use crate::ui::{ERROR, GOOD, WARN};

/// Verify that no line was changed, removed, inserted or moved
///
/// Exits with 1 and lists the invalid lines if there are any. Calls with side effects that have no outcome are listed as
/// unknown. With `--against`, also finds what a holder of the log's key rewrote before the last checkpoint, and says from
/// which line on nothing is proven. Sealed lines may then be missing only as `keep_files` and `keep_days` in `[audit]` allow,
/// and every chain that the checkpoints name must be in one of the logs.
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
    /// Verify the log at this path instead of the project's; may be repeated
    #[arg(long, value_name = "PATH")]
    log: Vec<PathBuf>,
    #[command(flatten)]
    format: JsonOutputArgs,
}

pub(super) fn run_verify(
    ctx: &CommandContext,
    settings: &Settings,
    args: &VerifyArgs,
) -> Result<ExitStatus> {
    let mut logs = verify_logs(settings, &args.log)?;
    if let Some(path) = &args.against {
        let key = find_key(settings, args)?;
        let checkpoints = load_checkpoints(path)?;
        let rotation = audit_options(settings).rotation;
        let evidence = CheckpointEvidence {
            checkpoints: &checkpoints,
            key: &key,
            rotation: &rotation,
            now: Timestamp::now(),
        };
        verify_checkpoints(&mut logs, &evidence)?;
    }
    let ok = logs.iter().all(|log| log.report.ok);
    match (args.format.json, logs.as_slice()) {
        (true, [log]) => ctx.ui.print_json(&log.report)?,
        (true, logs) => {
            let entry = |log: &VerifiedLog| json!({"log": log.path(), "report": log.report});
            let logs: Vec<_> = logs.iter().map(entry).collect();
            ctx.ui.print_json(&json!({"ok": ok, "logs": logs}))?;
        }
        (false, logs) => {
            for log in logs {
                print_report(ctx, log.path(), &log.report)?;
            }
        }
    }
    Ok(if ok { ExitStatus::Success } else { ExitStatus::Negative })
}

/// Verifies the named logs, or the project's if none is named. A named log must exist.
fn verify_logs(settings: &Settings, named: &[PathBuf]) -> Result<Vec<VerifiedLog>> {
    let own = [audit_log_path(settings)];
    let paths = if named.is_empty() { &own } else { named };
    let mut logs = vec![];
    for path in paths {
        let log = VerifiedLog::verify(path, &find_audit_keys(settings, path))?;
        if !named.is_empty() && !log.exists() {
            return Err(Failure::usage(format!("no audit log at {}", path.display()))
                .with_hint("name the file audit.jsonl in the state directory of a project"));
        }
        logs.push(log);
    }
    Ok(logs)
}

fn find_key(settings: &Settings, args: &VerifyArgs) -> Result<CheckpointKey> {
    match args.public_key {
        Some(key) => Ok(key),
        None => find_public_key(settings)?.ok_or_else(|| {
            Failure::usage("no public key to check the checkpoints with").with_hint(
                "pass `--public-key`, as `vouch audit seal --public-key` printed it on the machine of the log",
            )
        }),
    }
}

fn load_checkpoints(path: &Path) -> Result<Vec<SignedCheckpoint>> {
    let checkpoints = read_checkpoints(path)?;
    if checkpoints.is_empty() {
        return Err(Failure::usage(format!("no checkpoints in {}", path.display()))
            .with_hint("name the file or folder that `vouch audit seal --to` wrote to"));
    }
    Ok(checkpoints)
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
