//! The index of this moment, seen without making anything for it: files are listed and compared with what the cache knows
//! of them, and the vectors that any process has made are counted.

use std::time::{Duration, Instant};

use pack_context::Status;

use crate::config::Settings;
use crate::failure::Result;
use crate::project::context;

/// As far as it can be seen in a while.
pub fn status(settings: &Settings, patience: Duration) -> Result<Status> {
    let pack = context::pack(settings, context::embedder(settings)?)?;
    let began = Instant::now();
    pack.index().look(&|| began.elapsed() > patience);
    Ok(pack.index().status())
}
