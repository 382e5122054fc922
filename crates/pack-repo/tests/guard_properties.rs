//! The path guard against a reference model, over generated trees of files, folders and links.
//!
//! The model resolves paths in memory and knows no handles. Every file outside the root contains a marker, and no
//! call may ever return it. Paths are read with `read_repo_file`, through `call_now` and through `call`.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use contract::{CallContext, Caller, ErrorCode, Tool, ToolError, ToolOutput};
use pack_repo::{RepoOptions, build_tools};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

const MARKER: &str = "MARKER from outside the root";
/// Number of generated layouts; with `PATHS` paths each, 100,000 paths in total.
const LAYOUTS: u32 = 250;
const PATHS: usize = 400;

const NAMES: [&str; 10] =
    ["a", "b", "c", "d.txt", "e.md", ".env", ".Git", "my-Secret", "k.pem", ".gitignore"];
/// Names from `NAMES` that are denied; the model's own list, written out.
const DENIED: [&str; 4] = [".env", ".Git", "my-Secret", "k.pem"];

#[derive(Clone, Debug)]
enum TreeNode {
    File(String),
    Link(String),
    Folder(BTreeMap<String, TreeNode>),
}

/// Expected outcome of reading a path.
#[derive(Debug, PartialEq)]
enum ReadOutcome {
    Content(String),
    Failed(ErrorCode),
}

// ---- the layout ----

/// Location in the tree (a choice among the folders so far), name, and kind.
type PlannedNode = (prop::sample::Index, &'static str, NodeKind);

#[derive(Clone, Debug)]
enum NodeKind {
    File,
    Folder,
    Link(String),
}

fn node_names() -> impl Strategy<Value = &'static str> {
    // Mostly allowed names, so that walks get far enough.
    prop_oneof![8 => prop::sample::select(&NAMES[..5]), 2 => prop::sample::select(&NAMES[5..])]
}

/// Link targets: inside, up and down, outside through `..` or an absolute path, absolute into the root, or missing.
fn link_targets() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => node_names(), 3 => Just(".."), 1 => Just("."), 1 => Just("outside"), 1 => Just("root"), 1 => Just(""),
    ];
    let relative = prop::collection::vec(part, 1..5).prop_map(|parts| parts.join("/"));
    prop_oneof![
        12 => relative.clone(),
        1 => relative.clone().prop_map(|path| format!("<outside>/{path}")),
        1 => relative.prop_map(|path| format!("<root>/{path}")),
        2 => node_names().prop_map(|name| format!("../outside/{name}")),
        2 => node_names().prop_map(|name| format!("../../outside/{name}")),
    ]
    .prop_map(|target| if target.is_empty() { ".".into() } else { target })
}

fn planned_nodes() -> impl Strategy<Value = PlannedNode> {
    let kind = prop_oneof![
        3 => Just(NodeKind::File), 3 => Just(NodeKind::Folder), 4 => link_targets().prop_map(NodeKind::Link),
    ];
    (any::<prop::sample::Index>(), node_names(), kind)
}

fn read_paths() -> impl Strategy<Value = String> {
    let part = prop_oneof![30 => node_names(), 1 => Just(".."), 2 => Just("."), 1 => Just("")];
    let start = prop_oneof![30 => Just(""), 1 => Just("/"), 2 => Just("./")];
    let end = prop_oneof![30 => Just(""), 1 => Just("/")];
    (start, prop::collection::vec(part, 1..5), end)
        .prop_map(|(start, parts, end)| format!("{start}{}{end}", parts.join("/")))
}

fn build_tree(plan: &[PlannedNode]) -> TreeNode {
    let mut root = TreeNode::Folder(BTreeMap::new());
    let mut folders: Vec<Vec<String>> = vec![Vec::new()];
    for (index, (location, name, kind)) in plan.iter().enumerate() {
        let parent = location.get(&folders).clone();
        let Some(TreeNode::Folder(children)) = lookup_mut(&mut root, &parent) else {
            unreachable!()
        };
        if children.contains_key(*name) {
            continue;
        }
        let node = match kind {
            NodeKind::File => TreeNode::File(format!("inside {index}")),
            NodeKind::Link(target) => TreeNode::Link(target.clone()),
            NodeKind::Folder => TreeNode::Folder(BTreeMap::new()),
        };
        children.insert((*name).to_owned(), node);
        if matches!(kind, NodeKind::Folder) {
            folders.push([parent, vec![(*name).to_owned()]].concat());
        }
    }
    root
}

