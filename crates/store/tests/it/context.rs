//! Discoveries, sessions and file accesses, as several processes see them.

use std::time::Duration;

use jiff::Timestamp;
use store::context::{
    Event, Kind, MAX_FILES_OF_SESSION, MAX_SEARCHES_OF_SESSION, MAX_SESSIONS, SessionKey,
    StoredDiscovery, What,
};
use store::{ContextStore, StoreError};

use crate::support::{Bench, MINUTE};

const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

/// Each call is other connections, as another process would have.
fn open(bench: &Bench) -> ContextStore {
    ContextStore::open(&bench.dir()).unwrap()
}

fn discovery(id: &str) -> StoredDiscovery {
    StoredDiscovery {
        id: id.into(),
        kind: Kind::Decision,
        title: Some("Tokens".into()),
        content: format!("we chose {id}"),
        module: Some("auth".into()),
        source: "cli:ada".into(),
        session: None,
        added_at: "2026-03-01T12:00:00Z".parse().unwrap(),
        tags: vec!["jwt".into(), "it's \"quoted\"".into()],
    }
}

fn event(session: &str, at: Timestamp, what: What) -> Event {
    let (principal, client) = ("stdio".to_owned(), Some("editor/1".to_owned()));
    Event { session: SessionKey { id: session.into(), principal, client }, at, what }
}

fn read(session: &str, at: Timestamp, path: &str) -> Event {
    event(session, at, What::Read { path: path.into() })
}

fn search(session: &str, at: Timestamp, query: &str, results: u64) -> Event {
    event(session, at, What::Search { query: query.into(), results })
}

#[test]
fn what_one_process_adds_another_finds_and_removes() {
    let bench = Bench::new();
    let (one, other) = (open(&bench), open(&bench));
    let before = other.generation().unwrap();
    assert_eq!(one.add(&[discovery("abcd"), discovery("abzz")]).unwrap(), 2);
    let after = other.generation().unwrap();
    assert!(after > before, "others notice");
    assert_eq!(one.add(&[discovery("abcd")]).unwrap(), 0, "the same again is not another");
    assert_eq!(other.generation().unwrap(), after, "nothing changed");

    assert_eq!(other.discoveries().unwrap(), [discovery("abcd"), discovery("abzz")]);
    assert_eq!(other.discovery(" ABC ").unwrap(), discovery("abcd"));
    let ambiguous = other.remove("ab").unwrap_err();
    assert!(matches!(ambiguous, StoreError::AmbiguousDiscovery { .. }), "{ambiguous}");
    assert_eq!(other.remove("abc").unwrap(), discovery("abcd"));
    assert!(one.generation().unwrap() > after);
    let gone = one.remove("abcd").unwrap_err();
    assert!(matches!(gone, StoreError::UnknownDiscovery { .. }), "{gone}");
    assert!(matches!(one.remove(""), Err(StoreError::UnknownDiscovery { .. })));
}

#[test]
fn too_many_discoveries_are_refused_and_none_is_added() {
    let bench = Bench::new();
    let store = open(&bench);
    store.add(&[discovery("first")]).unwrap();
    let many: Vec<_> = (0..10_000).map(|n| discovery(&format!("n{n}"))).collect();
    let error = store.add(&many).unwrap_err();
    assert!(matches!(error, StoreError::TooManyDiscoveries { limit: 10_000 }), "{error}");
    assert_eq!(store.discoveries().unwrap().len(), 1);
}

