//! The repository pack: `hello`, `read_repo_file` and `write_memory_entry` over one folder.
//!
//! Owns the append-only memory files. The crate `guard` owns the path guard, which keeps every access below the root
//! and off denied names; the crate `secrets` owns the secret rules. This crate does not know MCP, HTTP, a terminal or
//! the environment: the caller supplies the root and the options and enforces the contracts' limits.
//!
//! Start reading at [`build_tools`], then `memory.rs`.

mod memory;
mod tools;

use std::io;
use std::path::Path;
use std::sync::Arc;

use contract::{ContractError, Tool};
use disk::Disk;

use crate::memory::MemoryFolder;
use crate::tools::{HelloTool, ReadRepoFileTool, WriteMemoryEntryTool};
use guard::{DenyList, Guard, PathRefusal};

/// Options of the repository pack, set by the operator.
#[derive(Clone, Debug)]
pub struct RepoOptions {
    /// Folder of the memory files, relative to the root.
    pub memory_folder: String,
    /// Names that no path may contain.
    pub deny: DenyList,
    /// Disk of the memory files.
    pub disk: Arc<dyn Disk>,
}

impl Default for RepoOptions {
    fn default() -> Self {
        Self {
            memory_folder: ".claude/memory".into(),
            deny: DenyList::default(),
            disk: disk::system_disk(),
        }
    }
}

/// Reason that the pack cannot start.
#[derive(Debug, thiserror::Error)]
pub enum RepoError {
    #[error("failed to open the repository root `{root}` as a folder")]
    Root { root: String, source: io::Error },
    #[error("invalid memory folder `{folder}`")]
    MemoryFolder { folder: String, source: PathRefusal },
    #[error(transparent)]
    Contract(#[from] ContractError),
}

/// Returns the three tools, confined to `root`. The folder is opened once, so moving it later does not move the
/// tools.
pub fn build_tools(
    root: impl AsRef<Path>,
    options: RepoOptions,
) -> Result<Vec<Arc<dyn Tool>>, RepoError> {
    let root = root.as_ref();
    let guard = Guard::new(root, options.deny)
        .map_err(|source| RepoError::Root { root: root.display().to_string(), source })?
        .with_disk(options.disk);
    let guard = Arc::new(guard);
    let memory = MemoryFolder::new(Arc::clone(&guard), options.memory_folder)
        .map_err(|(folder, source)| RepoError::MemoryFolder { folder, source })?;
    Ok(vec![
        Arc::new(HelloTool::new()?),
        Arc::new(ReadRepoFileTool::new(guard)?),
        Arc::new(WriteMemoryEntryTool::new(memory)?),
    ])
}
