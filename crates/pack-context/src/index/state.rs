//! What the index holds in memory: sources, the documents in them, their words and their vectors.
//!
//! A *source* is a file of the project, or one record that lies in no file (a commit, an added discovery, a session). A
//! *document* is what a search finds: a piece of a file, a discovery, a session. Its number is made of the number of its
//! source and its place in it. So one number space serves words, vectors and answers, and the numbers of a first
//! listing do not depend on which thread was quicker. Texts of files are not kept: an answer reads what it shows.
//!
//! One lock holds all of it. Readers hold it for one search, some milliseconds; writers for one source at a time, far
//! less. Immutable parts that are swapped whole would make every saved file cost what the index weighs.

mod files;
mod ids;
mod sources;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rank::vectors::Vectors;
use rank::{Bag, Corpus, Facts, Postings, Role};

pub(crate) use self::files::Read;
pub(crate) use self::ids::{DocumentId, MAX_DOCUMENTS, SourceId};
pub(crate) use self::sources::{Body, Document, Origin, Source};
use super::analysis::Said;
use super::cache::Key;

#[derive(Default)]
pub(crate) struct State {
    sources: Vec<Option<Source>>,
    /// Numbers that may be given out again.
    free: Vec<SourceId>,
    by_path: HashMap<Box<str>, SourceId>,
    by_record: HashMap<Box<str>, SourceId>,
    pub(crate) postings: Postings,
    /// None where nothing embeds.
    pub(crate) vectors: Option<Vectors>,
    /// How much files are on people's minds, from 0 to 1; those that are not are not here.
    pub(crate) attention: HashMap<SourceId, f32>,
    /// The same by path, for files that are listed later.
    warm: HashMap<String, f32>,
    /// Language names and modules, each once.
    words: HashSet<Arc<str>>,
    /// Raised by every change of documents.
    pub(crate) generation: u64,
}

/// What a record is made of: its document, the words of it, and the module it belongs to.
pub(crate) struct NewRecord {
    pub(crate) name: Box<str>,
    pub(crate) body: Body,
    pub(crate) said: Said,
    pub(crate) module: Option<String>,
}

impl State {
    pub(crate) fn source(&self, id: SourceId) -> Option<&Source> {
        self.sources.get(id.0 as usize)?.as_ref()
    }

    pub(crate) fn document(&self, id: DocumentId) -> Option<(&Source, &Document)> {
        let source = self.source(id.source())?;
        Some((source, source.documents.get(id.place())?))
    }

    pub(crate) fn sources(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        let numbered = self.sources.iter().enumerate();
        numbered.filter_map(|(number, source)| Some((SourceId(number as u32), source.as_ref()?)))
    }

    pub(crate) fn documents(&self) -> impl Iterator<Item = (DocumentId, &Source, &Document)> {
        self.sources().flat_map(|(id, source)| {
            let numbered = source.documents.iter().enumerate();
            numbered.map(move |(place, document)| (DocumentId::new(id, place), source, document))
        })
    }

    /// The source of a record, by its name.
    pub(crate) fn record(&self, name: &str) -> Option<SourceId> {
        self.by_record.get(name).copied()
    }

    /// How many documents there are.
    pub(crate) fn len(&self) -> usize {
        self.postings.len()
    }

    /// Makes the records whose names begin with `family` exactly these; tells which documents are new.
    pub(crate) fn set_records(&mut self, family: &str, records: Vec<NewRecord>) -> Vec<DocumentId> {
        let mut new = Vec::new();
        let names: HashSet<&str> = records.iter().map(|record| &*record.name).collect();
        let gone: Vec<SourceId> = self
            .by_record
            .iter()
            .filter(|(name, _)| name.starts_with(family) && !names.contains(&***name))
            .map(|(_, id)| *id)
            .collect();
        for id in gone {
            self.remove(id);
        }
        for NewRecord { name, body, said, module } in records {
            let module = module.map(|module| self.word(&module));
            let old = self.by_record.get(&name).copied();
            if let Some(known) = old.and_then(|id| self.source_mut(id))
                && known.documents.first().is_some_and(|document| document.digest == said.digest)
            {
                known.module = module;
                known.documents[0].body = body;
                continue;
            }
            let Some(id) = old.or_else(|| self.next_id()) else { break };
            let origin = Origin::Record(name.clone());
            self.clear(id);
            self.by_record.insert(name, id);
            self.sources[id.0 as usize] =
                Some(Source { origin, role: Role::Record, module, documents: Vec::new() });
            self.fill(id, vec![(body, said)]);
            new.push(DocumentId::new(id, 0));
        }
        new
    }

    /// Gives a document its vector; false if the row is none, or of another model than the others.
    pub(crate) fn put_vector(&mut self, id: DocumentId, row: &[u8]) -> bool {
        let vectors = match &mut self.vectors {
            Some(vectors) => vectors,
            None => match Vectors::dims_of(row) {
                Some(dims) => self.vectors.insert(Vectors::new(dims)),
                None => return false,
            },
        };
        vectors.insert_row(id.number(), row)
    }

