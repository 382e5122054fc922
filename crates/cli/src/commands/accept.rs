//! `vouch accept`: a person lets a changed tool in. The only way, beside `allow_changes`, in which a baseline changes.

mod pending;

use std::io::Write;
use std::sync::Arc;

use admit::{Accepted, Pins};
use app::config::{Settings, suggest};
use app::upstreams::{self, Look, Survey, shown};
use contract::text::one_line;
use gateway::LockFile;
use jiff::Timestamp;
use serde_json::json;

use crate::commands::{Context, Format};
use crate::exit::Exit;
use crate::logging;
use crate::prompt;
use crate::report::{Failure, FailureKind, Result};
use crate::ui::{self, GOOD, WARN};
use pending::Change;

/// Let in what changed: tools that are not what vouch.lock pinned
///
/// The servers are asked for their tools first. What is admitted for the first time is pinned: run it once and commit
/// vouch.lock, and everybody gets the same tools. What changed is shown with its class and as a diff, and is let in only
/// if you say so.
///
/// Classes: `descriptive` (only words for people and models), `additive` (old calls still work), `breaking` (a call that
/// was accepted may be refused, mean something else, or be answered otherwise), `annotation` (the hints about side
/// effects), `instruction` (new text that hides characters or gives orders to a model: read it twice).
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  vouch accept
  vouch accept files
  vouch accept files read_file --yes")]
pub(crate) struct Args {
    /// Only of this server
    upstream: Option<String>,
    /// Only this tool of it, by its own name
    tool: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    format: Format,
}

pub(crate) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let settings = Arc::new(ctx.app.settings()?);
    logging::init_if_asked(ctx)?;
    let lock = upstreams::lock_file(&settings)?;
    let before = lock.read().map_err(project_files)?;
    let names: Vec<String> = args.upstream.iter().cloned().collect();
    let survey = ctx.block_on(upstreams::survey(&ctx.app, &settings, &names, Look::AndPin))?;
    let now = lock.read().map_err(project_files)?;
    let new = newly_pinned(&before, &now);
    let changes = chosen(args, &now)?;
    let ui = ctx.ui.quieter(args.format.json);
    told(ctx, &settings, &survey, &new)?;
    if changes.is_empty() {
        if new.is_empty() {
            ui.note("Nothing waits to be accepted.");
        }
        return finish(ctx, args, &new, &[], &[], &survey);
    }
    if !args.yes && !ui::is_interactive() && !args.format.json {
        for change in &changes {
            writeln!(ctx.ui.out(), "{}\n", change.text())?;
        }
        return Err(Failure::usage("nobody can be asked here whether to accept this")
            .with_hint("look at it, and if it is what you want: vouch accept --yes"));
    }
    let mut accepted = Vec::new();
    let mut left = Vec::new();
    for change in changes {
        if wants(ctx, args, &change)? {
            accepted.extend(accept(&lock, &change)?);
        } else {
            left.push(change);
        }
    }
    finish(ctx, args, &new, &accepted, &left, &survey)
}

fn project_files(error: gateway::LockFileError) -> Failure {
    Failure::from(error).with_kind(FailureKind::Usage)
}

/// Tools that came into the lock by this look: upstream and how many.
fn newly_pinned(before: &Pins, now: &Pins) -> Vec<(String, usize)> {
    let of = |pins: &Pins, name: &str| {
        let tools = pins.upstream(name).map(|pins| &pins.tools);
        tools.map_or(0, |tools| tools.values().filter(|pin| pin.baseline.is_some()).count())
    };
    let names = now
        .upstreams()
        .map(|name| (name.to_owned(), of(now, name) - of(before, name).min(of(now, name))));
    names.filter(|(_, count)| *count > 0).collect()
}

/// What waits, of what the command line names.
fn chosen(args: &Args, pins: &Pins) -> Result<Vec<Change>> {
    if let (Some(upstream), Some(tool)) = (&args.upstream, &args.tool)
        && pins.pin(upstream, tool).is_none()
    {
        let known = pins.upstream(upstream).into_iter().flat_map(|pins| pins.tools.keys());
        let known: Vec<&str> = known.map(String::as_str).collect();
        return Err(Failure::new(format!("there is no tool `{tool}` of {upstream} in the lock"))
            .with_hint(suggest(tool, &known, "tools"))
            .with_kind(FailureKind::Negative));
    }
    let is_named = |(upstream, tool, _): &(&str, &str, &admit::Pin)| {
        args.upstream.as_deref().is_none_or(|name| name == *upstream)
            && args.tool.as_deref().is_none_or(|name| name == *tool)
    };
    Ok(pins.pending().filter(is_named).filter_map(Change::of).collect())
}

fn wants(ctx: &Context, args: &Args, change: &Change) -> Result<bool> {
    if args.yes {
        if !args.format.json {
            writeln!(ctx.ui.out(), "{}\n", change.text())?;
        }
        return Ok(true);
    }
    if !ui::is_interactive() {
        return Ok(false);
    }
    Ok(prompt::confirm(ctx.ui, &change.text(), "Accept?")?)
}

/// Exactly what was shown, and nothing that came since.
fn accept(lock: &LockFile, change: &Change) -> Result<Vec<Accepted>> {
    let accepted = lock.change(|pins| {
        let pin = pins.pin(&change.upstream, &change.tool);
        let waits = pin.and_then(|pin| pin.pending.as_ref());
        if waits.is_none_or(|pending| pending.digest != change.digest) {
            return (None, None);
        }
        let mut pins = pins.clone();
        let accepted = pins.accept(&change.upstream, Some(&change.tool), Timestamp::now());
        (Some(pins), Some(accepted))
    });
    accepted?.ok_or_else(|| {
        let name = one_line(&format!("{}/{}", change.upstream, change.tool));
        Failure::new(format!("{name} changed once more while you looked at it"))
            .with_hint("look again: vouch accept")
            .with_kind(FailureKind::Negative)
    })
}

fn told(ctx: &Context, settings: &Settings, survey: &Survey, new: &[(String, usize)]) -> Result {
    for (name, why) in &survey.absent {
        let why = one_line(why);
        writeln!(
            ctx.ui.err(),
            "{WARN}warning:{WARN:#} {name} could not be asked ({why}): what the lock knows of it counts"
        )?;
    }
    let file = shown(settings, &settings.gateway.lock);
    for (name, count) in new {
        let s = if *count == 1 { "" } else { "s" };
        ctx.ui.note(format_args!("{GOOD}pinned{GOOD:#} {count} tool{s} of {name} in {file}"));
    }
    Ok(())
}

fn finish(
    ctx: &Context,
    args: &Args,
    new: &[(String, usize)],
    accepted: &[Accepted],
    left: &[Change],
    survey: &Survey,
) -> Result<Exit> {
    if args.format.json {
        let pinned: Vec<_> =
            new.iter().map(|(name, count)| json!({"upstream": name, "tools": count})).collect();
        let left: Vec<_> = left.iter().map(Change::view).collect();
        let value = json!({"pinned": pinned, "accepted": accepted, "pending": left});
        write!(ctx.ui.out(), "{}", contract::text::json(&value))?;
    } else {
        for one in accepted {
            let name = one_line(&format!("{}/{}", one.upstream, one.tool));
            ctx.ui.note(format_args!("{GOOD}accepted{GOOD:#} {name}"));
        }
        if !left.is_empty() {
            ctx.ui.note("The rest stays out until it is accepted.");
        }
    }
    Ok(match (left.is_empty(), survey.absent.is_empty()) {
        (false, _) => Exit::No,
        (true, false) => Exit::Failed,
        (true, true) => Exit::Success,
    })
}
