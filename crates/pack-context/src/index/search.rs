//! From a question to what answers it.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use contract::{text, time};
use embed::EmbedError;
use rank::{Hit, Meaning, Query, Ranking, Search};

use super::Index;
use super::meaning::{Asked, Near};
use super::snippet;
use super::state::{Body, Document, DocumentId, Source, SourceId, State};
use crate::discover::{Discovery, Kind};
use crate::sessions::SessionText;

/// A piece that has changed since it was ranked is looked at again, so many times.
const ATTEMPTS: usize = 3;

pub(crate) struct Question<'a> {
    pub(crate) text: &'a str,
    /// Only discoveries of this kind.
    pub(crate) kind: Option<Kind>,
    pub(crate) module: Option<&'a str>,
    /// The session that asks: what it did itself is no answer to it.
    pub(crate) session: &'a str,
    pub(crate) limit: usize,
    /// How long the vector of the question is waited for.
    pub(crate) until: Instant,
}

#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// Best first.
    pub(crate) found: Vec<Found>,
    /// How many documents answer at all.
    pub(crate) total: usize,
}

/// One document that answers, with all that is shown of it.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) what: What,
    pub(crate) module: Option<String>,
    /// From 0 to 1.
    pub(crate) score: f32,
    pub(crate) why: Vec<String>,
}

#[derive(Debug)]
pub(crate) enum What {
    Code { path: Box<str>, lines: Range<u32>, text: String, date: String },
    Discovery(Discovery),
    Session(SessionText),
}

/// Why a question has no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// There is no vector for the question.
    NotEmbedded(Arc<EmbedError>),
    /// Nobody waits any more.
    Cancelled,
}

impl Index {
    pub(crate) fn answer(
        &self,
        question: &Question<'_>,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Answer, Unanswered> {
        let query = Query::new(question.text);
        let asked = self.ask(question.text);
        for attempt in 1.. {
            let (picked, total) = self.rank(question, &query, asked.as_deref(), cancelled)?;
            let (found, stale) = self.show(picked, &query);
            if stale.is_empty() || attempt == ATTEMPTS {
                return Ok(Answer { found, total });
            }
            self.core.work.add(stale.into_iter().map(|id| (0, id)));
            self.keeper.help(cancelled);
        }
        unreachable!("the last attempt returns")
    }

    /// The vector of the question, where there are vectors to hold it against.
    fn ask(&self, text: &str) -> Option<Arc<Asked>> {
        let questions = self.questions.as_ref()?;
        let some = self.core.state().vectors.as_ref().is_some_and(|vectors| !vectors.is_empty());
        (some || self.keeper.is_ready()).then(|| questions.ask(text))
    }

