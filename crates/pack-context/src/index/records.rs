//! Indexes documents that are not in files: added discoveries, fix commits and sessions. Also computes the recency of
//! files from the sessions.
//!
//! Added discoveries are checked by every query, which takes microseconds if there are no new ones. The rest is polled
//! by a background thread.

mod history;

use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use source::{ImportResolver, ModuleMap};
use store::ContextStore;

use self::history::GitHeadState;
use super::analysis::TextFeatures;
use super::core::IndexCore;
use super::imports::{self, ImportResolverFactory};
use super::state::{DocumentBody, NewRecord, SESSION_FAMILY};
use crate::discover::{self, Discovery, MAX_COMMITS};
use crate::sessions::{LazyContextStore, SessionTracker};

/// Keeps the record documents of the index up to date.
pub(crate) struct RecordIndexer {
    store: Arc<LazyContextStore>,
    sessions: Arc<SessionTracker>,
    import_resolvers: ImportResolverFactory,
    versions: Mutex<RecordVersions>,
    completed: Condvar,
    /// Locked while the store is read, so that older results cannot replace newer ones.
    refreshing: Mutex<()>,
}

/// Versions of the inputs that the current documents were built from.
#[derive(Default)]
struct RecordVersions {
    discoveries: Option<i64>,
    /// `Some(None)` for a project without a readable history.
    head: Option<Option<GitHeadState>>,
    activity: Option<i64>,
    /// Modules that commits and sessions were assigned to.
    modules: Option<Arc<ModuleMap>>,
    /// True once all inputs were read.
    complete: bool,
}

impl RecordIndexer {
    pub(crate) fn new(
        store: Arc<LazyContextStore>,
        sessions: Arc<SessionTracker>,
        import_resolvers: ImportResolverFactory,
    ) -> Self {
        Self {
            store,
            sessions,
            import_resolvers,
            versions: Mutex::default(),
            completed: Condvar::new(),
            refreshing: Mutex::default(),
        }
    }

    /// Indexes discoveries added since the last call, by any process.
    pub(crate) fn refresh_discoveries(&self, core: &IndexCore) {
        let _refreshing = self.refreshing.lock();
        let generation = self.store.with_existing_store(ContextStore::discovery_generation);
        if generation.is_none() || generation == self.versions.lock().discoveries {
            return;
        }
        let Some(added) = self.store.with_existing_store(ContextStore::list_discoveries) else {
            return;
        };
        let records =
            added.into_iter().map(|added| build_discovery_record("store", added.into(), core));
        let records = records.collect();
        let written = core.state_mut().replace_records("store:", records);
        core.record_new_discoveries(written);
        self.versions.lock().discoveries = generation;
    }

    /// Updates all records: added discoveries, commit history and sessions.
    pub(crate) fn refresh_all(&self, core: &IndexCore) {
        self.refresh_discoveries(core);
        self.refresh_modules(core);
        self.refresh_history(core);
        self.refresh_sessions(core);
        self.versions.lock().complete = true;
        self.completed.notify_all();
    }

    /// Blocks until all records were read once, or until the deadline.
    pub(crate) fn wait_until_complete(&self, deadline: Instant) {
        let timeout = deadline.saturating_duration_since(Instant::now());
        self.completed.wait_while_for(&mut self.versions.lock(), |seen| !seen.complete, timeout);
    }

    /// Returns an import resolver for the current state of the project.
    pub(crate) fn create_import_resolver(&self) -> ImportResolver {
        self.import_resolvers.create_resolver()
    }

    /// Invalidates commits and sessions if the modules have changed.
    fn refresh_modules(&self, core: &IndexCore) {
        let modules = core.modules();
        let mut seen = self.versions.lock();
        let same = seen.modules.as_ref().is_some_and(|before| Arc::ptr_eq(before, &modules));
        if !same {
            (seen.head, seen.activity) = (None, None);
            seen.modules = Some(modules);
        }
    }

    fn refresh_history(&self, core: &IndexCore) {
        let head = Some(GitHeadState::read_from_root(core.tree.root()));
        if head == self.versions.lock().head {
            return;
        }
        match discover::find_fix_commits(core.tree.root(), MAX_COMMITS) {
            Ok(fixes) => {
                let records =
                    fixes.into_iter().map(|fix| build_discovery_record("commit", fix, core));
                let records = records.collect();
                core.state_mut().replace_records("commit:", records);
            }
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, cause, "failed to read commit history");
            }
        }
        self.versions.lock().head = head;
    }

    fn refresh_sessions(&self, core: &IndexCore) {
        let activity = self.sessions.generation();
        if Some(activity) == self.versions.lock().activity {
            return;
        }
        let modules = core.modules();
        let records = self
            .sessions
            .session_texts(|path| modules.find_module(path))
            .into_iter()
            .map(|session| NewRecord {
                name: format!("{SESSION_FAMILY}{}", session.id).into(),
                features: TextFeatures::from_record_text(&session.text),
                module: session.module.clone(),
                body: DocumentBody::Session(Box::new(session)),
            })
            .collect();
        core.state_mut().replace_records(SESSION_FAMILY, records);
        self.sessions.recency().refresh();
        let resolver = self.create_import_resolver();
        let imports = |path: &str| imports::list_imported_files(&resolver, &core.tree, path);
        let recency = self.sessions.recency().scores_with_neighbors(self.sessions.now(), imports);
        core.state_mut().set_recency(recency);
        self.versions.lock().activity = Some(activity);
    }
}

fn build_discovery_record(family: &str, mut discovery: Discovery, core: &IndexCore) -> NewRecord {
    let modules = core.modules();
    discovery.fill_module(|path| modules.find_module(path));
    NewRecord {
        name: format!("{family}:{}", discovery.id).into(),
        features: TextFeatures::from_record_text(&discovery.searchable_text()),
        module: discovery.module.clone(),
        body: DocumentBody::Discovery(Box::new(discovery)),
    }
}
