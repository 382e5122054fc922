//! Resolved options of a gateway and its upstreams.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use contract::Constraints;

use crate::FileTrust;

/// Options of a gateway: its upstreams and their files.
#[derive(Clone, Debug)]
pub struct GatewayOptions {
    /// Separator between the name of an upstream and the name of its tool.
    pub separator: String,
    /// Folder of the overlays, with one subfolder per upstream.
    pub contracts: PathBuf,
    /// `contracts` as shown to people in remedies.
    pub contracts_shown: String,
    /// Path of the lock file (`vouch.lock`).
    pub lock: PathBuf,
    /// File that is locked while the lock file changes, so that two processes do not overwrite each other's changes.
    pub lock_guard: PathBuf,
    /// Check that overlays and pins are the ones that the user trusted; `None` trusts any.
    pub trust: Option<Arc<dyn FileTrust>>,
    /// Folder to record samples for `vouch learn`. No samples are recorded without it.
    pub samples: Option<PathBuf>,
    /// The operator's changes to single tools, applied after overlays.
    pub adjust: Option<ConstraintAdjuster>,
    pub upstreams: Vec<UpstreamOptions>,
}

type AdjustConstraintsFn = dyn Fn(&str, &mut Constraints) -> bool + Send + Sync;

/// Adjusts the constraints of a tool, given its name in the catalog. Returns false to exclude the tool.
#[derive(Clone)]
pub struct ConstraintAdjuster(Arc<AdjustConstraintsFn>);

impl ConstraintAdjuster {
    pub fn new(adjust: impl Fn(&str, &mut Constraints) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(adjust))
    }

    pub(crate) fn apply(&self, tool: &str, constraints: &mut Constraints) -> bool {
        (self.0)(tool, constraints)
    }
}

impl fmt::Debug for ConstraintAdjuster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConstraintAdjuster")
    }
}

/// Options of one upstream.
#[derive(Clone, Debug)]
pub struct UpstreamOptions {
    /// Connection options. Their name is the name of the upstream.
    pub link: link::Options,
    pub policy: admit::AdmissionPolicy,
    /// Interval after which the tools are listed again without a change notification.
    pub relist_after: Duration,
}

impl UpstreamOptions {
    pub fn new(link: link::Options, policy: admit::AdmissionPolicy) -> Self {
        Self { link, policy, relist_after: Duration::from_secs(60) }
    }

    pub fn name(&self) -> &str {
        &self.link.name
    }
}
