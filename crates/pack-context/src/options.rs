//! What an operator may change about the pack, and why it may not open.

use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use embed::Embedder;
use guard::{DenyList, Refusal};
use tree::TreeError;

/// What an operator may change about this pack.
#[derive(Clone)]
pub struct ContextOptions {
    /// Names that no path may hold. `node_modules` is added to them.
    pub deny: DenyList,
    /// Where the memory files live, relative to the root.
    pub memory_folder: String,
    /// Folders to leave out, beside those that the ignore files name: names, or paths from the root.
    pub exclude: Vec<String>,
    /// Whether changes are watched for. Without, every call looks at all files' sizes and times.
    pub watch: bool,
    /// Threads for reading and analysing files.
    pub threads: NonZeroUsize,
    /// What makes vectors. None means that ranking goes by words alone.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Where the cache is kept instead of the state folder.
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

/// Why the pack cannot open.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    #[error("project root `{root}` cannot be opened as a folder")]
    Root { root: String, source: io::Error },
    #[error("memory folder `{folder}` cannot be used: it {refusal}")]
    MemoryFolder { folder: String, refusal: Refusal },
    #[error(transparent)]
    Tree(#[from] TreeError),
    #[error(
        "the index cache could not be cleared: another process keeps it locked, or it cannot be written"
    )]
    Cache,
}
