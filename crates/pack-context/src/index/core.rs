//! What the threads of an index share, and how one file is taken in.

use std::io::Read as _;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use rank::Role;
use source::Modules;
use tree::trigram::{MAX_BYTES, Set};
use tree::{Change, Stamp, Tree};

use super::analysis::{Analysis, is_of_today, key_of};
use super::cache::{self, Cache, Found, Key, Stamps, is_settled};
use super::narrow::{self, Trigrams};
use super::roles;
use super::state::{DocumentId, Read, Source, SourceId, State};
use super::work::{Urgency, Work};
use crate::discover::{Place, Places};
use crate::excerpt::Excerpt;

/// How many analyses are gathered before they are written to the cache.
const WRITE_TOGETHER: usize = 256;

pub(crate) struct Core {
    pub(crate) tree: Arc<Tree>,
    pub(crate) places: Places,
    place: cache::Place,
    cache: OnceLock<Cache>,
    state: RwLock<State>,
    pub(crate) work: Work,
    pub(crate) trigrams: Trigrams,
    /// Discoveries that came after the first look at all files, and have no vector yet.
    written: Mutex<Vec<DocumentId>>,
    /// None until somebody needs them.
    modules: RwLock<Option<Arc<Modules>>>,
    /// What the cache knows of files by their stamps, until all files were looked at once.
    remembered: Mutex<Option<Stamps>>,
    unwritten: Mutex<Unwritten>,
    last_change: Mutex<Option<SystemTime>>,
}

/// A row for the cache: key, analysis, trigrams.
type Row = (Key, Vec<u8>, Option<Set>);

/// What goes to the cache with the next write.
#[derive(Default)]
struct Unwritten {
    analyses: Vec<Row>,
    stamps: Vec<Found>,
    gone: Vec<Box<str>>,
}

impl Core {
    pub(crate) fn new(tree: Arc<Tree>, places: Places, place: cache::Place) -> Self {
        Self {
            tree,
            places,
            place,
            cache: OnceLock::new(),
            state: RwLock::default(),
            work: Work::default(),
            trigrams: Trigrams::default(),
            written: Mutex::default(),
            modules: RwLock::default(),
            remembered: Mutex::default(),
            unwritten: Mutex::default(),
            last_change: Mutex::default(),
        }
    }

    /// Opened when it is first needed: a pack that is only listed touches nothing.
    pub(crate) fn cache(&self) -> &Cache {
        self.cache.get_or_init(|| Cache::open(&self.place))
    }

