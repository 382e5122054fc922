//! The end of what a child wrote to standard error.

use parking_lot::Mutex;

const KEPT: usize = 8 * 1024;

#[derive(Default)]
pub(crate) struct Tail(Mutex<Vec<u8>>);

impl Tail {
    pub(crate) fn push(&self, chunk: &[u8]) {
        let mut kept = self.0.lock();
        let chunk = &chunk[chunk.len().saturating_sub(KEPT)..];
        let excess = (kept.len() + chunk.len()).saturating_sub(KEPT);
        kept.drain(..excess);
        kept.extend_from_slice(chunk);
    }

    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock()).into_owned()
    }

    pub(crate) fn last_line(&self) -> String {
        let text = self.text();
        text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned()
    }
}
