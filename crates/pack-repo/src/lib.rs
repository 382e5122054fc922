//! The repository pack: `hello`, `read_repo_file` and `write_memory_entry` over one folder.
//!
//! Owns the append-only memory files. The path guard that keeps every access below the root and off denied names, and
//! the rules for what no entry may hold, are the crate `guard`. It does not know MCP, HTTP, a terminal or the
//! environment: whoever runs the tools brings the root and the options, and enforces the contracts' limits.
//!
//! Start reading at [`tools()`], then `memory.rs`.

mod memory;
mod tools;

use std::io;
use std::path::Path;
use std::sync::Arc;

use contract::{ContractError, Tool};

use crate::memory::Memory;
use crate::tools::{Hello, ReadRepoFile, WriteMemoryEntry};
use guard::{DenyList, Guard, Refusal};

/// What an operator may change about this pack.
#[derive(Clone, Debug)]
pub struct RepoOptions {
    /// Where the memory files live, relative to the root.
    pub memory_folder: String,
    /// Names that no path may hold.
    pub deny: DenyList,
}

impl Default for RepoOptions {
    fn default() -> Self {
        Self { memory_folder: ".claude/memory".into(), deny: DenyList::default() }
    }
}

/// Why the pack cannot start.
#[derive(Debug, thiserror::Error)]
pub enum RepoError {
    #[error("repository root `{root}` cannot be opened as a folder")]
    Root { root: String, source: io::Error },
    #[error("memory folder `{folder}` is not usable")]
    MemoryFolder { folder: String, source: Refusal },
    #[error(transparent)]
    Contract(#[from] ContractError),
}

/// The three tools, working below `root`. The folder is opened once: moving it later does not move the tools.
pub fn tools(
    root: impl AsRef<Path>,
    options: RepoOptions,
) -> Result<Vec<Arc<dyn Tool>>, RepoError> {
    let root = root.as_ref();
    let guard = Guard::new(root, options.deny)
        .map_err(|source| RepoError::Root { root: root.display().to_string(), source })?;
    let guard = Arc::new(guard);
    let memory = Memory::new(Arc::clone(&guard), options.memory_folder)
        .map_err(|(folder, source)| RepoError::MemoryFolder { folder, source })?;
    Ok(vec![
        Arc::new(Hello::new()?),
        Arc::new(ReadRepoFile::new(guard)?),
        Arc::new(WriteMemoryEntry::new(memory)?),
    ])
}
