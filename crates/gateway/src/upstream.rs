//! One upstream: its connection, and what the last look at its tools found.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use admit::{Admission, Judged, Pins, Policy};
use contract::{Code, Contract};
use jiff::Timestamp;
use link::{Link, LinkError, Server, Status};
use parking_lot::RwLock;
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

use crate::invoke::UpstreamTool;
use crate::overlays;
use crate::samples::Recorder;
use crate::{Adjust, GatewayError, LockFile, UpstreamOptions, read_overlays};

/// For a listing, on top of the time to connect.
const LISTING_LIMIT: Duration = Duration::from_secs(30);

/// What an upstream's tools can answer beside what every tool can.
const ERRORS: &[Code] = &[Code::ToolFailed, Code::ContractViolation, Code::UpstreamUnavailable];

/// One upstream server.
pub struct Upstream {
    options: UpstreamOptions,
    link: Arc<Link>,
    site: Site,
    view: RwLock<Arc<View>>,
    /// How often it has been looked at.
    looks: watch::Sender<u64>,
}

/// Where an upstream's tools go in the catalog, and where the operator's word on them is.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) separator: String,
    pub(crate) contracts: std::path::PathBuf,
    pub(crate) contracts_shown: String,
    pub(crate) lock: LockFile,
    pub(crate) adjust: Option<Adjust>,
    pub(crate) recorder: Option<Arc<Recorder>>,
    /// Turns to judge a list.
    pub(crate) judging: Arc<Semaphore>,
}

/// What is known of an upstream now.
#[derive(Clone, Default)]
pub struct View {
    pub server: Option<Server>,
    /// The judgement on the last listing. It stays when the server goes: its tools are offered on, and a call heals the
    /// connection or says that the server is gone.
    pub admission: Option<Arc<Admission>>,
    /// Why the last look found nothing, in words that are safe to show.
    pub failure: Option<String>,
    pub(crate) offers: BTreeMap<String, Arc<Offer>>,
}

/// A tool as the catalog takes it.
pub(crate) struct Offer {
    pub(crate) contract: Arc<Contract>,
    pub(crate) invoker: Arc<UpstreamTool>,
    /// What it was made from; while that is the same, it need not be made again.
    made_from: Vec<String>,
}

/// Whether what a look finds is pinned, or only looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pinning {
    Write,
    ReadOnly,
}

impl Upstream {
    pub(crate) fn new(options: UpstreamOptions, site: Site) -> Self {
        let link = Link::new(options.link.clone());
        Self { options, link, site, view: RwLock::default(), looks: watch::Sender::new(0) }
    }

    pub fn name(&self) -> &str {
        self.options.name()
    }

    pub fn options(&self) -> &UpstreamOptions {
        &self.options
    }

    pub fn link(&self) -> &Arc<Link> {
        &self.link
    }

    pub fn view(&self) -> Arc<View> {
        Arc::clone(&self.view.read())
    }

    /// Lists and judges the tools. A failure is in the view, and leaves the last judgement as it was.
    pub(crate) async fn look(&self, pinning: Pinning) {
        let before = self.view();
        let view = match self.examine(&before, pinning).await {
            Ok(view) => view,
            Err(failure) => {
                // It is tried again and again; the same words need not be.
                if before.failure.as_deref() == Some(failure.as_str()) {
                    tracing::debug!(upstream = self.name(), failure, "still not listed");
                } else {
                    tracing::warn!(
                        upstream = self.name(),
                        failure,
                        "the tools could not be listed"
                    );
                }
                View { failure: Some(failure), ..(*before).clone() }
            }
        };
        *self.view.write() = Arc::new(view);
        self.looks.send_modify(|looks| *looks += 1);
    }

    /// What tells one state of its overlays on disk from another.
    pub(crate) fn overlays_stamp(&self) -> overlays::Stamp {
        overlays::stamp(&self.site.contracts, self.name())
    }

    /// Waits until it has been looked at once.
    pub(crate) async fn looked_at(&self) {
        // The sender lives as long as we do.
        let _ = self.looks.subscribe().wait_for(|looks| *looks > 0).await;
    }

