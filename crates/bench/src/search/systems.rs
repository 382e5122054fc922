//! What is compared: words alone, meaning alone, the plain sum of both, and the ranking of the product.

use std::collections::{BTreeMap, HashSet};

use anyhow::Result;
use rank::vectors::Vectors;
use rank::{Bag, Corpus, Document, Facts, Meaning, Postings, Query, Role, Search};
use source::Language;

use super::collection::Collection;
use super::measure;
use super::vectors::Embeddings;

pub(crate) const SYSTEMS: [System; 4] =
    [System::Words, System::Meaning, System::Sum, System::Vouchsafe];

/// Hits that are asked for; several of one document count once. The tool gives at most so many.
const HITS: usize = 20;

/// What words and meaning each put forward for the plain sum.
const SUMMED: usize = 100;

#[derive(Clone, Copy)]
pub(crate) enum System {
    /// BM25 over identifier-aware terms of the text.
    Words,
    Meaning,
    /// Half of BM25 by the best, half of the cosine between the least and the best.
    Sum,
    Vouchsafe,
}

impl System {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Words => "BM25",
            Self::Meaning => "dense",
            Self::Sum => "plain fusion",
            Self::Vouchsafe => "Vouchsafe",
        }
    }
}

/// A collection, indexed.
pub(crate) struct Systems<'a> {
    collection: &'a Collection,
    pieces: Vec<Piece>,
    plain: Postings,
    postings: Postings,
    vectors: Vectors,
    queries: Vectors,
}

struct Piece {
    document: usize,
    role: Role,
    symbols: String,
    /// Where it lies in the document's text.
    bytes: std::ops::Range<usize>,
}

impl<'a> Systems<'a> {
    pub(crate) fn new(collection: &'a Collection, embeddings: &Embeddings) -> Result<Self> {
        let pieces: Vec<Piece> =
            (0..collection.documents.len()).flat_map(|d| pieces(collection, d)).collect();
        let (mut plain, mut postings, mut texts) =
            (Postings::default(), Postings::default(), Vec::new());
        for (id, piece) in pieces.iter().enumerate() {
            let document = &collection.documents[piece.document];
            let text = &document.text[piece.bytes.clone()];
            let symbols: Vec<&str> = piece.symbols.lines().collect();
            let path = collection.is_project.then_some(document.path.as_str());
            let id = u32::try_from(id)?;
            plain.insert(id, &Bag::of(&Document { text, ..Document::default() }));
            let prose = matches!(piece.role, Role::Record | Role::Docs);
            postings.insert(id, &Bag::of(&Document { text, path, symbols: &symbols, prose }));
            texts.push(match piece.role {
                Role::Record => embed::text::of_prose(text),
                _ => embed::text::of_code(path.unwrap_or_default(), symbols.first().copied(), text),
            });
        }
        let questions: Vec<String> =
            collection.queries.iter().map(|query| query.text.clone()).collect();
        let vectors = embeddings.of(&collection.name, &texts)?;
        let queries = embeddings.of(&format!("{}.queries", collection.name), &questions)?;
        Ok(Self { collection, pieces, plain, postings, vectors, queries })
    }

    /// The documents that a system finds for a query, best first.
    pub(crate) fn answer(&self, system: System, query: usize) -> Vec<usize> {
        let near = self.near(query);
        let question = Query::new(&self.collection.queries[query].text);
        let hits: Vec<u32> = match system {
            System::Words => ids(self.plain.search(&question, &|_| true, HITS).hits),
            System::Meaning => ids(near.nearest(&|_| true, HITS)),
            System::Sum => self.plain_sum(&question, &near),
            System::Vouchsafe => {
                self.search(&question, &near).hits.iter().map(|hit| hit.id).collect()
            }
        };
        let mut seen = HashSet::new();
        let documents = hits.into_iter().map(|id| self.pieces[id as usize].document);
        documents.filter(|document| seen.insert(*document)).collect()
    }

    fn search(&self, query: &Query, near: &Near<'_>) -> rank::Ranking {
        Search { postings: &self.postings, meaning: Some(near), corpus: self }.run(
            query,
            &|_| true,
            HITS,
        )
    }

