//! Commits that fix something: what was wrong here before, in the words of whoever put it right.
//!
//! The repository is read without its hooks, its filters, the user's configuration or the environment. Where the root is
//! a folder inside a repository, only commits that touched something below the root count: the rest is not ours to show.
//! A `.git` that leads to a repository of somebody else is not followed (`worktree.rs`).
//! History is deliberately not readable by the tools, so a message that holds a recognisable secret is left out.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::LazyLock;

use gix::bstr::{BStr, BString, ByteSlice};
use gix::diff::tree::{Visit, visit};
use gix::objs::TreeRefIter;
use regex::Regex;
use store::context::Kind;

use super::{Discovery, MAX_CONTENT, MAX_TITLE, Source, date, id_of, tidy, tidy_line};
use crate::worktree::GitFolder;

/// How far back is looked, counted in commits.
pub const MAX_COMMITS: usize = 2_000;
/// Enough to tell the module; a commit that touches more is a sweep.
const MAX_FILES: usize = 50;
/// Trees and commits of a walk are met again and again.
const OBJECT_CACHE_BYTES: usize = 8 << 20;

/// The history could not be read. No repository at all is no error.
#[derive(Debug, thiserror::Error)]
pub enum CommitsError {
    #[error("the git history of this project cannot be read")]
    Unreadable(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error(
        "the git history of this project is not read: its `.git` leads to a folder that does not lead back"
    )]
    Elsewhere,
}

/// A subject that says that something was put right.
static FIXES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix) ^(?:\[?(?:bug)?fix|hotfix|revert)\b | \b(?:fix(?:e[sd]|ing)?|bug(?:fix)?s?|regressions?|reverts?|workaround
            |crash(?:es|ed)?|panic(?:s|ked)?|deadlocks?|race\ condition|memory\ leaks?|vulnerability|cve-\d+)\b",
    )
    .expect("a test uses it")
});

/// A body that closes a report.
static CLOSES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?):?\s+(?:\w+/\w+)?#\d+")
        .expect("a test uses it")
});

/// Fixes that teach nothing.
static TRIVIAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:typos?|spelling|grammar|whitespace|formatting|fmt|lints?|clippy|eslint|prettier|rustfmt)\b")
        .expect("a test uses it")
});

/// Lines at the end of a message that are about the commit, not about the fix.
static TRAILER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[A-Z][A-Za-z]+(?:-[A-Za-z]+)+: ").expect("a test uses it"));

/// The fixes among the last `limit` commits, newest first. Merges are left out: what they bring has commits of its own.
pub fn fix_commits(root: &Path, limit: usize) -> Result<Vec<Discovery>, CommitsError> {
    let Some((mut repository, prefix)) = open(root)? else { return Ok(Vec::new()) };
    repository.object_cache_size_if_unset(OBJECT_CACHE_BYTES);
    // A branch without a commit has no history.
    let Ok(head) = repository.head_id() else { return Ok(Vec::new()) };
    let order = gix::traverse::commit::simple::CommitTimeOrder::NewestFirst;
    let walk = head
        .ancestors()
        .sorting(gix::revision::walk::Sorting::ByCommitTime(order))
        .all()
        .map_err(unreadable)?;
    let mut found = Vec::new();
    for info in walk.take(limit) {
        // A shallow or partial clone ends here; what was there counts.
        let Ok(commit) = info.and_then(|info| info.object()) else { break };
        found.extend(fix(&repository, &commit, prefix.as_bstr()));
    }
    Ok(found)
}

/// The repository that the root is in, and the root's path in it.
fn open(root: &Path) -> Result<Option<(gix::Repository, BString)>, CommitsError> {
    let root = root.canonicalize().map_err(unreadable)?;
    for folder in root.ancestors() {
        match GitFolder::of(folder) {
            None => continue,
            Some(GitFolder::Elsewhere) => return Err(CommitsError::Elsewhere),
            Some(GitFolder::Own | GitFolder::Linked { .. } | GitFolder::Submodule) => {}
        }
        let options = gix::open::Options::isolated();
        let repository = gix::open_opts(folder, options).map_err(unreadable)?;
        let inside = root.strip_prefix(folder).unwrap_or(Path::new(""));
        return Ok(Some((
            repository,
            gix::path::into_bstr(inside).map_err(unreadable)?.into_owned(),
        )));
    }
    Ok(None)
}

