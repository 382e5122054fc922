use std::sync::atomic::{AtomicI64, Ordering};

use store::{ContextStore, StateDir};
use tempfile::TempDir;

use super::*;

struct SessionsFixture {
    folder: TempDir,
    now: Arc<AtomicI64>,
}

impl SessionsFixture {
    fn new() -> Self {
        let start: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
        let now = Arc::new(AtomicI64::new(start.as_millisecond()));
        Self { folder: TempDir::new().expect("a folder"), now }
    }

    fn state(&self) -> StateDir {
        StateDir::from_path(self.folder.path().join(".vouch"))
    }

    /// Opens another tracker, as a separate process would.
    fn sessions(&self) -> SessionTracker {
        let now = Arc::clone(&self.now);
        let clock: Clock = Arc::new(move || {
            Timestamp::from_millisecond(now.load(Ordering::Relaxed)).expect("a time")
        });
        SessionTracker::with_clock(Arc::new(LazyContextStore::new(&self.state())), clock)
    }

    fn advance_minutes(&self, minutes: i64) {
        self.now.fetch_add(minutes * 60_000, Ordering::Relaxed);
    }
}

fn caller(principal: &str, client: Option<&str>, session: Option<&str>) -> Caller {
    Caller {
        client: client.map(Into::into),
        session: session.map(Into::into),
        ..Caller::new(principal)
    }
}

#[test]
fn renders_session_as_text() {
    let fixture = SessionsFixture::new();
    let sessions = fixture.sessions();
    let ada = caller("stdio", Some("editor/1"), Some("connection 1"));
    sessions.record_search(&ada, "how does token refresh work", 4);
    sessions.record_read(&ada, "src/auth/token.rs");
    sessions.record_read(&ada, "src/auth/refresh.rs");
    fixture.advance_minutes(1);
    sessions.record_read(&ada, "src/auth/token.rs");
    let [session] = sessions
        .session_texts(|path| Some(path.split('/').nth(1)?.into()))
        .try_into()
        .expect("one");
    assert_eq!(
        session.text,
        "Session about refresh, token, auth\n\
        Searched for: how does token refresh work\nRead: src/auth/token.rs, src/auth/refresh.rs"
    );
    assert_eq!(
        (session.date.as_str(), session.module.as_deref()),
        ("2026-03-01T12:01:00Z", Some("auth"))
    );
    assert!(!session.id.contains("connection"), "the handle stays secret");
}

#[test]
fn reading_creates_no_state_folder() {
    let fixture = SessionsFixture::new();
    let sessions = fixture.sessions();
    sessions.recency().refresh();
    assert!(
        sessions.recent_sessions(&Caller::new("cli"), 5).is_empty()
            && sessions.session_texts(|_| None).is_empty()
    );
    assert!(sessions.current_session(&Caller::new("cli")).is_none());
    assert!(!fixture.state().path().exists());
}

#[test]
fn unnamed_session_lasts_until_idle_timeout() {
    let fixture = SessionsFixture::new();
    let cli = caller("cli", None, None);
    let first = {
        let sessions = fixture.sessions();
        sessions.record_read(&cli, "a");
        sessions.session_id(&cli)
    };
    fixture.advance_minutes(29);
    let sessions = fixture.sessions();
    assert_eq!(sessions.session_id(&cli), first, "another process continues the session");
    sessions.record_read(&cli, "b");
    fixture.advance_minutes(29);
    assert_eq!(sessions.session_id(&cli), first);
    fixture.advance_minutes(30);
    assert_ne!(sessions.session_id(&cli), first, "a new session starts after the pause");
    assert_ne!(sessions.session_id(&caller("cli", Some("script/1"), None)), first);
    assert_ne!(sessions.session_id(&caller("token:ci", None, None)), first);

    let named = caller("cli", None, Some("h"));
    sessions.record_read(&named, "c");
    sessions.flush();
    let fresh = fixture.sessions();
    assert_ne!(
        fresh.session_id(&cli),
        fresh.session_id(&named),
        "a session with a handle is separate"
    );
    assert_ne!(fresh.session_id(&named), fresh.session_id(&caller("token:ci", None, Some("h"))));
}

#[test]
fn drop_flushes_all_recorded_events() {
    let fixture = SessionsFixture::new();
    let sessions = fixture.sessions();
    let ada = caller("stdio", None, Some("s"));
    for n in 0..1_000 {
        sessions.record_read(&ada, &format!("file{}", n % 100));
    }
    drop(sessions);
    let store = ContextStore::open(
        &StateDir::open(fixture.state().path()).expect("the state folder exists"),
    )
    .expect("a store");
    let accesses = store.list_accesses_since(0).expect("rows");
    assert_eq!(accesses.iter().map(|access| access.times).sum::<u64>(), 1_000);
}

#[test]
fn does_not_record_queries_with_secrets() {
    let fixture = SessionsFixture::new();
    let sessions = fixture.sessions();
    let ada = caller("stdio", None, Some("s"));
    let token = format!("gh{}{}", "p_", "q7Zt4Kp9Xw2Lm5Vb8Nc3Rd6Hf1Jg0YsQ7aB2c");
    sessions.record_search(&ada, &format!("who uses {token}"), 0);
    assert!(sessions.current_session(&ada).is_none());
}

#[test]
fn recently_read_files_and_their_neighbors_score_high() {
    let fixture = SessionsFixture::new();
    let (one, other) = (fixture.sessions(), fixture.sessions());
    let ada = caller("stdio", None, Some("s"));
    one.record_read(&ada, "once");
    for _ in 0..9 {
        one.record_read(&ada, "often");
    }
    one.flush();
    other.recency().refresh();
    let ranked = || -> Vec<(String, u64, f32)> {
        let files = other.recency().top_files(9, other.now()).into_iter();
        files.map(|(file, score)| (file.path, file.times, score)).collect()
    };
    assert_eq!(ranked(), [("often".to_owned(), 9, 0.75), ("once".to_owned(), 1, 0.25)]);
    let imports =
        |path: &str| (path == "often").then(|| "imported".to_owned()).into_iter().collect();
    let scores = other.recency().scores_with_neighbors(other.now(), imports);
    assert_eq!((scores["imported"], scores["once"]), (0.375, 0.375), "read together or imported");

    fixture.advance_minutes(7 * 24 * 60);
    assert_eq!(ranked()[0].2, 0.6, "the heat halves in a week");
}
