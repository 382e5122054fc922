//! What Vouchsafe keeps: approvals, used nonces, secrets, withheld answers, discoveries, sessions, and the audit log.
//!
//! ```text
//! .vouch/              StateDir      0700, ignored by git
//!   vouch.db           SqliteStore   approvals, nonces, secrets, withheld answers; shared by every vouch process of the project
//!                      ContextStore  discoveries that people added, sessions, file accesses; in the same file
//!   audit.jsonl        audit         one line for each call, each line bound to the one before
//!   audit.head         audit         sequence number and hash of the last line
//! ```
//!
//! Start at [`Store`], [`context`] and [`audit`]. This crate knows nothing of tools, MCP or HTTP: a tool is a name, a contract and
//! a set of arguments are digests.

mod answer;
mod approval;
pub mod audit;
pub mod context;
pub mod files;

mod clock;
mod error;
mod hex;
mod private;
mod random;
mod sqlite;
mod state_dir;

use async_trait::async_trait;
use jiff::Timestamp;

pub use crate::answer::{
    KeptAnswer, MAX_ANSWER_BYTES, MAX_ANSWERS, MAX_ANSWERS_BYTES, NewAnswer, RawAnswer,
};
pub use crate::approval::{Approval, Consent, Decision, NewApproval, State};
pub use crate::clock::{Clock, system_clock};
pub use crate::context::ContextStore;
pub use crate::error::{IoError, StoreError};
pub use crate::sqlite::SqliteStore;
pub use crate::state_dir::StateDir;

/// What several processes of one project share.
#[async_trait]
pub trait Store: Send + Sync {
    /// Asks a person. While the same request waits, no second one is made: the waiting one is returned.
    async fn request_approval(&self, request: NewApproval) -> Result<Approval, StoreError>;

    /// The approval with this id, or whose id alone begins so.
    async fn approval(&self, id: &str) -> Result<Approval, StoreError>;

    /// All approvals, or those in one state, newest first.
    async fn approvals(&self, state: Option<State>) -> Result<Vec<Approval>, StoreError>;

    /// Answers a pending approval, for good. Takes the id or a unique prefix.
    async fn decide(&self, id: &str, decision: Decision, by: &str) -> Result<Approval, StoreError>;

    /// Whether this very call may run. An approved approval is used up by asking: of all who ask, one gets it.
    async fn consent(
        &self,
        principal: &str,
        tool: &str,
        contract_digest: &str,
        arguments_digest: &str,
    ) -> Result<Consent, StoreError>;

    /// True the first time a nonce is shown before it expires, false ever after.
    async fn use_nonce(&self, nonce: &str, expires: Timestamp) -> Result<bool, StoreError>;

    /// A random key: made on first use, the same for every process from then on.
    async fn secret(&self, name: &str) -> Result<[u8; 32], StoreError>;

    /// Keeps an answer that was withheld from its caller, for people, and gives the id under which they find it. Number,
    /// size and age of what is kept are bounded.
    async fn keep_answer(&self, answer: NewAnswer) -> Result<String, StoreError>;

    /// The newest of them, newest first.
    async fn kept_answers(&self, limit: usize) -> Result<Vec<KeptAnswer>, StoreError>;

    /// The one with this id, or whose id alone begins so.
    async fn kept_answer(&self, id: &str) -> Result<RawAnswer, StoreError>;
}