    pub(crate) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read()
    }

    pub(crate) fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write()
    }

    /// The modules of the project; the first who asks reads them.
    pub(crate) fn modules(&self) -> Arc<Modules> {
        self.known_modules().unwrap_or_else(|| self.read_modules())
    }

    /// The same, if they were read before.
    pub(crate) fn known_modules(&self) -> Option<Arc<Modules>> {
        self.modules.read().clone()
    }

    pub(crate) fn last_change(&self) -> Option<SystemTime> {
        *self.last_change.lock()
    }

    /// Asks the cache what it knows of the files by their stamps.
    pub(crate) fn remember(&self) {
        *self.remembered.lock() = Some(self.cache().stamps(self.tree.root()));
    }

    /// Every file was looked at: from now on the state knows better. True the first time.
    pub(crate) fn forget(&self) -> bool {
        self.remembered.lock().take().is_some()
    }

    /// Takes in what the watch tells. Called in the order of the changes.
    pub(crate) fn listed(&self, change: Change) {
        if self.changes_modules(&change) {
            self.read_modules();
        }
        let modules = self.modules();
        let mut state = self.state_mut();
        let listed = state.listed(change, &modules);
        let look: Vec<_> = listed
            .look
            .into_iter()
            .filter_map(|id| Some((self.urgency(state.source(id)?), id)))
            .collect();
        let unknown: Vec<Box<str>> = look
            .iter()
            .filter_map(|(_, id)| state.file_of(*id).filter(|file| file.greppable))
            .map(|file| file.path.clone())
            .collect();
        drop(state);
        if !listed.gone.is_empty() {
            self.trigrams.remove(listed.gone.iter().map(|path| &**path));
            *self.last_change.lock() = Some(SystemTime::now());
            self.unwritten.lock().gone.extend(listed.gone);
        }
        self.trigrams.remove(listed.hidden.iter().map(|path| &**path));
        self.work.add(look);
        // After the line before: see `Trigrams::put`.
        self.trigrams.unknown(unknown.iter().map(|path| &**path));
    }

    fn changes_modules(&self, change: &Change) -> bool {
        match change {
            Change::Changed(entry) => Modules::depend_on(&entry.path),
            Change::Removed(path) => Modules::depend_on(path),
            Change::Folder { path, entries } => {
                path.is_empty() || entries.iter().any(|entry| Modules::depend_on(&entry.path))
            }
        }
    }

    fn read_modules(&self) -> Arc<Modules> {
        let modules = Arc::new(Modules::read(self.tree.guard()));
        self.state_mut().set_modules(&modules);
        let mut held = self.modules.write();
        *held = Some(Arc::clone(&modules));
        modules
    }

    /// Every file, to be looked at as if nothing were known of it.
    pub(crate) fn all_files(&self) -> Vec<(Urgency, SourceId)> {
        self.forget();
        let mut state = self.state_mut();
        state.forget_files();
        state.files().map(|(id, source, _)| (self.urgency(source), id)).collect()
    }

    /// What people wrote to be read by others goes before all else.
    fn urgency(&self, source: &Source) -> Urgency {
        let path = source.path().unwrap_or_default();
        let first = match self.places.of(path) {
            Some(Place::Memory | Place::Record | Place::Guide | Place::Contributing) => true,
            Some(Place::Source) | None => source.role == Role::Docs && !path.contains('/'),
        };
        if first { 0 } else { roles::urgency(source.role) }
    }

    /// What the cache takes on disk.
    pub(crate) fn disk_bytes(&self) -> u64 {
        cache::bytes(&self.place)
    }

    /// Reads and analyses one file, if it says something else than is known, and puts the outcome in.
    pub(crate) fn look_at(&self, id: SourceId) {
        let Some((path, listed)) = self.file(id) else { return };
        let remembered = self.remembered.lock().as_mut().and_then(|known| known.remove(&path));
        if let Some((stamp, key)) = remembered
            && stamp == listed
            && is_of_today(&key, self.places.of(&path))
            && let Some(analysis) = self.cached(&key)
        {
            let read = Read { key, stamp, settled: true };
            self.state_mut().put(&path, &read, analysis);
            self.narrow(id, &path, &key);
            return;
        }
        match self.read(&path) {
            Some((read, excerpt)) => self.take_in(id, &path, read, &excerpt),
            // Too big, not readable, or gone: nothing that it said before counts any more.
            None => {
                let (set, settled) = self.set_of_long(&path, listed);
                let read = Read { key: Key::default(), stamp: listed, settled };
                self.state_mut().put(&path, &read, Analysis::default());
                self.trigrams.put(&path, set, || self.has_changed(id, &path));
            }
        }
        *self.last_change.lock() = Some(SystemTime::now());
    }

    fn take_in(&self, id: SourceId, path: &str, read: Read, excerpt: &Excerpt) {
        let set = set_of(excerpt);
        self.trigrams.put(path, set.clone(), || self.has_changed(id, path));
        if self.state_mut().says(path, &read) {
            self.keep(path, &read, None);
            return;
        }
        let (analysis, fresh) = match self.cached(&read.key) {
            Some(analysis) => (analysis, None),
            None => {
                let analysis = Analysis::of(&self.places, path, excerpt);
                // Every entry that is written makes another state of a memory file, which no other file comes back to.
                let returns = self.places.of(path) != Some(Place::Memory);
                let row = returns.then(|| (read.key, analysis.to_bytes(), set));
                (analysis, row)
            }
        };
        let mut state = self.state_mut();
        let put = state.put(path, &read, analysis);
        let written = put.map(|id| state.unembedded(id)).unwrap_or_default();
        drop(state);
        if !written.is_empty() && self.remembered.lock().is_none() {
            self.write(written);
        }
        self.keep(path, &read, fresh);
    }

    /// These documents were written just now.
    pub(crate) fn write(&self, documents: Vec<DocumentId>) {
        self.written.lock().extend(documents);
    }

    /// Discoveries that were written since the last time somebody asked.
    pub(crate) fn take_written(&self) -> Vec<DocumentId> {
        std::mem::take(&mut *self.written.lock())
    }

    /// Gives a file that was not read its trigrams, if they are wanted: from the cache, or from the file after all.
    fn narrow(&self, id: SourceId, path: &str, key: &Key) {
        if !self.trigrams.are_wanted() {
            return;
        }
        let known = self.cache().trigrams(key).and_then(Set::from_bytes);
        if known.is_some() {
            return self.trigrams.put(path, known, || self.has_changed(id, path));
        }
        if let Some((read, excerpt)) = self.read(path)
            && read.key == *key
        {
            self.trigrams.put(path, set_of(&excerpt), || self.has_changed(id, path));
        }
    }

    /// The trigrams of a file that is too long to say anything else, if they are wanted and it is as it was listed; and
    /// whether a later change must show in its stamp. They are not cached: such files are few.
    fn set_of_long(&self, path: &str, listed: Stamp) -> (Option<Set>, bool) {
        let now = SystemTime::now();
        let collect = || {
            let (mut file, metadata) = self.tree.open(path).ok()?;
            if Stamp::of(&metadata) != listed || listed.size > MAX_BYTES as u64 {
                return None;
            }
            let mut content = Vec::new();
            file.by_ref().take(MAX_BYTES as u64 + 1).read_to_end(&mut content).ok()?;
            let same = Stamp::of(&file.metadata().ok()?) == listed;
            narrow::set_of(&content).filter(|_| same)
        };
        let set = if self.trigrams.are_wanted() { collect() } else { None };
        // A file without a set is always searched, so nothing can be missed.
        let settled = set.is_none() || is_settled(listed, now);
        (set, settled)
    }

    /// Whether the file is to be looked at again, or is another one by now.
    fn has_changed(&self, id: SourceId, path: &str) -> bool {
        self.work.is_waiting(id) || self.state().id_of(path) != Some(id)
    }

    fn cached(&self, key: &Key) -> Option<Analysis> {
        Analysis::from_bytes(&self.cache().analysis(key)?)
    }

    /// The file as it is now: what is read of it, and the stamp that it has before and after the reading.
    fn read(&self, path: &str) -> Option<(Read, Excerpt)> {
        let (mut file, metadata) = self.tree.open(path).ok()?;
        let place = self.places.of(path);
        let mut stamp = Stamp::of(&metadata);
        let mut excerpt = Excerpt::default();
        // A file that somebody writes to is read again; what is read while it grows on is told of by the watch.
        for _ in 0..3 {
            let now = SystemTime::now();
            excerpt = Excerpt::read(&mut file, stamp.size, place).ok()??;
            let after = Stamp::of(&file.metadata().ok()?);
            if after == stamp {
                let settled = is_settled(stamp, now);
                let read = Read { key: key_of(place, path, &excerpt), stamp, settled };
                return Some((read, excerpt));
            }
            stamp = after;
            std::io::Seek::rewind(&mut file).ok()?;
        }
        let read = Read { key: key_of(place, path, &excerpt), stamp, settled: false };
        Some((read, excerpt))
    }

    fn file(&self, id: SourceId) -> Option<(Box<str>, Stamp)> {
        let state = self.state();
        state.file_of(id).map(|file| (file.path.clone(), file.stamp))
    }

    fn keep(&self, path: &str, read: &Read, fresh: Option<Row>) {
        let mut unwritten = self.unwritten.lock();
        unwritten.stamps.push(Found { path: path.into(), stamp: read.stamp, key: read.key });
        unwritten.analyses.extend(fresh);
        let full = unwritten.stamps.len() >= WRITE_TOGETHER;
        drop(unwritten);
        if full {
            self.write_cache();
        }
    }

    /// Writes to the cache what was gathered for it.
    pub(crate) fn write_cache(&self) {
        let Unwritten { analyses, stamps, gone } = std::mem::take(&mut *self.unwritten.lock());
        if !analyses.is_empty() {
            self.cache().add_analyses(&analyses);
        }
        // A stamp that names an analysis comes after the analysis.
        if !(stamps.is_empty() && gone.is_empty()) {
            self.cache().keep_stamps(self.tree.root(), &stamps, &gone);
        }
    }
}

/// None if the file must always be searched, as one is that was not read from its beginning.
fn set_of(excerpt: &Excerpt) -> Option<Set> {
    excerpt.is_whole().then(|| narrow::set_of(&excerpt.content)).flatten()
}
