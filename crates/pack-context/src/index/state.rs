//! The in-memory index: sources, their documents, terms and vectors.
//!
//! A *source* is a file of the project, or a record that is not in a file (a commit, an added discovery, a session). A
//! *document* is a unit of search: a chunk of a file, a discovery, a session. Its number combines the number of its
//! source and its position in the source. So terms, vectors and results share one number space, and the numbers of the
//! first listing do not depend on thread timing. Texts of files are not kept: a search reads the snippets that it
//! shows.
//!
//! One lock guards all of it. Readers hold it for one search, some milliseconds; writers for one source at a time, far
//! less. Swapping immutable snapshots instead would copy the whole index on every saved file.

mod files;
mod ids;
mod sources;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rank::vectors::VectorIndex;
use rank::{DocumentCorpus, DocumentFacts, DocumentRole, PostingIndex, TermBag};

pub(crate) use self::files::FileVersion;
pub(crate) use self::ids::{DocumentId, MAX_DOCUMENTS, SourceId};
pub(crate) use self::sources::{DocumentBody, IndexDocument, IndexSource, SourceOrigin};
use super::analysis::TextFeatures;
use super::cache::ContentKey;

/// Prefix of the names of session records.
pub(crate) const SESSION_FAMILY: &str = "session:";

/// Sources and documents of the index, with their terms and vectors.
#[derive(Default)]
pub(crate) struct InMemoryIndex {
    sources: Vec<Option<IndexSource>>,
    /// Numbers of removed sources, for reuse.
    free: Vec<SourceId>,
    by_path: HashMap<Box<str>, SourceId>,
    by_record: HashMap<Box<str>, SourceId>,
    pub(crate) postings: PostingIndex,
    /// `None` until the first vector is inserted.
    pub(crate) vectors: Option<VectorIndex>,
    /// Recency of files, from 0 to 1; files without recent use are absent.
    pub(crate) recency: HashMap<SourceId, f32>,
    /// Recency by path, for files that are listed later.
    recency_by_path: HashMap<String, f32>,
    /// Interned names of languages and modules.
    interned: HashSet<Arc<str>>,
    /// Incremented by every change of documents.
    pub(crate) generation: u64,
}

/// A record to insert: its document, the features of its text, and its module.
pub(crate) struct NewRecord {
    pub(crate) name: Box<str>,
    pub(crate) body: DocumentBody,
    pub(crate) features: TextFeatures,
    pub(crate) module: Option<String>,
}

impl InMemoryIndex {
    pub(crate) fn source(&self, id: SourceId) -> Option<&IndexSource> {
        self.sources.get(id.0 as usize)?.as_ref()
    }

    pub(crate) fn document(&self, id: DocumentId) -> Option<(&IndexSource, &IndexDocument)> {
        let source = self.source(id.source())?;
        Some((source, source.documents.get(id.position())?))
    }

    pub(crate) fn sources(&self) -> impl Iterator<Item = (SourceId, &IndexSource)> {
        let numbered = self.sources.iter().enumerate();
        numbered.filter_map(|(number, source)| Some((SourceId(number as u32), source.as_ref()?)))
    }

    pub(crate) fn documents(
        &self,
    ) -> impl Iterator<Item = (DocumentId, &IndexSource, &IndexDocument)> {
        self.sources().flat_map(|(id, source)| {
            let numbered = source.documents.iter().enumerate();
            numbered
                .map(move |(position, document)| (DocumentId::new(id, position), source, document))
        })
    }

    /// Returns the source of a record by name.
    /// Returns the session records that a caller must not find, sorted: those of other principals, and its own session.
    pub(crate) fn hidden_sessions(&self, principal: &str, own: &str) -> Vec<SourceId> {
        let sessions = self.by_record.iter().filter(|(name, _)| name.starts_with(SESSION_FAMILY));
        let is_hidden = |id: SourceId| match self.document(DocumentId::new(id, 0)) {
            Some((_, IndexDocument { body: DocumentBody::Session(session), .. })) => {
                session.principal != principal || session.id == own
            }
            _ => true,
        };
        let mut hidden: Vec<_> = sessions.map(|(_, id)| *id).filter(|id| is_hidden(*id)).collect();
        hidden.sort_unstable();
        hidden
    }