#[test]
fn a_session_holds_what_was_done_in_it() {
    let bench = Bench::new();
    let (one, other) = (open(&bench), open(&bench));
    let start = bench.now();
    one.record(&[read("s1", start, "src/a.rs"), search("s1", start + MINUTE, "jwt", 3)]).unwrap();
    other.record(&[read("s1", start + 2 * MINUTE, "src/b.rs")]).unwrap();
    other
        .record(&[search("s1", start + 3 * MINUTE, "jwt", 5), read("s2", start, "src/a.rs")])
        .unwrap();

    let session = one.session("s1").unwrap().unwrap();
    assert_eq!((session.started_at, session.seen_at), (start, start + 3 * MINUTE));
    let files: Vec<_> = session.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["src/b.rs", "src/a.rs"]);
    let [jwt] = session.searches.as_slice() else { panic!("{:?}", session.searches) };
    assert_eq!((jwt.results, jwt.times), (5, 2));
    let ids: Vec<_> = one.sessions(10).unwrap().into_iter().map(|s| s.key.id).collect();
    assert_eq!(ids, ["s1", "s2"], "newest first");
    let last = one.last_session_of("stdio", Some("editor/1")).unwrap().unwrap();
    assert_eq!(last.key.id, "s1");
    assert!(one.last_session_of("stdio", None).unwrap().is_none());
    assert!(one.session("s3").unwrap().is_none());
    assert_eq!(one.read_together("src/b.rs", 5).unwrap(), [("src/a.rs".to_owned(), 1)]);
    assert_eq!(one.read_together("src/c.rs", 5).unwrap(), []);
}

#[test]
fn heat_halves_each_week_and_changes_are_told_apart() {
    let bench = Bench::new();
    let (one, other) = (open(&bench), open(&bench));
    let start = bench.now();
    one.record(&[read("s1", start, "a"), read("s1", start, "a"), read("s1", start, "b")]).unwrap();
    let seen = other.activity().unwrap();
    one.record(&[read("s2", start + WEEK, "a")]).unwrap();

    let changed = other.accesses_since(seen).unwrap();
    let [a] = changed.as_slice() else { panic!("only a changed: {changed:?}") };
    assert_eq!((a.times, a.session.as_str(), a.last), (3, "s2", start + WEEK));
    assert!((a.heat - 2.0).abs() < 1e-9, "two, a week old, and a new one: {}", a.heat);
    assert!((a.heat_at(start + 2 * WEEK) - 1.0).abs() < 1e-9);
    assert!((a.heat_at(start) - a.heat).abs() < 1e-9, "a clock that goes back heats nothing");
    assert_eq!(other.accesses_since(0).unwrap().len(), 2);
}

#[test]
fn the_oldest_is_forgotten() {
    let bench = Bench::new();
    let store = open(&bench);
    let at = |n: usize| bench.now() + Duration::from_secs(n as u64);
    let many = 2 * MAX_SESSIONS;
    let mut events: Vec<_> =
        (0..many).map(|n| read(&format!("s{n}"), at(n), &format!("file{n}"))).collect();
    let busy = format!("s{}", many - 1);
    events.extend(
        (0..2 * MAX_SEARCHES_OF_SESSION).map(|n| search(&busy, at(n), &format!("q{n}"), 1)),
    );
    events.extend((0..2 * MAX_FILES_OF_SESSION).map(|n| read(&busy, at(n), &format!("f{n}"))));
    store.record(&events).unwrap();
    for _ in 0..64 {
        store.record(&[]).unwrap();
    }
    let sessions = store.sessions(usize::MAX).unwrap();
    assert_eq!(sessions.len(), MAX_SESSIONS);
    assert!(store.session("s0").unwrap().is_none());
    let busy = store.session(&busy).unwrap().unwrap();
    assert_eq!(busy.searches.len(), MAX_SEARCHES_OF_SESSION);
    assert_eq!(busy.searches[0].query, format!("q{}", 2 * MAX_SEARCHES_OF_SESSION - 1));
    assert_eq!(busy.files.len(), MAX_FILES_OF_SESSION);
}

#[test]
fn many_writers_lose_nothing() {
    let bench = Bench::new();
    let now = bench.now();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let store = open(&bench);
            scope.spawn(move || {
                for n in 0..20 {
                    store.record(&[read(&format!("s{writer}"), now, "shared")]).unwrap();
                    store.add(&[discovery(&format!("w{writer}n{n}"))]).unwrap();
                }
            });
        }
    });
    let store = open(&bench);
    assert_eq!(store.accesses_since(0).unwrap()[0].times, 80);
    assert_eq!(store.discoveries().unwrap().len(), 80);
    assert_eq!(store.generation().unwrap(), 80);
}
