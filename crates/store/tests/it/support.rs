//! A temporary state directory with a clock that the test controls.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use store::{Clock, NewApproval, SqliteStore, StateDir};
use tempfile::TempDir;

pub(crate) struct StoreFixture {
    temp: TempDir,
    now: Arc<AtomicI64>,
}

impl StoreFixture {
    pub(crate) fn new() -> Self {
        let start: Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        Self {
            temp: TempDir::new().unwrap(),
            now: Arc::new(AtomicI64::new(start.as_millisecond())),
        }
    }

    pub(crate) fn dir(&self) -> StateDir {
        StateDir::open(self.temp.path().join(".vouch")).unwrap()
    }

    /// Opens a new connection, like another process would.
    pub(crate) fn store(&self) -> SqliteStore {
        let now = self.now.clone();
        let clock: Clock =
            Arc::new(move || Timestamp::from_millisecond(now.load(Ordering::Relaxed)).unwrap());
        SqliteStore::open_with_clock(&self.dir(), clock).unwrap()
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.now.load(Ordering::Relaxed)).unwrap()
    }

    pub(crate) fn advance_clock(&self, time: Duration) {
        self.now.fetch_add(i64::try_from(time.as_millis()).unwrap(), Ordering::Relaxed);
    }

    pub(crate) fn set_clock_back(&self, time: Duration) {
        self.now.fetch_sub(i64::try_from(time.as_millis()).unwrap(), Ordering::Relaxed);
    }
}

pub(crate) const MINUTE: Duration = Duration::from_secs(60);

pub(crate) fn new_approval(arguments: &str) -> NewApproval {
    NewApproval {
        principal: "alice".into(),
        client: Some("editor 1.0".into()),
        tool: "write_memory_entry".into(),
        contract_digest: "sha256:c".into(),
        arguments_digest: format!("sha256:{arguments}"),
        summary: format!("append {arguments}"),
        ttl: 10 * MINUTE,
    }
}
