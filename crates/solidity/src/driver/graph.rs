//! The sources that must be compiled together: entries and everything that they import.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use super::imports::{FoundSource, ImportResolver};
use super::pragma::VersionRange;
use super::scan::scan_source;
use crate::{LoadError, bounded_file};

/// Maximum number of sources, and of their bytes. The largest public projects have about 2,000 sources with 20 MB.
const MAX_SOURCES: usize = 20_000;
const MAX_BYTES: usize = 256 << 20;
/// Maximum number of imports of all sources together. The largest public projects have about 20,000.
const MAX_IMPORTS: usize = 200_000;

/// Sources and their imports. Imports may form cycles.
#[derive(Debug)]
pub(crate) struct SourceGraph {
    pub(crate) sources: Vec<GraphSource>,
    by_name: BTreeMap<String, usize>,
    bytes: usize,
    imports: usize,
}

/// A source with its imports.
#[derive(Debug)]
pub(crate) struct GraphSource {
    /// Name for the compiler.
    pub(crate) name: String,
    pub(crate) text: String,
    /// Version requirements, as written, with their meaning.
    pub(crate) pragmas: Vec<(String, VersionRange)>,
    /// Positions of the sources that it imports.
    pub(super) imports: Vec<usize>,
}

impl SourceGraph {
    /// Reads `entries`, and everything that they import.
    pub(crate) fn read(
        entries: &[FoundSource],
        resolver: &mut ImportResolver,
    ) -> Result<Self, LoadError> {
        let mut graph =
            Self { sources: Vec::new(), by_name: BTreeMap::new(), bytes: 0, imports: 0 };
        for entry in entries {
            graph.add_source(entry, resolver)?;
        }
        Ok(graph)
    }

    /// Adds a source and everything that it imports.
    fn add_source(
        &mut self,
        entry: &FoundSource,
        resolver: &mut ImportResolver,
    ) -> Result<(), LoadError> {
        let mut open: Vec<_> = self.insert(entry)?.into_iter().collect();
        while let Some((index, imports)) = open.pop() {
            self.imports += imports.len();
            if self.imports > MAX_IMPORTS {
                return Err(LoadError::TooManyImports { imports: MAX_IMPORTS });
            }
            let importer = self.sources[index].name.clone();
            let mut targets = BTreeSet::new();
            for import in imports {
                let found = resolver.resolve_import(&importer, &import);
                if resolver.is_exhausted() {
                    return Err(LoadError::TooManyImports { imports: MAX_IMPORTS });
                }
                let Some(found) = found else { continue };
                open.extend(self.insert(&found)?);
                targets.insert(self.by_name[&found.name]);
            }
            self.sources[index].imports.extend(targets);
        }
        Ok(())
    }

    /// Reads a source. Returns its position and its different imports as written, or `None` if it was already read.
    fn insert(&mut self, found: &FoundSource) -> Result<Option<(usize, Vec<String>)>, LoadError> {
        if self.by_name.contains_key(&found.name) {
            return Ok(None);
        }
        let text = bounded_file::read_text(&found.path, bounded_file::MAX_SOURCE)?;
        self.bytes += text.len();
        if self.sources.len() >= MAX_SOURCES || self.bytes > MAX_BYTES {
            return Err(LoadError::TooManySources {
                sources: MAX_SOURCES,
                mebibytes: MAX_BYTES >> 20,
            });
        }
        let mut scan = scan_source(&text);
        let mut known = HashSet::new();
        scan.imports.retain(|import| known.insert(import.clone()));
        let range = |text: String| VersionRange::parse(&text).map(|range| (text, range));
        let index = self.sources.len();
        self.by_name.insert(found.name.clone(), index);
        self.sources.push(GraphSource {
            name: found.name.clone(),
            text,
            pragmas: scan.pragmas.into_iter().filter_map(range).collect(),
            imports: Vec::new(),
        });
        Ok(Some((index, scan.imports)))
    }

    /// Returns the position of a source.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Returns the positions of sources and of everything that they import, in order.
    pub(crate) fn closure(&self, entries: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<_> = entries.into_iter().collect();
        while let Some(index) = open.pop() {
            if reached.insert(index) {
                open.extend(&self.sources[index].imports);
            }
        }
        reached
    }
}

/// Returns true if a source defines a contract called `name`.
pub(crate) fn defines_contract(path: &Path, name: &str) -> bool {
    let text = bounded_file::read_text(path, bounded_file::MAX_SOURCE).unwrap_or_default();
    text.contains(name) && scan_source(&text).contracts.iter().any(|own| own == name)
}
