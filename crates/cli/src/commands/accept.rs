//! `vouch accept`: pins new upstream tools and accepts changed ones.
//!
//! Besides `allow_changes` in vouch.toml, this is the only way in which a pinned baseline changes.

mod pending;

use std::io::Write;
use std::sync::Arc;

use admit::{AcceptedDefinition, PinSet};
use app::config::{Settings, suggest_name};
use app::upstreams::{self, SurveyMode, UpstreamSurvey, display_path};
use contract::text::one_line;
use gateway::LockFile;
use jiff::Timestamp;
use serde_json::json;

use crate::commands::{CommandContext, JsonOutputArgs};
use crate::exit::ExitStatus;
use crate::logging;
use crate::prompt;
use crate::report::{Failure, FailureKind, Result};
use crate::ui::{self, GOOD, WARN};
use pending::PendingChange;

/// Review and accept changed tools of upstream servers
///
/// Lists the tools of the servers first. A tool that is admitted for the first time is pinned in vouch.lock; commit
/// that file to share the pins. A tool that differs from its pin is shown with the classes of the change and a diff,
/// and is accepted only if you confirm.
///
/// Classes: `descriptive` (only descriptions changed), `additive` (existing calls still work), `breaking` (an existing
/// call may be rejected, change its meaning, or get a different result), `annotation` (the hints about side effects
/// changed), `instruction` (new text contains hidden characters or instructions to a model; review it carefully).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch accept
  vouch accept files
  vouch accept files read_file --yes")]
pub(crate) struct AcceptArgs {
    /// Review only this server
    upstream: Option<String>,
    /// Review only this tool, by its name on the server
    tool: Option<String>,
    /// Accept without asking
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    format: JsonOutputArgs,
}

pub(crate) fn run_accept(ctx: &CommandContext, args: &AcceptArgs) -> Result<ExitStatus> {
    let settings = Arc::new(ctx.app.settings()?);
    logging::init_logging_if_requested(ctx)?;
    let lock = upstreams::open_lock_file(&settings)?;
    let before = lock.read().map_err(lock_file_failure)?;
    let names: Vec<String> = args.upstream.iter().cloned().collect();
    let survey =
        ctx.block_on(upstreams::survey_upstreams(&ctx.app, &settings, &names, SurveyMode::Pin))?;
    let now = lock.read().map_err(lock_file_failure)?;
    let new = count_newly_pinned(&before, &now);
    let changes = select_changes(args, &now)?;
    let ui = ctx.ui.quiet_if(args.format.json);
    print_survey(ctx, &settings, &survey, &new)?;
    if changes.is_empty() {
        if new.is_empty() {
            ui.print_note("No changes to accept.");
        }
        return print_result(ctx, args, &new, &[], &[], &survey);
    }
    if !args.yes && !ui::is_interactive() && !args.format.json {
        for change in &changes {
            writeln!(ctx.ui.stdout(), "{}\n", change.to_text())?;
        }
        return Err(Failure::usage("cannot prompt without a terminal")
            .with_hint("review the changes, then run `vouch accept --yes`"));
    }
    let mut accepted = Vec::new();
    let mut left = Vec::new();
    for change in changes {
        if confirm_change(ctx, args, &change)? {
            accepted.extend(accept_change(&lock, &change)?);
        } else {
            left.push(change);
        }
    }
    print_result(ctx, args, &new, &accepted, &left, &survey)
}

fn lock_file_failure(error: gateway::LockFileError) -> Failure {
    Failure::from(error).with_kind(FailureKind::Usage)
}

/// Returns the number of newly pinned tools for each upstream that has any.
fn count_newly_pinned(before: &PinSet, now: &PinSet) -> Vec<(String, usize)> {
    let count = |pins: &PinSet, name: &str| {
        let tools = pins.upstream(name).map(|pins| &pins.tools);
        tools.map_or(0, |tools| tools.values().filter(|pin| pin.baseline.is_some()).count())
    };
    let names = now
        .upstreams()
        .map(|name| (name.to_owned(), count(now, name).saturating_sub(count(before, name))));
    names.filter(|(_, count)| *count > 0).collect()
}

