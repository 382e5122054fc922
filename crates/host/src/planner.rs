//! Planners: given a query and the allowed tools, they return a plan as text, which the gates check.

mod embedded;

use async_trait::async_trait;

use crate::model::ModelError;
use crate::offer::ToolOffer;
pub use embedded::EmbeddedPlanner;
pub(crate) use embedded::rank::shortlist_tools;

/// The reason why a planner returned no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlannerError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("{0}")]
    Other(String),
}

/// Chooses one tool for a query.
#[async_trait]
pub trait Planner: Send + Sync {
    /// Returns the plan as raw text, which only gate 1 parses.
    async fn plan(&self, query: &str, offers: &[ToolOffer]) -> Result<String, PlannerError>;
}
