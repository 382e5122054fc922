//! Lists the tools that `vouch ask` may choose from: those of this project and of its upstreams, each with its standing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::config::Settings;
use crate::upstreams;
use admit::Admission;
use async_trait::async_trait;
use gateway::{Gateway, GatewayUpstream, NameClash};
use host::{
    EffectiveAllowlist, ListedTool, LiveToolSource, StandingPolicy, ToolDiscoveryError,
    UpstreamCandidate,
};
use runtime::{Catalog, Pipeline, ToolFilter};
use tokio_util::sync::CancellationToken;

use super::ASK_PRINCIPAL;
use crate::context::AppContext;

/// Server name under which the project's own tools are listed.
const PROJECT_SERVER: &str = "vouch";
/// Maximum wait for all upstreams, so that one unresponsive server does not delay the others.
const UPSTREAM_TIMEOUT: Duration = Duration::from_secs(10);

/// Lists the tools of all servers, once per query: the list is live, and changed definitions are quarantined.
pub struct ToolDiscovery<'a> {
    pub app: &'a AppContext,
    pub settings: &'a Arc<Settings>,
    pub pipeline: &'a Arc<Pipeline>,
    /// `None` if no upstream is configured.
    pub gateway: Option<&'a Arc<Gateway>>,
    /// Names of the project's own tools.
    pub project_tools: &'a BTreeSet<String>,
    /// True once the configuration has been checked against the tools of all upstreams.
    pub is_checked: &'a AtomicBool,
    pub cancel: CancellationToken,
}

#[async_trait]
impl LiveToolSource for ToolDiscovery<'_> {
    async fn discover(&self) -> Result<EffectiveAllowlist, ToolDiscoveryError> {
        self.list_candidates().await.map(EffectiveAllowlist::new)
    }
}

impl ToolDiscovery<'_> {
    async fn list_candidates(&self) -> Result<Vec<ListedTool>, ToolDiscoveryError> {
        let Some(gateway) = self.gateway else {
            return Ok(self.list_project_tools(&self.pipeline.catalog()));
        };
        tokio::select! {
            () = self.cancel.cancelled() => return Err(ToolDiscoveryError("cancelled".to_owned())),
            _ = tokio::time::timeout(UPSTREAM_TIMEOUT, gateway.pin_upstreams()) => {}
        }
        gateway.publish_catalog(self.pipeline);
        let catalog = self.pipeline.catalog();
        if !self.is_checked.load(Ordering::Relaxed) {
            upstreams::check_against_tools(self.app, self.settings, gateway, &catalog)
                .map_err(|failure| ToolDiscoveryError(failure.to_one_line()))?;
            // The configuration is checked again once the missing upstreams have answered.
            let all_there =
                upstreams::list_absent_upstreams(self.settings, Some(gateway)).is_empty();
            self.is_checked.store(all_there, Ordering::Relaxed);
        }
        let (_, clashes) =
            gateway.build_catalog().map_err(|error| ToolDiscoveryError(error.to_string()))?;
        let mut listed = self.list_project_tools(&catalog);
        for upstream in gateway.upstreams() {
            let view = upstream.snapshot();
            let name = upstream.name();
            if let Some(admission) = &view.admission {
                listed.extend(self.list_upstream_tools(upstream, admission, &catalog, &clashes));
                continue;
            }
            // A failure has already been logged.
            if view.failure.is_none() {
                self.app.notices.note(format_args!(
                    "warning: skipping the tools of `{name}`: no answer within {} s",
                    UPSTREAM_TIMEOUT.as_secs()
                ));
            }
        }
        Ok(listed)
    }

    fn list_project_tools(&self, catalog: &Catalog) -> Vec<ListedTool> {
        let filter = self.pipeline.tool_filter(ASK_PRINCIPAL);
        let own = self.project_tools.iter().filter_map(|name| catalog.get(name));
        own.map(|entry| {
            let name = entry.contract.name.clone();
            let standing = standing_policy(filter.as_deref()).judge_own(&name, &entry.contract);
            ListedTool { server: PROJECT_SERVER.to_owned(), tool: name.clone(), name, standing }
        })
        .collect()
    }

    fn list_upstream_tools(
        &self,
        upstream: &GatewayUpstream,
        admission: &Admission,
        catalog: &Catalog,
        clashes: &[NameClash],
    ) -> Vec<ListedTool> {
        let filter = self.pipeline.tool_filter(ASK_PRINCIPAL);
        let tools = admission.tools.iter().map(|tool| {
            let name = upstreams::catalog_name(self.settings, upstream.name(), &tool.name);
            let clash = clashes.iter().find(|clash| clash.name == name).map(ToString::to_string);
            let entry = catalog.get(&name);
            let standing = standing_policy(filter.as_deref()).judge_upstream(UpstreamCandidate {
                name: &name,
                judged: tool,
                policy: &upstream.options().policy,
                clash: clash.as_deref(),
                contract: entry.as_ref().map(|entry| &entry.contract),
            });
            ListedTool {
                server: upstream.name().to_owned(),
                tool: tool.name.clone(),
                name,
                standing,
            }
        });
        tools.collect()
    }
}

fn standing_policy(filter: Option<&dyn ToolFilter>) -> StandingPolicy<'_> {
    StandingPolicy { principal: ASK_PRINCIPAL, filter }
}