    /// Returns the number of documents.
    pub(crate) fn len(&self) -> usize {
        self.postings.len()
    }

    /// Replaces all records whose names start with `family`. Returns the documents that are new.
    pub(crate) fn replace_records(
        &mut self,
        family: &str,
        records: Vec<NewRecord>,
    ) -> Vec<DocumentId> {
        let mut new = Vec::new();
        let names: HashSet<&str> = records.iter().map(|record| &*record.name).collect();
        let gone: Vec<SourceId> = self
            .by_record
            .iter()
            .filter(|(name, _)| name.starts_with(family) && !names.contains(&***name))
            .map(|(_, id)| *id)
            .collect();
        for id in gone {
            self.remove_source(id);
        }
        for NewRecord { name, body, features, module } in records {
            let module = module.map(|module| self.intern_str(&module));
            let old = self.by_record.get(&name).copied();
            if let Some(known) = old.and_then(|id| self.source_mut(id))
                && known
                    .documents
                    .first()
                    .is_some_and(|document| document.digest == features.digest)
            {
                known.module = module;
                known.documents[0].body = body;
                continue;
            }
            let Some(id) = old.or_else(|| self.allocate_id()) else { break };
            let origin = SourceOrigin::Record(name.clone());
            self.clear_documents(id);
            self.by_record.insert(name, id);
            self.sources[id.0 as usize] = Some(IndexSource {
                origin,
                role: DocumentRole::Record,
                module,
                documents: Vec::new(),
            });
            self.replace_documents(id, vec![(body, features)]);
            new.push(DocumentId::new(id, 0));
        }
        new
    }

    /// Sets the vector of a document. Returns false if the row is invalid, or its length differs from the other
    /// vectors.
    pub(crate) fn put_vector(&mut self, id: DocumentId, row: &[u8]) -> bool {
        let vectors = match &mut self.vectors {
            Some(vectors) => vectors,
            None => match VectorIndex::encoded_dims(row) {
                Some(dims) => self.vectors.insert(VectorIndex::new(dims)),
                None => return false,
            },
        };
        vectors.insert_encoded(id.number(), row)
    }

    /// Removes all vectors.
    pub(crate) fn remove_all_vectors(&mut self) {
        self.vectors = None;
        self.generation += 1;
    }

    /// Replaces the documents of a source. A text that was present before keeps its vector.
    fn replace_documents(&mut self, id: SourceId, documents: Vec<(DocumentBody, TextFeatures)>) {
        let old_vectors = self.vectors_by_key(id);
        self.clear_documents(id);
        let mut new_documents = Vec::with_capacity(documents.len());
        for (position, (body, features)) in documents.into_iter().take(MAX_DOCUMENTS).enumerate() {
            let number = DocumentId::new(id, position).number();
            self.postings.insert(number, &TermBag::from_bytes(&features.bag).unwrap_or_default());
            let old_vector = old_vectors.get(&features.embedding_key);
            if let (Some(vectors), Some(vector)) = (&mut self.vectors, old_vector) {
                vectors.insert(number, vector);
            }
            new_documents.push(IndexDocument {
                body,
                digest: features.digest,
                embedding_key: features.embedding_key,
            });
        }
        if let Some(source) = self.source_mut(id) {
            source.documents = new_documents;
        }
    }

    /// Returns the vectors of a source's documents, by embedding key.
    fn vectors_by_key(&self, id: SourceId) -> HashMap<ContentKey, Vec<f32>> {
        let (Some(vectors), Some(source)) = (&self.vectors, self.source(id)) else {
            return HashMap::new();
        };
        let numbered = source.documents.iter().enumerate();
        numbered
            .filter_map(|(position, document)| {
                let vector = vectors.get(DocumentId::new(id, position).number())?;
                Some((document.embedding_key, vector))
            })
            .collect()
    }

