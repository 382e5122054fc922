//! One campaign by its handle, from before it begins until after its end.

use std::path::PathBuf;
use std::sync::Arc;

use contract::{Code, ToolError};
use fuzz::campaign::Shared;
use fuzz::reproducer::foundry::Scene;
use parking_lot::RwLock;

use crate::log::CommandLog;
use crate::running::Running;

/// How long a caller should wait before it asks again for a campaign that is being prepared.
const RETRY_MS: u64 = 500;

/// A campaign that has begun, with what belongs to it.
pub struct Live {
    pub shared: Arc<Shared>,
    /// The folder of the corpus, which is where files may be written.
    pub output: Option<PathBuf>,
    /// What Foundry tests of failures need; without it there are none.
    pub scene: Option<Scene>,
    pub log: CommandLog,
}

/// The place of a campaign. Tools are there before the campaign is, since compiling and deploying take their time.
pub struct Seat {
    handle: String,
    state: RwLock<State>,
}

enum State {
    Preparing,
    Failed(String),
    Live(Arc<Running>),
}

impl Seat {
    /// The handle is what callers know the campaign by, where there are several.
    pub fn new(handle: impl Into<String>) -> Self {
        Self { handle: handle.into(), state: RwLock::new(State::Preparing) }
    }

    pub fn handle(&self) -> &str {
        &self.handle
    }

    /// The campaign will not begin.
    pub fn prepare_failed(&self, reason: impl Into<String>) {
        self.set(State::Failed(reason.into()));
    }

    /// The campaign has begun.
    pub fn begin(&self, live: Live) {
        self.set(State::Live(Arc::new(Running::new(live))));
    }

    fn set(&self, state: State) {
        *self.state.write() = state;
    }

    /// The campaign, if it has begun.
    ///
    /// UPSTREAM_UNAVAILABLE says the rest: the call is right and will do as soon as what it needs is there, which is what
    /// 503 means to every client. NOT_FOUND would say that the caller named a wrong thing.
    pub(crate) fn running(&self) -> Result<Arc<Running>, ToolError> {
        let handle = &self.handle;
        match &*self.state.read() {
            State::Live(running) => Ok(Arc::clone(running)),
            State::Preparing => Err(ToolError::new(
                Code::UpstreamUnavailable,
                format!(
                    "the campaign `{handle}` is still being prepared: its contracts are compiled and deployed; \
                     try again in a moment"
                ),
            )
            .with("campaign", handle.as_str())
            .with("state", "preparing")
            .with("retryAfterMs", RETRY_MS)),
            State::Failed(reason) => Err(ToolError::new(
                Code::UpstreamUnavailable,
                format!("the campaign `{handle}` could not be prepared: {reason}"),
            )
            .with("campaign", handle.as_str())
            .with("state", "failed")),
        }
    }
}
