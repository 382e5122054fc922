//! What can be said about the configuration only when the tools are known.

use gateway::Gateway;
use runtime::Catalog;

use super::catalog_name;
use crate::config::Settings;
use crate::config::wrong_config;
use crate::context::AppContext;
use crate::failure::FailureKind;
use crate::failure::{Failure, Result};

/// What is wrong with the configuration now that the tools are known. Warnings are printed; an upstream that is not there
/// proves nothing about its tools.
pub fn check(
    app: &AppContext,
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
    rules(app, settings, catalog, &absent(settings, Some(gateway)))
}

/// The upstreams whose tools are not known: not looked at, or not reached.
pub fn absent<'s>(settings: &'s Settings, gateway: Option<&Gateway>) -> Vec<&'s str> {
    let upstreams = gateway.map(Gateway::upstreams).unwrap_or_default();
    let is_known = |name: &str| {
        upstreams.iter().any(|one| one.name() == name && one.view().admission.is_some())
    };
    let enabled = settings.upstreams.iter().filter(|upstream| upstream.enabled);
    enabled.map(|upstream| upstream.name.as_str()).filter(|name| !is_known(name)).collect()
}

/// Rules against the tools that there are. A field that none of them has is a mistake, unless the rule may be for tools
/// of an upstream that is `absent`.
pub fn rules(app: &AppContext, settings: &Settings, catalog: &Catalog, absent: &[&str]) -> Result {
    let contracts: Vec<_> =
        catalog.contracts().map(|contract| (contract.name.as_str(), contract)).collect();
    for error in settings.rules.check_against(&contracts) {
        let is_open = absent.iter().any(|upstream| {
            settings.reach.may_be_for(error.rule(), &catalog_name(settings, upstream, ""))
        });
        if !is_open && !error.is_warning() {
            return Err(Failure::from(error)
                .with_hint("correct it in vouch.toml; what a tool takes: vouch tools <name>")
                .with_kind(FailureKind::Usage));
        }
        // That there is no tool for it yet is no news while some are missing.
        if !(is_open && error.is_warning()) {
            app.notices.note(format_args!("warning: {error}"));
        }
    }
    Ok(())
}
