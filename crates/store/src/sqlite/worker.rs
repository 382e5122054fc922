//! The one thread that owns the connection, so that no async thread ever waits for the disk or for a lock.

use std::path::Path;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::StoreError;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

pub(super) struct Worker {
    /// `None` only while the worker is being dropped.
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    pub(super) fn start(mut connection: Connection, path: &Path) -> Result<Self, StoreError> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let thread = thread::Builder::new()
            .name("vouch-store".into())
            .spawn(move || {
                for job in queue {
                    job(&mut connection);
                }
            })
            .map_err(|source| StoreError::io("start the thread of", path, source))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    pub(super) async fn run<T: Send + 'static>(
        &self,
        action: impl FnOnce(&mut Connection) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            // The caller may have gone away; what was done stays done.
            let _ = answer.send(action(connection));
        });
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(job).map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)
    }
}

impl Drop for Worker {
    /// Waits until the connection is closed, which folds the write-ahead log back into the one file.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // A panic in there was reported when it happened.
            let _ = thread.join();
        }
    }
}
