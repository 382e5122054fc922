//! What can be said about the configuration only when the tools are known.

use gateway::Gateway;
use runtime::Catalog;

use super::catalog_name;
use crate::commands::{Context, wrong_config};
use crate::config::Settings;
use crate::exit::Exit;
use crate::report::{Failure, Result};

/// What is wrong with the configuration now that the tools are known. Warnings are printed; an upstream that is not there
/// proves nothing about its tools.
pub(crate) fn check(
    ctx: &Context,
    settings: &Settings,
    gateway: &Gateway,
    catalog: &Catalog,
) -> Result {
    for name in settings.tools.keys() {
        let Some((upstream, tool)) = settings.upstream_of(name) else { continue };
        let known = gateway.upstreams().iter().find(|one| one.name() == upstream.name);
        let Some(admission) = known.and_then(|one| one.view().admission.clone()) else { continue };
        if admission.tool(tool).is_none() {
            let names: Vec<_> = admission
                .tools
                .iter()
                .map(|tool| catalog_name(settings, &upstream.name, &tool.name))
                .collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return Err(wrong_config(settings.unknown_tool(name, &names)));
        }
    }
    let all_there = gateway.upstreams().iter().all(|one| one.view().admission.is_some());
    rules(ctx, settings, catalog, all_there)
}

/// Rules against the tools that there are. A field that none of them has is a mistake, if `all_there`.
pub(crate) fn rules(
    ctx: &Context,
    settings: &Settings,
    catalog: &Catalog,
    all_there: bool,
) -> Result {
    let contracts: Vec<_> =
        catalog.contracts().map(|contract| (contract.name.as_str(), contract)).collect();
    for error in settings.rules.check_against(&contracts) {
        if all_there && !error.is_warning() {
            return Err(Failure::from(error)
                .with_hint("correct it in vouch.toml; what a tool takes: vouch tools <name>")
                .with_exit(Exit::Usage));
        }
        ctx.ui.note(format_args!("warning: {error}"));
    }
    Ok(())
}
