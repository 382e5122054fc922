//! Persistent state of a project: approvals, nonces, secrets, withheld answers, discoveries, sessions, audit log.
//!
//! ```text
//! <state directory>/   StateDir      mode 0700, outside the project
//!   project.json       the project that the directory belongs to
//!   vouch.db           SqliteStore   approvals, nonces, secrets, withheld answers; shared by all vouch processes
//!                      ContextStore  added discoveries, sessions, file accesses; in the same file
//!   audit.jsonl        audit         log with one line per call, in a keyed chain; closed files have numbers
//!   audit.head         audit         sequence number and hash of the last line
//!   token              ProjectToken  secret of callers over HTTP, mode 0600
//! ```
//!
//! Start at [`Store`], [`context`] and [`audit`]. This crate does not depend on tools, MCP or HTTP. It identifies a
//! tool by name, and a contract or a set of arguments by digest.

mod approval;
pub mod audit;
pub mod context;
pub mod files;
mod withheld_answer;

mod clock;
mod error;
mod hex;
mod private_file;
mod project_identity;
mod project_record;
mod project_token;
mod random;
mod sqlite;
mod state_dir;

use std::time::Duration;

use async_trait::async_trait;

pub use crate::approval::{
    Approval, ApprovalChannel, ApprovalDecision, ApprovalState, Approver, Consent, NewApproval,
};
pub use crate::clock::{Clock, system_clock};
pub use crate::context::ContextStore;
pub use crate::error::{IoError, StoreError};
pub use crate::private_file::{PrivateFileError, read_private_file};
pub use crate::project_identity::ProjectIdentity;
pub use crate::project_token::{ProjectToken, ProjectTokenError};
pub use crate::sqlite::SqliteStore;
pub use crate::state_dir::StateDir;
pub use crate::withheld_answer::{
    MAX_WITHHELD_ANSWER_BYTES, MAX_WITHHELD_ANSWERS, MAX_WITHHELD_ANSWERS_TOTAL_BYTES,
    NewWithheldAnswer, RawWithheldAnswer, WithheldAnswer,
};

/// State shared by all processes of one project.
#[async_trait]
pub trait Store: Send + Sync {
    /// Requests an approval. Returns the existing approval if an identical request is pending.
    async fn request_approval(&self, request: NewApproval) -> Result<Approval, StoreError>;

    /// Returns the approval with this id or unique id prefix.
    async fn find_approval(&self, id: &str) -> Result<Approval, StoreError>;

    /// Returns all approvals, or those in one state, newest first.
    async fn list_approvals(
        &self,
        state: Option<ApprovalState>,
    ) -> Result<Vec<Approval>, StoreError>;

    /// Decides a pending approval by id or unique id prefix, and returns it. A decision is final.
    ///
    /// Errors if the approval was already decided or used, or has expired, or if the principal that requested it
    /// approves it itself.
    async fn decide_approval(
        &self,
        id: &str,
        decision: ApprovalDecision,
        approver: &Approver,
    ) -> Result<Approval, StoreError>;

    /// Records an approval that was requested and decided at once, by elicitation, and returns it. An approved one is
    /// already used.
    async fn record_answer(
        &self,
        request: NewApproval,
        decision: ApprovalDecision,
        approver: &Approver,
    ) -> Result<Approval, StoreError>;

    /// Returns the consent for exactly this call. An approved approval is marked as used, so only one of several
    /// concurrent callers obtains it.
    async fn claim_consent(
        &self,
        principal: &str,
        tool: &str,
        contract_digest: &str,
        arguments_digest: &str,
    ) -> Result<Consent, StoreError>;

    /// Stores a nonce that can be used once within `ttl`. The number of unused nonces of a principal is bounded.
    async fn issue_nonce(
        &self,
        nonce: &str,
        principal: &str,
        ttl: Duration,
    ) -> Result<(), StoreError>;

    /// Returns true on the first use of an issued nonce before it expires, and false otherwise. Setting the clock never
    /// makes a nonce valid again.
    async fn use_nonce(&self, nonce: &str) -> Result<bool, StoreError>;

    /// Returns the random key with this name. It is created on first use and then shared by all processes.
    async fn get_or_create_secret(&self, name: &str) -> Result<[u8; 32], StoreError>;

    /// Stores an answer that was withheld from its caller, for review by people. Returns its id.
    ///
    /// The number, size and age of the stored answers are bounded; the oldest are deleted first.
    async fn save_withheld_answer(&self, answer: NewWithheldAnswer) -> Result<String, StoreError>;

    /// Returns up to `limit` withheld answers without their text, newest first.
    async fn list_withheld_answers(&self, limit: usize) -> Result<Vec<WithheldAnswer>, StoreError>;

    /// Returns the withheld answer with this id or unique id prefix.
    async fn find_withheld_answer(&self, id: &str) -> Result<RawWithheldAnswer, StoreError>;
}
