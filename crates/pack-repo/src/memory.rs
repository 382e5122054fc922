//! The memory files: append-only, shared by threads and processes, whole after a crash.
//!
//! ```text
//! <root>/.claude/memory/     made when missing, never through a link that leads out
//! ├── progress_log.jsonl     one JSON value a line
//! ├── decisions.jsonl        one JSON value a line
//! └── best_practices.md      entries as they are, each followed by a newline
//! ```
//!
//! An entry is one `write` on a handle opened for appending, under an advisory lock on the file, synced before it is
//! acknowledged. A line that a crashed writer left without its newline gets one before the next entry; what a full
//! disk cut short is taken back. Writers of one process queue up for the lock in the order they came, those of several
//! processes compete for it. What may be an entry is decided in `entry.rs`; nothing here reads entries.

mod append;
mod entry;
mod json;
mod queue;

use std::sync::Arc;
use std::time::Instant;

use contract::{CallContext, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::entry::{MAX_ENTRY_BYTES, too_large};
use self::queue::Queue;
use guard::{Guard, Refusal};

/// The files that may be appended to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum MemoryFile {
    #[serde(rename = "progress_log.jsonl")]
    ProgressLog,
    #[serde(rename = "decisions.jsonl")]
    Decisions,
    #[serde(rename = "best_practices.md")]
    BestPractices,
}

impl MemoryFile {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ProgressLog => "progress_log.jsonl",
            Self::Decisions => "decisions.jsonl",
            Self::BestPractices => "best_practices.md",
        }
    }
}

/// The memory folder of one root.
pub(crate) struct Memory {
    guard: Arc<Guard>,
    folder: String,
    /// One for each file, so that who waits for one does not hold up another.
    queues: [Queue; 3],
}

impl Memory {
    /// Only the folder's name is judged: it is made by the first entry.
    pub(crate) fn new(guard: Arc<Guard>, folder: String) -> Result<Self, (String, Refusal)> {
        match guard.check(&folder) {
            Ok(names) if names.is_empty() => Err((folder, Refusal::Root)),
            Ok(_) => Ok(Self { guard, folder, queues: Default::default() }),
            Err(refusal) => Err((folder, refusal)),
        }
    }

    pub(crate) fn folder(&self) -> &str {
        &self.folder
    }

    /// Whether `entry` may be appended to `file`, as far as its text tells.
    pub(crate) fn check(file: MemoryFile, entry: &str) -> Result<(), ToolError> {
        entry::line_of(file, entry).map(drop)
    }

    /// Appends the entry and makes it durable; returns the bytes of its line, newline included.
    pub(crate) fn append(
        &self,
        file: MemoryFile,
        entry: &str,
        ctx: &CallContext,
    ) -> Result<u64, ToolError> {
        let line = entry::line_of(file, entry)?;
        let deadline = Instant::now() + append::LOCK_PATIENCE;
        // Before anything is opened: a thousand writers in the queue hold no thousand handles.
        let _turn = self.queues[file as usize].wait();
        ctx.check_cancelled()?;
        let folder = self
            .guard
            .open_or_make_folder(&self.folder)
            .map_err(|refusal| refusal.to_tool_error(&self.folder))?;
        append::append(&folder, file.name(), line.as_bytes(), deadline, ctx)
            .map_err(|error| error.to_tool_error(&self.path_of(file)))?;
        Ok(line.len() as u64)
    }

    fn path_of(&self, file: MemoryFile) -> String {
        format!("{}/{}", self.folder.trim_end_matches('/'), file.name())
    }
}
