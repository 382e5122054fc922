//! Discoveries, sessions and file accesses, shared by several processes.

use std::time::Duration;

use jiff::Timestamp;
use store::context::{
    DiscoveryKind, MAX_FILES_PER_SESSION, MAX_SEARCHES_PER_SESSION, MAX_SESSIONS, SessionAction,
    SessionEvent, SessionKey, StoredDiscovery,
};
use store::{ContextStore, StoreError};

use crate::support::{MINUTE, StoreFixture};

const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

/// Opens new connections, like another process would.
fn open_store(fixture: &StoreFixture) -> ContextStore {
    ContextStore::open(&fixture.dir()).unwrap()
}

fn discovery(id: &str) -> StoredDiscovery {
    StoredDiscovery {
        id: id.into(),
        kind: DiscoveryKind::Decision,
        title: Some("Tokens".into()),
        content: format!("we chose {id}"),
        module: Some("auth".into()),
        source: "cli:ada".into(),
        session: None,
        added_at: "2026-03-01T12:00:00Z".parse().unwrap(),
        tags: vec!["jwt".into(), "it's \"quoted\"".into()],
    }
}

fn event(session: &str, at: Timestamp, action: SessionAction) -> SessionEvent {
    let (principal, client) = ("stdio".to_owned(), Some("editor/1".to_owned()));
    SessionEvent { session: SessionKey { id: session.into(), principal, client }, at, action }
}

fn read_event(session: &str, at: Timestamp, path: &str) -> SessionEvent {
    event(session, at, SessionAction::Read { path: path.into() })
}

fn search_event(session: &str, at: Timestamp, query: &str, results: u64) -> SessionEvent {
    event(session, at, SessionAction::Search { query: query.into(), results })
}

#[test]
fn discoveries_are_shared_between_processes() {
    let fixture = StoreFixture::new();
    let (one, other) = (open_store(&fixture), open_store(&fixture));
    let before = other.discovery_generation().unwrap();
    assert_eq!(one.add_discoveries(&[discovery("abcd"), discovery("abzz")]).unwrap(), 2);
    let after = other.discovery_generation().unwrap();
    assert!(after > before, "the other process sees the change");
    assert_eq!(
        one.add_discoveries(&[discovery("abcd")]).unwrap(),
        0,
        "an existing discovery is not added again"
    );
    assert_eq!(other.discovery_generation().unwrap(), after, "nothing changed");

    assert_eq!(other.list_discoveries().unwrap(), [discovery("abcd"), discovery("abzz")]);
    assert_eq!(other.find_discovery(" ABC ").unwrap(), discovery("abcd"));
    let ambiguous = other.remove_discovery("ab").unwrap_err();
    assert!(matches!(ambiguous, StoreError::AmbiguousDiscovery { .. }), "{ambiguous}");
    assert_eq!(other.remove_discovery("abc").unwrap(), discovery("abcd"));
    assert!(one.discovery_generation().unwrap() > after);
    let gone = one.remove_discovery("abcd").unwrap_err();
    assert!(matches!(gone, StoreError::UnknownDiscovery { .. }), "{gone}");
    assert!(matches!(one.remove_discovery(""), Err(StoreError::UnknownDiscovery { .. })));
}

#[test]
fn rejects_whole_batch_above_discovery_limit() {
    let fixture = StoreFixture::new();
    let store = open_store(&fixture);
    store.add_discoveries(&[discovery("first")]).unwrap();
    let many: Vec<_> = (0..10_000).map(|n| discovery(&format!("n{n}"))).collect();
    let error = store.add_discoveries(&many).unwrap_err();
    assert!(matches!(error, StoreError::TooManyDiscoveries { limit: 10_000 }), "{error}");
    assert_eq!(store.list_discoveries().unwrap().len(), 1);
}

