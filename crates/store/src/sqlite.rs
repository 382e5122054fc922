//! [`Store`] in one SQLite file that any number of vouch processes share.
//!
//! Connecting and the schema are in `connect`, the statements in `answers`, `approvals` and `keys`. The statements are plain SQL
//! with numbered parameters, so that they also serve PostgreSQL; SQLite numbers `$n` by first appearance, therefore
//! they appear in order.

mod answers;
mod approvals;
pub(crate) mod connect;
mod keys;
mod worker;

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::types::Type;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use self::worker::Worker;
use crate::{
    Approval, Clock, Consent, Decision, KeptAnswer, NewAnswer, NewApproval, RawAnswer, State,
    StateDir, Store, StoreError, system_clock,
};

pub struct SqliteStore {
    worker: Worker,
    path: PathBuf,
    clock: Clock,
}

impl SqliteStore {
    /// Opens the database and brings its schema up to date. This blocks, for a moment: it is for the start.
    pub fn open(dir: &StateDir) -> Result<Self, StoreError> {
        Self::open_with_clock(dir, system_clock())
    }

    pub fn open_with_clock(dir: &StateDir, clock: Clock) -> Result<Self, StoreError> {
        let path = dir.database();
        let connection = connect::open(dir)?;
        Ok(Self { worker: Worker::start(connection, &path)?, path, clock })
    }

    /// Runs one transaction on the database thread. It holds the write lock from its start, so that what it reads
    /// stays true until it has written, whatever other processes do.
    async fn transact<T, F>(&self, action: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>, Timestamp) -> Result<T, Failure> + Send + 'static,
    {
        let now = (self.clock)();
        let run = move |connection: &mut Connection| {
            let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = action(&tx, now)?;
            tx.commit()?;
            Ok(value)
        };
        self.worker.run(run).await?.map_err(|failure: Failure| failure.at(&self.path))
    }
}

/// A transaction fails by SQL or by a rule of the store; only the former needs the path of the database.
pub(crate) enum Failure {
    Sql(rusqlite::Error),
    Store(StoreError),
}

impl Failure {
    pub(crate) fn at(self, path: &Path) -> StoreError {
        match self {
            Self::Sql(source) => StoreError::database(path, source),
            Self::Store(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A time as the database keeps it: milliseconds since the epoch.
pub(crate) fn time(ms: i64) -> rusqlite::Result<Timestamp> {
    Timestamp::from_millisecond(ms)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Integer, error.into()))
}

#[async_trait]
impl Store for SqliteStore {
    async fn request_approval(&self, request: NewApproval) -> Result<Approval, StoreError> {
        self.transact(move |tx, now| approvals::request(tx, now, &request)).await
    }

    async fn approval(&self, id: &str) -> Result<Approval, StoreError> {
        let id = id.to_owned();
        self.transact(move |tx, now| approvals::find(tx, now, &id)).await
    }

    async fn approvals(&self, state: Option<State>) -> Result<Vec<Approval>, StoreError> {
        self.transact(move |tx, now| approvals::list(tx, now, state)).await
    }

    async fn decide(&self, id: &str, decision: Decision, by: &str) -> Result<Approval, StoreError> {
        let (id, by) = (id.to_owned(), by.to_owned());
        self.transact(move |tx, now| approvals::decide(tx, now, &id, decision, &by)).await
    }

    async fn consent(
        &self,
        principal: &str,
        tool: &str,
        contract_digest: &str,
        arguments_digest: &str,
    ) -> Result<Consent, StoreError> {
        let request = [principal, tool, contract_digest, arguments_digest].map(str::to_owned);
        self.transact(move |tx, now| approvals::consent(tx, now, &request)).await
    }

    async fn use_nonce(&self, nonce: &str, expires: Timestamp) -> Result<bool, StoreError> {
        let nonce = nonce.to_owned();
        self.transact(move |tx, now| keys::use_nonce(tx, now, &nonce, expires)).await
    }

    async fn secret(&self, name: &str) -> Result<[u8; 32], StoreError> {
        let name = name.to_owned();
        self.transact(move |tx, _| keys::secret(tx, &name)).await
    }

    async fn keep_answer(&self, answer: NewAnswer) -> Result<String, StoreError> {
        self.transact(move |tx, now| answers::keep(tx, now, &answer)).await
    }

    async fn kept_answers(&self, limit: usize) -> Result<Vec<KeptAnswer>, StoreError> {
        self.transact(move |tx, _| answers::list(tx, limit)).await
    }

    async fn kept_answer(&self, id: &str) -> Result<RawAnswer, StoreError> {
        let id = id.to_owned();
        self.transact(move |tx, _| answers::find(tx, &id)).await
    }
}
