use std::sync::atomic::{AtomicI64, Ordering};

use store::{ContextStore, StateDir};
use tempfile::TempDir;

use super::*;

struct Bench {
    folder: TempDir,
    now: Arc<AtomicI64>,
}

impl Bench {
    fn new() -> Self {
        let start: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
        let now = Arc::new(AtomicI64::new(start.as_millisecond()));
        Self { folder: TempDir::new().expect("a folder"), now }
    }

    fn state(&self) -> StateDir {
        StateDir::at(self.folder.path().join(".vouch"))
    }

    /// Each is another process.
    fn sessions(&self) -> Sessions {
        let now = Arc::clone(&self.now);
        let clock: Clock = Arc::new(move || {
            Timestamp::from_millisecond(now.load(Ordering::Relaxed)).expect("a time")
        });
        Sessions::with_clock(Arc::new(Kept::new(&self.state())), clock)
    }

    fn pass(&self, minutes: i64) {
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
fn a_session_is_told_as_a_text() {
    let bench = Bench::new();
    let sessions = bench.sessions();
    let ada = caller("stdio", Some("editor/1"), Some("connection 1"));
    sessions.record_search(&ada, "how does token refresh work", 4);
    sessions.record_read(&ada, "src/auth/token.rs");
    sessions.record_read(&ada, "src/auth/refresh.rs");
    bench.pass(1);
    sessions.record_read(&ada, "src/auth/token.rs");
    let [told] =
        sessions.documents(|path| Some(path.split('/').nth(1)?.into())).try_into().expect("one");
    assert_eq!(
        told.text,
        "Session about refresh, token, auth\n\
        Searched for: how does token refresh work\nRead: src/auth/token.rs, src/auth/refresh.rs"
    );
    assert_eq!(
        (told.date.as_str(), told.module.as_deref()),
        ("2026-03-01T12:01:00Z", Some("auth"))
    );
    assert!(!told.id.contains("connection"), "the handle stays secret");
}

#[test]
fn looking_makes_no_state() {
    let bench = Bench::new();
    let sessions = bench.sessions();
    sessions.warmth().refresh();
    assert!(sessions.recent(5).is_empty() && sessions.documents(|_| None).is_empty());
    assert!(sessions.current(&Caller::new("cli")).is_none());
    assert!(!bench.state().path().exists());
}

#[test]
fn who_names_no_session_is_in_one_until_a_pause() {
    let bench = Bench::new();
    let cli = caller("cli", None, None);
    let first = {
        let sessions = bench.sessions();
        sessions.record_read(&cli, "a");
        sessions.id_of(&cli)
    };
    bench.pass(29);
    let sessions = bench.sessions();
    assert_eq!(sessions.id_of(&cli), first, "another process goes on with it");
    sessions.record_read(&cli, "b");
    bench.pass(29);
    assert_eq!(sessions.id_of(&cli), first);
    bench.pass(30);
    assert_ne!(sessions.id_of(&cli), first, "a new one after the pause");
    assert_ne!(sessions.id_of(&caller("cli", Some("script/1"), None)), first);
    assert_ne!(sessions.id_of(&caller("token:ci", None, None)), first);

    let named = caller("cli", None, Some("h"));
    sessions.record_read(&named, "c");
    sessions.flush();
    let fresh = bench.sessions();
    assert_ne!(fresh.id_of(&cli), fresh.id_of(&named), "a handle's session is its own");
    assert_ne!(fresh.id_of(&named), fresh.id_of(&caller("token:ci", None, Some("h"))));
}

#[test]
fn everything_recorded_is_there_after_the_end() {
    let bench = Bench::new();
    let sessions = bench.sessions();
    let ada = caller("stdio", None, Some("s"));
    for n in 0..1_000 {
        sessions.record_read(&ada, &format!("file{}", n % 100));
    }
    drop(sessions);
    let store = ContextStore::open(&StateDir::open(bench.state().path()).expect("it is there"))
        .expect("a store");
    let accesses = store.accesses_since(0).expect("rows");
    assert_eq!(accesses.iter().map(|access| access.times).sum::<u64>(), 1_000);
}

#[test]
fn a_secret_is_not_remembered() {
    let bench = Bench::new();
    let sessions = bench.sessions();
    let ada = caller("stdio", None, Some("s"));
    let token = format!("gh{}{}", "p_", "q7Zt4Kp9Xw2Lm5Vb8Nc3Rd6Hf1Jg0YsQ7aB2c");
    sessions.record_search(&ada, &format!("who uses {token}"), 0);
    assert!(sessions.current(&ada).is_none());
}

#[test]
fn what_is_read_often_and_lately_is_warm_and_so_are_its_neighbours() {
    let bench = Bench::new();
    let (one, other) = (bench.sessions(), bench.sessions());
    let ada = caller("stdio", None, Some("s"));
    one.record_read(&ada, "once");
    for _ in 0..9 {
        one.record_read(&ada, "often");
    }
    one.flush();
    other.warmth().refresh();
    let warmest = || -> Vec<(String, u64, f32)> {
        let files = other.warmth().warmest(9, other.now()).into_iter();
        files.map(|(file, warmth)| (file.path, file.times, warmth)).collect()
    };
    assert_eq!(warmest(), [("often".to_owned(), 9, 0.75), ("once".to_owned(), 1, 0.25)]);
    let imports =
        |path: &str| (path == "often").then(|| "imported".to_owned()).into_iter().collect();
    let around = other.warmth().around(other.now(), imports);
    assert_eq!((around["imported"], around["once"]), (0.375, 0.375), "read together, or imported");

    bench.pass(7 * 24 * 60);
    assert_eq!(warmest()[0].2, 0.6, "half the heat a week later");
}
