//! The context pack: `context_search`, `read_file` and `grep_codebase` over one project, and documents about it.
//!
//! Owns the index of the project's files and records, and the search over it. It has no dependency on MCP, HTTP, a
//! terminal or the environment: the caller provides the root, the state folder and the embedder.
//!
//! Start reading at [`ContextPack`], then `index.rs`. `tools/` holds the three tool contracts, `discover/` extracts
//! discoveries from files and commits, `sessions/` records searches and reads per session, and `resources/` renders
//! the `context://` documents.

pub mod discover;
mod excerpt;
mod files;
mod index;
mod options;
mod repository_bounds;
mod resources;
mod sessions;
mod status;
mod tools;
mod worktree;

use std::path::Path;
use std::sync::Arc;

use contract::{Caller, ContractError, ResourceProvider, Tool};
use guard::Guard;
use store::StateDir;
use tree::FileTree;

use crate::index::{CacheLocation, ImportResolverFactory, RecordIndexer};
use crate::resources::ContextResources;
use crate::sessions::{LazyContextStore, SessionTracker};
use crate::tools::{ContextSearch, GrepCodebase, ProjectContext, ReadFile};

pub use crate::index::Index;
pub use crate::options::{ContextError, ContextOptions};
pub use crate::status::{IndexPhase, IndexProgress, IndexStatus, VectorProgress};

/// The tools and documents of one project, and the index behind them.
pub struct ContextPack {
    tree: Arc<FileTree>,
    /// Resolves imports. It allows `node_modules`, so that packages are distinguished from missing files.
    packages: Arc<Guard>,
    index: Arc<Index>,
    sessions: Arc<SessionTracker>,
}

impl ContextPack {
    /// Opens the root. Reads, writes and starts nothing until [`ContextPack::start`] or the first call.
    pub fn open(
        root: &Path,
        state: &StateDir,
        options: ContextOptions,
    ) -> Result<Self, ContextError> {
        let (tree, places) = files::open_project_tree(root, &options)?;
        let packages = Guard::new(tree.root(), options.deny.clone().with_source_exception())
            .map_err(|source| ContextError::Root { root: root.display().to_string(), source })?;
        let (tree, packages) = (Arc::new(tree), Arc::new(packages));
        let store = Arc::new(LazyContextStore::new(state));
        let sessions = Arc::new(SessionTracker::new(Arc::clone(&store)));
        let import_resolvers = ImportResolverFactory::new(Arc::clone(&packages));
        let records = RecordIndexer::new(store, Arc::clone(&sessions), import_resolvers);
        let cache_location =
            CacheLocation::from_state_dir(root, state, options.cache_folder.clone());
        let index =
            Arc::new(Index::new(Arc::clone(&tree), places, records, cache_location, &options));
        Ok(Self { tree, packages, index, sessions })
    }

    /// Returns the tools `context_search`, `read_file` and `grep_codebase`.
    pub fn tools(&self) -> Result<Vec<Arc<dyn Tool>>, ContractError> {
        let (tree, index) = (&self.tree, &self.index);
        let surroundings =
            Arc::new(IndexSurroundings(Arc::clone(index), Arc::clone(&self.sessions)));
        let packages = Arc::clone(&self.packages);
        Ok(vec![
            Arc::new(ContextSearch::new(Arc::clone(index), Arc::clone(&self.sessions))?),
            Arc::new(ReadFile::new(Arc::clone(tree.guard()), packages, surroundings)?),
            Arc::new(GrepCodebase::new(Arc::clone(tree), Arc::clone(index))?),
        ])
    }

    /// Returns the `context://…` documents: the project, its modules, its sessions.
    pub fn resources(&self) -> Arc<dyn ResourceProvider> {
        let facts = Arc::clone(&self.index) as Arc<_>;
        Arc::new(ContextResources::new(facts, Arc::clone(&self.sessions)))
    }

    /// Starts building the index, watching the files and embedding, all in the background. No-op if already started.
    pub fn start(&self) {
        self.index.start();
    }

    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }
}

/// Gives `read_file` the module of a file, and records each read in the caller's session.
struct IndexSurroundings(Arc<Index>, Arc<SessionTracker>);

impl ProjectContext for IndexSurroundings {
    fn module_of(&self, path: &str) -> Option<String> {
        self.0.module_of(path)
    }

    fn has_loaded_modules(&self) -> bool {
        self.0.has_loaded_modules()
    }

    fn record_read(&self, path: &str, caller: &Caller) {
        self.1.record_read(caller, path);
    }
}
