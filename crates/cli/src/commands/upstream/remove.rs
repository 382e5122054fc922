//! `vouch upstream remove`: removes a server from vouch.toml.

use app::config::suggest_name;
use app::upstreams::file::ConfigFile;

use crate::commands::CommandContext;
use crate::exit::ExitStatus;
use crate::report::{Failure, FailureKind, Result};
use crate::{prompt, ui};

/// Remove a server from vouch.toml
///
/// Removes its table and the comment directly above it. Overlays and pins of its tools are kept, so that they apply
/// again if the server is added back.
#[derive(Debug, clap::Args)]
pub(super) struct UpstreamRemoveArgs {
    /// Name of the upstream
    name: String,
    /// Remove without asking
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn run_upstream_remove(
    ctx: &CommandContext,
    args: &UpstreamRemoveArgs,
) -> Result<ExitStatus> {
    let settings = ctx.app.settings()?;
    let name = &args.name;
    let known: Vec<_> = settings.upstreams.iter().map(|one| one.name.as_str()).collect();
    let mut file = ConfigFile::open(&settings)?;
    if !known.contains(&name.as_str()) || !file.remove_upstream(name)? {
        let failure =
            Failure::new(format!("unknown upstream `{name}`")).with_kind(FailureKind::Negative);
        return Err(match known.is_empty() {
            true => failure,
            false => failure.with_hint(suggest_name(name, &known, "upstreams")),
        });
    }
    file.preview(&ctx.app, &settings)?;
    let shown = file.display_path(&settings.root);
    if !args.yes {
        if !ui::is_interactive() {
            return Err(Failure::usage("cannot prompt without a terminal")
                .with_hint(format!("run `vouch upstream remove {name} --yes`")));
        }
        let message = format!("This removes the table of `{name}` from {shown}.");
        if !prompt::prompt_confirmation(ctx.ui, &message, "Remove it?")? {
            return Ok(ExitStatus::Negative);
        }
    }
    file.write(&settings)?;
    let lock = settings.gateway.lock.strip_prefix(&settings.root).unwrap_or(&settings.gateway.lock);
    let contracts = &settings.gateway.contracts;
    let contracts = contracts.strip_prefix(&settings.root).unwrap_or(contracts).join(name);
    ctx.ui.print_note(format_args!(
        "removed `{name}` from {shown}; overlays in {} and pins in {} are kept",
        ui::format_path(&contracts),
        ui::format_path(lock)
    ));
    Ok(ExitStatus::Success)
}
