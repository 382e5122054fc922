//! The clock of the store. Tests replace it to let approvals expire without waiting.

use std::sync::Arc;

use jiff::Timestamp;

/// Returns the current time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Returns a clock that reads the system time.
pub fn system_clock() -> Clock {
    Arc::new(Timestamp::now)
}
