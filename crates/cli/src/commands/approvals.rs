//! `vouch approvals`: lists pending approvals and decides them. Works while a server is running.

use std::io::Write;

use app::project;
use clap::Subcommand;
use contract::text::{escape_hidden, one_line};
use jiff::Timestamp;
use store::{
    Approval, ApprovalChannel, ApprovalDecision, ApprovalState, Approver, Store, StoreError,
};

use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::prompt;
use crate::report::{Failure, FailureKind, Result};
use crate::ui::{self, BOLD, TextTable};

/// List and decide pending approvals
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch approvals list
  vouch approvals show 3f9a
  vouch approvals approve 3f9a")]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    action: ApprovalsCommand,
}

#[derive(Debug, Subcommand)]
enum ApprovalsCommand {
    /// List pending approvals
    List {
        /// Include decided, used and expired approvals
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        format: JsonOutputArgs,
    },
    /// Show an approval in full
    Show {
        /// ID of the approval, or a unique prefix of it
        id: String,
        #[command(flatten)]
        format: JsonOutputArgs,
    },
    /// Approve a call, for one use
    ///
    /// Shows the call and asks for confirmation. Without a terminal, review the call first, then pass --yes.
    Approve {
        /// ID of the approval, or a unique prefix of it
        id: String,
        /// Approve without asking
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        format: JsonOutputArgs,
    },
    /// Deny a call
    Deny {
        /// ID of the approval, or a unique prefix of it
        id: String,
        #[command(flatten)]
        format: JsonOutputArgs,
    },
}

pub(crate) fn run_approvals(ctx: &CommandContext, args: &ApprovalsArgs) -> Result<ExitStatus> {
    let settings = ctx.app.settings()?;
    // Reading must not create a state folder.
    let store = match settings.state_folder.join("vouch.db").exists() {
        true => Some(project::open_store(&settings)?.1),
        false => None,
    };
    let missing = |id: &String| StoreError::UnknownApproval { id: id.clone() };
    let done = ctx.block_on(async {
        match &args.action {
            ApprovalsCommand::List { all, format } => {
                let state = (!all).then_some(ApprovalState::Pending);
                let approvals = match &store {
                    Some(store) => store.list_approvals(state).await?,
                    None => Vec::new(),
                };
                print_approvals(ctx, &approvals, *all, format.json)
            }
            ApprovalsCommand::Show { id, format } => {
                let store = store.as_ref().ok_or_else(|| missing(id))?;
                print_approval(ctx, &store.find_approval(id).await?, format.json)
            }
            ApprovalsCommand::Approve { id, yes, format } => {
                let store = store.as_ref().ok_or_else(|| missing(id))?;
                let approval = store.find_approval(id).await?;
                // A decided approval needs no confirmation; `decide_approval` rejects it below.
                let is_shown = !yes && approval.state == ApprovalState::Pending;
                if is_shown && !confirm_approval(ctx, &approval)? {
                    return Ok(ExitStatus::Negative);
                }
                let approval = store
                    .decide_approval(&approval.id, ApprovalDecision::Approve, &local_approver())
                    .await?;
                print_decision(ctx, &approval, is_shown, format.json)
            }
            ApprovalsCommand::Deny { id, format } => {
                let store = store.as_ref().ok_or_else(|| missing(id))?;
                let approval =
                    store.decide_approval(id, ApprovalDecision::Deny, &local_approver()).await?;
                print_decision(ctx, &approval, false, format.json)
            }
        }
    });
    // An unknown or already decided approval is a negative result, not a failure of the command.
    done.map_err(|failure| match failure.find_cause::<StoreError>() {
        Some(
            StoreError::UnknownApproval { .. }
            | StoreError::AmbiguousApproval { .. }
            | StoreError::ApprovalAlreadyDecided { .. }
            | StoreError::ApprovalAlreadyUsed { .. }
            | StoreError::ApprovalExpired { .. }
            | StoreError::SelfApproval { .. },
        ) => failure.with_kind(FailureKind::Negative),
        _ => failure,
    })
}

/// Returns the name under which decisions of this user are recorded, such as `cli:ada`. It is the name of the user id: a
/// variable could name anyone. It differs from `cli`, the caller of `vouch call`: a script calls, and a person decides.
pub(super) fn local_principal() -> String {
    let user = nix::unistd::Uid::current();
    match nix::unistd::User::from_uid(user) {
        Ok(Some(entry)) => format!("cli:{}", entry.name),
        Ok(None) | Err(_) => format!("cli:uid-{user}"),
    }
}

