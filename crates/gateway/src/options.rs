//! What an operator decided about the gateway, resolved and ready to be used.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use contract::Constraints;

/// The upstreams, and where what is known of them is kept.
#[derive(Clone, Debug)]
pub struct Options {
    /// Between the name of an upstream and that of its tool.
    pub separator: String,
    /// The folder of the overlays, one folder for each upstream in it.
    pub contracts: PathBuf,
    /// The same as people write it, for remedies.
    pub contracts_shown: String,
    /// The file of the pins.
    pub lock: PathBuf,
    /// Taken while the file of the pins is changed, so that two processes do not undo each other's change.
    pub lock_guard: PathBuf,
    /// Where answers are kept for `vouch learn`; none are kept without it.
    pub samples: Option<PathBuf>,
    /// The operator's word on single tools, on top of what their overlays say.
    pub adjust: Option<Adjust>,
    pub upstreams: Vec<UpstreamOptions>,
}

type Word = dyn Fn(&str, &mut Constraints) -> bool + Send + Sync;

/// Changes the limits of a tool, which it is told by its name in the catalog; false where the tool is not offered at all.
#[derive(Clone)]
pub struct Adjust(Arc<Word>);

impl Adjust {
    pub fn new(word: impl Fn(&str, &mut Constraints) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(word))
    }

    pub(crate) fn apply(&self, tool: &str, constraints: &mut Constraints) -> bool {
        (self.0)(tool, constraints)
    }
}

impl fmt::Debug for Adjust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Adjust")
    }
}

/// One upstream.
#[derive(Clone, Debug)]
pub struct UpstreamOptions {
    /// Its name is the upstream's.
    pub link: link::Options,
    pub policy: admit::Policy,
    /// How long a listing counts where the server cannot tell that it has changed.
    pub relist_after: Duration,
}

impl UpstreamOptions {
    pub fn new(link: link::Options, policy: admit::Policy) -> Self {
        Self { link, policy, relist_after: Duration::from_secs(60) }
    }

    pub fn name(&self) -> &str {
        &self.link.name
    }
}
