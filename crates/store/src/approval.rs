//! An approval: one person's answer to one call, as it is asked for, decided and used.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// What is asked of a person.
#[derive(Clone, Debug)]
pub struct NewApproval {
    /// Who calls. An approval serves nobody else.
    pub principal: String,
    /// The program the call came through, as it names itself.
    pub client: Option<String>,
    pub tool: String,
    pub contract_digest: String,
    pub arguments_digest: String,
    /// What the person reads before deciding.
    pub summary: String,
    /// How long it can be decided and used.
    pub ttl: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    pub id: String,
    pub state: State,
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
    pub used_at: Option<Timestamp>,
}

impl Approval {
    /// Only a pending approval can be decided; the error says what became of this one.
    pub(crate) fn check_pending(&self) -> Result<(), StoreError> {
        let id = self.id.clone();
        match self.state {
            State::Pending => Ok(()),
            State::Approved | State::Denied => {
                Err(StoreError::AlreadyDecided { id, state: self.state })
            }
            State::Used => Err(StoreError::AlreadyUsed { id }),
            State::Expired => Err(StoreError::Expired { id, at: self.expires_at }),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Pending,
    Approved,
    Denied,
    /// Approved, and the call ran. It does not serve a second one.
    Used,
    /// Its time passed while it was pending or approved. A denial stays on record as a denial.
    Expired,
}

impl State {
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::Approved, Self::Denied, Self::Used, Self::Expired];

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

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Approve,
    Deny,
}

impl From<Decision> for State {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Approve => Self::Approved,
            Decision::Deny => Self::Denied,
        }
    }
}

/// The answer to a call that needs an approval, with the id of the approval that gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consent {
    /// It may run, once: the approval is used from now on.
    Approved(String),
    Denied(String),
    Pending(String),
    /// Nobody was asked, or the answer has expired or been used.
    None,
}
