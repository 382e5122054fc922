#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
//! A small project, and what is found in it: each rule of the ranking shows in a snapshot.

use std::fmt::Write;

use insta::assert_snapshot;
use rank::{Bag, Corpus, Document, Facts, Meaning, Postings, Query, Role, Search};

struct Piece {
    path: &'static str,
    role: Role,
    symbols: &'static str,
    text: &'static str,
    attention: f32,
    /// A meaning in two dimensions; `None` for what is not yet embedded.
    vector: Option<[f32; 2]>,
}

const fn piece(path: &'static str, symbols: &'static str, text: &'static str) -> Piece {
    Piece { path, role: Role::Source, symbols, text, attention: 0.0, vector: None }
}

const fn of_role(role: Role, piece: Piece) -> Piece {
    Piece { role, ..piece }
}

const fn meaning(vector: [f32; 2], piece: Piece) -> Piece {
    Piece { vector: Some(vector), ..piece }
}

const PROJECT: [Piece; 14] = [
    piece(
        "src/http/router.rs",
        "Router",
        "pub struct Router { table: Vec<Route> } // finds the handler of a request",
    ),
    piece(
        "src/http/router.rs",
        "Router::add",
        "fn add(&mut self, route: Route) { self.table.push(route) }",
    ),
    piece(
        "src/http/server.rs",
        "serve",
        "fn serve(router: Router) { loop { router.find(accept()) } }",
    ),
    piece(
        "src/http/client.rs",
        "Client::retry",
        "fn retry(&self, request: Request) { backoff(); self.send(request) }",
    ),
    piece(
        "src/jobs/backoff.rs",
        "wait",
        "fn wait(attempt: u32) { sleep(base * 2_u32.pow(attempt)) }",
    ),
    piece(
        "src/jobs/queue.rs",
        "Queue",
        "struct Queue; // a failed job comes back later, up to five attempts",
    ),
    of_role(
        Role::Test,
        piece(
            "tests/router.rs",
            "finds_the_handler",
            "fn finds_the_handler() { Router::new().find(request()) }",
        ),
    ),
    of_role(
        Role::Example,
        piece(
            "examples/router.rs",
            "main",
            "fn main() { Router::new().add(route) } // finds the handler of a request",
        ),
    ),
    of_role(
        Role::Docs,
        piece(
            "docs/retry.md",
            "Retries",
            "A request that fails is sent again with exponential backoff.",
        ),
    ),
    piece(
        "vendor/router.rs",
        "Router",
        "pub struct Router { table: Vec<Route> } // finds the handler of a request",
    ),
    of_role(
        Role::Record,
        piece(
            "",
            "",
            "Decision: sessions live in httpOnly cookies, because tokens in local storage leak.",
        ),
    ),
    of_role(Role::Record, piece("", "", "Rule: never log a token.")),
    meaning(
        [0.6, 0.8],
        piece("src/auth/login.rs", "login", "fn login(user: &User) -> Cookie { sign(user.id) }"),
    ),
    meaning(
        [1.0, 0.0],
        piece("src/auth/hash.rs", "hash", "fn hash(password: &str) -> Digest { argon2(password) }"),
    ),
];

struct Project(Vec<Piece>);

impl Corpus for Project {
    fn facts(&self, id: u32) -> Facts<'_> {
        let piece = &self.0[id as usize];
        let in_file = (!piece.path.is_empty()).then_some(piece.path);
        let first = self.0.iter().position(|other| other.path == piece.path);
        let same = self.0.iter().position(|other| other.text == piece.text);
        Facts {
            file: in_file.and(first).map(|first| first as u32),
            path: in_file,
            role: piece.role,
            symbols: piece.symbols,
            content: same.unwrap() as u64,
            attention: piece.attention,
        }
    }
}

struct Near<'a>(&'a Project, [f32; 2]);

impl Meaning for Near<'_> {
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
    project: &Project,
    query: &str,
    vector: Option<[f32; 2]>,
    only: fn(u32) -> bool,
) -> String {
    let mut postings = Postings::default();
    for (id, piece) in project.0.iter().enumerate() {
        let path = (!piece.path.is_empty()).then_some(piece.path);
        let symbols: Vec<&str> = piece.symbols.lines().collect();
        let document =
            Document { text: piece.text, path, symbols: &symbols, prose: path.is_none() };
        postings.insert(id as u32, &Bag::of(&document));
    }
    let near = vector.map(|vector| Near(project, vector));
    let meaning = near.as_ref().map(|near| near as &dyn Meaning);
    let ranking =
        Search { postings: &postings, meaning, corpus: project }.run(&Query::new(query), &only, 5);
    let mut shown = format!("{query} ({} found)\n", ranking.total);
    for hit in ranking.hits {
        let piece = &project.0[hit.id as usize];
        let name = if piece.path.is_empty() { piece.text } else { piece.path };
        let why: Vec<String> = hit.why.iter().map(ToString::to_string).collect();
        writeln!(
            shown,
            "  {:.2} {:<20.20} {:<17} {}",
            hit.score,
            name,
            piece.symbols,
            why.join("; ")
        )
        .unwrap();
    }
    shown
}

fn check(queries: &[&str]) -> String {
    let project = Project(PROJECT.into());
    queries.iter().map(|query| search(&project, query, None, |_| true)).collect()
}

#[test]
fn a_definition_comes_before_its_mentions_and_copies_are_folded() {
    assert_snapshot!(check(&["Router", "Router::add", "retry()", "router"]));
}

#[test]
fn words_find_code_records_and_files_by_their_names() {
    assert_snapshot!(check(&[
        "how is the handler of a request found",
        "where do session tokens live?",
        "exponential backoff",
        "http/client.rs",
    ]));
}

#[test]
fn tests_and_examples_come_first_only_when_asked_for() {
    assert_snapshot!(check(&["find the handler", "test that finds the handler", "router example"]));
}

#[test]
fn a_query_that_nothing_answers_gets_low_scores_or_none() {
    assert_snapshot!(check(&[
        "quantum chromodynamics",
        "quantum chromodynamics request lattice",
        ""
    ]));
}

#[test]
fn meaning_finds_what_no_word_does() {
    let project = Project(PROJECT.into());
    assert_snapshot!(search(&project, "authenticate somebody", Some([0.6, 0.8]), |_| true));
}

#[test]
fn attention_decides_between_equals() {
    let mut pieces: Vec<Piece> = vec![
        piece("src/a.rs", "", "parse the header line"),
        piece("src/b.rs", "", "parse the header, line"),
    ];
    let before = search(&Project(pieces), "parse header", None, |_| true);
    pieces = vec![
        piece("src/a.rs", "", "parse the header line"),
        Piece { attention: 1.0, ..piece("src/b.rs", "", "parse the header, line") },
    ];
    let after = search(&Project(pieces), "parse header", None, |_| true);
    assert_snapshot!(before + &after);
}

#[test]
fn what_is_not_allowed_is_not_there() {
    let project = Project(PROJECT.into());
    let only_records = |id| PROJECT[id as usize].role == Role::Record;
    assert_snapshot!(search(&project, "token router", Some([1.0, 0.0]), only_records));
}
