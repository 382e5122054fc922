//! A slot for one campaign, known by its handle from before the campaign starts until after its end.

use std::path::PathBuf;
use std::sync::Arc;

use contract::{ErrorCode, ToolError};
use fuzz::campaign::CampaignState;
use fuzz::reproducer::foundry::ReproducerScene;
use parking_lot::RwLock;

use crate::command_log::CommandLog;
use crate::view::CampaignView;

/// Suggested wait before a retry while a campaign is being prepared.
const RETRY_MS: u64 = 500;

/// A started campaign and everything that belongs to it.
pub struct LiveCampaign {
    pub shared: Arc<CampaignState>,
    /// Corpus folder, the only place where files may be written.
    pub output: Option<PathBuf>,
    /// Deployment data for Foundry tests of failures; `None` if no such tests can be generated.
    pub scene: Option<ReproducerScene>,
    pub log: CommandLog,
}

/// Slot for a campaign. The tools exist before the campaign does, because compiling and deploying take time.
pub struct CampaignSlot {
    handle: String,
    state: RwLock<SlotState>,
}

enum SlotState {
    Preparing,
    Failed(String),
    Live(Arc<CampaignView>),
}

impl CampaignSlot {
    /// Creates a slot in the preparing state. Callers use the handle to choose among several campaigns.
    pub fn new(handle: impl Into<String>) -> Self {
        Self { handle: handle.into(), state: RwLock::new(SlotState::Preparing) }
    }

    pub fn handle(&self) -> &str {
        &self.handle
    }

    /// Records that the campaign could not be started.
    pub fn set_failed(&self, reason: impl Into<String>) {
        self.set_state(SlotState::Failed(reason.into()));
    }

    /// Attaches the started campaign.
    pub fn set_live(&self, live: LiveCampaign) {
        self.set_state(SlotState::Live(Arc::new(CampaignView::new(live))));
    }

    fn set_state(&self, state: SlotState) {
        *self.state.write() = state;
    }

    /// Returns the campaign, or an error if it has not started.
    ///
    /// The error is UPSTREAM_UNAVAILABLE: the call is valid and will succeed once the campaign is ready, which is
    /// the meaning of 503. NOT_FOUND would say that the caller named the wrong thing.
    pub(crate) fn campaign_view(&self) -> Result<Arc<CampaignView>, ToolError> {
        let handle = &self.handle;
        match &*self.state.read() {
            SlotState::Live(campaign) => Ok(Arc::clone(campaign)),
            SlotState::Preparing => Err(ToolError::new(
                ErrorCode::UpstreamUnavailable,
                format!(
                    "campaign `{handle}` is still being prepared (compiling and deploying its smart contracts); \
                     try again in a moment"
                ),
            )
            .with_detail("campaign", handle.as_str())
            .with_detail("state", "preparing")
            .with_detail("retryAfterMs", RETRY_MS)),
            SlotState::Failed(reason) => Err(ToolError::new(
                ErrorCode::UpstreamUnavailable,
                format!("failed to prepare campaign `{handle}`: {reason}"),
            )
            .with_detail("campaign", handle.as_str())
            .with_detail("state", "failed")),
        }
    }
}
