//! One upstream: its connection, and the result of its last refresh.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use admit::{Admission, AdmissionPolicy, PinSet, ToolAdmission};
use contract::{Contract, ErrorCode};
use jiff::Timestamp;
use link::{Connection, ConnectionError, ConnectionStatus, ServerInfo};
use parking_lot::RwLock;
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

use crate::invoke::UpstreamTool;
use crate::overlays;
use crate::samples::SampleRecorder;
use crate::{
    ConstraintAdjuster, FileTrust, GatewayError, LockFile, UpstreamOptions, read_overlays,
};

/// Time limit of a listing, in addition to the connect timeout.
const LISTING_LIMIT: Duration = Duration::from_secs(30);

/// Error codes of upstream tools, in addition to those of every tool.
const UPSTREAM_ERRORS: &[ErrorCode] =
    &[ErrorCode::ToolFailed, ErrorCode::ContractViolation, ErrorCode::UpstreamUnavailable];

/// One upstream server.
pub struct GatewayUpstream {
    options: UpstreamOptions,
    link: Arc<Connection>,
    site: GatewayContext,
    view: RwLock<Arc<UpstreamSnapshot>>,
    /// Number of refreshes.
    refreshes: watch::Sender<u64>,
}

/// Settings and resources that all upstreams of a gateway share.
#[derive(Clone)]
pub(crate) struct GatewayContext {
    pub(crate) separator: String,
    pub(crate) contracts: std::path::PathBuf,
    pub(crate) contracts_shown: String,
    pub(crate) lock: LockFile,
    pub(crate) trust: Option<Arc<dyn FileTrust>>,
    pub(crate) adjust: Option<ConstraintAdjuster>,
    pub(crate) recorder: Option<Arc<SampleRecorder>>,
    /// Limits concurrent admissions.
    pub(crate) judging: Arc<Semaphore>,
}

/// The result of the last refresh of an upstream.
#[derive(Clone, Default)]
pub struct UpstreamSnapshot {
    pub server: Option<ServerInfo>,
    /// Admission of the last listing. It is kept while the server is down: its tools stay offered, and a call
    /// reconnects or fails.
    pub admission: Option<Arc<Admission>>,
    /// Error of the last refresh, safe to show.
    pub failure: Option<String>,
    pub(crate) offers: BTreeMap<String, Arc<OfferedTool>>,
}

/// An admitted tool, ready for the catalog.
pub(crate) struct OfferedTool {
    pub(crate) contract: Arc<Contract>,
    pub(crate) invoker: Arc<UpstreamTool>,
    /// Digests of its sources. The offer is reused while they are unchanged.
    made_from: Vec<String>,
}

/// Selects whether a refresh writes pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PinWriteMode {
    Write,
    ReadOnly,
}

impl GatewayUpstream {
    pub(crate) fn new(options: UpstreamOptions, site: GatewayContext) -> Self {
        let link = Connection::new(options.link.clone());
        Self { options, link, site, view: RwLock::default(), refreshes: watch::Sender::new(0) }
    }

    /// Creates an upstream that takes over the connection of an earlier one. Its tools stay offered until the first
    /// refresh, and if that fails.
    pub(crate) fn take_over(
        options: UpstreamOptions,
        site: GatewayContext,
        before: &GatewayUpstream,
    ) -> Self {
        let view = before.snapshot();
        // Offers are made again, because the settings of the gateway may differ.
        let stale = |offer: &Arc<OfferedTool>| OfferedTool {
            contract: Arc::clone(&offer.contract),
            invoker: Arc::clone(&offer.invoker),
            made_from: Vec::new(),
        };
        let offers = view.offers.iter().map(|(name, offer)| (name.clone(), Arc::new(stale(offer))));
        let view = UpstreamSnapshot { offers: offers.collect(), ..(*view).clone() };
        Self {
            options,
            link: Arc::clone(&before.link),
            site,
            view: RwLock::new(Arc::new(view)),
            refreshes: watch::Sender::new(0),
        }
    }

    pub fn name(&self) -> &str {
        self.options.name()
    }

    pub fn options(&self) -> &UpstreamOptions {
        &self.options
    }

    pub fn connection(&self) -> &Arc<Connection> {
        &self.link
    }

    /// Returns the result of the last refresh.
    pub fn snapshot(&self) -> Arc<UpstreamSnapshot> {
        Arc::clone(&self.view.read())
    }

    /// Lists and admits the tools. A failure is recorded in the snapshot and keeps the last admission.
    pub(crate) async fn refresh(&self, pinning: PinWriteMode) {
        let before = self.snapshot();
        let view = match self.list_and_admit(&before, pinning).await {
            Ok(view) => view,
            Err(failure) => {
                // The refresh is retried; warn only once about one failure.
                if before.failure.as_deref() == Some(failure.as_str()) {
                    tracing::debug!(upstream = self.name(), failure, "still failing to list tools");
                } else {
                    tracing::warn!(upstream = self.name(), failure, "failed to list tools");
                }
                UpstreamSnapshot { failure: Some(failure), ..(*before).clone() }
            }
        };
        *self.view.write() = Arc::new(view);
        self.refreshes.send_modify(|refreshes| *refreshes += 1);
    }

    /// Returns the current stamp of its overlay folder.
    pub(crate) fn read_overlay_stamp(&self) -> overlays::OverlayFolderStamp {
        overlays::read_stamp(&self.site.contracts, self.name())
    }

