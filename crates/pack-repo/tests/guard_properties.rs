//! The path guard against a reference model, over generated trees of files, folders and links.
//!
//! The model resolves paths in memory and knows nothing of handles. Whatever lies outside the root holds a marker, and
//! no call may ever return it. Paths are read with `read_repo_file`, on the spot and by the walk.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use contract::{CallContext, Caller, Code, Output, Tool, ToolError};
use pack_repo::{RepoOptions, tools};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

const MARKER: &str = "MARKER from outside the root";
/// Together 100,000 paths.
const LAYOUTS: u32 = 250;
const PATHS: usize = 400;

const NAMES: [&str; 10] =
    ["a", "b", "c", "d.txt", "e.md", ".env", ".Git", "my-Secret", "k.pem", ".gitignore"];
/// The model's own list, written out: what of `NAMES` is denied.
const DENIED: [&str; 4] = [".env", ".Git", "my-Secret", "k.pem"];

#[derive(Clone, Debug)]
enum Node {
    File(String),
    Link(String),
    Folder(BTreeMap<String, Node>),
}

/// What a path must answer.
#[derive(Debug, PartialEq)]
enum Outcome {
    Content(String),
    Refused(Code),
}

// ---- the layout ----

/// Where in the tree (a choice among the folders so far), under which name, and what.
type Planned = (prop::sample::Index, &'static str, Planted);

#[derive(Clone, Debug)]
enum Planted {
    File,
    Folder,
    Link(String),
}

fn name() -> impl Strategy<Value = &'static str> {
    // Mostly allowed names, so that walks get anywhere.
    prop_oneof![8 => prop::sample::select(&NAMES[..5]), 2 => prop::sample::select(&NAMES[5..])]
}

/// Targets: inside, up and down, out of the root by `..` or by an absolute path, into the root absolutely, nowhere.
fn target() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => name(), 3 => Just(".."), 1 => Just("."), 1 => Just("outside"), 1 => Just("root"), 1 => Just(""),
    ];
    let relative = prop::collection::vec(part, 1..5).prop_map(|parts| parts.join("/"));
    prop_oneof![
        12 => relative.clone(),
        1 => relative.clone().prop_map(|path| format!("<outside>/{path}")),
        1 => relative.prop_map(|path| format!("<root>/{path}")),
        2 => name().prop_map(|name| format!("../outside/{name}")),
        2 => name().prop_map(|name| format!("../../outside/{name}")),
    ]
    .prop_map(|target| if target.is_empty() { ".".into() } else { target })
}

fn planted() -> impl Strategy<Value = Planned> {
    let kind = prop_oneof![
        3 => Just(Planted::File), 3 => Just(Planted::Folder), 4 => target().prop_map(Planted::Link),
    ];
    (any::<prop::sample::Index>(), name(), kind)
}

fn path() -> impl Strategy<Value = String> {
    let part = prop_oneof![30 => name(), 1 => Just(".."), 2 => Just("."), 1 => Just("")];
    let start = prop_oneof![30 => Just(""), 1 => Just("/"), 2 => Just("./")];
    let end = prop_oneof![30 => Just(""), 1 => Just("/")];
    (start, prop::collection::vec(part, 1..5), end)
        .prop_map(|(start, parts, end)| format!("{start}{}{end}", parts.join("/")))
}

fn tree(plan: &[Planned]) -> Node {
    let mut root = Node::Folder(BTreeMap::new());
    let mut folders: Vec<Vec<String>> = vec![Vec::new()];
    for (index, (place, name, kind)) in plan.iter().enumerate() {
        let parent = place.get(&folders).clone();
        let Some(Node::Folder(children)) = lookup_mut(&mut root, &parent) else { unreachable!() };
        if children.contains_key(*name) {
            continue;
        }
        let node = match kind {
            Planted::File => Node::File(format!("inside {index}")),
            Planted::Link(target) => Node::Link(target.clone()),
            Planted::Folder => Node::Folder(BTreeMap::new()),
        };
        children.insert((*name).to_owned(), node);
        if matches!(kind, Planted::Folder) {
            folders.push([parent, vec![(*name).to_owned()]].concat());
        }
    }
    root
}

fn lookup_mut<'a>(root: &'a mut Node, path: &[String]) -> Option<&'a mut Node> {
    path.iter().try_fold(root, |node, name| match node {
        Node::Folder(children) => children.get_mut(name),
        _ => None,
    })
}