fn local_approver() -> Approver {
    Approver::new(local_principal(), ApprovalChannel::Queue)
}

fn print_approvals(
    ctx: &CommandContext,
    approvals: &[Approval],
    all: bool,
    json: bool,
) -> Result<ExitStatus> {
    if json {
        ctx.ui.print_json(&approvals)?;
        return Ok(ExitStatus::Success);
    }
    if approvals.is_empty() {
        ctx.ui.print_note(if all { "No approvals." } else { "No pending approvals." });
        return Ok(ExitStatus::Success);
    }
    let mut table = TextTable::new(["ID", "STATE", "TOOL", "CALLER", "REQUESTED", "EXPIRES"]);
    for approval in approvals {
        let caller = match &approval.client {
            Some(client) => format!("{} ({client})", approval.principal),
            None => approval.principal.clone(),
        };
        table.add_row([
            approval.id.clone(),
            approval.state.to_string(),
            one_line(&approval.tool),
            one_line(&caller),
            format_time(approval.requested_at),
            format_time(approval.expires_at),
        ]);
    }
    table.write_to(&mut ctx.ui.stdout())?;
    ctx.ui.print_note("\nRun `vouch approvals show <id>` to see an approval in full.");
    Ok(ExitStatus::Success)
}

fn print_approval(ctx: &CommandContext, approval: &Approval, json: bool) -> Result<ExitStatus> {
    if json {
        ctx.ui.print_json(approval)?;
        return Ok(ExitStatus::Success);
    }
    let mut out = ctx.ui.stdout();
    let Approval { id, state, requested_at, expires_at, .. } = approval;
    writeln!(out, "{BOLD}{id}{BOLD:#}  {state}")?;
    writeln!(out, "requested {}", format_time(*requested_at))?;
    writeln!(out, "expires   {}", format_time(*expires_at))?;
    if let (Some(at), Some(by)) = (approval.decided_at, &approval.decided_by) {
        let channel = approval.channel.map(|channel| format!(" ({channel})")).unwrap_or_default();
        writeln!(out, "decided   {} by {}{channel}", format_time(at), one_line(by))?;
    }
    if let Some(at) = approval.used_at {
        writeln!(out, "used      {}", format_time(at))?;
    }
    writeln!(out, "\n{}", escape_hidden(approval.summary.trim_end()))?;
    if *state == ApprovalState::Pending {
        let short = short_id(approval);
        ctx.ui.print_note(format_args!(
            "\nRun `vouch approvals approve {short}` or `vouch approvals deny {short}`."
        ));
    }
    Ok(ExitStatus::Success)
}

/// Shows the call and asks for approval, so that it is never approved unseen. Returns true if it was approved.
fn confirm_approval(ctx: &CommandContext, approval: &Approval) -> Result<bool> {
    let short = short_id(approval);
    if !ui::is_interactive() {
        return Err(Failure::usage("cannot prompt without a terminal").with_hint(format_args!(
            "review it with `vouch approvals show {short}`, then run `vouch approvals approve {short} --yes`"
        )));
    }
    let approved = prompt::prompt_approval(ctx.ui, &escape_hidden(&approval.summary))?;
    if !approved {
        ctx.ui.print_note(format_args!(
            "The approval is still pending. Run `vouch approvals deny {short}` to deny it."
        ));
    }
    Ok(approved)
}

/// Prints a decided approval. `is_shown` means that the summary is already on the screen.
fn print_decision(
    ctx: &CommandContext,
    approval: &Approval,
    is_shown: bool,
    json: bool,
) -> Result<ExitStatus> {
    if json {
        ctx.ui.print_json(approval)?;
        return Ok(ExitStatus::Success);
    }
    let mut out = ctx.ui.stdout();
    writeln!(out, "{BOLD}{}{BOLD:#} {}", approval.state, approval.id)?;
    if !is_shown {
        writeln!(out, "\n{}", escape_hidden(approval.summary.trim_end()))?;
    }
    if approval.state == ApprovalState::Approved {
        ctx.ui.print_note(format_args!(
            "\nThe caller can make this call once, until {}.",
            format_time(approval.expires_at)
        ));
    }
    Ok(ExitStatus::Success)
}

/// Returns a prefix of the id that is long enough to be unique in practice.
fn short_id(approval: &Approval) -> String {
    approval.id.chars().take(8).collect()
}

fn format_time(time: Timestamp) -> String {
    format!("{time:.0}")
}