fn unreadable(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> CommitsError {
    CommitsError::Unreadable(error.into())
}

fn fix(repository: &gix::Repository, commit: &gix::Commit<'_>, prefix: &BStr) -> Option<Discovery> {
    let parents: Vec<_> = commit.parent_ids().collect();
    if parents.len() > 1 {
        return None;
    }
    let message = commit.message_raw_sloppy().to_str_lossy();
    let (subject, body) = message.trim().split_once('\n').unwrap_or((message.trim(), ""));
    let body = without_trailers(body);
    let fixes = FIXES.is_match(subject) || CLOSES.is_match(subject) || CLOSES.is_match(body);
    if !fixes || TRIVIAL.is_match(subject) || secrets::find(&message).is_some() {
        return None;
    }
    let files = touched(repository, commit, parents.first().map(|id| id.detach()), prefix)?;
    // A message of one line is its own content.
    let (title, content) = match tidy(body, MAX_CONTENT) {
        body if body.is_empty() => (None, tidy(subject, MAX_CONTENT)),
        body => (Some(tidy_line(subject, MAX_TITLE)), body),
    };
    let seconds = commit.time().ok()?.seconds;
    let date = jiff::Timestamp::from_second(seconds)
        .ok()
        .and_then(|time| date::parse(&time.to_string()))?;
    let whole = commit.id.to_string();
    Some(Discovery {
        id: id_of(&["commit", &whole]),
        kind: Kind::Issue,
        title,
        content,
        module: None,
        session: None,
        tags: Vec::new(),
        date,
        source: Source::Commit { id: whole[..12].to_owned(), files },
    })
}

fn without_trailers(body: &str) -> &str {
    let mut rest = body.trim_end();
    while let Some((before, last)) = rest.rsplit_once('\n') {
        if !TRAILER.is_match(last) {
            break;
        }
        rest = before.trim_end();
    }
    if TRAILER.is_match(rest) && !rest.contains('\n') { "" } else { rest }
}

/// Files below `prefix` that differ from the parent, relative to it; None where there are none, or a tree is missing.
fn touched(
    repository: &gix::Repository,
    commit: &gix::Commit<'_>,
    parent: Option<gix::ObjectId>,
    prefix: &BStr,
) -> Option<Vec<String>> {
    let tree = commit.tree().ok()?;
    let before = match parent {
        Some(parent) => repository.find_commit(parent).ok()?.tree().ok()?,
        None => repository.empty_tree(),
    };
    let mut changes = Changes {
        prefix,
        path: BString::default(),
        queue: Vec::new().into(),
        files: BTreeSet::new(),
    };
    let kind = commit.id.kind();
    let mut state = gix::diff::tree::State::default();
    let done = gix::diff::tree(
        TreeRefIter::from_bytes(&before.data, kind),
        TreeRefIter::from_bytes(&tree.data, kind),
        &mut state,
        &repository.objects,
        &mut changes,
    );
    // Stopping early is an error to it, and wanted here.
    let enough = changes.files.len() >= MAX_FILES;
    (done.is_ok() || enough)
        .then_some(changes.files.into_iter().collect::<Vec<_>>())
        .filter(|files| !files.is_empty())
}

/// Gathers the paths of changed files.
struct Changes<'a> {
    prefix: &'a BStr,
    path: BString,
    queue: std::collections::VecDeque<BString>,
    files: BTreeSet<String>,
}

impl Visit for Changes<'_> {
    fn pop_front_tracked_path_and_set_current(&mut self) {
        self.path = self.queue.pop_front().unwrap_or_default();
    }

    fn push_back_tracked_path_component(&mut self, component: &BStr) {
        self.push_path_component(component);
        self.queue.push_back(self.path.clone());
    }

    fn push_path_component(&mut self, component: &BStr) {
        if !self.path.is_empty() {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(component);
    }

    fn pop_path_component(&mut self) {
        let end = self.path.rfind_byte(b'/').unwrap_or(0);
        self.path.truncate(end);
    }

    fn visit(&mut self, change: visit::Change) -> visit::Action {
        if !change.entry_mode().is_tree() {
            let inside = match self.prefix.is_empty() {
                true => Some(&self.path[..]),
                false => self
                    .path
                    .strip_prefix(self.prefix.as_bytes())
                    .and_then(|rest| rest.strip_prefix(b"/")),
            };
            // A name that is no text names no file that a tool could read.
            if let Some(file) = inside.and_then(|inside| inside.to_str().ok()) {
                self.files.insert(file.to_owned());
            }
        }
        if self.files.len() < MAX_FILES {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}