    /// No document has a vector any more.
    pub(crate) fn forget_vectors(&mut self) {
        self.vectors = None;
        self.generation += 1;
    }

    /// Gives a source these documents instead of those it had. A text that was there before keeps its vector.
    fn fill(&mut self, id: SourceId, documents: Vec<(Body, Said)>) {
        let known = self.vectors_of(id);
        self.clear(id);
        let mut kept = Vec::with_capacity(documents.len());
        for (place, (body, said)) in documents.into_iter().take(MAX_DOCUMENTS).enumerate() {
            let number = DocumentId::new(id, place).number();
            self.postings.insert(number, &Bag::from_bytes(&said.bag).unwrap_or_default());
            if let (Some(vectors), Some(vector)) = (&mut self.vectors, known.get(&said.embedded)) {
                vectors.insert(number, vector);
            }
            kept.push(Document { body, digest: said.digest, embedded: said.embedded });
        }
        if let Some(source) = self.source_mut(id) {
            source.documents = kept;
        }
    }

    /// The vectors of a source's documents, by what was embedded.
    fn vectors_of(&self, id: SourceId) -> HashMap<Key, Vec<f32>> {
        let (Some(vectors), Some(source)) = (&self.vectors, self.source(id)) else {
            return HashMap::new();
        };
        let numbered = source.documents.iter().enumerate();
        numbered
            .filter_map(|(place, document)| {
                let vector = vectors.get(DocumentId::new(id, place).number())?;
                Some((document.embedded, vector))
            })
            .collect()
    }

    /// The discoveries of a source that have no vector yet.
    pub(crate) fn unembedded(&self, id: SourceId) -> Vec<DocumentId> {
        let Some(source) = self.source(id) else { return Vec::new() };
        let numbered = source.documents.iter().enumerate();
        numbered
            .filter(|(_, document)| !document.is_piece())
            .map(|(place, _)| DocumentId::new(id, place))
            .filter(|id| !self.has_vector(*id))
            .collect()
    }

    /// Says anew which files are on people's minds, and how much.
    pub(crate) fn set_warm(&mut self, warm: HashMap<String, f32>) {
        let known =
            warm.iter().filter_map(|(path, degree)| Some((*self.by_path.get(&**path)?, *degree)));
        self.attention = known.collect();
        self.warm = warm;
    }

    pub(crate) fn has_vector(&self, id: DocumentId) -> bool {
        self.vectors.as_ref().is_some_and(|vectors| vectors.contains(id.number()))
    }

    /// Takes the documents of a source out.
    fn clear(&mut self, id: SourceId) {
        self.generation += 1;
        let Some(source) = self.sources[id.0 as usize].as_mut() else { return };
        let count = std::mem::take(&mut source.documents).len();
        for place in 0..count {
            let number = DocumentId::new(id, place).number();
            self.postings.remove(number);
            if let Some(vectors) = &mut self.vectors {
                vectors.remove(number);
            }
        }
    }

    pub(crate) fn remove(&mut self, id: SourceId) {
        self.clear(id);
        let Some(source) = self.sources[id.0 as usize].take() else { return };
        match source.origin {
            Origin::File(file) => self.by_path.remove(&file.path),
            Origin::Record(name) => self.by_record.remove(&name),
        };
        self.attention.remove(&id);
        self.free.push(id);
    }

    fn next_id(&mut self) -> Option<SourceId> {
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

    fn source_mut(&mut self, id: SourceId) -> Option<&mut Source> {
        self.sources.get_mut(id.0 as usize)?.as_mut()
    }

    /// The same text, held once.
    fn word(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.words.get(text) {
            return Arc::clone(known);
        }
        let word: Arc<str> = text.into();
        self.words.insert(Arc::clone(&word));
        word
    }
}

impl Corpus for State {
    fn facts(&self, number: u32) -> Facts<'_> {
        let id = DocumentId::from(number);
        let Some((source, document)) = self.document(id) else { return Facts::default() };
        let is_piece = document.is_piece();
        let symbols = match &document.body {
            Body::Piece { names, .. } => names,
            Body::Discovery(_) | Body::Session(_) => "",
        };
        Facts {
            // Discoveries of one file are statements of their own: a second one is not held back for the first.
            file: (is_piece).then_some(id.source().0),
            path: source.path().filter(|_| is_piece),
            role: match &document.body {
                Body::Piece { .. } => source.role,
                Body::Discovery(_) => Role::Record,
                // That somebody asked is less of an answer than what they found.
                Body::Session(_) => Role::Example,
            },
            symbols,
            content: document.digest,
            attention: self.attention.get(&id.source()).copied().unwrap_or_default(),
        }
    }
}
