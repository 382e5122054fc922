//! File sources: updated from the watch, and filled when they are analyzed.

use std::collections::HashSet;

use source::ModuleMap;
use tree::{FileChange, FileEntry, FileStamp};

use super::sources::{DocumentBody, FileSource, IndexSource, IndexedContent, SourceOrigin};
use super::{InMemoryIndex, SourceId};
use crate::index::analysis::FileAnalysis;
use crate::index::cache::ContentKey;
use crate::index::roles;

impl InMemoryIndex {
    pub(crate) fn files(&self) -> impl Iterator<Item = (SourceId, &IndexSource, &FileSource)> {
        self.sources().filter_map(|(id, source)| Some((id, source, source.file()?)))
    }

    pub(crate) fn find_file(&self, id: SourceId) -> Option<&FileSource> {
        self.source(id)?.file()
    }

    /// Returns the current ID of a path. A path that was removed and added again may have another ID.
    pub(crate) fn find_file_id(&self, path: &str) -> Option<SourceId> {
        self.by_path.get(path).copied()
    }

    pub(crate) fn file_count(&self) -> usize {
        self.by_path.len()
    }

    /// Applies a change reported by the watch. Returns the files to analyze, and those that are gone.
    pub(crate) fn apply_change(
        &mut self,
        change: FileChange,
        modules: &ModuleMap,
    ) -> ListingChanges {
        let mut changes = ListingChanges::default();
        match change {
            FileChange::Changed(entry) => {
                self.add_or_update_file(entry, modules, true, &mut changes)
            }
            FileChange::Removed(path) => {
                if self.remove_file(&path) {
                    changes.gone.push(path.into());
                }
            }
            FileChange::FolderListed { path: folder, entries } => {
                let present: HashSet<&str> = entries.iter().map(|entry| &*entry.path).collect();
                let within = |path: &str| {
                    folder.is_empty()
                        || path.strip_prefix(&*folder).is_some_and(|rest| rest.starts_with('/'))
                };
                changes.gone = self
                    .by_path
                    .keys()
                    .filter(|path| within(path) && !present.contains(&***path))
                    .cloned()
                    .collect();
                for path in &changes.gone {
                    self.remove_file(path);
                }
                for entry in entries {
                    self.add_or_update_file(entry, modules, false, &mut changes);
                }
            }
        }
        changes
    }

    /// Adds or updates a file. It is queued for analysis if it is new, if its stamp differs, if it is known to have
    /// `changed`, or if it became visible to grep.
    fn add_or_update_file(
        &mut self,
        entry: FileEntry,
        modules: &ModuleMap,
        changed: bool,
        changes: &mut ListingChanges,
    ) {
        if let Some(id) = self.by_path.get(&entry.path).copied() {
            let Some(IndexSource { origin: SourceOrigin::File(file), .. }) = self.source_mut(id)
            else {
                return;
            };
            let same = file
                .content
                .as_ref()
                .is_some_and(|content| content.stamp == entry.stamp && content.settled);
            file.stamp = entry.stamp;
            let before = std::mem::replace(&mut file.greppable, entry.greppable);
            if before && !entry.greppable {
                changes.hidden.push(entry.path);
            }
            if changed || !same || entry.greppable && !before {
                changes.queued.push(id);
            }
            return;
        }
        let Some(id) = self.allocate_id() else { return };
        let module = modules.find_module(&entry.path).map(|module| self.intern_str(&module));
        let purpose = source::detect_role(&entry.path, "");
        self.by_path.insert(entry.path.clone(), id);
        if let Some(degree) = self.recency_by_path.get(&*entry.path) {
            self.recency.insert(id, *degree);
        }
        self.sources[id.0 as usize] = Some(IndexSource {
            role: roles::to_ranking_role(&entry.path, purpose),
            module,
            documents: Vec::new(),
            origin: SourceOrigin::File(FileSource {
                path: entry.path,
                stamp: entry.stamp,
                greppable: entry.greppable,
                purpose,
                content: None,
            }),
        });
        changes.queued.push(id);
    }

