#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
//! Searches in a small project. Each ranking rule is visible in a snapshot.

use std::fmt::Write;

use insta::assert_snapshot;
use rank::{
    DocumentCorpus, DocumentFacts, DocumentRole, HybridSearch, PostingIndex, RankDocument,
    SearchQuery, SemanticScorer, TermBag,
};

struct SampleDocument {
    path: &'static str,
    role: DocumentRole,
    symbols: &'static str,
    text: &'static str,
    recency: f32,
    /// A vector with two dimensions; `None` if not yet embedded.
    vector: Option<[f32; 2]>,
}

const fn sample(path: &'static str, symbols: &'static str, text: &'static str) -> SampleDocument {
    SampleDocument { path, role: DocumentRole::Source, symbols, text, recency: 0.0, vector: None }
}

const fn with_role(role: DocumentRole, sample: SampleDocument) -> SampleDocument {
    SampleDocument { role, ..sample }
}

const fn with_vector(vector: [f32; 2], sample: SampleDocument) -> SampleDocument {
    SampleDocument { vector: Some(vector), ..sample }
}

const PROJECT: [SampleDocument; 14] = [
    sample(
        "src/http/router.rs",
        "Router",
        "pub struct Router { table: Vec<Route> } // finds the handler of a request",
    ),
    sample(
        "src/http/router.rs",
        "Router::add",
        "fn add(&mut self, route: Route) { self.table.push(route) }",
    ),
    sample(
        "src/http/server.rs",
        "serve",
        "fn serve(router: Router) { loop { router.find(accept()) } }",
    ),
    sample(
        "src/http/client.rs",
        "Client::retry",
        "fn retry(&self, request: Request) { backoff(); self.send(request) }",
    ),
    sample(
        "src/jobs/backoff.rs",
        "wait",
        "fn wait(attempt: u32) { sleep(base * 2_u32.pow(attempt)) }",
    ),
    sample(
        "src/jobs/queue.rs",
        "Queue",
        "struct Queue; // a failed job comes back later, up to five attempts",
    ),
    with_role(
        DocumentRole::Test,
        sample(
            "tests/router.rs",
            "finds_the_handler",
            "fn finds_the_handler() { Router::new().find(request()) }",
        ),
    ),
    with_role(
        DocumentRole::Example,
        sample(
            "examples/router.rs",
            "main",
            "fn main() { Router::new().add(route) } // finds the handler of a request",
        ),
    ),
    with_role(
        DocumentRole::Docs,
        sample(
            "docs/retry.md",
            "Retries",
            "A request that fails is sent again with exponential backoff.",
        ),
    ),
    sample(
        "vendor/router.rs",
        "Router",
        "pub struct Router { table: Vec<Route> } // finds the handler of a request",
    ),
    with_role(
        DocumentRole::Record,
        sample(
            "",
            "",
            "Decision: sessions live in httpOnly cookies, because tokens in local storage leak.",
        ),
    ),
    with_role(DocumentRole::Record, sample("", "", "Rule: never log a token.")),
    with_vector(
        [0.6, 0.8],
        sample("src/auth/login.rs", "login", "fn login(user: &User) -> Cookie { sign(user.id) }"),
    ),
    with_vector(
        [1.0, 0.0],
        sample(
            "src/auth/hash.rs",
            "hash",
            "fn hash(password: &str) -> Digest { argon2(password) }",
        ),
    ),
];

struct SampleCorpus(Vec<SampleDocument>);

impl DocumentCorpus for SampleCorpus {
    fn document_facts(&self, id: u32) -> DocumentFacts<'_> {
        let sample = &self.0[id as usize];
        let in_file = (!sample.path.is_empty()).then_some(sample.path);
        let first = self.0.iter().position(|other| other.path == sample.path);
        let same = self.0.iter().position(|other| other.text == sample.text);
        DocumentFacts {
            file: in_file.and(first).map(|first| first as u32),
            path: in_file,
            role: sample.role,
            symbols: sample.symbols,
            content: same.unwrap() as u64,
            recency: sample.recency,
        }
    }
}

struct SampleVectors<'a>(&'a SampleCorpus, [f32; 2]);

