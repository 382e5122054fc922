//! `vouch approvals`: what waits for a person, and the person's answer. Works beside a running server.

use std::io::Write;

use app::env::Var;
use app::project;
use clap::Subcommand;
use contract::text::{one_line, visible};
use jiff::Timestamp;
use store::{Approval, Decision, State, Store, StoreError};

use crate::commands::{Context, Format};
use crate::exit::Exit;
use crate::prompt;
use crate::report::{Failure, FailureKind, Result};
use crate::ui::{self, BOLD, Table};

/// See and answer what waits for a person
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch approvals list
  vouch approvals show 3f9a
  vouch approvals approve 3f9a")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List what waits
    List {
        /// Decided, used and expired ones too
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        format: Format,
    },
    /// Show one, whole
    Show {
        /// Its id, or the beginning of it
        id: String,
        #[command(flatten)]
        format: Format,
    },
    /// Let the call run, once
    ///
    /// Shows the call and asks. A script, which cannot be asked, gives --yes after somebody has looked at it.
    Approve {
        /// Its id, or the beginning of it
        id: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        format: Format,
    },
    /// Refuse the call
    Deny {
        /// Its id, or the beginning of it
        id: String,
        #[command(flatten)]
        format: Format,
    },
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let settings = ctx.app.settings()?;
    // Looking must not make a state folder.
    let store = match settings.state_folder.join("vouch.db").exists() {
        true => Some(project::store(&settings)?.1),
        false => None,
    };
    let missing = |id: &String| StoreError::UnknownApproval { id: id.clone() };
    let done = ctx.block_on(async {
        match &args.action {
            Action::List { all, format } => {
                let state = (!all).then_some(State::Pending);
                let approvals = match &store {
                    Some(store) => store.approvals(state).await?,
                    None => Vec::new(),
                };
                list(ctx, &approvals, *all, format.json)
            }
            Action::Show { id, format } => {
                let store = store.as_ref().ok_or_else(|| missing(id))?;
                show(ctx, &store.approval(id).await?, format.json)
            }
            Action::Approve { id, yes, format } => {
                let store = store.as_ref().ok_or_else(|| missing(id))?;
                let approval = store.approval(id).await?;
                // One that is decided already needs no answer; the store says so below.
                let seen = !yes && approval.state == State::Pending;
                if seen && !ask(ctx, &approval)? {
                    return Ok(Exit::No);
                }
                let approval = store.decide(&approval.id, Decision::Approve, &who(ctx)).await?;
                decided(ctx, &approval, seen, format.json)
            }
            Action::Deny { id, format } => {
                let store = store.as_ref().ok_or_else(|| missing(id))?;
                let approval = store.decide(id, Decision::Deny, &who(ctx)).await?;
                decided(ctx, &approval, false, format.json)
            }
        }
    });
    // Not there any more, or decided before: an answer, not a breakdown.
    done.map_err(|failure| match failure.find::<StoreError>() {
        Some(
            StoreError::UnknownApproval { .. }
            | StoreError::AmbiguousApproval { .. }
            | StoreError::AlreadyDecided { .. }
            | StoreError::AlreadyUsed { .. }
            | StoreError::Expired { .. },
        ) => failure.with_kind(FailureKind::Negative),
        _ => failure,
    })
}

pub(super) fn who(ctx: &Context) -> String {
    ctx.app.environment.get(Var::User).map_or("cli".to_owned(), |user| format!("cli:{user}"))
}

fn list(ctx: &Context, approvals: &[Approval], all: bool, json: bool) -> Result<Exit> {
    if json {
        ctx.ui.json(&approvals)?;
        return Ok(Exit::Success);
    }
    if approvals.is_empty() {
        ctx.ui.note(if all { "There are no approvals." } else { "Nothing waits for approval." });
        return Ok(Exit::Success);
    }
    let mut table = Table::new(["ID", "STATE", "TOOL", "CALLER", "ASKED", "EXPIRES"]);
    for approval in approvals {
        let caller = match &approval.client {
            Some(client) => format!("{} ({client})", approval.principal),
            None => approval.principal.clone(),
        };
        table.row([
            approval.id.clone(),
            approval.state.to_string(),
            one_line(&approval.tool),
            one_line(&caller),
            second(approval.requested_at),
            second(approval.expires_at),
        ]);
    }
    table.print(&mut ctx.ui.out())?;
    ctx.ui.note("\nsee all of one: vouch approvals show <id>");
    Ok(Exit::Success)
}

fn show(ctx: &Context, approval: &Approval, json: bool) -> Result<Exit> {
    if json {
        ctx.ui.json(approval)?;
        return Ok(Exit::Success);
    }
    let mut out = ctx.ui.out();
    let Approval { id, state, requested_at, expires_at, .. } = approval;
    writeln!(out, "{BOLD}{id}{BOLD:#}  {state}")?;
    writeln!(out, "asked   {}", second(*requested_at))?;
    writeln!(out, "expires {}", second(*expires_at))?;
    if let (Some(at), Some(by)) = (approval.decided_at, &approval.decided_by) {
        writeln!(out, "decided {} by {}", second(at), one_line(by))?;
    }
    if let Some(at) = approval.used_at {
        writeln!(out, "used    {}", second(at))?;
    }
    writeln!(out, "\n{}", visible(approval.summary.trim_end()))?;
    if *state == State::Pending {
        let short = short(approval);
        ctx.ui.note(format_args!(
            "\nvouch approvals approve {short}   or   vouch approvals deny {short}"
        ));
    }
    Ok(Exit::Success)
}

/// Nobody approves what they have not seen.
fn ask(ctx: &Context, approval: &Approval) -> Result<bool> {
    let short = short(approval);
    if !ui::is_interactive() {
        let message = format!("nobody can be asked here whether to approve {}", approval.id);
        return Err(Failure::usage(message).with_hint(format_args!(
            "look at it: vouch approvals show {short}   then: vouch approvals approve {short} --yes"
        )));
    }
    let approved = prompt::ask(ctx.ui, &visible(&approval.summary))?;
    if !approved {
        ctx.ui.note(format_args!("It still waits. To refuse it: vouch approvals deny {short}"));
    }
    Ok(approved)
}

/// `seen`: the person has the summary before their eyes.
fn decided(ctx: &Context, approval: &Approval, seen: bool, json: bool) -> Result<Exit> {
    if json {
        ctx.ui.json(approval)?;
        return Ok(Exit::Success);
    }
    let mut out = ctx.ui.out();
    writeln!(out, "{BOLD}{}{BOLD:#} {}", approval.state, approval.id)?;
    if !seen {
        writeln!(out, "\n{}", visible(approval.summary.trim_end()))?;
    }
    if approval.state == State::Approved {
        ctx.ui.note(format_args!(
            "\nThe caller can now make this call, once, until {}.",
            second(approval.expires_at)
        ));
    }
    Ok(Exit::Success)
}

/// Enough of the id to tell it from others.
fn short(approval: &Approval) -> String {
    approval.id.chars().take(8).collect()
}

fn second(time: Timestamp) -> String {
    format!("{time:.0}")
}
