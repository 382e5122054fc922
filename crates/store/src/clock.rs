//! Where the store takes the time from, so that a test can let an approval expire without waiting.

use std::sync::Arc;

use jiff::Timestamp;

pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

pub fn system_clock() -> Clock {
    Arc::new(Timestamp::now)
}
