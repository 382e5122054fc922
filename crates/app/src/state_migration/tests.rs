use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use disk::simulated::{DurableFeature, SimulatedDisk, check_durability};
use rusqlite::Connection;
use store::context::{DiscoveryKind, StoredDiscovery};
use store::{
    ApprovalChannel, ApprovalDecision, Approver, Consent, NewApproval, SqliteStore, Store,
};

use super::*;

/// A project with the state of an earlier version in `.vouch/`, and a new state directory.
struct LegacyProject {
    folder: tempfile::TempDir,
    state: StateDir,
}

impl LegacyProject {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("app/.vouch")).unwrap();
        let state = StateDir::open(folder.path().join("state/vouch/app")).unwrap();
        Self { folder, state }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("app")
    }

    fn legacy(&self) -> PathBuf {
        self.root().join(".vouch")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.legacy().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn legacy_context(&self) -> ContextStore {
        ContextStore::open(&StateDir::open(self.legacy()).unwrap()).unwrap()
    }

    fn migrate(&self) -> Result<Option<StateMigration>> {
        migrate_legacy_state(&self.root(), &self.state)
    }

    fn read_state(&self, name: &str) -> String {
        fs::read_to_string(self.state.path().join(name)).unwrap()
    }

    fn state_names(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.state.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn discoveries(&self) -> Vec<String> {
        let store = ContextStore::open(&self.state).unwrap();
        store.list_discoveries().unwrap().into_iter().map(|one| one.id).collect()
    }
}

fn discovery(id: &str) -> StoredDiscovery {
    StoredDiscovery {
        id: id.to_owned(),
        kind: DiscoveryKind::Rule,
        title: None,
        content: "tokens are hashed".to_owned(),
        module: None,
        source: "ada".to_owned(),
        session: None,
        added_at: Timestamp::UNIX_EPOCH,
        tags: vec!["auth".to_owned()],
    }
}

fn approval() -> NewApproval {
    NewApproval {
        principal: "stdio".into(),
        client: None,
        tool: "write_memory_entry".into(),
        contract_digest: "c".into(),
        arguments_digest: "a".into(),
        summary: "append".into(),
        ttl: Duration::from_secs(1 << 30),
    }
}

async fn claim(state: &StateDir) -> Consent {
    let store = SqliteStore::open(state).unwrap();
    store.claim_consent("stdio", "write_memory_entry", "c", "a").await.unwrap()
}

#[test]
fn takes_over_discoveries_logs_and_samples() {
    let project = LegacyProject::new();
    project.legacy_context().add_discoveries(&[discovery("a"), discovery("b")]).unwrap();
    project.write("audit.jsonl", "one\n");
    project.write("audit.head", "head\n");
    project.write("traces.jsonl", "trace\n");
    project.write("samples/files/read.jsonl", "{}\n");
    project.write("tokens", "0123456789abcdef\n");
    project.write("index.db", "cache");
    let done = project.migrate().unwrap().unwrap();
    assert_eq!(done.discoveries, 2);
    assert_eq!(done.files, ["audit.legacy.jsonl", "audit.legacy.head", "traces.jsonl", "samples"]);
    assert_eq!(project.discoveries(), ["a", "b"]);
    assert_eq!(project.read_state("audit.legacy.jsonl"), "one\n");
    assert_eq!(project.read_state("samples/files/read.jsonl"), "{}\n");
    let names = project.state_names();
    for absent in ["tokens", "index.db", "audit.jsonl"] {
        assert!(!names.contains(absent), "{names:?}");
    }
    assert!(names.iter().all(|name| !name.starts_with(STAGING)), "{names:?}");
    // Nothing is taken away, and nothing is taken over twice.
    assert_eq!(fs::read_to_string(project.legacy().join("tokens")).unwrap(), "0123456789abcdef\n");
    assert_eq!(project.legacy_context().list_discoveries().unwrap().len(), 2);
    project.legacy_context().add_discoveries(&[discovery("c")]).unwrap();
    assert_eq!(project.migrate().unwrap(), None);
    assert_eq!(project.discoveries(), ["a", "b"]);
}

/// Committed into a clone, these would approve a call and forge request states.
#[tokio::test]
async fn takes_over_no_approval_nonce_or_key() {
    let project = LegacyProject::new();
    project.legacy_context().add_discoveries(&[discovery("a")]).unwrap();
    let legacy = StateDir::open(project.legacy()).unwrap();
    let store = SqliteStore::open(&legacy).unwrap();
    let asked = store.request_approval(approval()).await.unwrap();
    let mallory = Approver::new("mallory", ApprovalChannel::Queue);
    store.decide_approval(&asked.id, ApprovalDecision::Approve, &mallory).await.unwrap();
    let known = store.get_or_create_secret("request state").await.unwrap();
    drop(store);

    project.migrate().unwrap().unwrap();
    assert_eq!(project.discoveries(), ["a"]);
    let store = SqliteStore::open(&project.state).unwrap();
    assert!(store.list_approvals(None).await.unwrap().is_empty());
    assert_ne!(store.get_or_create_secret("request state").await.unwrap(), known);
    assert!(matches!(claim(&project.state).await, Consent::None));
    assert!(matches!(claim(&legacy).await, Consent::Approved { .. }), "it was there");
}

/// The file of a clone can define what happens on every later write.
#[tokio::test]
async fn takes_over_no_trigger_or_view() {
    let trigger = "CREATE TRIGGER approve AFTER INSERT ON approval BEGIN \
                   UPDATE approval SET state = 'approved' WHERE id = NEW.id; END";
    let view = "ALTER TABLE discovery RENAME TO real; CREATE VIEW discovery AS SELECT * FROM real";
    let recursive = "DROP TABLE discovery; CREATE VIEW discovery AS WITH RECURSIVE n(x) AS \
                     (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id FROM n";
    for (schema, count) in [(trigger, 1), (view, 0), (recursive, 0)] {
        let project = LegacyProject::new();
        project.legacy_context().add_discoveries(&[discovery("a")]).unwrap();
        Connection::open(project.legacy().join("vouch.db")).unwrap().execute_batch(schema).unwrap();
        assert_eq!(project.migrate().unwrap().unwrap().discoveries, count, "{schema}");
        let store = SqliteStore::open(&project.state).unwrap();
        store.request_approval(approval()).await.unwrap();
        assert!(matches!(claim(&project.state).await, Consent::Pending(_)), "{schema}");
    }
}

#[test]
fn keeps_existing_state() {
    let project = LegacyProject::new();
    let context = ContextStore::open(&project.state).unwrap();
    context.add_discoveries(&[discovery("own")]).unwrap();
    fs::write(project.state.path().join("traces.jsonl"), "own\n").unwrap();
    fs::write(project.state.path().join("audit.jsonl"), "own\n").unwrap();
    project.legacy_context().add_discoveries(&[discovery("a")]).unwrap();
    project.write("audit.jsonl", "forged\n");
    project.write("traces.jsonl", "old\n");
    let done = project.migrate().unwrap().unwrap();
    assert_eq!((done.discoveries, done.files), (1, vec!["audit.legacy.jsonl".to_owned()]));
    assert_eq!(project.read_state("audit.jsonl"), "own\n");
    assert_eq!(project.read_state("traces.jsonl"), "own\n");
    assert_eq!(project.discoveries(), ["a", "own"]);
}

#[test]
fn interrupted_migration_continues() {
    let project = LegacyProject::new();
    project.legacy_context().add_discoveries(&[discovery("a"), discovery("b")]).unwrap();
    project.write("audit.jsonl", "one\n");
    project.write("traces.jsonl", "trace\n");
    // A process was killed after it moved one file and added one discovery.
    fs::create_dir(project.state.path().join(".legacy-killed")).unwrap();
    fs::write(project.state.path().join(".legacy-killed/traces.jsonl"), "tra").unwrap();
    fs::write(project.state.path().join("audit.legacy.jsonl"), "one\n").unwrap();
    ContextStore::open(&project.state).unwrap().add_discoveries(&[discovery("a")]).unwrap();
    let done = project.migrate().unwrap().unwrap();
    assert_eq!((done.discoveries, done.files), (1, vec!["traces.jsonl".to_owned()]));
    assert_eq!(project.discoveries(), ["a", "b"]);
    assert_eq!(project.read_state("traces.jsonl"), "trace\n");
    let names = project.state_names();
    assert!(names.iter().all(|name| !name.starts_with(STAGING)), "{names:?}");
}

#[test]
fn refuses_links_special_files_and_other_owners() {
    type Prepare = fn(&LegacyProject);
    let cases: [(Prepare, &str); 8] = [
        (
            |project| {
                fs::remove_dir(project.legacy()).unwrap();
                fs::create_dir(project.root().join("real")).unwrap();
                symlink("real", project.legacy()).unwrap();
            },
            "/app/.vouch is a symbolic link",
        ),
        (
            |project| {
                fs::remove_dir(project.legacy()).unwrap();
                fs::write(project.legacy(), "").unwrap();
            },
            "/app/.vouch is not a regular file or folder",
        ),
        (
            |project| symlink("/etc/passwd", project.legacy().join("audit.jsonl")).unwrap(),
            ".vouch/audit.jsonl is a symbolic link",
        ),
        (
            |project| symlink("/etc", project.legacy().join("samples")).unwrap(),
            ".vouch/samples is a symbolic link",
        ),
        (
            |project| {
                fs::create_dir_all(project.legacy().join("samples/files")).unwrap();
                symlink("/etc/passwd", project.legacy().join("samples/files/a.jsonl")).unwrap();
            },
            ".vouch/samples/files/a.jsonl is a symbolic link",
        ),
        (
            |project| {
                let pipe = project.legacy().join("traces.jsonl");
                rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
            },
            ".vouch/traces.jsonl is not a regular file or folder",
        ),
        (
            |project| {
                drop(project.legacy_context());
                let wal = project.legacy().join("vouch.db-wal");
                let _ = fs::remove_file(&wal);
                symlink("/etc/passwd", wal).unwrap();
            },
            ".vouch/vouch.db-wal is a symbolic link",
        ),
        (
            |project| {
                project.write("ask_history", "x");
                let path = project.legacy().join("ask_history");
                // Only root can give a file to another user.
                if std::os::unix::fs::chown(&path, Some(12345), None).is_err() {
                    fs::remove_file(&path).unwrap();
                    symlink("belongs to another user", path).unwrap();
                }
            },
            ".vouch/ask_history",
        ),
    ];
    for (prepare, expected) in cases {
        let project = LegacyProject::new();
        prepare(&project);
        let failure = project.migrate().unwrap_err();
        assert!(failure.to_one_line().contains(expected), "{expected}: {}", failure.to_one_line());
        assert!(!failure.first_hint().is_empty(), "{expected}");
        let names = project.state_names();
        assert!(names.iter().all(|name| name == LOCK), "{expected}: {names:?}");
    }
}

#[test]
fn does_nothing_without_legacy_state() {
    let project = LegacyProject::new();
    fs::remove_dir(project.legacy()).unwrap();
    assert_eq!(project.migrate().unwrap(), None);
    assert!(project.state_names().is_empty());
    assert!(!has_legacy_state(&project.root(), project.state.path()));
    project.write("audit.jsonl", "one\n");
    assert!(has_legacy_state(&project.root(), project.state.path()));
    project.migrate().unwrap().unwrap();
    assert!(!has_legacy_state(&project.root(), project.state.path()));
}

/// Files that are taken over from `.vouch/`.
struct TakenOver;

const TAKEN_OVER: [(&str, &str); 3] = [
    ("audit.jsonl", "audit.legacy.jsonl"),
    ("traces.jsonl", "traces.jsonl"),
    ("samples/files/read.jsonl", "samples/files/read.jsonl"),
];

impl DurableFeature for TakenOver {
    fn prepare(&self, root: &Path) {
        fs::create_dir_all(root.join("app/.vouch/samples/files")).unwrap();
        for (name, _) in TAKEN_OVER {
            fs::write(root.join("app/.vouch").join(name), name).unwrap();
        }
        StateDir::open(root.join("state")).unwrap();
    }

    fn write(
        &self,
        root: &Path,
        disk: std::sync::Arc<SimulatedDisk>,
    ) -> std::result::Result<(), String> {
        let state = StateDir::open_on_disk(root.join("state"), disk).unwrap();
        let done = migrate_legacy_state(&root.join("app"), &state);
        done.map(drop).map_err(|failure| format!("{failure:?}"))
    }

    fn check(&self, root: &Path, is_acknowledged: bool) -> std::result::Result<(), String> {
        let marker = fs::read_to_string(root.join("state").join(MARKER));
        let is_complete = marker.is_ok();
        if is_acknowledged && !is_complete {
            return Err("the migration is not recorded".to_owned());
        }
        if marker.is_ok_and(|text| !text.starts_with('{') || !text.ends_with("}\n")) {
            return Err("the record is torn".to_owned());
        }
        for (name, to) in TAKEN_OVER {
            match fs::read_to_string(root.join("state").join(to)) {
                Ok(text) if text == name => {}
                Err(_) if !is_complete => {}
                found => return Err(format!("{to}: {found:?}, complete: {is_complete}")),
            }
        }
        Ok(())
    }
}

#[test]
fn migration_survives_any_fault_of_the_disk() {
    let root = tempfile::tempdir().unwrap();
    check_durability(root.path(), &TakenOver).unwrap();
}
