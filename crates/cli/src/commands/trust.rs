//! `vouch trust`: shows what a folder would be allowed to do, and records the user's consent.

use std::io::{self, Write};

use app::context::trust_failure;
use app::project;
use app::state_migration::{has_legacy_state, migrate_legacy_state};
use app::trust::{
    FolderTrust, ListedRecord, TrustState, TrustStore, format_all_powers, summarize_powers,
};
use clap::Subcommand;
use contract::text::one_line;
use serde_json::json;

use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::prompt;
use crate::report::{Failure, FailureExt, Result, print_failure};
use crate::ui::{self, GOOD, TextTable, Ui};

/// Trust this folder
///
/// Until you trust a folder, its files can only restrict: vouch starts none of its programs, opens none of its
/// connections, reads no variable or file for it, uses no compiler of it, and asks for every approval.
///
/// Shows what the folder would be allowed to do, and asks. The decision is recorded in your data folder, with the
/// digests of vouch.toml, vouch.lock, the overlays, workflows, the settings of Foundry, Echidna and Medusa, and the
/// project's compiler. When one of them changes, the next command shows the difference and asks again.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  vouch trust
  vouch trust --yes
  vouch trust list
  vouch --trust gateway      trust the folder for this run only"
)]
pub(crate) struct TrustArgs {
    #[command(subcommand)]
    action: Option<TrustAction>,
    /// Trust without asking
    #[arg(long, short)]
    yes: bool,
}

#[derive(Debug, Subcommand)]
enum TrustAction {
    List(TrustListArgs),
}

/// List the trusted folders
#[derive(Debug, clap::Args)]
struct TrustListArgs {
    #[command(flatten)]
    format: JsonOutputArgs,
}

pub(crate) fn run_trust(ctx: &CommandContext, args: &TrustArgs) -> Result<ExitStatus> {
    match &args.action {
        Some(TrustAction::List(args)) => {
            ctx.app.notify_left_out();
            list_records(ctx, args)
        }
        None => trust_folder(ctx, args.yes),
    }
}

fn trust_folder(ctx: &CommandContext, yes: bool) -> Result<ExitStatus> {
    let trust = ctx.app.folder_trust()?;
    let root = one_line(&trust.root().to_string_lossy());
    if let Some(why) = &trust.obstacle {
        ui::print_warning(ctx.ui, one_line(why));
    }
    if trust.state == TrustState::Trusted && trust.changed_compilers().is_empty() {
        ctx.ui.print_note(format_args!("{root} is already trusted"));
        return offer_state(ctx, yes);
    }
    if yes {
        ctx.ui.print_note(describe_folder(&trust).trim_end());
    } else if !ui::is_interactive() {
        ctx.ui.print_note(describe_folder(&trust).trim_end());
        return Err(Failure::usage("cannot prompt without a terminal")
            .with_hint("review the list, then run `vouch trust --yes`"));
    } else if !confirm_folder(ctx.ui, &trust)? {
        ctx.ui.print_note("Not trusted.");
        return Ok(ExitStatus::Negative);
    }
    trust.accept().map_err(trust_failure)?;
    ctx.ui.print_note(format_args!("{GOOD}trusted{GOOD:#} {root}"));
    take_over_state(ctx);
    Ok(ExitStatus::Success)
}

/// Asks whether to take over the state of an earlier version, which may have appeared after the folder was trusted.
fn offer_state(ctx: &CommandContext, yes: bool) -> Result<ExitStatus> {
    let settings = ctx.app.settings()?;
    if has_legacy_state(&settings.root, &settings.state_folder) {
        let message = ".vouch contains the state of an earlier version: discoveries, samples, traces and logs.";
        let asks = !yes && ui::is_interactive();
        if yes || asks && prompt::prompt_confirmation(ctx.ui, message, "Take it over?")? {
            take_over_state(ctx);
        } else if !asks {
            ctx.ui.print_note(format_args!("{message} Run `vouch trust --yes` to take it over."));
        }
    }
    Ok(ExitStatus::Success)
}

/// Takes over the state that an earlier version kept in the folder. The folder is trusted in any case.
fn take_over_state(ctx: &CommandContext) {
    let migrated = ctx.app.settings().and_then(|settings| {
        let state = project::open_state(&settings)?;
        migrate_legacy_state(&settings.root, &state)
    });
    match migrated {
        Ok(Some(taken)) => ctx.ui.print_note(format_args!(
            "took over the state in {} (discoveries: {}); it can be deleted now",
            one_line(&taken.folder.to_string_lossy()),
            taken.discoveries
        )),
        Ok(None) => {}
        Err(failure) => print_failure(ctx.ui, &failure),
    }
}

/// Shows what a folder would be allowed to do and asks. Returns true if the user agrees.
pub(crate) fn confirm_folder(ui: Ui, trust: &FolderTrust) -> io::Result<bool> {
    let question = format!("Trust it with {}?", summarize_powers(&trust.powers));
    prompt::prompt_confirmation(ui, &describe_folder(trust), &question)
}

/// Returns everything that the folder asks for, and what changed.
fn describe_folder(trust: &FolderTrust) -> String {
    let root = one_line(&trust.root().to_string_lossy());
    let mut text = match trust.powers.is_empty() {
        true => format!("{root} asks for nothing.\n"),
        // All are listed: a long list must not hide the last one.
        false => {
            format!("{root} would be allowed:\n{}\n", format_all_powers(&trust.powers))
        }
    };
    if let Some(change) = &trust.change {
        text.push_str(&format!("since you trusted it:\n{change:#}"));
    }
    let compilers = trust.changed_compilers();
    if !compilers.is_empty() {
        text.push_str("since you trusted it:\n");
    }
    for compiler in compilers {
        text.push_str(&format!("  changed   {}\n", one_line(&compiler)));
    }
    text
}

fn list_records(ctx: &CommandContext, args: &TrustListArgs) -> Result<ExitStatus> {
    let store = TrustStore::from_environment(&ctx.app.environment).map_err(trust_failure)?;
    let records = store.list().map_err(trust_failure)?;
    if args.format.json {
        let all: Vec<_> = records.iter().map(record_to_json).collect();
        ctx.ui.print_json(&all)?;
        return Ok(ExitStatus::Success);
    }
    if records.is_empty() {
        ctx.ui.print_note("No folder is trusted.");
        return Ok(ExitStatus::Success);
    }
    let mut table = TextTable::new(["FOLDER", "STATE", "SINCE", "ALLOWED"]);
    for ListedRecord { record, status } in &records {
        let config = record.config.as_ref().map(|config| format!(" ({})", one_line(config)));
        table.add_row([
            one_line(&record.root) + &config.unwrap_or_default(),
            status.as_str().to_owned(),
            record.trusted_at.strftime("%Y-%m-%d %H:%M").to_string(),
            summarize_powers(&record.powers),
        ]);
    }
    let mut out = ctx.ui.stdout();
    table.write_to(&mut out).explain("failed to print the list")?;
    out.flush()?;
    Ok(ExitStatus::Success)
}

fn record_to_json(listed: &ListedRecord) -> serde_json::Value {
    let ListedRecord { record, status } = listed;
    json!({
        "folder": record.root,
        "config": record.config,
        "state": status,
        "trustedAt": record.trusted_at.to_string(),
        "powers": record.powers,
    })
}
