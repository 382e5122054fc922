//! The files among the sources: kept as the watch tells, filled as they are analysed.

use std::collections::HashSet;

use source::Modules;
use tree::{Change, Entry, Stamp};

use super::sources::{Body, FileSource, Known, Origin, Source};
use super::{SourceId, State};
use crate::index::analysis::Analysis;
use crate::index::cache::Key;
use crate::index::roles;

impl State {
    pub(crate) fn files(&self) -> impl Iterator<Item = (SourceId, &Source, &FileSource)> {
        self.sources().filter_map(|(id, source)| Some((id, source, source.file()?)))
    }

    pub(crate) fn file_of(&self, id: SourceId) -> Option<&FileSource> {
        self.source(id)?.file()
    }

    /// The number that stands for a path now; a path that went and came back may have another.
    pub(crate) fn id_of(&self, path: &str) -> Option<SourceId> {
        self.by_path.get(path).copied()
    }

    pub(crate) fn file_count(&self) -> usize {
        self.by_path.len()
    }

    /// Takes in what the watch tells; answers with the files that have to be looked at, and those that are gone.
    pub(crate) fn listed(&mut self, change: Change, modules: &Modules) -> Listed {
        let mut listed = Listed::default();
        match change {
            Change::Changed(entry) => self.enlist(entry, modules, true, &mut listed),
            Change::Removed(path) => {
                if self.strike(&path) {
                    listed.gone.push(path.into());
                }
            }
            Change::Folder { path: folder, entries } => {
                let there: HashSet<&str> = entries.iter().map(|entry| &*entry.path).collect();
                let within = |path: &str| {
                    folder.is_empty()
                        || path.strip_prefix(&*folder).is_some_and(|rest| rest.starts_with('/'))
                };
                listed.gone = self
                    .by_path
                    .keys()
                    .filter(|path| within(path) && !there.contains(&***path))
                    .cloned()
                    .collect();
                for path in &listed.gone {
                    self.strike(path);
                }
                for entry in entries {
                    self.enlist(entry, modules, false, &mut listed);
                }
            }
        }
        listed
    }

    /// A file is looked at if it is new, if it looks different, if somebody knows that it changed, or if grep may see it
    /// now and might not before.
    fn enlist(&mut self, entry: Entry, modules: &Modules, changed: bool, listed: &mut Listed) {
        if let Some(id) = self.by_path.get(&entry.path).copied() {
            let Some(Source { origin: Origin::File(file), .. }) = self.source_mut(id) else {
                return;
            };
            let same = file
                .known
                .as_ref()
                .is_some_and(|known| known.stamp == entry.stamp && known.settled);
            file.stamp = entry.stamp;
            let before = std::mem::replace(&mut file.greppable, entry.greppable);
            if before && !entry.greppable {
                listed.hidden.push(entry.path);
            }
            if changed || !same || entry.greppable && !before {
                listed.look.push(id);
            }
            return;
        }
        let Some(id) = self.next_id() else { return };
        let module = modules.of(&entry.path).map(|module| self.word(&module));
        let purpose = source::role_of(&entry.path, "");
        self.by_path.insert(entry.path.clone(), id);
        if let Some(degree) = self.warm.get(&*entry.path) {
            self.attention.insert(id, *degree);
        }
        self.sources[id.0 as usize] = Some(Source {
            role: roles::in_ranking(&entry.path, purpose),
            module,
            documents: Vec::new(),
            origin: Origin::File(FileSource {
                path: entry.path,
                stamp: entry.stamp,
                greppable: entry.greppable,
                purpose,
                known: None,
            }),
        });
        listed.look.push(id);
    }

    fn strike(&mut self, path: &str) -> bool {
        let known = self.by_path.get(path).copied();
        if let Some(id) = known {
            self.remove(id);
        }
        known.is_some()
    }

    /// Whether the file is known to say what `key` names; then only its stamp is noted.
    pub(crate) fn says(&mut self, path: &str, read: &Read) -> bool {
        let Some(id) = self.by_path.get(path).copied() else { return false };
        let Some(Source { origin: Origin::File(file), .. }) = self.source_mut(id) else {
            return false;
        };
        match &mut file.known {
            Some(known) if known.key == read.key => {
                known.stamp = read.stamp;
                known.settled = read.settled;
                true
            }
            _ => false,
        }
    }

    /// Puts in what was read of a file, unless it is gone by now.
    pub(crate) fn put(&mut self, path: &str, read: &Read, analysis: Analysis) -> Option<SourceId> {
        let id = self.by_path.get(path).copied()?;
        let language = analysis.language.as_deref().map(|language| self.word(language));
        let date = self.file_of(id).map(|file| contract::time::of_file(file.modified()));
        let pieces = analysis.pieces.into_iter().map(|piece| {
            let body = Body::Piece { bytes: piece.bytes, lines: piece.lines, names: piece.names };
            (body, piece.said)
        });
        let records =
            analysis.discoveries.into_iter().zip(analysis.said).map(|(mut record, said)| {
                if record.date.is_empty() {
                    record.date = date.clone().unwrap_or_default();
                }
                (Body::Discovery(Box::new(record)), said)
            });
        let documents = records.chain(pieces).collect();
        self.fill(id, documents);
        let source = self.source_mut(id)?;
        let Origin::File(file) = &mut source.origin else { return None };
        if let Some(role) = analysis.role {
            file.purpose = role;
            source.role = roles::in_ranking(path, role);
        }
        let Read { key, stamp, settled } = *read;
        file.known = Some(Known { key, stamp, settled, language });
        Some(id)
    }

    /// Nothing that was read of a file counts any more.
    pub(crate) fn forget_files(&mut self) {
        let ids: Vec<SourceId> = self.by_path.values().copied().collect();
        for id in ids {
            if let Some(Source { origin: Origin::File(file), .. }) = self.source_mut(id) {
                file.known = None;
            }
        }
    }

    /// Says anew which module each file is in.
    pub(crate) fn set_modules(&mut self, modules: &Modules) {
        let files: Vec<(SourceId, Option<String>)> =
            self.files().map(|(id, _, file)| (id, modules.of(&file.path))).collect();
        for (id, module) in files {
            let module = module.map(|module| self.word(&module));
            if let Some(source) = self.source_mut(id) {
                source.module = module;
            }
        }
    }
}

/// One reading of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub(crate) key: Key,
    pub(crate) stamp: Stamp,
    /// Whether a later change must show in the stamp.
    pub(crate) settled: bool,
}

/// What a change of the listing means for the rest.
#[derive(Default)]
pub(crate) struct Listed {
    pub(crate) look: Vec<SourceId>,
    pub(crate) gone: Vec<Box<str>>,
    /// Files that are there, and that grep may not see any more.
    pub(crate) hidden: Vec<Box<str>>,
}
