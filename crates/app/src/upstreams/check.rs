//! Checks of the configuration that need the tools of the upstreams.

use gateway::Gateway;
use runtime::Catalog;

use super::catalog_name;
use crate::config::Settings;
use crate::config::config_failure;
use crate::context::AppContext;
use crate::failure::FailureKind;
use crate::failure::{Failure, Result};

/// Checks the configuration against the known tools, and reports warnings.
///
/// Tools of an absent upstream are not checked.
pub fn check_against_tools(
    app: &AppContext,
    settings: &Settings,
    gateway: &Gateway,
    catalog: &Catalog,
) -> Result {
    for name in settings.tools.keys() {
        let Some((upstream, tool)) = settings.upstream_of(name) else { continue };
        let known = gateway.upstreams().iter().find(|one| one.name() == upstream.name);
        let Some(admission) = known.and_then(|one| one.snapshot().admission.clone()) else {
            continue;
        };
        if admission.find_tool(tool).is_none() {
            let names: Vec<_> = admission
                .tools
                .iter()
                .map(|tool| catalog_name(settings, &upstream.name, &tool.name))
                .collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return Err(config_failure(settings.unknown_tool_error(name, &names)));
        }
    }
    check_rules(app, settings, catalog, &list_absent_upstreams(settings, Some(gateway)))
}

/// Returns the enabled upstreams whose tools are unknown, because they were not contacted or not reached.
pub fn list_absent_upstreams<'s>(
    settings: &'s Settings,
    gateway: Option<&Gateway>,
) -> Vec<&'s str> {
    let upstreams = gateway.map(Gateway::upstreams).unwrap_or_default();
    let is_known = |name: &str| {
        upstreams.iter().any(|one| one.name() == name && one.snapshot().admission.is_some())
    };
    let enabled = settings.upstreams.iter().filter(|upstream| upstream.enabled);
    enabled.map(|upstream| upstream.name.as_str()).filter(|name| !is_known(name)).collect()
}

/// Checks the rules against the known tools, and reports warnings.
///
/// A rule on a field that no tool has is an error, unless it may concern tools of an `absent` upstream.
pub fn check_rules(
    app: &AppContext,
    settings: &Settings,
    catalog: &Catalog,
    absent: &[&str],
) -> Result {
    let contracts: Vec<_> =
        catalog.contracts().map(|contract| (contract.name.as_str(), contract)).collect();
    for error in settings.rules.check_against(&contracts) {
        let is_open = absent.iter().any(|upstream| {
            settings.rule_scopes.may_apply_to(error.rule(), &catalog_name(settings, upstream, ""))
        });
        if !is_open && !error.is_warning() {
            return Err(Failure::from(error)
                .with_hint(
                    "correct it in vouch.toml; run `vouch tools <name>` to see a tool's arguments",
                )
                .with_kind(FailureKind::Usage));
        }
        // A rule without a matching tool is expected while upstreams are absent.
        if !(is_open && error.is_warning()) {
            app.notices.note(format_args!("warning: {error}"));
        }
    }
    Ok(())
}