    /// Removes a file; returns false if it was not present.
    fn remove_file(&mut self, path: &str) -> bool {
        let known = self.by_path.get(path).copied();
        if let Some(id) = known {
            self.remove_source(id);
        }
        known.is_some()
    }

    /// Returns true if the file's indexed content has the key that was read; then only its stamp is updated.
    pub(crate) fn confirm_unchanged(&mut self, path: &str, read: &FileVersion) -> bool {
        let Some(id) = self.by_path.get(path).copied() else { return false };
        let Some(IndexSource { origin: SourceOrigin::File(file), .. }) = self.source_mut(id) else {
            return false;
        };
        match &mut file.content {
            Some(content) if content.key == read.key => {
                content.stamp = read.stamp;
                content.settled = read.settled;
                true
            }
            _ => false,
        }
    }

    /// Replaces the documents of a file with those of an analysis. Returns `None` if the file was removed meanwhile.
    pub(crate) fn insert_analysis(
        &mut self,
        path: &str,
        read: &FileVersion,
        analysis: FileAnalysis,
    ) -> Option<SourceId> {
        let id = self.by_path.get(path).copied()?;
        let language = analysis.language.as_deref().map(|language| self.intern_str(language));
        let date =
            self.find_file(id).map(|file| contract::time::format_system_time(file.modified()));
        let chunks = analysis.chunks.into_iter().map(|chunk| {
            let body =
                DocumentBody::Chunk { bytes: chunk.bytes, lines: chunk.lines, names: chunk.names };
            (body, chunk.features)
        });
        let discoveries = analysis.discoveries.into_iter().zip(analysis.discovery_features).map(
            |(mut discovery, features)| {
                if discovery.date.is_empty() {
                    discovery.date = date.clone().unwrap_or_default();
                }
                (DocumentBody::Discovery(Box::new(discovery)), features)
            },
        );
        let documents = discoveries.chain(chunks).collect();
        self.replace_documents(id, documents);
        let source = self.source_mut(id)?;
        let SourceOrigin::File(file) = &mut source.origin else { return None };
        if let Some(role) = analysis.role {
            file.purpose = role;
            source.role = roles::to_ranking_role(path, role);
        }
        let FileVersion { key, stamp, settled } = *read;
        file.content = Some(IndexedContent { key, stamp, settled, language });
        Some(id)
    }

    /// Discards the known content of all files.
    pub(crate) fn forget_file_contents(&mut self) {
        let ids: Vec<SourceId> = self.by_path.values().copied().collect();
        for id in ids {
            if let Some(IndexSource { origin: SourceOrigin::File(file), .. }) = self.source_mut(id)
            {
                file.content = None;
            }
        }
    }

    /// Updates the module of every file.
    pub(crate) fn set_modules(&mut self, modules: &ModuleMap) {
        let files: Vec<(SourceId, Option<String>)> =
            self.files().map(|(id, _, file)| (id, modules.find_module(&file.path))).collect();
        for (id, module) in files {
            let module = module.map(|module| self.intern_str(&module));
            if let Some(source) = self.source_mut(id) {
                source.module = module;
            }
        }
    }
}

/// Version of a file's content, as of one read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileVersion {
    pub(crate) key: ContentKey,
    pub(crate) stamp: FileStamp,
    /// True if any later change alters the stamp.
    pub(crate) settled: bool,
}

/// Effects of a change on the files of the index.
#[derive(Default)]
pub(crate) struct ListingChanges {
    /// Files to analyze.
    pub(crate) queued: Vec<SourceId>,
    pub(crate) gone: Vec<Box<str>>,
    /// Files that still exist, but are no longer visible to grep.
    pub(crate) hidden: Vec<Box<str>>,
}
