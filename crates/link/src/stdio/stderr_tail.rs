//! The tail of a child's standard error.

use parking_lot::Mutex;

/// Maximum bytes kept.
const MAX_KEPT_BYTES: usize = 8 * 1024;

/// The last bytes of a child's standard error.
#[derive(Default)]
pub(crate) struct StderrTail(Mutex<Vec<u8>>);

impl StderrTail {
    pub(crate) fn push(&self, chunk: &[u8]) {
        let mut kept = self.0.lock();
        let chunk = &chunk[chunk.len().saturating_sub(MAX_KEPT_BYTES)..];
        let excess = (kept.len() + chunk.len()).saturating_sub(MAX_KEPT_BYTES);
        kept.drain(..excess);
        kept.extend_from_slice(chunk);
    }

    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }

    /// Returns the tail, with invalid UTF-8 replaced.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }

    /// Returns the last non-blank line, or an empty string.
    pub(crate) fn last_line(&self) -> String {
        let text = self.text();
        text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned()
    }
}