    async fn examine(&self, before: &Arc<View>, pinning: Pinning) -> Result<View, String> {
        let limit = self.options.link.connect_timeout + LISTING_LIMIT;
        let tools = match tokio::time::timeout(limit, self.link.tools()).await {
            Ok(Ok(tools)) => tools,
            Ok(Err(error)) => return Err(told(&error)),
            Err(_) => {
                return Err(format!("it did not list its tools within {} s", limit.as_secs()));
            }
        };
        let server = match self.link.status() {
            Status::Connected(server) => Some(server),
            _ => before.server.clone(),
        };
        let (site, options) = (self.site.clone(), self.options.clone());
        let (link, before) = (Arc::clone(&self.link), Arc::clone(before));
        let Ok(_turn) = self.site.judging.acquire().await else {
            return Err("the gateway is closing".to_owned());
        };
        // Judging thousands of tools takes a while, and reads and writes files.
        let judged = tokio::task::spawn_blocking(move || {
            let admission = judge(&site, &options, &tools, before.admission.as_deref(), pinning)?;
            let offers = offers(&site, &options, &link, &admission, &before.offers);
            Ok::<_, GatewayError>((Arc::new(admission), offers))
        });
        let judged = judged.await.map_err(|_| "its tools could not be judged".to_owned())?;
        let (admission, offers) = judged.map_err(|error| in_one_line(&error))?;
        Ok(View { server, admission: Some(admission), failure: None, offers })
    }
}

fn told(error: &LinkError) -> String {
    error.to_string()
}

fn in_one_line(error: &dyn std::error::Error) -> String {
    contract::text::one_line(&contract::text::error_chain(error))
}

fn judge(
    site: &Site,
    options: &UpstreamOptions,
    tools: &[Value],
    before: Option<&Admission>,
    pinning: Pinning,
) -> Result<Admission, GatewayError> {
    let name = options.name();
    let overlays = read_overlays(&site.contracts, &site.contracts_shown, name)?;
    let upstream = admit::Upstream::new(name).with_contracts(&site.contracts_shown);
    let pins = site.lock.read()?;
    let judged = match before {
        Some(before) => admit::readmit(before, &upstream, tools, &overlays, &pins, &options.policy),
        None => admit::admit(&upstream, tools, &overlays, &pins, &options.policy),
    };
    if pinning == Pinning::ReadOnly {
        return Ok(judged);
    }
    // The rules have been asked; only the pins may be others by now. Nobody waits for a long list while the file is held.
    let again = |pins: &Pins, policy: &Policy| {
        admit::readmit(&judged, &upstream, tools, &overlays, pins, policy)
    };
    let pinned = site.lock.change(|pins| {
        let admission = again(pins, &options.policy);
        (pins.update(&admission, Timestamp::now()), admission)
    });
    match pinned {
        Ok(admission) => Ok(admission),
        // What was pinned before still holds. What is new could become something else unseen, so it waits.
        Err(error) => {
            let pins = site.lock.read()?;
            if pins.upstream(name).is_none() {
                return Err(error.into());
            }
            tracing::warn!(upstream = name, error = in_one_line(&error), "pins are not written");
            Ok(again(&pins, &Policy { hold_new: true, ..options.policy.clone() }))
        }
    }
}

/// The tools that run, as the catalog takes them. What has not changed is taken over: compiled schemas are costly.
fn offers(
    site: &Site,
    options: &UpstreamOptions,
    link: &Arc<Link>,
    admission: &Admission,
    before: &BTreeMap<String, Arc<Offer>>,
) -> BTreeMap<String, Arc<Offer>> {
    let offer = |tool: &Judged| {
        // Not the definition: where `observe` mends what cannot be run, the contract has it.
        let admitted = tool.contract.as_ref()?;
        let mark = mark(tool);
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
        let contract = Arc::new(admitted.offered_as(name.clone(), constraints, ERRORS));
        let invoker = Arc::new(UpstreamTool::new(
            Arc::clone(link),
            options.name(),
            tool,
            site.recorder.clone(),
        ));
        Some((name, Arc::new(Offer { contract, invoker, made_from })))
    };
    admission.running().filter_map(offer).collect()
}

/// A tool that only `observe` lets run says so, where constraints are published.
fn mark(tool: &Judged) -> Option<String> {
    tool.observed.then(|| {
        let rules: Vec<_> = tool.reasons.iter().map(|reason| reason.rule.to_string()).collect();
        format!("observed: would be {} ({})", tool.state.as_str(), rules.join(", "))
    })
}
