//! `vouch audit seal`: signs a checkpoint of the log and writes it where the operator keeps it.

use std::io::Write;
use std::path::PathBuf;

use app::audit_seal::{AuditSealer, load_public_key};
use app::config::{SealTarget, Settings};
use app::project::{audit_key_location, audit_log_path};
use serde_json::json;

use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::report::{Failure, Result, print_failure};
use crate::ui::GOOD;

/// Sign a checkpoint of the log, to keep elsewhere
///
/// A checkpoint proves later that the log up to now was not rewritten, even by a holder of its key. Keep checkpoints on
/// another machine or under another user. The signing key is created on first use, in the folder of the audit keys.
///
/// A server writes checkpoints by itself if `to` is set in [audit.seal].
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch audit seal                                     print a checkpoint
  vouch audit seal --to /mnt/checkpoints/app.jsonl     append it to a file
  vouch audit seal --to https://audit.example.com/in   post it
  vouch audit seal --public-key                        print the key that verifies checkpoints")]
pub(super) struct SealArgs {
    /// File, existing folder or URL to write to [default: `to` in [audit.seal], or stdout]
    #[arg(long, value_name = "TARGET")]
    to: Vec<String>,
    /// Include the log at this path too
    #[arg(long, value_name = "PATH")]
    log: Vec<PathBuf>,
    /// Print the public key instead
    #[arg(long, conflicts_with_all = ["to", "log"])]
    public_key: bool,
    #[command(flatten)]
    format: JsonOutputArgs,
}

pub(super) fn run_seal(
    ctx: &CommandContext,
    settings: &Settings,
    args: &SealArgs,
) -> Result<ExitStatus> {
    let mut out = ctx.ui.stdout();
    if args.public_key {
        let key = load_public_key(settings)?.to_string();
        match args.format.json {
            true => ctx.ui.print_json(&json!({ "publicKey": key }))?,
            false => writeln!(out, "{key}")?,
        }
        return Ok(ExitStatus::Success);
    }
    let here = std::env::current_dir()?;
    let given = args.to.iter().map(|target| {
        let invalid = |message| Failure::usage(format!("invalid target `{target}`: {message}"));
        SealTarget::parse(target, &here).map_err(invalid)
    });
    let mut targets: Vec<_> = given.collect::<Result<_>>()?;
    if targets.is_empty() {
        targets.clone_from(&settings.audit.seal.to);
    }
    let log = audit_log_path(settings);
    // Keys are created with the log, so with them it was removed.
    if !log.exists() && !audit_key_location(settings).key_file().exists() {
        return Err(Failure::new("no calls recorded yet, so there is nothing to seal"));
    }
    let logs: Vec<_> = args.log.iter().map(|log| here.join(log)).collect();
    let sealer = AuditSealer::from_settings(settings).with_logs(&logs).with_targets(&targets);
    let checkpoint = sealer.create_checkpoint()?;
    let number = checkpoint.checkpoint.number;
    if args.format.json || targets.is_empty() {
        writeln!(out, "{}", checkpoint.to_line())?;
    }
    let mut failures = vec![];
    for delivery in ctx.block_on(sealer.deliver(&targets))? {
        let target = delivery.target;
        match delivery.result {
            Ok(_) if args.format.json => {}
            Ok(0 | 1) => {
                writeln!(out, "{GOOD}ok{GOOD:#}    checkpoint {number} written to {target}")?;
            }
            Ok(count) => {
                let first = number.saturating_sub(count as u64 - 1);
                writeln!(
                    out,
                    "{GOOD}ok{GOOD:#}    checkpoints {first} to {number} written to {target}"
                )?;
            }
            Err(failure) => failures.push(failure),
        }
    }
    let Some(failure) = failures.pop() else { return Ok(ExitStatus::Success) };
    failures.iter().for_each(|failure| print_failure(ctx.ui, failure));
    Err(failure.with_hint(
        "the checkpoint is kept: run `vouch audit seal` again, which delivers what is missing first",
    ))
}
