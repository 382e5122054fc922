//! State shared by the threads of an index, and the indexing of one file.

use std::io::Read as _;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};
use rank::DocumentRole;
use source::ModuleMap;
use tree::trigram::{MAX_INDEXED_BYTES, TrigramSet};
use tree::{FileChange, FileStamp, FileTree};

use super::analysis::{FileAnalysis, compute_analysis_key, is_current_key};
use super::analysis_queue::{AnalysisQueue, FilePriority};
use super::cache::{self, CachedStamps, ContentCache, ContentKey, StampedFile, is_settled};
use super::roles;
use super::state::{DocumentId, FileVersion, InMemoryIndex, IndexSource, SourceId};
use super::trigram_filter::{self, TrigramFilter};
use crate::discover::{DiscoveryExtractor, DiscoveryFileKind};
use crate::excerpt::FileExcerpt;

/// Number of analyses collected before they are written to the cache.
const CACHE_WRITE_BATCH: usize = 256;

/// Shared state of an index.
pub(crate) struct IndexCore {
    pub(crate) tree: Arc<FileTree>,
    pub(crate) places: DiscoveryExtractor,
    cache_location: cache::CacheLocation,
    cache: OnceLock<ContentCache>,
    state: RwLock<InMemoryIndex>,
    pub(crate) queue: AnalysisQueue,
    pub(crate) trigrams: TrigramFilter,
    /// Discoveries added after the first analysis of all files that have no vector yet.
    new_discoveries: Mutex<Vec<DocumentId>>,
    /// `None` until first used.
    modules: RwLock<Option<Arc<ModuleMap>>>,
    /// Stamps loaded from the cache; dropped once all files were indexed.
    cached_stamps: Mutex<Option<CachedStamps>>,
    pending_writes: Mutex<PendingCacheWrites>,
    last_change: Mutex<Option<SystemTime>>,
}

/// A row for the cache: key, analysis, trigrams.
type AnalysisRow = (ContentKey, Vec<u8>, Option<TrigramSet>);

/// Rows collected for the next write to the cache.
#[derive(Default)]
struct PendingCacheWrites {
    analyses: Vec<AnalysisRow>,
    stamps: Vec<StampedFile>,
    gone: Vec<Box<str>>,
}

impl IndexCore {
    pub(crate) fn new(
        tree: Arc<FileTree>,
        places: DiscoveryExtractor,
        cache_location: cache::CacheLocation,
    ) -> Self {
        Self {
            tree,
            places,
            cache_location,
            cache: OnceLock::new(),
            state: RwLock::default(),
            queue: AnalysisQueue::default(),
            trigrams: TrigramFilter::default(),
            new_discoveries: Mutex::default(),
            modules: RwLock::default(),
            cached_stamps: Mutex::default(),
            pending_writes: Mutex::default(),
            last_change: Mutex::default(),
        }
    }

    /// Returns the cache, which is opened on first use: listing the tools of a pack does not touch the disk.
    pub(crate) fn cache(&self) -> &ContentCache {
        self.cache.get_or_init(|| ContentCache::open(&self.cache_location))
    }

