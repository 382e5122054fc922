//! The thread that owns the SQLite connection, so that no async thread blocks on the disk or on a lock.

use std::path::Path;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::StoreError;

type DatabaseJob = Box<dyn FnOnce(&mut Connection) + Send>;

/// A handle to the database thread. Dropping it stops the thread.
pub(super) struct SqliteWorker {
    /// `None` only while the worker is being dropped.
    jobs: Option<mpsc::Sender<DatabaseJob>>,
    thread: Option<JoinHandle<()>>,
}

impl SqliteWorker {
    pub(super) fn start(mut connection: Connection, path: &Path) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::channel::<DatabaseJob>();
        let thread = thread::Builder::new()
            .name("vouch-store".into())
            .spawn(move || {
                for job in queue {
                    job(&mut connection);
                }
            })
            .map_err(|source| StoreError::from_io("start database thread for", path, source))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Runs an action on the database thread and returns its result. Errors if the thread has ended.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        action: impl FnOnce(&mut Connection) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job: DatabaseJob = Box::new(move |connection| {
            // The caller may have been dropped. The action is not undone.
            let _ = answer.send(action(connection));
        });
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(job).map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)
    }
}

impl Drop for SqliteWorker {
    /// Waits until the connection is closed, which checkpoints the write-ahead log into the database file.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was already reported by the panic hook.
            let _ = thread.join();
        }
    }
}
