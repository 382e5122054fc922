//! The context pack: `context_search`, `read_file` and `grep_codebase` over one project, and documents about it.
//!
//! Owns the index: which texts there are, what they say, and how a question finds them. It does not know MCP, HTTP, a
//! terminal or the environment: whoever runs the pack brings the root, the state folder and the embedder.
//!
//! Start reading at [`ContextPack`], then `index.rs`. `tools/` holds the three contracts, `discover/` what counts as a
//! discovery, `sessions/` who asked for what, `resources/` the documents.

pub mod discover;
mod excerpt;
mod files;
mod index;
mod options;
mod resources;
mod sessions;
mod status;
mod tools;
mod worktree;

use std::path::Path;
use std::sync::Arc;

use contract::{Caller, ContractError, Resources, Tool};
use guard::Guard;
use store::StateDir;
use tree::Tree;

use crate::index::{CachePlace, Neighbours, Records};
use crate::resources::Documents;
use crate::sessions::{Kept, Sessions};
use crate::tools::{ContextSearch, GrepCodebase, ReadFile, Surroundings};

pub use crate::index::Index;
pub use crate::options::{ContextError, ContextOptions};
pub use crate::status::{Phase, Progress, Status, Vectors};

/// The tools and documents of one project, and the index behind them.
pub struct ContextPack {
    tree: Arc<Tree>,
    /// Sees where imports lead: it lets `node_modules` through, so that packages are told from missing files.
    packages: Arc<Guard>,
    index: Arc<Index>,
    sessions: Arc<Sessions>,
}

impl ContextPack {
    /// Opens the root; nothing is read, written or started before [`ContextPack::start`] or the first call.
    pub fn open(
        root: &Path,
        state: &StateDir,
        options: ContextOptions,
    ) -> Result<Self, ContextError> {
        let (tree, places) = files::open(root, &options)?;
        let packages = Guard::new(tree.root(), options.deny.clone())
            .map_err(|source| ContextError::Root { root: root.display().to_string(), source })?;
        let (tree, packages) = (Arc::new(tree), Arc::new(packages));
        let kept = Arc::new(Kept::new(state));
        let sessions = Arc::new(Sessions::new(Arc::clone(&kept)));
        let neighbours = Neighbours::new(Arc::clone(&packages));
        let records = Records::new(kept, Arc::clone(&sessions), neighbours);
        let place = CachePlace::of(root, state, options.cache_folder.clone());
        let index = Arc::new(Index::new(Arc::clone(&tree), places, records, place, &options));
        Ok(Self { tree, packages, index, sessions })
    }

    /// `context_search`, `read_file` and `grep_codebase`.
    pub fn tools(&self) -> Result<Vec<Arc<dyn Tool>>, ContractError> {
        let (tree, index) = (&self.tree, &self.index);
        let around = Arc::new(Around(Arc::clone(index), Arc::clone(&self.sessions)));
        let packages = Arc::clone(&self.packages);
        Ok(vec![
            Arc::new(ContextSearch::new(Arc::clone(index), Arc::clone(&self.sessions))?),
            Arc::new(ReadFile::new(Arc::clone(tree.guard()), packages, around)?),
            Arc::new(GrepCodebase::new(Arc::clone(tree), Arc::clone(index))?),
        ])
    }

    /// `context://…`: the project, its modules, its sessions.
    pub fn resources(&self) -> Arc<dyn Resources> {
        let facts = Arc::clone(&self.index) as Arc<_>;
        Arc::new(Documents::new(facts, Arc::clone(&self.sessions)))
    }

    /// Begins to build the index, to watch the files and to embed, all in the background. A second call does nothing.
    pub fn start(&self) {
        self.index.start();
    }

    pub fn index(&self) -> &Arc<Index> {
        &self.index
    }
}

/// What a read file is part of, and who remembers that it was read.
struct Around(Arc<Index>, Arc<Sessions>);

impl Surroundings for Around {
    fn module_of(&self, path: &str) -> Option<String> {
        self.0.module_of(path)
    }

    fn knows_modules(&self) -> bool {
        self.0.knows_modules()
    }

    fn was_read(&self, path: &str, caller: &Caller) {
        self.1.record_read(caller, path);
    }
}
