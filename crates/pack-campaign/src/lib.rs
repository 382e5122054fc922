//! The campaign pack: tools that observe and steer a running fuzz campaign, and resources that describe it.
//!
//! Owns the nine tools of the campaign contract with their agreed schemas, eight further tools, the command log
//! from which a steered campaign can be replayed, and the resources `campaign://…`. It does not start, prepare or
//! stop a campaign: the caller attaches a started campaign to a [`CampaignSlot`]. It does not know MCP, HTTP, a
//! terminal or the environment.
//!
//! Start reading at [`CampaignSlot`], then `tools.rs`. Tools access a campaign through `CampaignView` only. It
//! caches coverage reports, which are slow to build, and the corpus, which grows. Tools therefore answer within a
//! few milliseconds however busy the machine is.

mod branch_locations;
mod call_rate;
mod command_log;
mod corpus;
mod coverage_cache;
mod events;
mod handles;
mod output_files;
mod resources;
mod schema;
mod slot;
mod text;
mod tools;
mod view;

use std::sync::Arc;

use contract::{ContractError, ResourceProvider, Tool};

pub use crate::command_log::{COMMAND_LOG_NAME, CommandLog, CommandLogError, read_commands};
pub use crate::handles::{HandleSource, assign_handles};
pub use crate::resources::EVENTS_URI;
pub use crate::slot::{CampaignSlot, LiveCampaign};
pub use crate::tools::PROTOCOL_VERSION;

/// The tools and resources of the campaigns of one process.
pub struct CampaignPack {
    slots: Arc<[Arc<CampaignSlot>]>,
}

impl CampaignPack {
    /// Creates the pack. With one slot the tools take the parameters of the contract; with several, each call also
    /// names its campaign.
    pub fn new(slots: Vec<Arc<CampaignSlot>>) -> Self {
        Self { slots: slots.into() }
    }

    /// Returns the tools of the pack, those of the contract first.
    pub fn tools(&self) -> Result<Vec<Arc<dyn Tool>>, ContractError> {
        tools::build_tools(&self.slots)
    }

    /// Returns the resources `campaign://events` and `campaign://coverage`, or `campaign://<handle>/events` and so
    /// on with several slots.
    pub fn resources(&self) -> Arc<dyn ResourceProvider> {
        Arc::new(resources::CampaignResources::new(Arc::clone(&self.slots)))
    }
}