impl SemanticScorer for SampleVectors<'_> {
    fn nearest(&self, allowed: &(dyn Fn(u32) -> bool + Sync), k: usize) -> Vec<(u32, f32)> {
        let ids = (0..self.0.0.len() as u32).filter(|&id| allowed(id));
        let mut all: Vec<_> = ids.filter_map(|id| Some((id, self.similarity(id)?))).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all.truncate(k);
        all
    }

    fn similarity(&self, id: u32) -> Option<f32> {
        let vector = self.0.0[id as usize].vector?;
        Some(vector[0] * self.1[0] + vector[1] * self.1[1])
    }
}

fn search(
    project: &SampleCorpus,
    query: &str,
    vector: Option<[f32; 2]>,
    only: fn(u32) -> bool,
) -> String {
    let mut postings = PostingIndex::default();
    for (id, sample) in project.0.iter().enumerate() {
        let path = (!sample.path.is_empty()).then_some(sample.path);
        let symbols: Vec<&str> = sample.symbols.lines().collect();
        let document =
            RankDocument { text: sample.text, path, symbols: &symbols, prose: path.is_none() };
        postings.insert(id as u32, &TermBag::from_document(&document));
    }
    let near = vector.map(|vector| SampleVectors(project, vector));
    let meaning = near.as_ref().map(|near| near as &dyn SemanticScorer);
    let ranking = HybridSearch { postings: &postings, meaning, corpus: project }.run(
        &SearchQuery::new(query),
        &only,
        5,
    );
    let mut text = format!("{query} ({} found)\n", ranking.total);
    for hit in ranking.hits {
        let sample = &project.0[hit.id as usize];
        let name = if sample.path.is_empty() { sample.text } else { sample.path };
        let why: Vec<String> = hit.why.iter().map(ToString::to_string).collect();
        writeln!(
            text,
            "  {:.2} {:<20.20} {:<17} {}",
            hit.score,
            name,
            sample.symbols,
            why.join("; ")
        )
        .unwrap();
    }
    text
}

fn check(queries: &[&str]) -> String {
    let project = SampleCorpus(PROJECT.into());
    queries.iter().map(|query| search(&project, query, None, |_| true)).collect()
}

#[test]
fn definitions_rank_before_mentions_and_copies_are_merged() {
    assert_snapshot!(check(&["Router", "Router::add", "retry()", "router"]));
}

#[test]
fn words_find_code_records_and_file_names() {
    assert_snapshot!(check(&[
        "how is the handler of a request found",
        "where do session tokens live?",
        "exponential backoff",
        "http/client.rs",
    ]));
}

#[test]
fn tests_and_examples_rank_first_only_if_requested() {
    assert_snapshot!(check(&["find the handler", "test that finds the handler", "router example"]));
}

#[test]
fn unanswerable_query_gets_low_scores_or_no_hits() {
    assert_snapshot!(check(&[
        "quantum chromodynamics",
        "quantum chromodynamics request lattice",
        ""
    ]));
}

#[test]
fn vectors_find_documents_without_shared_words() {
    let project = SampleCorpus(PROJECT.into());
    assert_snapshot!(search(&project, "authenticate visitors", Some([0.6, 0.8]), |_| true));
}

#[test]
fn recency_breaks_ties() {
    let mut samples: Vec<SampleDocument> = vec![
        sample("src/a.rs", "", "parse the header line"),
        sample("src/b.rs", "", "parse the header, line"),
    ];
    let before = search(&SampleCorpus(samples), "parse header", None, |_| true);
    samples = vec![
        sample("src/a.rs", "", "parse the header line"),
        SampleDocument { recency: 1.0, ..sample("src/b.rs", "", "parse the header, line") },
    ];
    let after = search(&SampleCorpus(samples), "parse header", None, |_| true);
    assert_snapshot!(before + &after);
}

#[test]
fn disallowed_documents_are_not_returned() {
    let project = SampleCorpus(PROJECT.into());
    let only_records = |id| PROJECT[id as usize].role == DocumentRole::Record;
    assert_snapshot!(search(&project, "token router", Some([1.0, 0.0]), only_records));
}
