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

/// One line about an index.
pub fn summary(status: &Status) -> String {
    let Status { files, chunks, vectors, disk_bytes, .. } = status;
    let [files, chunks, vectors] =
        [(*files, "file"), (*chunks, "piece"), (vectors.done, "vector")].map(counted);
    format!("{files}, {chunks}, {vectors}, {}", size(*disk_bytes))
}

fn counted((count, word): (usize, &str)) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// Returns a number of bytes with its unit.
pub fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let bytes = bytes as f64;
    match bytes {
        ..1e6 => format!("{:.1} kB", bytes / 1e3),
        ..1e9 => format!("{:.1} MB", bytes / 1e6),
        _ => format!("{:.1} GB", bytes / 1e9),
    }
}
