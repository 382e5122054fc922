//! Reads the status of the index without building it.
//!
//! Files are listed and compared with the cache, and the vectors stored by any process are counted.

use std::time::{Duration, Instant};

use pack_context::IndexStatus;

use crate::config::Settings;
use crate::failure::Result;
use crate::project::context;

/// Returns the index status; a scan that exceeds `timeout` is cut short.
pub fn read_index_status(settings: &Settings, timeout: Duration) -> Result<IndexStatus> {
    let pack = context::open_context_pack(settings, context::create_embedder(settings)?)?;
    let began = Instant::now();
    pack.index().scan_without_embedding(&|| began.elapsed() > timeout);
    Ok(pack.index().status())
}

/// Returns a one-line summary of an index.
pub fn summarize_index(status: &IndexStatus) -> String {
    let IndexStatus { files, chunks, vectors, disk_bytes, .. } = status;
    let [files, chunks, vectors] =
        [(*files, "file"), (*chunks, "chunk"), (vectors.done, "vector")].map(pluralize);
    format!("{files}, {chunks}, {vectors}, {}", format_bytes(*disk_bytes))
}

fn pluralize((count, word): (usize, &str)) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// Returns a number of bytes with its unit.
pub fn format_bytes(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "only one decimal is shown")]
    let bytes = bytes as f64;
    match bytes {
        ..1e6 => format!("{:.1} kB", bytes / 1e3),
        ..1e9 => format!("{:.1} MB", bytes / 1e6),
        _ => format!("{:.1} GB", bytes / 1e9),
    }
}
