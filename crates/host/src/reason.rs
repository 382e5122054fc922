//! The reasons why an ask ended before a call: a gate said no, or something that the gates depend on failed.

use crate::gate::Gate;
use crate::gate::allow::AllowError;
use crate::gate::input::PolicyError;
use crate::gate::plan::PlanFault;
use crate::gate::resolve::ResolveError;
use crate::offer::DiscoverError;
use crate::planner::PlanError;

/// The reason why a gate stopped an ask.
#[derive(Debug, thiserror::Error)]
pub enum StopReason {
    /// Gate 0: the query breaks the input policy.
    #[error(transparent)]
    Query(#[from] PolicyError),
    /// Gate 1: no tool is allowed, so the planner was not asked.
    #[error("there is no allowed tool to plan with")]
    NothingAllowed,
    /// Gate 1: the ask was cancelled while the planner worked.
    #[error("cancelled")]
    Cancelled,
    /// Gate 1: the planner's text is not a plan.
    #[error("this is no plan: {0}")]
    Plan(#[from] PlanFault),
    /// Gate 2: the tool does not exist, or its arguments do not fit.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// Gate 3: the tool exists and may not be called.
    #[error(transparent)]
    Allow(#[from] AllowError),
}

impl StopReason {
    /// Returns the gate that stopped the ask.
    pub fn gate(&self) -> Gate {
        match self {
            Self::Query(_) => Gate::Input,
            Self::NothingAllowed | Self::Cancelled | Self::Plan(_) => Gate::Plan,
            Self::Resolve(_) => Gate::Resolve,
            Self::Allow(_) => Gate::Allow,
        }
    }
}

/// A failure of the planner or of the servers: no gate had a say, and the query is not at fault.
#[derive(Debug, thiserror::Error)]
pub enum Breakdown {
    /// The live tools could not be listed.
    #[error("there is no list of tools: {0}")]
    Discovery(DiscoverError),
    /// The planner returned nothing.
    #[error("there is no plan: {0}")]
    Planner(PlanError),
}

impl Breakdown {
    /// Returns the gate that the ask could not pass because of it.
    pub fn gate(&self) -> Gate {
        match self {
            Self::Discovery(_) => Gate::Resolve,
            Self::Planner(_) => Gate::Plan,
        }
    }
}
