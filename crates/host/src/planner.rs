//! Who chooses the tool. A planner sees the query and the allowed tools, and answers with a text; the gates judge it.

mod embedded;

use async_trait::async_trait;

use crate::model::ModelError;
use crate::offer::Offer;
pub use embedded::Embedded;
pub(crate) use embedded::rank::shortlist;

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("{0}")]
    Other(String),
}

/// Chooses one tool for a query.
#[async_trait]
pub trait Planner: Send + Sync {
    /// The plan as raw text. Nobody but gate 1 reads it.
    async fn plan(&self, query: &str, offers: &[Offer]) -> Result<String, PlanError>;
}
