//! The reasons why an ask ends before a call: a gate stopped it, or the planner or the discovery of tools failed.

use crate::gate::AskGate;
use crate::gate::allow::AllowError;
use crate::gate::input::InputPolicyError;
use crate::gate::plan::PlanParseError;
use crate::gate::resolve::ResolveError;
use crate::offer::ToolDiscoveryError;
use crate::planner::PlannerError;

/// The reason why a gate stopped an ask.
#[derive(Debug, thiserror::Error)]
pub enum StopReason {
    /// Gate 0: the query breaks the input policy.
    #[error(transparent)]
    Query(#[from] InputPolicyError),
    /// Gate 1: no tool is allowed, so the planner was not asked.
    #[error("no tool is allowed")]
    NothingAllowed,
    /// Gate 1: the ask was cancelled while the planner worked.
    #[error("cancelled")]
    Cancelled,
    /// Gate 1: the planner's text is not a plan.
    #[error("invalid plan: {0}")]
    Plan(#[from] PlanParseError),
    /// Gate 2: the tool does not exist, or its arguments are invalid.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// Gate 3: the tool exists and may not be called.
    #[error(transparent)]
    Allow(#[from] AllowError),
}

impl StopReason {
    /// Returns the gate that stopped the ask.
    pub fn gate(&self) -> AskGate {
        match self {
            Self::Query(_) => AskGate::Input,
            Self::NothingAllowed | Self::Cancelled | Self::Plan(_) => AskGate::Plan,
            Self::Resolve(_) => AskGate::Resolve,
            Self::Allow(_) => AskGate::Allow,
        }
    }
}

/// A failure of the planner or of the servers. No gate stopped the ask, and the query is not the cause.
#[derive(Debug, thiserror::Error)]
pub enum PlanningFailure {
    /// The live tools could not be listed.
    #[error("failed to list tools: {0}")]
    Discovery(ToolDiscoveryError),
    /// The planner returned nothing.
    #[error("failed to get a plan: {0}")]
    Planner(PlannerError),
}

impl PlanningFailure {
    /// Returns the gate that the ask could not pass.
    pub fn gate(&self) -> AskGate {
        match self {
            Self::Discovery(_) => AskGate::Resolve,
            Self::Planner(_) => AskGate::Plan,
        }
    }
}
