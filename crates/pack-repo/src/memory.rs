//! The memory files: append-only, shared by threads and processes, and intact after a crash.
//!
//! ```text
//! <root>/.claude/memory/     created if missing, never through a link that leaves the root
//! ├── progress_log.jsonl     one JSON value per line
//! ├── decisions.jsonl        one JSON value per line
//! └── best_practices.md      entries verbatim, each followed by a newline
//! ```
//!
//! An entry is one `write` on a handle opened for appending, under an advisory lock on the file, and synced before
//! it is acknowledged. If a crashed writer left the start of a JSON value, the next append removes it, and it adds a
//! newline to any other line without one. An entry that a full disk cut short is removed again. Writers of one process queue for the lock in order of
//! arrival; writers of several processes compete for it. `entry.rs` decides which texts are valid entries. This
//! module never reads entries.

mod append;
mod entry;
mod json;
mod queue;

use std::sync::Arc;
use std::time::Instant;

use contract::{CallContext, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::entry::{MAX_ENTRY_BYTES, entry_too_large};
use self::queue::WriterQueue;
use guard::{Guard, PathRefusal};

/// A file that entries can be appended to.
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

    /// Returns true if each line of the file is one JSON value.
    fn is_json_lines(self) -> bool {
        match self {
            Self::ProgressLog | Self::Decisions => true,
            Self::BestPractices => false,
        }
    }
}

/// Memory folder of one repository root.
pub(crate) struct MemoryFolder {
    guard: Arc<Guard>,
    folder: String,
    /// One queue per file, so that a writer waiting for one file does not block another.
    queues: [WriterQueue; 3],
}

impl MemoryFolder {
    /// Creates the memory folder handle. Only the folder's name is checked: the first entry creates the folder.
    ///
    /// Returns the name and the refusal if the guard rejects it.
    pub(crate) fn new(guard: Arc<Guard>, folder: String) -> Result<Self, (String, PathRefusal)> {
        match guard.check_path(&folder) {
            Ok(names) if names.is_empty() => Err((folder, PathRefusal::IsRoot)),
            Ok(_) => Ok(Self { guard, folder, queues: Default::default() }),
            Err(refusal) => Err((folder, refusal)),
        }
    }

    pub(crate) fn folder(&self) -> &str {
        &self.folder
    }

    /// Checks the text of `entry`. Returns an error if it must not be appended to `file`.
    pub(crate) fn check_entry(file: MemoryFile, entry: &str) -> Result<(), ToolError> {
        entry::format_line(file, entry).map(drop)
    }

    /// Appends the entry and makes it durable. Returns the number of bytes of its line, including the newline.
    pub(crate) fn append_entry(
        &self,
        file: MemoryFile,
        entry: &str,
        ctx: &CallContext,
    ) -> Result<u64, ToolError> {
        let line = entry::format_line(file, entry)?;
        let deadline = Instant::now() + append::MAX_LOCK_WAIT;
        // Waits before opening anything, so that a thousand queued writers do not hold a thousand handles.
        let _turn = self.queues[file as usize].wait_for_turn();
        ctx.check_cancelled()?;
        let folder = self
            .guard
            .open_or_create_folder(&self.folder)
            .map_err(|refusal| refusal.to_tool_error(&self.folder))?;
        let place = append::AppendPlace {
            guard: &self.guard,
            path: &self.folder,
            folder: &folder,
            name: file.name(),
            is_json_lines: file.is_json_lines(),
        };
        append::append_line(place, line.as_bytes(), deadline, ctx)
            .map_err(|error| error.to_tool_error(&self.file_path(file)))?;
        Ok(line.len() as u64)
    }

    fn file_path(&self, file: MemoryFile) -> String {
        format!("{}/{}", self.folder.trim_end_matches('/'), file.name())
    }
}