    pub(crate) fn state(&self) -> RwLockReadGuard<'_, InMemoryIndex> {
        self.state.read()
    }

    pub(crate) fn state_mut(&self) -> RwLockWriteGuard<'_, InMemoryIndex> {
        self.state.write()
    }

    /// Returns the modules of the project; the first call reads them.
    pub(crate) fn modules(&self) -> Arc<ModuleMap> {
        self.known_modules().unwrap_or_else(|| self.read_modules())
    }

    /// Returns the modules if they were read before.
    pub(crate) fn known_modules(&self) -> Option<Arc<ModuleMap>> {
        self.modules.read().clone()
    }

    pub(crate) fn last_change(&self) -> Option<SystemTime> {
        *self.last_change.lock()
    }

    /// Loads the stamps of the files from the cache.
    pub(crate) fn load_cached_stamps(&self) {
        *self.cached_stamps.lock() = Some(self.cache().read_stamps(self.tree.root()));
    }

    /// Drops the loaded stamps, once every file was indexed. Returns true the first time.
    pub(crate) fn drop_cached_stamps(&self) -> bool {
        self.cached_stamps.lock().take().is_some()
    }

    /// Applies a change reported by the watch. Must be called in the order of the changes.
    pub(crate) fn apply_change(&self, change: FileChange) {
        if self.affects_modules(&change) {
            self.read_modules();
        }
        let modules = self.modules();
        let mut state = self.state_mut();
        let changes = state.apply_change(change, &modules);
        let queued: Vec<_> = changes
            .queued
            .into_iter()
            .filter_map(|id| Some((self.file_priority(state.source(id)?), id)))
            .collect();
        let unknown: Vec<Box<str>> = queued
            .iter()
            .filter_map(|(_, id)| state.find_file(*id).filter(|file| file.greppable))
            .map(|file| file.path.clone())
            .collect();
        drop(state);
        if !changes.gone.is_empty() {
            self.trigrams.remove_files(changes.gone.iter().map(|path| &**path));
            *self.last_change.lock() = Some(SystemTime::now());
            self.pending_writes.lock().gone.extend(changes.gone);
        }
        self.trigrams.remove_files(changes.hidden.iter().map(|path| &**path));
        self.queue.enqueue_files(queued);
        // Must come after the files are queued: see `TrigramFilter::insert_set`.
        self.trigrams.mark_unknown(unknown.iter().map(|path| &**path));
    }

    fn affects_modules(&self, change: &FileChange) -> bool {
        match change {
            FileChange::Changed(entry) => ModuleMap::depends_on(&entry.path),
            FileChange::Removed(path) => ModuleMap::depends_on(path),
            FileChange::FolderListed { path, entries } => {
                path.is_empty() || entries.iter().any(|entry| ModuleMap::depends_on(&entry.path))
            }
        }
    }

    fn read_modules(&self) -> Arc<ModuleMap> {
        let modules = Arc::new(ModuleMap::load(self.tree.guard()));
        self.state_mut().set_modules(&modules);
        let mut slot = self.modules.write();
        *slot = Some(Arc::clone(&modules));
        modules
    }

    /// Discards the known content of every file, and returns all files with their priorities.
    pub(crate) fn reset_all_files(&self) -> Vec<(FilePriority, SourceId)> {
        self.drop_cached_stamps();
        let mut state = self.state_mut();
        state.forget_file_contents();
        state.files().map(|(id, source, _)| (self.file_priority(source), id)).collect()
    }

    /// Returns the priority of a file. Memory files, guides and top-level documentation go first.
    fn file_priority(&self, source: &IndexSource) -> FilePriority {
        let path = source.path().unwrap_or_default();
        let first = match self.places.classify_file(path) {
            Some(
                DiscoveryFileKind::Memory
                | DiscoveryFileKind::Record
                | DiscoveryFileKind::Guide
                | DiscoveryFileKind::Contributing,
            ) => true,
            Some(DiscoveryFileKind::Source) | None => {
                source.role == DocumentRole::Docs && !path.contains('/')
            }
        };
        if first { 0 } else { roles::priority_for_role(source.role) }
    }

    /// Returns the size of the cache on disk.
    pub(crate) fn disk_bytes(&self) -> u64 {
        cache::disk_usage(&self.cache_location)
    }

    /// Reads and analyzes one file if its content has changed, and updates the index.
    pub(crate) fn index_file(&self, id: SourceId) {
        let Some((path, listed)) = self.listed_file(id) else { return };
        let cached = self.cached_stamps.lock().as_mut().and_then(|stamps| stamps.remove(&path));
        if let Some((stamp, key)) = cached
            && stamp == listed
            && is_current_key(&key, self.places.classify_file(&path))
            && let Some(analysis) = self.read_cached_analysis(&key)
        {
            let read = FileVersion { key, stamp, settled: true };
            self.state_mut().insert_analysis(&path, &read, analysis);
            self.load_trigrams(id, &path, &key);
            return;
        }
        match self.read_file(&path) {
            Some((read, excerpt)) => self.index_content(id, &path, read, &excerpt),
            // Too large, unreadable or removed: its previous content is discarded.
            None => {
                let (set, settled) = self.collect_long_file_trigrams(&path, listed);
                let read = FileVersion { key: ContentKey::default(), stamp: listed, settled };
                self.state_mut().insert_analysis(&path, &read, FileAnalysis::default());
                self.trigrams.insert_set(&path, set, || self.has_changed(id, &path));
            }
        }
        *self.last_change.lock() = Some(SystemTime::now());
    }

    fn index_content(&self, id: SourceId, path: &str, read: FileVersion, excerpt: &FileExcerpt) {
        let set = collect_whole_file_trigrams(excerpt);
        self.trigrams.insert_set(path, set.clone(), || self.has_changed(id, path));
        if self.state_mut().confirm_unchanged(path, &read) {
            self.queue_cache_write(path, &read, None);
            return;
        }
        let (analysis, fresh) = match self.read_cached_analysis(&read.key) {
            Some(analysis) => (analysis, None),
            None => {
                let analysis = FileAnalysis::from_excerpt(&self.places, path, excerpt);
                // Every new entry changes a memory file, and the previous content never recurs. So it is not cached.
                let is_cacheable =
                    self.places.classify_file(path) != Some(DiscoveryFileKind::Memory);
                let row = is_cacheable.then(|| (read.key, analysis.to_bytes(), set));
                (analysis, row)
            }
        };
        let mut state = self.state_mut();
        let put = state.insert_analysis(path, &read, analysis);
        let new_discoveries = put.map(|id| state.unembedded_discoveries(id)).unwrap_or_default();
        drop(state);
        if !new_discoveries.is_empty() && self.cached_stamps.lock().is_none() {
            self.record_new_discoveries(new_discoveries);
        }
        self.queue_cache_write(path, &read, fresh);
    }

    /// Records documents that were just written, so that the next call embeds them.
    pub(crate) fn record_new_discoveries(&self, documents: Vec<DocumentId>) {
        self.new_discoveries.lock().extend(documents);
    }

    /// Returns the discoveries written since the last call, and clears the list.
    pub(crate) fn take_new_discoveries(&self) -> Vec<DocumentId> {
        std::mem::take(&mut *self.new_discoveries.lock())
    }

    /// Sets the trigrams of a file whose analysis was cached, if trigrams are enabled. Reads the file if they are not
    /// cached.
    fn load_trigrams(&self, id: SourceId, path: &str, key: &ContentKey) {
        if !self.trigrams.has_sets_enabled() {
            return;
        }
        let known = self.cache().read_trigrams(key).and_then(TrigramSet::from_bytes);
        if known.is_some() {
            return self.trigrams.insert_set(path, known, || self.has_changed(id, path));
        }
        if let Some((read, excerpt)) = self.read_file(path)
            && read.key == *key
        {
            self.trigrams.insert_set(path, collect_whole_file_trigrams(&excerpt), || {
                self.has_changed(id, path)
            });
        }
    }

    /// Returns the trigrams of a file that is too long to analyze, if they are enabled and the file is as it was
    /// listed. Also returns whether any later change alters the stamp. These trigrams are not cached, because such
    /// files are few.
    fn collect_long_file_trigrams(
        &self,
        path: &str,
        listed: FileStamp,
    ) -> (Option<TrigramSet>, bool) {
        let now = SystemTime::now();
        let collect = || {
            let (mut file, metadata) = self.tree.open(path).ok()?;
            if FileStamp::from_metadata(&metadata) != listed
                || listed.size > MAX_INDEXED_BYTES as u64
            {
                return None;
            }
            let mut content = Vec::new();
            file.by_ref().take(MAX_INDEXED_BYTES as u64 + 1).read_to_end(&mut content).ok()?;
            let same = FileStamp::from_metadata(&file.metadata().ok()?) == listed;
            trigram_filter::collect_trigrams(&content).filter(|_| same)
        };
        let set = if self.trigrams.has_sets_enabled() { collect() } else { None };
        // A file without a set is always searched, so grep cannot miss a change.
        let settled = set.is_none() || is_settled(listed, now);
        (set, settled)
    }

    /// Returns true if the file waits for analysis again, or its path now has another ID.
    fn has_changed(&self, id: SourceId, path: &str) -> bool {
        self.queue.is_waiting(id) || self.state().find_file_id(path) != Some(id)
    }

    fn read_cached_analysis(&self, key: &ContentKey) -> Option<FileAnalysis> {
        FileAnalysis::from_bytes(&self.cache().read_analysis(key)?)
    }

    /// Reads the current content of a file, with a stamp that was equal before and after reading.
    fn read_file(&self, path: &str) -> Option<(FileVersion, FileExcerpt)> {
        let (mut file, metadata) = self.tree.open(path).ok()?;
        let place = self.places.classify_file(path);
        let mut stamp = FileStamp::from_metadata(&metadata);
        let mut excerpt = FileExcerpt::default();
        // A file that changes while it is read is read again. If it keeps changing, the watch reports the later
        // changes.
        for _ in 0..3 {
            let now = SystemTime::now();
            excerpt = FileExcerpt::read_from(&mut file, stamp.size, place).ok()??;
            let after = FileStamp::from_metadata(&file.metadata().ok()?);
            if after == stamp {
                let settled = is_settled(stamp, now);
                let read = FileVersion {
                    key: compute_analysis_key(place, path, &excerpt),
                    stamp,
                    settled,
                };
                return Some((read, excerpt));
            }
            stamp = after;
            std::io::Seek::rewind(&mut file).ok()?;
        }
        let read =
            FileVersion { key: compute_analysis_key(place, path, &excerpt), stamp, settled: false };
        Some((read, excerpt))
    }

    fn listed_file(&self, id: SourceId) -> Option<(Box<str>, FileStamp)> {
        let state = self.state();
        state.find_file(id).map(|file| (file.path.clone(), file.stamp))
    }

    fn queue_cache_write(&self, path: &str, read: &FileVersion, fresh: Option<AnalysisRow>) {
        let mut pending = self.pending_writes.lock();
        pending.stamps.push(StampedFile { path: path.into(), stamp: read.stamp, key: read.key });
        pending.analyses.extend(fresh);
        let is_full = pending.stamps.len() >= CACHE_WRITE_BATCH;
        drop(pending);
        if is_full {
            self.flush_cache();
        }
    }

    /// Writes the collected rows to the cache.
    pub(crate) fn flush_cache(&self) {
        let PendingCacheWrites { analyses, stamps, gone } =
            std::mem::take(&mut *self.pending_writes.lock());
        if !analyses.is_empty() {
            self.cache().add_analyses(&analyses);
        }
        // A stamp refers to an analysis, so it is written after it.
        if !(stamps.is_empty() && gone.is_empty()) {
            self.cache().write_stamps(self.tree.root(), &stamps, &gone);
        }
    }
}

/// Returns the trigrams of a file; `None` if it must always be searched, as when only its end was read.
fn collect_whole_file_trigrams(excerpt: &FileExcerpt) -> Option<TrigramSet> {
    excerpt.is_whole().then(|| trigram_filter::collect_trigrams(&excerpt.content)).flatten()
}