fn lookup_mut<'a>(root: &'a mut TreeNode, path: &[String]) -> Option<&'a mut TreeNode> {
    path.iter().try_fold(root, |node, name| match node {
        TreeNode::Folder(children) => children.get_mut(name),
        _ => None,
    })
}

fn write_tree(node: &TreeNode, at: &Path, root: &Path, outside: &Path) {
    match node {
        TreeNode::File(content) => fs::write(at, content).unwrap(),
        TreeNode::Link(target) => {
            let target = target
                .replace("<outside>", outside.to_str().unwrap())
                .replace("<root>", root.to_str().unwrap());
            symlink(target, at).unwrap();
        }
        TreeNode::Folder(children) => {
            fs::create_dir_all(at).unwrap();
            for (name, child) in children {
                write_tree(child, &at.join(name), root, outside);
            }
        }
    }
}

/// Creates every name outside the root, two levels deep; each file there contains the marker.
fn write_outside(outside: &Path) {
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

fn expected_outcome(root: &TreeNode, path: &str) -> ReadOutcome {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let refused_by_text = path.starts_with('/')
        || parts.contains(&"..")
        || parts.iter().any(|part| DENIED.contains(part));
    if refused_by_text {
        return ReadOutcome::Failed(ErrorCode::AccessDenied);
    }
    if parts.is_empty() || path.ends_with('/') || path.ends_with("/.") {
        return ReadOutcome::Failed(ErrorCode::InvalidInput);
    }
    let mut budget = 40;
    match resolve_path(root, Vec::new(), &parts.join("/"), &mut budget) {
        Err(code) => ReadOutcome::Failed(code),
        Ok(location) => match lookup(root, &location) {
            Some(TreeNode::File(content)) => ReadOutcome::Content(content.clone()),
            Some(TreeNode::Folder(_)) => ReadOutcome::Failed(ErrorCode::InvalidInput),
            _ => unreachable!("a resolved location exists and is not a link"),
        },
    }
}

fn lookup<'a>(root: &'a TreeNode, location: &[String]) -> Option<&'a TreeNode> {
    location.iter().try_fold(root, |node, name| match node {
        TreeNode::Folder(children) => children.get(name),
        _ => None,
    })
}

/// Resolves `path` from the folder `at`, link by link, with one recursive call per link.
fn resolve_path(
    root: &TreeNode,
    mut at: Vec<String>,
    path: &str,
    budget: &mut usize,
) -> Result<Vec<String>, ErrorCode> {
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if !matches!(lookup(root, &at), Some(TreeNode::Folder(_))) {
            return Err(ErrorCode::NotFound);
        }
        if part == ".." {
            at.pop().ok_or(ErrorCode::AccessDenied)?;
            continue;
        }
        if DENIED.contains(&part) {
            return Err(ErrorCode::AccessDenied);
        }
        let location = [at.clone(), vec![part.to_owned()]].concat();
        at = match lookup(root, &location) {
            None => return Err(ErrorCode::NotFound),
            Some(TreeNode::Link(target)) => {
                *budget = budget.checked_sub(1).ok_or(ErrorCode::NotFound)?;
                if target.starts_with(['/', '<']) {
                    return Err(ErrorCode::AccessDenied);
                }
                resolve_path(root, at, target, budget)?
            }
            Some(_) => location,
        };
    }
    Ok(at)
}

// ---- the properties ----

/// Calls `read_repo_file` through both of its paths, `call_now` and `call`.
struct GuardedReader {
    tool: Arc<dyn Tool>,
    ctx: CallContext,
}

impl GuardedReader {
    fn new(root: &Path) -> Self {
        let tools = build_tools(root, RepoOptions::default()).unwrap();
        let tool = tools.into_iter().find(|tool| tool.contract().name == "read_repo_file").unwrap();
        Self { tool, ctx: CallContext::new(Caller::new("test")) }
    }

