//! The parts of `vouch ask` that are assembled from the configuration: the planner, the summarizer and the tools.

mod discover;
mod planner;

pub use discover::ToolDiscovery;
pub use planner::{PlannerAndSummarizer, select_planner};

/// Principal of `vouch ask`, as rules and allowlists name it.
pub const ASK_PRINCIPAL: &str = "cli";

/// The planner chosen on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannerChoice {
    /// The built-in planner.
    Embedded,
    /// The configured language model.
    Model,
}