#[test]
fn session_contains_its_searches_and_files() {
    let fixture = StoreFixture::new();
    let (one, other) = (open_store(&fixture), open_store(&fixture));
    let start = fixture.now();
    one.record_events(&[
        read_event("s1", start, "src/a.rs"),
        search_event("s1", start + MINUTE, "jwt", 3),
    ])
    .unwrap();
    other.record_events(&[read_event("s1", start + 2 * MINUTE, "src/b.rs")]).unwrap();
    other
        .record_events(&[
            search_event("s1", start + 3 * MINUTE, "jwt", 5),
            read_event("s2", start, "src/a.rs"),
        ])
        .unwrap();

    let session = one.find_session("s1").unwrap().unwrap();
    assert_eq!((session.started_at, session.seen_at), (start, start + 3 * MINUTE));
    let files: Vec<_> = session.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["src/b.rs", "src/a.rs"]);
    let [jwt] = session.searches.as_slice() else { panic!("{:?}", session.searches) };
    assert_eq!((jwt.results, jwt.times), (5, 2));
    let ids: Vec<_> = one.list_sessions(None, 10).unwrap().into_iter().map(|s| s.key.id).collect();
    assert_eq!(ids, ["s1", "s2"], "newest first");
    assert_eq!(one.list_sessions(Some("stdio"), 10).unwrap().len(), 2);
    assert!(one.list_sessions(Some("token:ci"), 10).unwrap().is_empty(), "of another principal");
    let last = one.find_last_session("stdio", Some("editor/1")).unwrap().unwrap();
    assert_eq!(last.key.id, "s1");
    assert!(one.find_last_session("stdio", None).unwrap().is_none());
    assert!(one.find_session("s3").unwrap().is_none());
    assert_eq!(one.list_files_read_together("src/b.rs", 5).unwrap(), [("src/a.rs".to_owned(), 1)]);
    assert_eq!(one.list_files_read_together("src/c.rs", 5).unwrap(), []);
}

#[test]
fn heat_halves_weekly_and_only_changed_files_are_listed() {
    let fixture = StoreFixture::new();
    let (one, other) = (open_store(&fixture), open_store(&fixture));
    let start = fixture.now();
    one.record_events(&[
        read_event("s1", start, "a"),
        read_event("s1", start, "a"),
        read_event("s1", start, "b"),
    ])
    .unwrap();
    let seen = other.activity_generation().unwrap();
    one.record_events(&[read_event("s2", start + WEEK, "a")]).unwrap();

    let changed = other.list_accesses_since(seen).unwrap();
    let [a] = changed.as_slice() else { panic!("only a changed: {changed:?}") };
    assert_eq!((a.times, a.session.as_str(), a.last), (3, "s2", start + WEEK));
    assert!((a.heat - 2.0).abs() < 1e-9, "two reads a week ago and one now: {}", a.heat);
    assert!((a.heat_at(start + 2 * WEEK) - 1.0).abs() < 1e-9);
    assert!(
        (a.heat_at(start) - a.heat).abs() < 1e-9,
        "a clock that goes back does not increase the heat"
    );
    assert_eq!(other.list_accesses_since(0).unwrap().len(), 2);
}

#[test]
fn prunes_oldest_sessions_searches_and_files() {
    let fixture = StoreFixture::new();
    let store = open_store(&fixture);
    let at = |n: usize| fixture.now() + Duration::from_secs(n as u64);
    let many = 2 * MAX_SESSIONS;
    let mut events: Vec<_> =
        (0..many).map(|n| read_event(&format!("s{n}"), at(n), &format!("file{n}"))).collect();
    let busy = format!("s{}", many - 1);
    events.extend(
        (0..2 * MAX_SEARCHES_PER_SESSION).map(|n| search_event(&busy, at(n), &format!("q{n}"), 1)),
    );
    events
        .extend((0..2 * MAX_FILES_PER_SESSION).map(|n| read_event(&busy, at(n), &format!("f{n}"))));
    store.record_events(&events).unwrap();
    for _ in 0..64 {
        store.record_events(&[]).unwrap();
    }
    let sessions = store.list_sessions(None, usize::MAX).unwrap();
    assert_eq!(sessions.len(), MAX_SESSIONS);
    assert!(store.find_session("s0").unwrap().is_none());
    let busy = store.find_session(&busy).unwrap().unwrap();
    assert_eq!(busy.searches.len(), MAX_SEARCHES_PER_SESSION);
    assert_eq!(busy.searches[0].query, format!("q{}", 2 * MAX_SEARCHES_PER_SESSION - 1));
    assert_eq!(busy.files.len(), MAX_FILES_PER_SESSION);
}

#[test]
fn concurrent_writers_lose_no_updates() {
    let fixture = StoreFixture::new();
    let now = fixture.now();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let store = open_store(&fixture);
            scope.spawn(move || {
                for n in 0..20 {
                    store
                        .record_events(&[read_event(&format!("s{writer}"), now, "shared")])
                        .unwrap();
                    store.add_discoveries(&[discovery(&format!("w{writer}n{n}"))]).unwrap();
                }
            });
        }
    });
    let store = open_store(&fixture);
    assert_eq!(store.list_accesses_since(0).unwrap()[0].times, 80);
    assert_eq!(store.list_discoveries().unwrap().len(), 80);
    assert_eq!(store.discovery_generation().unwrap(), 80);
}
