//! What may be asked for: the tools of this folder and of other servers, each with how it stands.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::config::Settings;
use crate::upstreams;
use admit::Admission;
use async_trait::async_trait;
use gateway::{Clash, Gateway, Upstream};
use host::{Allowlist, Discover, DiscoverError, Listed, StandingPolicy, UpstreamCandidate};
use runtime::{Catalog, Pipeline};
use tokio_util::sync::CancellationToken;

use super::PRINCIPAL;
use crate::context::AppContext;

/// The tools of this folder are those of a server of this name.
const HERE: &str = "vouch";
/// One server that does not answer must not keep the person waiting for the others.
const PATIENCE: Duration = Duration::from_secs(10);

/// Looks at all servers, once for each ask: the list is live, and what changed meanwhile is quarantined.
pub struct Finder<'a> {
    pub app: &'a AppContext,
    pub settings: &'a Arc<Settings>,
    pub pipeline: &'a Arc<Pipeline>,
    /// None where there are no other servers.
    pub gateway: Option<&'a Arc<Gateway>>,
    /// The names of the tools of this folder.
    pub own: &'a BTreeSet<String>,
    /// The configuration was held against all tools, and is fine.
    pub checked: &'a AtomicBool,
    pub cancel: CancellationToken,
}

#[async_trait]
impl Discover for Finder<'_> {
    async fn discover(&self) -> Result<Allowlist, DiscoverError> {
        self.look().await.map(Allowlist::new)
    }
}

impl Finder<'_> {
    async fn look(&self) -> Result<Vec<Listed>, DiscoverError> {
        let Some(gateway) = self.gateway else { return Ok(self.here(&self.pipeline.catalog())) };
        tokio::select! {
            () = self.cancel.cancelled() => return Err(DiscoverError("cancelled".to_owned())),
            _ = tokio::time::timeout(PATIENCE, gateway.pin()) => {}
        }
        gateway.publish(self.pipeline);
        let catalog = self.pipeline.catalog();
        if !self.checked.load(Ordering::Relaxed) {
            upstreams::check(self.app, self.settings, gateway, &catalog)
                .map_err(|failure| DiscoverError(failure.one_line()))?;
            // A server that comes later has not been held against it yet.
            let all_there = upstreams::absent(self.settings, Some(gateway)).is_empty();
            self.checked.store(all_there, Ordering::Relaxed);
        }
        let (_, clashes) = gateway.catalog().map_err(|error| DiscoverError(error.to_string()))?;
        let mut listed = self.here(&catalog);
        for upstream in gateway.upstreams() {
            let view = upstream.view();
            let name = upstream.name();
            if let Some(admission) = &view.admission {
                listed.extend(self.of_upstream(upstream, admission, &catalog, &clashes));
                continue;
            }
            // A failure is in the log already.
            if view.failure.is_none() {
                self.app.notices.note(format_args!(
                    "warning: the tools of `{name}` are left out: it did not answer within {} s",
                    PATIENCE.as_secs()
                ));
            }
        }
        Ok(listed)
    }

    fn here(&self, catalog: &Catalog) -> Vec<Listed> {
        let own = self.own.iter().filter_map(|name| catalog.get(name));
        own.map(|entry| {
            let name = entry.contract.name.clone();
            let standing = self.policy().judge_own(&name, &entry.contract);
            Listed { server: HERE.to_owned(), tool: name.clone(), name, standing }
        })
        .collect()
    }

    fn of_upstream(
        &self,
        upstream: &Upstream,
        admission: &Admission,
        catalog: &Catalog,
        clashes: &[Clash],
    ) -> Vec<Listed> {
        let tools = admission.tools.iter().map(|tool| {
            let name = upstreams::catalog_name(self.settings, upstream.name(), &tool.name);
            let clash = clashes.iter().find(|clash| clash.name == name).map(ToString::to_string);
            let entry = catalog.get(&name);
            let standing = self.policy().judge_upstream(UpstreamCandidate {
                name: &name,
                judged: tool,
                policy: &upstream.options().policy,
                clash: clash.as_deref(),
                contract: entry.as_ref().map(|entry| &entry.contract),
            });
            Listed { server: upstream.name().to_owned(), tool: tool.name.clone(), name, standing }
        });
        tools.collect()
    }

    fn policy(&self) -> StandingPolicy<'_> {
        StandingPolicy { principal: PRINCIPAL, filter: self.pipeline.filter(PRINCIPAL) }
    }
}
