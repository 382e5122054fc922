//! Options of the context pack, and the error returned when it cannot open.

use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use embed::Embedder;
use guard::{DenyList, PathRefusal};
use tree::TreeError;

/// Operator-configurable options of the context pack.
#[derive(Clone)]
pub struct ContextOptions {
    /// Names that no path may contain. `node_modules` is added to them.
    pub deny: DenyList,
    /// Folder of the memory files, relative to the root.
    pub memory_folder: String,
    /// Folders to skip in addition to those in ignore files: names, or paths relative to the root.
    pub exclude: Vec<String>,
    /// Watch files for changes. If false, every call checks the size and times of all files.
    pub watch: bool,
    /// Number of threads that read and analyze files.
    pub threads: NonZeroUsize,
    /// Computes the vectors. `None` means that ranking is lexical only.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Folder of the cache; `None` means the state folder.
    pub cache_folder: Option<PathBuf>,
}

impl Default for ContextOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            deny: DenyList::default(),
            memory_folder: ".claude/memory".into(),
            exclude: Vec::new(),
            watch: true,
            threads: NonZeroUsize::new(cores.div_ceil(2)).unwrap_or(NonZeroUsize::MIN),
            embedder: None,
            cache_folder: None,
        }
    }
}

/// Reason why the pack cannot open, or why an index operation failed.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    #[error("failed to open project root `{root}` as a folder")]
    Root { root: String, source: io::Error },
    #[error("memory folder `{folder}` cannot be used: it {refusal}")]
    MemoryFolder { folder: String, refusal: PathRefusal },
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error("failed to clear the index cache: it is locked by another process, or not writable")]
    Cache,
}