    /// Waits until it has been refreshed once.
    pub(crate) async fn wait_until_refreshed(&self) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.refreshes.subscribe().wait_for(|refreshes| *refreshes > 0).await;
    }

    async fn list_and_admit(
        &self,
        before: &Arc<UpstreamSnapshot>,
        pinning: PinWriteMode,
    ) -> Result<UpstreamSnapshot, String> {
        let limit = self.options.link.connect_timeout + LISTING_LIMIT;
        let tools = match tokio::time::timeout(limit, self.link.list_tools()).await {
            Ok(Ok(tools)) => tools,
            Ok(Err(error)) => return Err(format_link_error(&error)),
            Err(_) => {
                return Err(format!("tools not listed within {} s", limit.as_secs()));
            }
        };
        let server = match self.link.status() {
            ConnectionStatus::Connected(server) => Some(server),
            _ => before.server.clone(),
        };
        let (site, options) = (self.site.clone(), self.options.clone());
        let (link, before) = (Arc::clone(&self.link), Arc::clone(before));
        let Ok(_turn) = self.site.judging.acquire().await else {
            return Err("the gateway is closing".to_owned());
        };
        // Admitting thousands of tools takes a while, and reads and writes files.
        let admitted = tokio::task::spawn_blocking(move || {
            let admission =
                admit_listing(&site, &options, &tools, before.admission.as_deref(), pinning)?;
            let offers = build_offers(&site, &options, &link, &admission, &before.offers);
            Ok::<_, GatewayError>((Arc::new(admission), offers))
        });
        let admitted = admitted.await.map_err(|_| "failed to admit the tools".to_owned())?;
        let (admission, offers) = admitted.map_err(|error| format_error_chain(&error))?;
        Ok(UpstreamSnapshot { server, admission: Some(admission), failure: None, offers })
    }
}

fn format_link_error(error: &ConnectionError) -> String {
    error.to_string()
}

/// Returns the error and its sources in one line.
fn format_error_chain(error: &dyn std::error::Error) -> String {
    contract::text::one_line(&contract::text::error_chain(error))
}

/// Admits a listing and, if requested, writes the pins.
///
/// If writing fails, pinned tools still run and new ones are quarantined.
fn admit_listing(
    site: &GatewayContext,
    options: &UpstreamOptions,
    tools: &[Value],
    before: Option<&Admission>,
    pinning: PinWriteMode,
) -> Result<Admission, GatewayError> {
    let name = options.name();
    let overlays =
        read_overlays(&site.contracts, &site.contracts_shown, name, site.trust.as_ref())?;
    let upstream = admit::UpstreamIdentity::new(name).with_contracts(&site.contracts_shown);
    let pins = site.lock.read()?;
    let admission = match before {
        Some(before) => {
            admit::readmit_tools(before, &upstream, tools, &overlays, &pins, &options.policy)
        }
        None => admit::admit_tools(&upstream, tools, &overlays, &pins, &options.policy),
    };
    if pinning == PinWriteMode::ReadOnly {
        return Ok(admission);
    }
    // The tools are already assessed; only the pins may have changed. This keeps the lock short for a long list.
    let again = |pins: &PinSet, policy: &AdmissionPolicy| {
        admit::readmit_tools(&admission, &upstream, tools, &overlays, pins, policy)
    };
    let pinned = site.lock.change_pins(|pins| {
        let admission = again(pins, &options.policy);
        (pins.update(&admission, Timestamp::now()), admission)
    });
    match pinned {
        Ok(admission) => Ok(admission),
        // Existing pins still hold. New tools are quarantined, because an unpinned tool could change unnoticed.
        Err(error) => {
            let pins = site.lock.read()?;
            if pins.upstream(name).is_none() {
                return Err(error.into());
            }
            tracing::warn!(
                upstream = name,
                error = format_error_chain(&error),
                "failed to write pins"
            );
            Ok(again(&pins, &AdmissionPolicy { hold_new: true, ..options.policy.clone() }))
        }
    }
}

/// Returns the runnable tools by catalog name. Unchanged ones are reused, because compiling schemas is expensive.
fn build_offers(
    site: &GatewayContext,
    options: &UpstreamOptions,
    link: &Arc<Connection>,
    admission: &Admission,
    before: &BTreeMap<String, Arc<OfferedTool>>,
) -> BTreeMap<String, Arc<OfferedTool>> {
    let offer = |tool: &ToolAdmission| {
        // Use the contract, not the definition: observe mode repairs schemas only in the contract.
        let admitted = tool.contract.as_ref()?;
        let mark = observed_rule(tool);
        let made_from = [&tool.digest, admitted.digest(), &format!("{:?}", tool.result)]
            .map(str::to_owned)
            .into_iter()
            .chain(mark.clone())
            .collect();
        let name = format!("{}{}{}", options.name(), site.separator, tool.name);
        if let Some(known) = before.get(&name).filter(|known| known.made_from == made_from) {
            return Some((name, Arc::clone(known)));
        }
        let mut constraints = admitted.constraints.clone();
        constraints.rules.extend(mark);
        if let Some(adjust) = &site.adjust
            && !adjust.apply(&name, &mut constraints)
        {
            return None;
        }
        let contract = Arc::new(admitted.with_name_and_constraints(
            name.clone(),
            constraints,
            UPSTREAM_ERRORS,
        ));
        let invoker = Arc::new(UpstreamTool::new(
            Arc::clone(link),
            options.name(),
            tool,
            site.recorder.clone(),
        ));
        Some((name, Arc::new(OfferedTool { contract, invoker, made_from })))
    };
    admission.runnable_tools().filter_map(offer).collect()
}

/// Returns a rule for the published constraints that marks a tool running only because of observe mode.
fn observed_rule(tool: &ToolAdmission) -> Option<String> {
    tool.observed.then(|| {
        let rules: Vec<_> = tool.reasons.iter().map(|reason| reason.rule.to_string()).collect();
        format!("observed: would be {} ({})", tool.state.as_str(), rules.join(", "))
    })
}
