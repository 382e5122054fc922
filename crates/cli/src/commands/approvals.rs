//! `vouch approvals`: what waits for a person, and the person's answer. Works beside a running server.

use std::io::Write;

use clap::Subcommand;
use contract::text::{one_line, visible};
use jiff::Timestamp;
use store::{Approval, Decision, State, Store, StoreError};

use crate::commands::{Context, Format};
use crate::env::Var;
use crate::exit::Exit;
use crate::project;
use crate::report::Result;
use crate::ui::{BOLD, Table};

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
    Approve {
        /// Its id, or the beginning of it
        id: String,
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
    let settings = ctx.settings()?;
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
            Action::Approve { id, format } | Action::Deny { id, format } => {
                let store = store.as_ref().ok_or_else(|| missing(id))?;
                let approve = matches!(args.action, Action::Approve { .. });
                let decision = if approve { Decision::Approve } else { Decision::Deny };
                let approval = store.decide(id, decision, &who(ctx)).await?;
                decided(ctx, &approval, format.json)
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
        ) => failure.with_exit(Exit::No),
        _ => failure,
    })
}

fn who(ctx: &Context) -> String {
    ctx.environment.get(Var::User).map_or("cli".to_owned(), |user| format!("cli:{user}"))
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
        let short: String = id.chars().take(8).collect();
        ctx.ui.note(format_args!(
            "\nvouch approvals approve {short}   or   vouch approvals deny {short}"
        ));
    }
    Ok(Exit::Success)
}

fn decided(ctx: &Context, approval: &Approval, json: bool) -> Result<Exit> {
    if json {
        ctx.ui.json(approval)?;
        return Ok(Exit::Success);
    }
    let mut out = ctx.ui.out();
    writeln!(out, "{BOLD}{}{BOLD:#} {}\n", approval.state, approval.id)?;
    writeln!(out, "{}", visible(approval.summary.trim_end()))?;
    if approval.state == State::Approved {
        ctx.ui.note(format_args!(
            "\nThe caller can now make this call, once, until {}.",
            second(approval.expires_at)
        ));
    }
    Ok(Exit::Success)
}

fn second(time: Timestamp) -> String {
    format!("{time:.0}")
}
