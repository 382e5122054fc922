//! `vouch upstream remove`.

use app::config::suggest;
use app::upstreams::file::ConfigFile;

use crate::commands::Context;
use crate::exit::Exit;
use crate::report::{Failure, FailureKind, Result};
use crate::{prompt, ui};

/// Remove a server from vouch.toml
///
/// Its table goes, with the comment right above it. Overlays and pins of its tools stay, so that a server that comes back
/// is judged by what was accepted before.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Which one
    name: String,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn run(ctx: &Context, args: &Args) -> Result<Exit> {
    let settings = ctx.app.settings()?;
    let name = &args.name;
    let known: Vec<_> = settings.upstreams.iter().map(|one| one.name.as_str()).collect();
    let mut file = ConfigFile::of(&settings)?;
    if !known.contains(&name.as_str()) || !file.remove(name)? {
        let failure =
            Failure::new(format!("there is no upstream `{name}`")).with_kind(FailureKind::Negative);
        return Err(match known.is_empty() {
            true => failure,
            false => failure.with_hint(suggest(name, &known, "upstreams")),
        });
    }
    file.check(&ctx.app, &settings)?;
    let shown = file.shown(&settings.root);
    if !args.yes {
        if !ui::is_interactive() {
            return Err(Failure::usage(format!(
                "nobody can be asked here whether to remove `{name}`"
            ))
            .with_hint(format!(
                "to remove it without being asked: vouch upstream remove {name} --yes"
            )));
        }
        let message = format!("This removes the table of `{name}` from {shown}.");
        if !prompt::confirm(ctx.ui, &message, "Remove it?")? {
            return Ok(Exit::No);
        }
    }
    file.write()?;
    let lock = settings.gateway.lock.strip_prefix(&settings.root).unwrap_or(&settings.gateway.lock);
    let contracts = &settings.gateway.contracts;
    let contracts = contracts.strip_prefix(&settings.root).unwrap_or(contracts).join(name);
    ctx.ui.note(format_args!(
        "removed `{name}` from {shown}; overlays in {} and pins in {} stay as they are",
        contracts.display(),
        lock.display()
    ));
    Ok(Exit::Success)
}