/// Returns the pending changes that the arguments select. Errors if the named tool is not in the lock file.
fn select_changes(args: &AcceptArgs, pins: &PinSet) -> Result<Vec<PendingChange>> {
    if let (Some(upstream), Some(tool)) = (&args.upstream, &args.tool)
        && pins.pin(upstream, tool).is_none()
    {
        let known = pins.upstream(upstream).into_iter().flat_map(|pins| pins.tools.keys());
        let known: Vec<&str> = known.map(String::as_str).collect();
        return Err(Failure::new(format!("{upstream} has no pinned tool `{tool}`"))
            .with_hint(suggest_name(tool, &known, "tools"))
            .with_kind(FailureKind::Negative));
    }
    let is_named = |(upstream, tool, _): &(&str, &str, &admit::ToolPin)| {
        args.upstream.as_deref().is_none_or(|name| name == *upstream)
            && args.tool.as_deref().is_none_or(|name| name == *tool)
    };
    Ok(pins.iter_pending().filter(is_named).filter_map(PendingChange::from_pin).collect())
}

/// Shows a change and returns true if it is to be accepted.
fn confirm_change(ctx: &CommandContext, args: &AcceptArgs, change: &PendingChange) -> Result<bool> {
    if args.yes {
        if !args.format.json {
            writeln!(ctx.ui.stdout(), "{}\n", change.to_text())?;
        }
        return Ok(true);
    }
    if !ui::is_interactive() {
        return Ok(false);
    }
    Ok(prompt::prompt_confirmation(ctx.ui, &change.to_text(), "Accept?")?)
}

/// Accepts exactly the change that was shown. Errors if the tool has changed again since.
fn accept_change(lock: &LockFile, change: &PendingChange) -> Result<Vec<AcceptedDefinition>> {
    let accepted = lock.change_pins(|pins| {
        let pin = pins.pin(&change.upstream, &change.tool);
        let pending = pin.and_then(|pin| pin.pending.as_ref());
        if pending.is_none_or(|pending| pending.digest != change.digest) {
            return (None, None);
        }
        let mut pins = pins.clone();
        let accepted = pins.accept_pending(&change.upstream, Some(&change.tool), Timestamp::now());
        (Some(pins), Some(accepted))
    });
    accepted?.ok_or_else(|| {
        let name = one_line(&format!("{}/{}", change.upstream, change.tool));
        Failure::new(format!("{name} changed again during the review"))
            .with_hint("run `vouch accept` again")
            .with_kind(FailureKind::Negative)
    })
}

/// Prints the servers that could not be listed and the tools that were pinned.
fn print_survey(
    ctx: &CommandContext,
    settings: &Settings,
    survey: &UpstreamSurvey,
    new: &[(String, usize)],
) -> Result {
    for (name, why) in &survey.absent {
        let why = one_line(why);
        writeln!(
            ctx.ui.stderr(),
            "{WARN}warning:{WARN:#} failed to list the tools of {name} ({why}); using its entries in the lock file"
        )?;
    }
    let file = display_path(settings, &settings.gateway.lock);
    for (name, count) in new {
        let s = if *count == 1 { "" } else { "s" };
        ctx.ui.print_note(format_args!("{GOOD}pinned{GOOD:#} {count} tool{s} of {name} in {file}"));
    }
    Ok(())
}

/// Prints the result and returns the exit status.
fn print_result(
    ctx: &CommandContext,
    args: &AcceptArgs,
    new: &[(String, usize)],
    accepted: &[AcceptedDefinition],
    left: &[PendingChange],
    survey: &UpstreamSurvey,
) -> Result<ExitStatus> {
    if args.format.json {
        let pinned: Vec<_> =
            new.iter().map(|(name, count)| json!({"upstream": name, "tools": count})).collect();
        let left: Vec<_> = left.iter().map(PendingChange::to_json).collect();
        let value = json!({"pinned": pinned, "accepted": accepted, "pending": left});
        write!(ctx.ui.stdout(), "{}", contract::text::to_visible_json(&value))?;
    } else {
        for one in accepted {
            let name = one_line(&format!("{}/{}", one.upstream, one.tool));
            ctx.ui.print_note(format_args!("{GOOD}accepted{GOOD:#} {name}"));
        }
        if !left.is_empty() {
            ctx.ui.print_note("The other changed tools stay quarantined until they are accepted.");
        }
    }
    Ok(match (left.is_empty(), survey.absent.is_empty()) {
        (false, _) => ExitStatus::Negative,
        (true, false) => ExitStatus::Failed,
        (true, true) => ExitStatus::Success,
    })
}