fn plant(node: &Node, at: &Path, root: &Path, outside: &Path) {
    match node {
        Node::File(content) => fs::write(at, content).unwrap(),
        Node::Link(target) => {
            let target = target
                .replace("<outside>", outside.to_str().unwrap())
                .replace("<root>", root.to_str().unwrap());
            symlink(target, at).unwrap();
        }
        Node::Folder(children) => {
            fs::create_dir_all(at).unwrap();
            for (name, child) in children {
                plant(child, &at.join(name), root, outside);
            }
        }
    }
}

/// Every name exists outside, twice deep, and each file there holds the marker.
fn plant_outside(outside: &Path) {
    for name in NAMES {
        let folder = outside.join(name);
        fs::create_dir_all(&folder).unwrap();
        for name in NAMES {
            fs::write(folder.join(name), MARKER).unwrap();
        }
    }
    for name in &NAMES[3..5] {
        fs::remove_dir_all(outside.join(name)).unwrap();
        fs::write(outside.join(name), MARKER).unwrap();
    }
}

// ---- the reference model ----

fn expected(root: &Node, path: &str) -> Outcome {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let refused_by_text = path.starts_with('/')
        || parts.contains(&"..")
        || parts.iter().any(|part| DENIED.contains(part));
    if refused_by_text {
        return Outcome::Refused(Code::AccessDenied);
    }
    if parts.is_empty() || path.ends_with('/') || path.ends_with("/.") {
        return Outcome::Refused(Code::InvalidInput);
    }
    let mut budget = 40;
    match resolve(root, Vec::new(), &parts.join("/"), &mut budget) {
        Err(code) => Outcome::Refused(code),
        Ok(place) => match lookup(root, &place) {
            Some(Node::File(content)) => Outcome::Content(content.clone()),
            Some(Node::Folder(_)) => Outcome::Refused(Code::InvalidInput),
            _ => unreachable!("a resolved place exists and is no link"),
        },
    }
}

fn lookup<'a>(root: &'a Node, place: &[String]) -> Option<&'a Node> {
    place.iter().try_fold(root, |node, name| match node {
        Node::Folder(children) => children.get(name),
        _ => None,
    })
}

/// Resolves `path` from the folder `at`, link by link, each by a call of its own.
fn resolve(
    root: &Node,
    mut at: Vec<String>,
    path: &str,
    budget: &mut usize,
) -> Result<Vec<String>, Code> {
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if !matches!(lookup(root, &at), Some(Node::Folder(_))) {
            return Err(Code::NotFound);
        }
        if part == ".." {
            at.pop().ok_or(Code::AccessDenied)?;
            continue;
        }
        if DENIED.contains(&part) {
            return Err(Code::AccessDenied);
        }
        let place = [at.clone(), vec![part.to_owned()]].concat();
        at = match lookup(root, &place) {
            None => return Err(Code::NotFound),
            Some(Node::Link(target)) => {
                *budget = budget.checked_sub(1).ok_or(Code::NotFound)?;
                if target.starts_with(['/', '<']) {
                    return Err(Code::AccessDenied);
                }
                resolve(root, at, target, budget)?
            }
            Some(_) => place,
        };
    }
    Ok(at)
}

// ---- the properties ----

/// `read_repo_file` by its two ways.
struct Reader {
    tool: Arc<dyn Tool>,
    ctx: CallContext,
}

impl Reader {
    fn new(root: &Path) -> Self {
        let tools = tools(root, RepoOptions::default()).unwrap();
        let tool = tools.into_iter().find(|tool| tool.contract().name == "read_repo_file").unwrap();
        Self { tool, ctx: CallContext::new(Caller::new("test")) }
    }

    fn now(&self, path: &str) -> Option<Outcome> {
        self.tool.call_now(&arguments(path), &self.ctx).map(outcome)
    }

    fn walk(&self, path: &str) -> Outcome {
        outcome(self.tool.call(arguments(path), &self.ctx))
    }

    /// As a server does.
    fn serve(&self, path: &str) -> Outcome {
        self.now(path).unwrap_or_else(|| self.walk(path))
    }
}

fn arguments(path: &str) -> Value {
    json!({"path": path, "encoding": "utf-8"})
}

