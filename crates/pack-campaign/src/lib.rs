//! The campaign pack: tools that watch and steer a fuzz campaign while it runs, and documents about it.
//!
//! Owns the nine tools of the campaign contract with the schemas as they were agreed, those beyond them, the log of
//! commands by which a steered campaign can be repeated, and the resources `campaign://…`. It does not start, prepare or
//! stop a campaign: whoever does puts it on a [`Seat`] when it begins. It knows no MCP, HTTP, terminal or environment.
//!
//! Start reading at [`Seat`], then `tools.rs`. All that a tool asks of a campaign goes through `running.rs`, which keeps
//! what takes long (`cover.rs`) or grows (`corpus.rs`), so that each answer is there within a few milliseconds however
//! busy the machine is.

mod corpus;
mod cover;
mod events;
mod handles;
mod log;
mod output;
mod pace;
mod places;
mod resources;
mod running;
mod schema;
mod seat;
mod text;
mod tools;

use std::sync::Arc;

use contract::{ContractError, Resources, Tool};

pub use crate::handles::{HandleSource, assign_handles};
pub use crate::log::{CommandLog, LOG_NAME, ReplayError, read_commands};
pub use crate::resources::EVENTS;
pub use crate::seat::{Live, Seat};
pub use crate::tools::PROTOCOL_VERSION;

/// The tools and resources of the campaigns of one process.
pub struct CampaignPack {
    seats: Arc<[Arc<Seat>]>,
}

impl CampaignPack {
    /// With one seat the tools take what the contract says; with several each call names the campaign that is meant.
    pub fn new(seats: Vec<Arc<Seat>>) -> Self {
        Self { seats: seats.into() }
    }

    pub fn tools(&self) -> Result<Vec<Arc<dyn Tool>>, ContractError> {
        tools::all(&self.seats)
    }

    /// `campaign://events` and `campaign://coverage`; with several seats `campaign://<handle>/events` and so on.
    pub fn resources(&self) -> Arc<dyn Resources> {
        Arc::new(resources::Documents::new(Arc::clone(&self.seats)))
    }
}
