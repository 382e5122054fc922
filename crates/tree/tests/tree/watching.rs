//! Tests that a list maintained only from changes equals a fresh listing after every barrier.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use tree::{FileChange, FileEntry, FileWatcher, SettleOutcome};

use crate::Project;

/// A list of files that is maintained only from changes, and a log of the changes.
#[derive(Default)]
struct TrackedFiles {
    files: BTreeMap<Box<str>, FileEntry>,
    log: Vec<String>,
}

impl TrackedFiles {
    fn apply(&mut self, change: FileChange) {
        match change {
            FileChange::Changed(entry) => {
                self.log.push(format!("changed {}", entry.path));
                self.files.insert(entry.path.clone(), entry);
            }
            FileChange::Removed(path) => {
                self.log.push(format!("removed {path}"));
                self.files.remove(path.as_str());
            }
            FileChange::FolderListed { path, entries } => {
                let names: Vec<_> = entries.iter().map(|entry| &*entry.path).collect();
                self.log.push(format!("folder `{path}`: {}", names.join(" ")));
                let below = format!("{path}/");
                self.files.retain(|file, _| !(path.is_empty() || file.starts_with(&below)));
                self.files.extend(entries.into_iter().map(|entry| (entry.path.clone(), entry)));
            }
        }
    }
}

struct WatchedProject {
    project: Project,
    known: Arc<Mutex<TrackedFiles>>,
    watch: FileWatcher,
}

impl WatchedProject {
    fn new(project: Project) -> Self {
        let known = Arc::new(Mutex::new(TrackedFiles::default()));
        let receiver = Arc::clone(&known);
        let watch = FileWatcher::start(Arc::clone(&project.tree), move |change| {
            receiver.lock().unwrap().apply(change);
        });
        Self { project, known, watch }
    }

    /// Settles, and compares the tracked files with a fresh listing.
    #[track_caller]
    fn check(&self) {
        let expected =
            if cfg!(vouch_portable) { SettleOutcome::Relisted } else { SettleOutcome::Exact };
        assert_eq!(self.watch.settle(), expected);
        let fresh = self.project.tree.list_files().entries;
        let known = self.known.lock().unwrap();
        let mut expected: Vec<_> = fresh.iter().collect();
        expected.sort_by(|left, right| left.path.cmp(&right.path));
        assert_eq!(known.files.values().collect::<Vec<_>>(), expected, "{:#?}", known.log);
    }

