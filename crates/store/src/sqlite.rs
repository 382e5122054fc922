//! [`SqliteStore`]: the [`Store`] in one SQLite file that any number of vouch processes share.
//!
//! `connect` opens the database and migrates its schema. The statements are in `withheld_answers`, `approvals`,
//! `request_states` and `keys`; `clock_mark` keeps time from running back. They are plain SQL with numbered parameters, so that they also work on PostgreSQL. SQLite numbers `$n` by
//! first appearance, so the parameters must appear in order.

mod approvals;
mod clock_mark;
pub(crate) mod connect;
mod keys;
pub(crate) mod request_states;
mod withheld_answers;
mod worker;

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use self::worker::SqliteWorker;
use crate::{
    Approval, ApprovalDecision, ApprovalState, Approver, Clock, Consent, NewApproval,
    NewWithheldAnswer, RawWithheldAnswer, StateDir, Store, StoreError, WithheldAnswer,
    system_clock,
};

/// A [`Store`] backed by `vouch.db` in the state directory.
pub struct SqliteStore {
    worker: SqliteWorker,
    path: PathBuf,
    clock: Clock,
}

impl SqliteStore {
    /// Opens the database and migrates its schema. This blocks briefly, so call it at startup.
    pub fn open(dir: &StateDir) -> Result<Self, StoreError> {
        Self::open_with_clock(dir, system_clock())
    }

    /// Opens the database like [`SqliteStore::open`], with another clock.
    pub fn open_with_clock(dir: &StateDir, clock: Clock) -> Result<Self, StoreError> {
        let path = dir.database_path();
        let connection = connect::open_database(dir)?;
        Ok(Self { worker: SqliteWorker::start(connection, &path)?, path, clock })
    }

    /// Runs one transaction on the database thread. It holds the write lock from its start, so that no other process
    /// changes the data between its reads and its writes.
    async fn run_transaction<T, F>(&self, action: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>, Timestamp) -> Result<T, TransactionError> + Send + 'static,
    {
        let clock = Clock::clone(&self.clock);
        let run = move |connection: &mut Connection| {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Read under the lock: a transaction that waited for it must not seem to be in the past.
            let value = action(&tx, clock())?;
            tx.commit()?;
            Ok(value)
        };
        self.worker
            .run(run)
            .await?
            .map_err(|failure: TransactionError| failure.into_store_error(&self.path))
    }

    /// Runs a transaction on entries that expire. Its time never runs back: see `clock_mark`.
    async fn run_timed_transaction<T, F>(&self, action: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>, Timestamp) -> Result<T, TransactionError> + Send + 'static,
    {
        self.run_transaction(move |tx, now| {
            let now = clock_mark::advance_clock_mark(tx, now)?;
            match action(tx, now) {
                // A rejected request is committed too: that it came too late must stay true.
                Err(TransactionError::Store(error)) => Ok(Err(error)),
                done => done.map(Ok),
            }
        })
        .await?
    }
}

/// The error of a transaction: an SQL error, to which the path of the database is added later, or a store error.
pub(crate) enum TransactionError {
    Sql(rusqlite::Error),
    Store(StoreError),
}

impl TransactionError {
    /// Converts the error, adding the path of the database to an SQL error.
    pub(crate) fn into_store_error(self, path: &Path) -> StoreError {
        match self {
            Self::Sql(source) => StoreError::from_sqlite(path, source),
            Self::Store(error) => error,
        }
    }
}

impl From<rusqlite::Error> for TransactionError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for TransactionError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Converts a time from the database, in milliseconds since the epoch.
pub(crate) fn timestamp_from_millis(ms: i64) -> rusqlite::Result<Timestamp> {
    Timestamp::from_millisecond(ms)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Integer, error.into()))
}

#[async_trait]
impl Store for SqliteStore {
    async fn request_approval(&self, request: NewApproval) -> Result<Approval, StoreError> {
        self.run_timed_transaction(move |tx, now| approvals::request_approval(tx, now, &request))
            .await
    }

    async fn find_approval(&self, id: &str) -> Result<Approval, StoreError> {
        let id = id.to_owned();
        self.run_timed_transaction(move |tx, now| approvals::find_approval(tx, now, &id)).await
    }

    async fn list_approvals(
        &self,
        state: Option<ApprovalState>,
    ) -> Result<Vec<Approval>, StoreError> {
        self.run_timed_transaction(move |tx, now| approvals::list_approvals(tx, now, state)).await
    }

    async fn decide_approval(
        &self,
        id: &str,
        decision: ApprovalDecision,
        approver: &Approver,
    ) -> Result<Approval, StoreError> {
        let (id, approver) = (id.to_owned(), approver.clone());
        self.run_timed_transaction(move |tx, now| {
            approvals::decide_approval(tx, now, &id, decision, &approver)
        })
        .await
    }

    async fn record_answer(
        &self,
        request: NewApproval,
        decision: ApprovalDecision,
        approver: &Approver,
    ) -> Result<Approval, StoreError> {
        let approver = approver.clone();
        self.run_timed_transaction(move |tx, now| {
            approvals::record_answer(tx, now, &request, decision, &approver)
        })
        .await
    }

    async fn claim_consent(
        &self,
        principal: &str,
        tool: &str,
        contract_digest: &str,
        arguments_digest: &str,
    ) -> Result<Consent, StoreError> {
        let request = [principal, tool, contract_digest, arguments_digest].map(str::to_owned);
        self.run_timed_transaction(move |tx, now| approvals::claim_consent(tx, now, &request)).await
    }

    async fn issue_nonce(
        &self,
        nonce: &str,
        principal: &str,
        ttl: Duration,
    ) -> Result<(), StoreError> {
        let (nonce, principal) = (nonce.to_owned(), principal.to_owned());
        self.run_timed_transaction(move |tx, now| {
            request_states::issue_nonce(tx, now, &nonce, &principal, ttl)
        })
        .await
    }

    async fn use_nonce(&self, nonce: &str) -> Result<bool, StoreError> {
        let nonce = nonce.to_owned();
        self.run_timed_transaction(move |tx, now| request_states::use_nonce(tx, now, &nonce)).await
    }

    async fn get_or_create_secret(&self, name: &str) -> Result<[u8; 32], StoreError> {
        let name = name.to_owned();
        self.run_transaction(move |tx, _| keys::get_or_create_secret(tx, &name)).await
    }

    async fn save_withheld_answer(&self, answer: NewWithheldAnswer) -> Result<String, StoreError> {
        self.run_transaction(move |tx, now| {
            withheld_answers::insert_withheld_answer(tx, now, &answer)
        })
        .await
    }

    async fn list_withheld_answers(&self, limit: usize) -> Result<Vec<WithheldAnswer>, StoreError> {
        self.run_transaction(move |tx, _| withheld_answers::list_withheld_answers(tx, limit)).await
    }

    async fn find_withheld_answer(&self, id: &str) -> Result<RawWithheldAnswer, StoreError> {
        let id = id.to_owned();
        self.run_transaction(move |tx, _| withheld_answers::find_withheld_answer(tx, &id)).await
    }
}
