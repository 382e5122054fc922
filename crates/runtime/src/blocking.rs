//! Blocking code, which runs away from the threads that serve connections.

use std::cell::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::runtime::Handle;

thread_local! {
    /// The runtime whose pool runs the blocking code of this thread, if not the current one.
    static POOL: OnceCell<Handle> = const { OnceCell::new() };
}

/// Blocking code that panicked, or for which there is no thread. The panic hook has logged the cause.
#[derive(Debug, thiserror::Error)]
#[error("blocking code could not be run")]
pub struct BlockingFailure;

/// Makes the blocking code of this thread run on the pool of another runtime, so that all threads share one.
pub(crate) fn use_pool(runtime: Handle) {
    // Only the first call of a thread counts, and there is no other.
    let _ = POOL.with(|pool| pool.set(runtime));
}

/// Runs blocking code on the blocking thread pool. Errors if it panics, or if the system allows no thread for it.
pub async fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BlockingFailure> {
    let pool = POOL.with(|pool| pool.get().cloned()).unwrap_or_else(Handle::current);
    // Panics if the pool has no thread and cannot start one.
    let started = catch_unwind(AssertUnwindSafe(|| pool.spawn_blocking(work)));
    started.map_err(|_| BlockingFailure)?.await.map_err(|_| BlockingFailure)
}
