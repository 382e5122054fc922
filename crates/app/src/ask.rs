//! The parts of an ask that are assembled from the configuration: who plans, and which tools there are.

mod discover;
mod planner;

pub use discover::Finder;
pub use planner::{Minds, choose};

/// The principal of an ask, as rules and allowlists name it.
pub const PRINCIPAL: &str = "cli";

/// Who chooses the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannerChoice {
    /// The planner in this program.
    Embedded,
    /// The configured model.
    Model,
}