    /// The best documents, with what is needed to show them once the lock is gone.
    fn rank(
        &self,
        question: &Question<'_>,
        query: &Query,
        asked: Option<&Asked>,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<(Vec<Picked>, usize), Unanswered> {
        loop {
            let state = self.core.state();
            let near = match (asked, &state.vectors) {
                (Some(asked), Some(vectors)) => {
                    Some(Near { asked, vectors, late: Cell::new(false) })
                }
                _ => None,
            };
            let meaning = near.as_ref().map(|near| near as &dyn Meaning);
            let search = Search { postings: &state.postings, meaning, corpus: &*state };
            let own = state.record(&format!("session:{}", question.session));
            let allowed = |number| {
                let id = DocumentId::from(number);
                Some(id.source()) != own && allows(&state, question, id)
            };
            let ranking = search.run(query, &allowed, question.limit);
            if !near.as_ref().is_some_and(|near| near.late.get()) {
                self.surface(&state, &ranking);
                // What no word and no meaning speaks for only filled the list up.
                let hits = ranking.hits.into_iter().filter(|hit| !hit.why.is_empty());
                let picked = hits.filter_map(|hit| pick(&state, hit)).collect();
                drop(state);
                // Known by now, unless there was nothing to hold it against.
                if let Some(asked) = asked {
                    let vector = wait_for(asked, question, cancelled)?;
                    self.expect(vector.len());
                }
                return Ok((picked, ranking.total));
            }
            drop(state);
            let asked = asked.expect("only a vector that was asked for is late");
            wait_for(asked, question, cancelled)?;
        }
    }

    /// A vector of another length than those of the documents says that the model is another one.
    fn expect(&self, dims: usize) {
        if let Some(embedding) = &self.embedding {
            embedding.expect(dims);
        }
    }

    /// What a search found is worth a vector before the rest.
    fn surface(&self, state: &State, ranking: &Ranking) {
        let Some(embedding) = &self.embedding else { return };
        let ids = ranking.hits.iter().map(|hit| DocumentId::from(hit.id));
        embedding.prefer(ids.filter(|id| !state.has_vector(*id)));
    }

    /// Reads what is shown of each; names the files that say something else by now.
    fn show(&self, picked: Vec<Picked>, query: &Query) -> (Vec<Found>, Vec<SourceId>) {
        let mut stale = Vec::new();
        let found = picked
            .into_iter()
            .filter_map(|Picked { source, module, hit, body }| {
                let what = match body {
                    Picture::Piece { path, bytes, lines, digest, date } => {
                        let Some(whole) = snippet::read(&self.core.tree, &path, &bytes, digest)
                        else {
                            stale.push(source);
                            return None;
                        };
                        let part = snippet::best_part(&whole, query);
                        let lines = lines.start + part.lines.start..lines.start + part.lines.end;
                        What::Code { path, lines, text: text::visible(&part.text), date }
                    }
                    Picture::Discovery(discovery) => What::Discovery(discovery),
                    Picture::Session(session) => What::Session(session),
                };
                let why = hit.why.iter().map(ToString::to_string).collect();
                Some(Found { what, module, score: hit.score, why })
            })
            .collect();
        (found, stale)
    }
}

/// Waits for the vector of a question, as long as the question allows.
fn wait_for(
    asked: &Asked,
    question: &Question<'_>,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Arc<[f32]>, Unanswered> {
    let began = Instant::now();
    match asked.wait(&|| cancelled() || Instant::now() >= question.until) {
        Some(outcome) => outcome.map_err(Unanswered::NotEmbedded),
        None if cancelled() => Err(Unanswered::Cancelled),
        None => Err(Unanswered::NotEmbedded(Arc::new(EmbedError::Timeout(began.elapsed())))),
    }
}

/// A document that was found, taken out of the state.
struct Picked {
    source: SourceId,
    module: Option<String>,
    hit: Hit,
    body: Picture,
}

enum Picture {
    Piece { path: Box<str>, bytes: Range<u32>, lines: Range<u32>, digest: u64, date: String },
    Discovery(Discovery),
    Session(SessionText),
}

fn pick(state: &State, hit: Hit) -> Option<Picked> {
    let id = DocumentId::from(hit.id);
    let (source, document) = state.document(id)?;
    let module = module_of(source, document).map(str::to_owned);
    let body = match &document.body {
        Body::Piece { bytes, lines, .. } => Picture::Piece {
            path: source.path()?.into(),
            bytes: bytes.clone(),
            lines: lines.clone(),
            digest: document.digest,
            date: time::of_file(source.file()?.modified()),
        },
        Body::Discovery(discovery) => Picture::Discovery((**discovery).clone()),
        Body::Session(session) => Picture::Session((**session).clone()),
    };
    Some(Picked { source: id.source(), module, hit, body })
}

/// Whether the filters of a question let a document through.
fn allows(state: &State, question: &Question<'_>, id: DocumentId) -> bool {
    if question.kind.is_none() && question.module.is_none() {
        return true;
    }
    let Some((source, document)) = state.document(id) else { return false };
    question.kind.is_none_or(|kind| document.kind() == Some(kind))
        && question.module.is_none_or(|asked| {
            module_of(source, document).is_some_and(|module| module.eq_ignore_ascii_case(asked))
        })
}

/// A discovery has its own, or that of its file where it is about that.
pub(super) fn module_of<'a>(source: &'a Source, document: &'a Document) -> Option<&'a str> {
    match &document.body {
        Body::Discovery(discovery) => {
            let own = discovery.module.as_deref();
            own.or_else(|| source.module.as_deref().filter(|_| discovery.is_about_its_place()))
        }
        Body::Piece { .. } | Body::Session(_) => source.module.as_deref(),
    }
}