    fn near(&self, query: usize) -> Near<'_> {
        let query = self.queries.get(query as u32).expect("every query was embedded");
        Near { vectors: &self.vectors, query }
    }

    fn plain_sum(&self, query: &Query, near: &Near<'_>) -> Vec<u32> {
        let words: BTreeMap<u32, f32> =
            self.plain.search(query, &|_| true, SUMMED).hits.into_iter().collect();
        let best = words.values().copied().fold(f32::MIN_POSITIVE, f32::max);
        let mut cosines: BTreeMap<u32, f32> = near.nearest(&|_| true, SUMMED).into_iter().collect();
        for &id in words.keys() {
            cosines.entry(id).or_insert_with(|| near.similarity(id).unwrap_or_default());
        }
        let least = cosines.values().copied().fold(f32::MAX, f32::min);
        let width = cosines.values().copied().fold(f32::MIN, f32::max) - least;
        let score = |(&id, &cosine): (&u32, &f32)| {
            let words = words.get(&id).copied().unwrap_or_else(|| self.plain.score(query, id));
            (id, 0.5 * words / best + 0.5 * (cosine - least) / width.max(f32::MIN_POSITIVE))
        };
        let mut all: Vec<(u32, f32)> = cosines.iter().map(score).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        ids(all)
    }

    /// What went wrong: the queries below a figure, with what was found first and why.
    pub(crate) fn print_worst(&self, below: f64) {
        for (index, query) in self.collection.queries.iter().enumerate() {
            let reached = measure::ndcg(&self.answer(System::Vouchsafe, index), &query.relevant);
            if reached >= below {
                continue;
            }
            let path = |document: usize| self.collection.documents[document].path.as_str();
            let right: Vec<&str> = query.relevant.iter().map(|&document| path(document)).collect();
            println!("{reached:.2} {} -> {}", query.text, right.join(", "));
            for hit in self.search(&Query::new(&query.text), &self.near(index)).hits.iter().take(5)
            {
                let piece = &self.pieces[hit.id as usize];
                let why: Vec<String> = hit.why.iter().map(ToString::to_string).collect();
                let name = piece.symbols.lines().next().unwrap_or("-");
                println!(
                    "     {:.2} {} {name} ({})",
                    hit.score,
                    path(piece.document),
                    why.join("; ")
                );
            }
        }
    }
}

/// As the product's index cuts a file; a text of a set that is prose stands for a record, which stays whole.
fn pieces(collection: &Collection, document: usize) -> Vec<Piece> {
    let file = &collection.documents[document];
    let language = Language::of(&file.path, &file.text);
    if !collection.is_project && file.path.ends_with(".md") {
        let bytes = 0..file.text.len();
        return vec![Piece { document, role: Role::Record, symbols: String::new(), bytes }];
    }
    let role = match source::role_of(&file.path, &file.text) {
        source::Role::Entry | source::Role::Core => Role::Source,
        source::Role::Test => Role::Test,
        source::Role::Config => Role::Config,
        source::Role::Docs => Role::Docs,
        source::Role::Generated => Role::Generated,
    };
    let chunks = source::outline(language, &file.text).chunks.into_iter();
    let piece = |chunk: source::Chunk| {
        let mut names: Vec<&str> = Vec::new();
        for name in
            chunk.name.as_deref().into_iter().chain(chunk.defines.iter().map(String::as_str))
        {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let bytes = chunk.bytes.start as usize..chunk.bytes.end as usize;
        Piece { document, role, symbols: names.join("\n"), bytes }
    };
    chunks.map(piece).filter(|piece| !file.text[piece.bytes.clone()].trim().is_empty()).collect()
}

impl Corpus for Systems<'_> {
    fn facts(&self, id: u32) -> Facts<'_> {
        let piece = &self.pieces[id as usize];
        let file = &self.collection.documents[piece.document];
        Facts {
            file: self.collection.is_project.then_some(piece.document as u32),
            path: self.collection.is_project.then_some(file.path.as_str()),
            role: piece.role,
            symbols: &piece.symbols,
            // Documents that say the same are different answers here: the judgements tell them apart.
            content: u64::from(id),
            attention: 0.0,
        }
    }
}

struct Near<'a> {
    vectors: &'a Vectors,
    query: Vec<f32>,
}

impl Meaning for Near<'_> {
    fn nearest(&self, allowed: &(dyn Fn(u32) -> bool + Sync), k: usize) -> Vec<(u32, f32)> {
        self.vectors.nearest(&self.query, allowed, k)
    }

    fn similarity(&self, id: u32) -> Option<f32> {
        self.vectors.similarity(&self.query, id)
    }
}

fn ids(hits: Vec<(u32, f32)>) -> Vec<u32> {
    hits.into_iter().map(|(id, _)| id).collect()
}