    /// Returns the changes reported since the last call. Duplicates are removed, because the batches vary.
    fn take_log(&self) -> String {
        let log = std::mem::take(&mut self.known.lock().unwrap().log);
        let mut lines: Vec<String> = Vec::new();
        for line in log {
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.join("\n")
    }
}

#[cfg(not(vouch_portable))]
#[test]
fn reports_changes_before_the_barrier_returns() {
    let watched = WatchedProject::new(Project::with_extra(
        &[("a/one", "1"), ("b/two", "2"), (".gitignore", "*.log\n")],
        &[".claude/memory"],
    ));
    let root = watched.project.root().to_owned();
    // Each step is one atomic change, because the watcher's thread may check at any time.
    let elsewhere = tempfile::tempdir().unwrap();
    let prepared = elsewhere.path().join("rules");
    fs::write(&prepared, "c\n").unwrap();
    let mut log = String::new();
    let mut step = |name: &str, change: &dyn Fn()| {
        change();
        watched.check();
        log.push_str(&format!("{name}\n{}\n\n", watched.take_log()));
    };
    step("start", &|| ());
    step("a write", &|| fs::write(root.join("a/one"), "11").unwrap());
    step("an ignored file", &|| fs::write(root.join("a/x.log"), "").unwrap());
    step("a link", &|| symlink("one", root.join("a/link")).unwrap());
    step("a file is removed", &|| fs::remove_file(root.join("a/one")).unwrap());
    step("a folder is moved", &|| fs::rename(root.join("b"), root.join("c")).unwrap());
    step("a write in the moved folder", &|| fs::write(root.join("c/two"), "22").unwrap());
    step("new ignore rules", &|| fs::rename(&prepared, root.join(".gitignore")).unwrap());
    step("a write in an ignored folder", &|| fs::write(root.join("c/two"), "2").unwrap());
    step("no ignore rules", &|| fs::remove_file(root.join(".gitignore")).unwrap());
    step("the folder above memory", &|| fs::create_dir(root.join(".claude")).unwrap());
    step("the folder of memory", &|| fs::create_dir(root.join(".claude/memory")).unwrap());
    step("memory", &|| watched.project.write(".claude/memory/notes.md", "x"));
    step("beside memory", &|| watched.project.write(".claude/settings.json", "x"));
    step("reading", &|| drop(fs::read(root.join("a/x.log")).unwrap()));
    insta::assert_snapshot!(log);
}

#[test]
fn barrier_checks_ignore_files_outside_the_watched_folders() {
    let project = Project::new(&[("x.local", ""), ("sub/y.local", "")]);
    fs::create_dir_all(project.root().join(".git/info")).unwrap();
    let watched = WatchedProject::new(project);
    watched.check();
    watched.project.write(".git/info/exclude", "*.local\n");
    watched.check();
    assert_eq!(watched.known.lock().unwrap().files.len(), 0);
}

/// Such a write causes no event.
#[test]
fn recheck_finds_writes_through_an_outside_hard_link() {
    let watched = WatchedProject::new(Project::new(&[("file", "before")]));
    let elsewhere = tempfile::tempdir_in(watched.project.root().parent().unwrap()).unwrap();
    let link = elsewhere.path().join("link");
    fs::hard_link(watched.project.root().join("file"), &link).unwrap();
    watched.watch.settle();
    fs::write(&link, "and after").unwrap();
    watched.watch.recheck();
    watched.check();
}

#[test]
fn lists_files_after_the_event_queue_overflows() {
    let watched = WatchedProject::new(Project::new(&[]));
    let root = watched.project.root();
    {
        // The callback for the first file blocks on this lock, so the queue is not drained in the meantime.
        let _busy = watched.known.lock().unwrap();
        fs::write(root.join("first"), "").unwrap();
        for _ in 0..12_000 {
            fs::write(root.join("brief"), "").unwrap();
            fs::remove_file(root.join("brief")).unwrap();
        }
        fs::write(root.join("last"), "").unwrap();
    }
    watched.check();
    fs::write(root.join("after"), "").unwrap();
    watched.check();
    assert_eq!(watched.known.lock().unwrap().files.len(), 3);
}

#[cfg(not(vouch_portable))]
#[test]
fn falls_back_to_listing_without_its_root() {
    let watched = WatchedProject::new(Project::new(&[("in/a", "")]));
    let inner = Arc::new(
        tree::FileTree::new(&watched.project.root().join("in"), guard::DenyList::default())
            .unwrap(),
    );
    let files = Arc::new(Mutex::new(TrackedFiles::default()));
    let receiver = Arc::clone(&files);
    let watch = FileWatcher::start(inner, move |change| receiver.lock().unwrap().apply(change));
    assert_eq!(watch.settle(), SettleOutcome::Exact);
    fs::rename(watched.project.root().join("in"), watched.project.root().join("out")).unwrap();
    assert_eq!(watch.settle(), SettleOutcome::Relisted);
    assert!(!watch.is_live());
    assert!(files.lock().unwrap().files.is_empty());
    watched.project.write("in/b", "");
    assert_eq!(watch.settle(), SettleOutcome::Relisted);
    assert_eq!(files.lock().unwrap().files.keys().collect::<Vec<_>>(), [&"b".into()]);
}

#[derive(Clone, Debug)]
enum Step {
    Write(String),
    Remove(String),
    Rename(String, String),
    Rules(String, String),
    Settle,
}

fn step() -> impl Strategy<Value = Step> {
    let name = prop::sample::select(vec!["a", "b", "c.log", ".d", "build", "x"]);
    let path = prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"));
    let folder = prop::sample::select(vec!["", "a/", "b/", "a/b/"]);
    let rules = prop::sample::select(vec!["*.log\n", "/a\n", "b/\n", "!.d\n", "a/*\n!a/b\n", ""]);
    let file = prop::sample::select(vec![".gitignore", ".ignore"]);
    prop_oneof![
        4 => path.clone().prop_map(Step::Write),
        2 => path.clone().prop_map(Step::Remove),
        3 => (path.clone(), path).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => (folder, file, rules).prop_map(|(folder, file, rules)| {
            Step::Rules(format!("{folder}{file}"), rules.to_owned())
        }),
        1 => Just(Step::Settle),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Random changes between barriers, some of which the watcher's thread has already processed.
    #[test]
    fn stays_consistent_under_random_changes(steps in prop::collection::vec(step(), 1..60)) {
        let watched = WatchedProject::new(Project::with_extra(&[], &[".d/b", "a/x"]));
        let root = watched.project.root();
        for step in steps {
            // Many steps are impossible in the current state; they are ignored.
            match step {
                Step::Write(path) | Step::Rules(path, _) if root.join(&path).is_dir() => {}
                Step::Write(path) => {
                    let path = root.join(path);
                    let _ = fs::create_dir_all(path.parent().unwrap());
                    let _ = fs::write(path, "text");
                }
                Step::Rules(path, rules) => {
                    let _ = fs::write(root.join(path), rules);
                }
                Step::Remove(path) => {
                    let path = root.join(path);
                    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
                }
                Step::Rename(from, to) => drop(fs::rename(root.join(from), root.join(to))),
                Step::Settle => watched.check(),
            }
        }
        watched.check();
    }
}