    fn read_now(&self, path: &str) -> Option<ReadOutcome> {
        self.tool.call_now(&read_arguments(path), &self.ctx).map(to_outcome)
    }

    fn read_by_walk(&self, path: &str) -> ReadOutcome {
        to_outcome(self.tool.call(read_arguments(path), &self.ctx))
    }

    /// Reads as a server does: `call_now` first, then `call`.
    fn read_as_server(&self, path: &str) -> ReadOutcome {
        self.read_now(path).unwrap_or_else(|| self.read_by_walk(path))
    }
}

fn read_arguments(path: &str) -> Value {
    json!({"path": path, "encoding": "utf-8"})
}

fn to_outcome(answer: Result<ToolOutput, ToolError>) -> ReadOutcome {
    match answer {
        Ok(output) => {
            ReadOutcome::Content(output.structured.unwrap()["content"].as_str().unwrap().to_owned())
        }
        Err(error) => ReadOutcome::Failed(error.code),
    }
}

#[test]
fn guard_matches_the_model_and_never_returns_outside_content() {
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("outside");
    write_outside(&outside);
    let strategy =
        (prop::collection::vec(planned_nodes(), 1..25), prop::collection::vec(read_paths(), PATHS));
    let (read, refused) = (Cell::new(0), RefCell::new(BTreeMap::<ErrorCode, usize>::new()));
    let mut runner =
        TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(LAYOUTS) });
    runner
        .run(&strategy, |(plan, paths)| {
            let tree = build_tree(&plan);
            let home = tempfile::tempdir_in(folder.path()).unwrap();
            // Two levels above the root lead outside: `../outside` is a link, and `../../outside` is the folder
            // itself.
            symlink(&outside, home.path().join("outside")).unwrap();
            let root = home.path().join("root");
            write_tree(&tree, &root, &root, &outside);
            let reader = GuardedReader::new(&root);
            for path in &paths {
                let expected = expected_outcome(&tree, path);
                if let Some(outcome) = reader.read_now(path) {
                    prop_assert_eq!(&outcome, &expected, "{} through call_now", path);
                }
                let outcome = reader.read_by_walk(path);
                match &outcome {
                    ReadOutcome::Content(content) => {
                        prop_assert!(!content.contains("MARKER"), "{} left the root", path);
                        read.set(read.get() + 1);
                    }
                    ReadOutcome::Failed(code) => {
                        *refused.borrow_mut().entry(*code).or_default() += 1;
                    }
                }
                prop_assert_eq!(outcome, expected, "{}", path);
            }
            Ok(())
        })
        .unwrap();
    // The generator must reach every kind of outcome, or the property proves little.
    let (read, refused) = (read.get(), refused.into_inner());
    assert!(read > 1_000, "{read} reads, {refused:?}");
    for code in [ErrorCode::AccessDenied, ErrorCode::NotFound, ErrorCode::InvalidInput] {
        assert!(
            refused.get(&code).is_some_and(|count| *count > 1_000),
            "{read} reads, {refused:?}"
        );
    }
}

/// Another thread swaps a folder for a link outside, a file for a link outside, and a file for a link to a denied
/// name, as fast as it can, while these paths are read.
#[test]
fn swapping_links_during_calls_never_returns_outside_content() {
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
    // A link that goes up: `..` must not be resolved from a folder that has been moved.
    symlink("sub/deep/../f.txt", root.join("up")).unwrap();

    let reader = GuardedReader::new(&root);
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
                // Alternates, because `call` alone more often sees a file that becomes a link during the read.
                let outcome = if round % 2 == 0 {
                    reader.read_as_server(path)
                } else {
                    reader.read_by_walk(path)
                };
                match outcome {
                    ReadOutcome::Content(content) => {
                        counts[0] += 1;
                        if content != "inside" {
                            stop.store(true, Ordering::Relaxed);
                            panic!("{path} showed {content}");
                        }
                    }
                    ReadOutcome::Failed(ErrorCode::AccessDenied) => counts[1] += 1,
                    // The name changed between its lookup and the resolution of its target.
                    ReadOutcome::Failed(ErrorCode::NotFound) => counts[2] += 1,
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
