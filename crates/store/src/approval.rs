//! Approvals: a person's decision about one call, from the request to its use.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// A request for an approval.
#[derive(Clone, Debug)]
pub struct NewApproval {
    /// The caller. The approval is not valid for any other principal.
    pub principal: String,
    /// Name of the client program, as reported by the client.
    pub client: Option<String>,
    pub tool: String,
    pub contract_digest: String,
    pub arguments_digest: String,
    /// Text shown to the person before the decision.
    pub summary: String,
    /// Time until the approval expires; it must be decided and used before then.
    pub ttl: Duration,
}

/// A stored approval, in its state at the time of the query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    pub id: String,
    pub state: ApprovalState,
    pub principal: String,
    pub client: Option<String>,
    pub tool: String,
    pub contract_digest: String,
    pub arguments_digest: String,
    pub summary: String,
    pub requested_at: Timestamp,
    pub expires_at: Timestamp,
    pub decided_at: Option<Timestamp>,
    pub decided_by: Option<String>,
    /// The way in which it was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<ApprovalChannel>,
    pub used_at: Option<Timestamp>,
}

impl Approval {
    /// Errors if the approval is not pending and so cannot be decided.
    pub(crate) fn check_pending(&self) -> Result<(), StoreError> {
        let id = self.id.clone();
        match self.state {
            ApprovalState::Pending => Ok(()),
            ApprovalState::Approved | ApprovalState::Denied => {
                Err(StoreError::ApprovalAlreadyDecided { id, state: self.state })
            }
            ApprovalState::Used => Err(StoreError::ApprovalAlreadyUsed { id }),
            ApprovalState::Expired => Err(StoreError::ApprovalExpired { id, at: self.expires_at }),
        }
    }
}

/// The way in which a decision is made, which says what it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalChannel {
    /// The caller's client reported the answer of its user. A client can answer for the user.
    Client,
    /// A person answered a prompt of `vouch` at the terminal.
    Terminal,
    /// A person decided on the queued approval, with `vouch approvals`.
    Queue,
}

impl ApprovalChannel {
    pub const ALL: [Self; 3] = [Self::Client, Self::Terminal, Self::Queue];

    /// Returns the name of the channel in the database, in JSON and in the audit log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Terminal => "terminal",
            Self::Queue => "queue",
        }
    }
}

impl std::fmt::Display for ApprovalChannel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The one who decides, and the way in which the decision is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approver {
    /// Principal of the approver, such as `cli:ada`.
    pub name: String,
    pub channel: ApprovalChannel,
}

impl Approver {
    pub fn new(name: impl Into<String>, channel: ApprovalChannel) -> Self {
        Self { name: name.into(), channel }
    }
}

/// The state of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalState {
    Pending,
    Approved,
    Denied,
    /// Approved and used by one call. It is not valid for a second call.
    Used,
    /// Expired while pending or approved. A denied approval stays denied.
    Expired,
}

impl ApprovalState {
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::Approved, Self::Denied, Self::Used, Self::Expired];

    /// Returns the name of the state in the database and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Used => "used",
            Self::Expired => "expired",
        }
    }
}

impl std::fmt::Display for ApprovalState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// A person's decision about a pending approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApprovalDecision {
    Approve,
    Deny,
}

impl From<ApprovalDecision> for ApprovalState {
    fn from(decision: ApprovalDecision) -> Self {
        match decision {
            ApprovalDecision::Approve => Self::Approved,
            ApprovalDecision::Deny => Self::Denied,
        }
    }
}

/// The consent for a call that needs an approval, with the id of the approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consent {
    /// The call may run once. The approval is now used.
    Approved {
        id: String,
        approver: Approver,
    },
    Denied(String),
    Pending(String),
    /// No approval was requested, or it has expired or was already used.
    None,
}
