//! Documents that lie in no file: discoveries that people added, fixes in the history, sessions. And what people do says
//! of files: which are on their minds.
//!
//! Added discoveries are looked at by every question, which costs microseconds where there is nothing new. The rest is
//! looked at by a thread of its own, now and then.

mod history;

use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use source::{Modules, Resolver};
use store::ContextStore;

use self::history::Head;
use super::analysis::Said;
use super::core::Core;
use super::neighbours::{self, Neighbours};
use super::state::{Body, NewRecord};
use crate::discover::{self, Discovery, MAX_COMMITS};
use crate::sessions::{Kept, Sessions};

pub(crate) struct Records {
    kept: Arc<Kept>,
    sessions: Arc<Sessions>,
    neighbours: Neighbours,
    seen: Mutex<Seen>,
    looked: Condvar,
    /// Held while the store is looked at: what was read first must not be put in last.
    refreshing: Mutex<()>,
}

/// What the documents were last made from.
#[derive(Default)]
struct Seen {
    discoveries: Option<i64>,
    /// None within for a project without a history that can be read.
    head: Option<Option<Head>>,
    activity: Option<i64>,
    /// The modules that commits and sessions were put into.
    modules: Option<Arc<Modules>>,
    /// All of it was looked at once.
    once: bool,
}

impl Records {
    pub(crate) fn new(kept: Arc<Kept>, sessions: Arc<Sessions>, neighbours: Neighbours) -> Self {
        Self {
            kept,
            sessions,
            neighbours,
            seen: Mutex::default(),
            looked: Condvar::new(),
            refreshing: Mutex::default(),
        }
    }

    /// Takes in discoveries that people added since, in whichever process.
    pub(crate) fn refresh(&self, core: &Core) {
        let _refreshing = self.refreshing.lock();
        let generation = self.kept.ask(ContextStore::generation);
        if generation.is_none() || generation == self.seen.lock().discoveries {
            return;
        }
        let Some(added) = self.kept.ask(ContextStore::discoveries) else { return };
        let records = added.into_iter().map(|added| of_discovery("store", added.into(), core));
        let records = records.collect();
        let written = core.state_mut().set_records("store:", records);
        core.write(written);
        self.seen.lock().discoveries = generation;
    }

    /// Looks at the history and the sessions once.
    pub(crate) fn look(&self, core: &Core) {
        self.refresh(core);
        self.look_at_modules(core);
        self.look_at_history(core);
        self.look_at_sessions(core);
        self.seen.lock().once = true;
        self.looked.notify_all();
    }

    /// Waits until all was looked at once, or until then.
    pub(crate) fn wait(&self, until: Instant) {
        let patience = until.saturating_duration_since(Instant::now());
        self.looked.wait_while_for(&mut self.seen.lock(), |seen| !seen.once, patience);
    }

    /// Finds what files import, as the project is now.
    pub(crate) fn resolver(&self) -> Resolver {
        self.neighbours.now()
    }

    /// With other modules, commits and sessions are put in anew.
    fn look_at_modules(&self, core: &Core) {
        let modules = core.modules();
        let mut seen = self.seen.lock();
        let same = seen.modules.as_ref().is_some_and(|before| Arc::ptr_eq(before, &modules));
        if !same {
            (seen.head, seen.activity) = (None, None);
            seen.modules = Some(modules);
        }
    }

    fn look_at_history(&self, core: &Core) {
        let head = Some(Head::of(core.tree.root()));
        if head == self.seen.lock().head {
            return;
        }
        match discover::fix_commits(core.tree.root(), MAX_COMMITS) {
            Ok(fixes) => {
                let records = fixes.into_iter().map(|fix| of_discovery("commit", fix, core));
                let records = records.collect();
                core.state_mut().set_records("commit:", records);
            }
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, cause, "fixes in the history are not found");
            }
        }
        self.seen.lock().head = head;
    }

    fn look_at_sessions(&self, core: &Core) {
        let activity = self.sessions.generation();
        if Some(activity) == self.seen.lock().activity {
            return;
        }
        let modules = core.modules();
        let records = self
            .sessions
            .documents(|path| modules.of(path))
            .into_iter()
            .map(|session| NewRecord {
                name: format!("session:{}", session.id).into(),
                said: Said::of_record(&session.text),
                module: session.module.clone(),
                body: Body::Session(Box::new(session)),
            })
            .collect();
        core.state_mut().set_records("session:", records);
        self.sessions.warmth().refresh();
        let resolver = self.resolver();
        let imports = |path: &str| neighbours::of(&resolver, &core.tree, path);
        let warm = self.sessions.warmth().around(self.sessions.now(), imports);
        core.state_mut().set_warm(warm);
        self.seen.lock().activity = Some(activity);
    }
}

fn of_discovery(family: &str, mut discovery: Discovery, core: &Core) -> NewRecord {
    let modules = core.modules();
    discovery.fill_module(|path| modules.of(path));
    NewRecord {
        name: format!("{family}:{}", discovery.id).into(),
        said: Said::of_record(&discovery.text()),
        module: discovery.module.clone(),
        body: Body::Discovery(Box::new(discovery)),
    }
}