    /// Returns the discoveries of a source that have no vector yet.
    pub(crate) fn unembedded_discoveries(&self, id: SourceId) -> Vec<DocumentId> {
        let Some(source) = self.source(id) else { return Vec::new() };
        let numbered = source.documents.iter().enumerate();
        numbered
            .filter(|(_, document)| !document.is_chunk())
            .map(|(position, _)| DocumentId::new(id, position))
            .filter(|id| !self.has_vector(*id))
            .collect()
    }

    /// Replaces the recency of all files.
    pub(crate) fn set_recency(&mut self, recency: HashMap<String, f32>) {
        let known = recency
            .iter()
            .filter_map(|(path, degree)| Some((*self.by_path.get(&**path)?, *degree)));
        self.recency = known.collect();
        self.recency_by_path = recency;
    }

    pub(crate) fn has_vector(&self, id: DocumentId) -> bool {
        self.vectors.as_ref().is_some_and(|vectors| vectors.contains(id.number()))
    }

    /// Removes the documents of a source.
    fn clear_documents(&mut self, id: SourceId) {
        self.generation += 1;
        let Some(source) = self.sources[id.0 as usize].as_mut() else { return };
        let count = std::mem::take(&mut source.documents).len();
        for position in 0..count {
            let number = DocumentId::new(id, position).number();
            self.postings.remove(number);
            if let Some(vectors) = &mut self.vectors {
                vectors.remove(number);
            }
        }
    }

    pub(crate) fn remove_source(&mut self, id: SourceId) {
        self.clear_documents(id);
        let Some(source) = self.sources[id.0 as usize].take() else { return };
        match source.origin {
            SourceOrigin::File(file) => self.by_path.remove(&file.path),
            SourceOrigin::Record(name) => self.by_record.remove(&name),
        };
        self.recency.remove(&id);
        self.free.push(id);
    }

    fn allocate_id(&mut self) -> Option<SourceId> {
        if let Some(id) = self.free.pop() {
            return Some(id);
        }
        let id = SourceId(u32::try_from(self.sources.len()).ok()?);
        if self.sources.len() == ids::MAX_SOURCES {
            return None;
        }
        self.sources.push(None);
        Some(id)
    }

    fn source_mut(&mut self, id: SourceId) -> Option<&mut IndexSource> {
        self.sources.get_mut(id.0 as usize)?.as_mut()
    }

    /// Returns the shared copy of a text.
    fn intern_str(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.interned.get(text) {
            return Arc::clone(known);
        }
        let shared: Arc<str> = text.into();
        self.interned.insert(Arc::clone(&shared));
        shared
    }
}

impl DocumentCorpus for InMemoryIndex {
    fn document_facts(&self, number: u32) -> DocumentFacts<'_> {
        let id = DocumentId::from(number);
        let Some((source, document)) = self.document(id) else { return DocumentFacts::default() };
        let is_chunk = document.is_chunk();
        let symbols = match &document.body {
            DocumentBody::Chunk { names, .. } => names,
            DocumentBody::Discovery(_) | DocumentBody::Session(_) => "",
        };
        DocumentFacts {
            // Discoveries of one file are independent: a second one is not ranked lower because of the first.
            file: (is_chunk).then_some(id.source().0),
            path: source.path().filter(|_| is_chunk),
            role: match &document.body {
                DocumentBody::Chunk { .. } => source.role,
                DocumentBody::Discovery(_) => DocumentRole::Record,
                // An earlier search is less useful than the documents it returned.
                DocumentBody::Session(_) => DocumentRole::Example,
            },
            symbols,
            content: document.digest,
            recency: self.recency.get(&id.source()).copied().unwrap_or_default(),
        }
    }
}