fn outcome(answer: Result<Output, ToolError>) -> Outcome {
    match answer {
        Ok(output) => {
            Outcome::Content(output.structured.unwrap()["content"].as_str().unwrap().to_owned())
        }
        Err(error) => Outcome::Refused(error.code),
    }
}

#[test]
fn the_guard_answers_as_the_model_and_never_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("outside");
    plant_outside(&outside);
    let strategy = (prop::collection::vec(planted(), 1..25), prop::collection::vec(path(), PATHS));
    let (read, refused) = (Cell::new(0), RefCell::new(BTreeMap::<Code, usize>::new()));
    let mut runner =
        TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(LAYOUTS) });
    runner
        .run(&strategy, |(plan, paths)| {
            let tree = tree(&plan);
            let home = tempfile::tempdir_in(folder.path()).unwrap();
            // Two levels above the root lead outside: `../outside` is a link, `../../outside` the folder itself.
            symlink(&outside, home.path().join("outside")).unwrap();
            let root = home.path().join("root");
            plant(&tree, &root, &root, &outside);
            let reader = Reader::new(&root);
            for path in &paths {
                let expected = expected(&tree, path);
                if let Some(outcome) = reader.now(path) {
                    prop_assert_eq!(&outcome, &expected, "{} on the spot", path);
                }
                let outcome = reader.walk(path);
                match &outcome {
                    Outcome::Content(content) => {
                        prop_assert!(!content.contains("MARKER"), "{} left the root", path);
                        read.set(read.get() + 1);
                    }
                    Outcome::Refused(code) => {
                        *refused.borrow_mut().entry(*code).or_default() += 1;
                    }
                }
                prop_assert_eq!(outcome, expected, "{}", path);
            }
            Ok(())
        })
        .unwrap();
    // The generator reaches every kind of outcome, or the property says little.
    let (read, refused) = (read.get(), refused.into_inner());
    assert!(read > 1_000, "{read} reads, {refused:?}");
    for code in [Code::AccessDenied, Code::NotFound, Code::InvalidInput] {
        assert!(
            refused.get(&code).is_some_and(|count| *count > 1_000),
            "{read} reads, {refused:?}"
        );
    }
}

/// Somebody exchanges a folder for a link out, a file for a link out, and a file for a link to a denied name, as fast
/// as they can, while the same paths are read.
#[test]
fn swapping_during_calls_never_shows_the_outside() {
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f.txt"), MARKER).unwrap();
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("sub/deep")).unwrap();
    for path in ["sub/f.txt", "sub/deep/f.txt", "g.txt", "h.txt"] {
        fs::write(root.join(path), "inside").unwrap();
    }
    fs::write(root.join(".env"), MARKER).unwrap();
    symlink("../outside", root.join("sub-other")).unwrap();
    symlink("../outside/f.txt", root.join("g-other")).unwrap();
    symlink(".env", root.join("h-other")).unwrap();
    // Up by a link: `..` must not be taken from a folder that has been moved.
    symlink("sub/deep/../f.txt", root.join("up")).unwrap();

    let reader = Reader::new(&root);
    let stop = AtomicBool::new(false);
    let mut seen = BTreeMap::<&str, [usize; 3]>::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for (one, other) in
                    [("sub", "sub-other"), ("g.txt", "g-other"), ("h.txt", "h-other")]
                {
                    let (one, other) = (root.join(one), root.join(other));
                    renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                }
            }
        });
        for round in 0..20_000 {
            for path in ["sub/f.txt", "g.txt", "h.txt", "up"] {
                let counts = seen.entry(path).or_default();
                // By turns, for the walk alone sees a file that becomes a link under it more often.
                let outcome = if round % 2 == 0 { reader.serve(path) } else { reader.walk(path) };
                match outcome {
                    Outcome::Content(content) => {
                        counts[0] += 1;
                        if content != "inside" {
                            stop.store(true, Ordering::Relaxed);
                            panic!("{path} showed {content}");
                        }
                    }
                    Outcome::Refused(Code::AccessDenied) => counts[1] += 1,
                    // Between the look at a name and the look at where it leads, it was something else again.
                    Outcome::Refused(Code::NotFound) => counts[2] += 1,
                    other => {
                        stop.store(true, Ordering::Relaxed);
                        panic!("{path}: {other:?}");
                    }
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    for (path, [inside, denied, _]) in &seen {
        assert!(*inside > 0 && *denied > 0, "no race on {path}: {seen:?}");
    }
}
