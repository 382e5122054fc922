//! Finds commits that fix something and turns their messages into issues.
//!
//! The repository is read without hooks, filters, user configuration or environment variables. If the root is a
//! subfolder of a repository, only commits that changed files below the root count; other history is not exposed.
//! A `.git` that points to a foreign repository is not followed (`worktree.rs`), and neither is one with parts elsewhere
//! (`repository_bounds.rs`). The tools deliberately cannot read the git history, so commit messages that contain a
//! recognizable secret are skipped.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::LazyLock;

use gix::bstr::{BStr, BString, ByteSlice};
use gix::diff::tree::{Visit, visit};
use gix::objs::TreeRefIter;
use regex::Regex;
use store::context::DiscoveryKind;

use super::{
    Discovery, DiscoverySource, MAX_CONTENT, MAX_TITLE, date, digest_id, sanitize_line,
    sanitize_text,
};
use crate::repository_bounds::check_git_folder;
use crate::worktree::GitFolder;

/// Maximum commits examined, from the newest.
pub const MAX_COMMITS: usize = 2_000;
/// Maximum changed files kept per commit; enough to infer the module.
const MAX_FILES: usize = 50;
/// Object cache size; a walk reads the same trees and commits repeatedly.
const OBJECT_CACHE_BYTES: usize = 8 << 20;

/// The git history could not be read. A missing repository is not an error.
#[derive(Debug, thiserror::Error)]
pub enum CommitsError {
    #[error("failed to read the git history of this project")]
    Unreadable(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("skipped the git history: `.git` points to a directory that does not point back")]
    ForeignRepository,
    #[error("skipped the git history: {0}")]
    ForeignPart(String),
}

/// Matches a subject that mentions a fix.
static FIXES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix) ^(?:\[?(?:bug)?fix|hotfix|revert)\b | \b(?:fix(?:e[sd]|ing)?|bug(?:fix)?s?|regressions?|reverts?|workaround
            |crash(?:es|ed)?|panic(?:s|ked)?|deadlocks?|race\ condition|memory\ leaks?|vulnerability|cve-\d+)\b",
    )
    .expect("valid regex, covered by tests")
});

/// Matches a message that closes an issue.
static CLOSES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?):?\s+(?:\w+/\w+)?#\d+")
        .expect("valid regex, covered by tests")
});

/// Matches trivial fixes, which are skipped.
static TRIVIAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:typos?|spelling|grammar|whitespace|formatting|fmt|lints?|clippy|eslint|prettier|rustfmt)\b")
        .expect("valid regex, covered by tests")
});

/// Matches a trailer line such as `Signed-off-by: …`.
static TRAILER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[A-Z][A-Za-z]+(?:-[A-Za-z]+)+: ").expect("valid regex, covered by tests")
});

/// Returns the fixes among the last `limit` commits, newest first.
///
/// Merge commits are skipped, because the merged changes have their own commits. Returns an empty list if there is no
/// repository or no commit.
pub fn find_fix_commits(root: &Path, limit: usize) -> Result<Vec<Discovery>, CommitsError> {
    let Some((mut repository, prefix)) = open_repository(root)? else { return Ok(Vec::new()) };
    repository.object_cache_size_if_unset(OBJECT_CACHE_BYTES);
    // An unborn branch has no history.
    let Ok(head) = repository.head_id() else { return Ok(Vec::new()) };
    let order = gix::traverse::commit::simple::CommitTimeOrder::NewestFirst;
    let walk = head
        .ancestors()
        .sorting(gix::revision::walk::Sorting::ByCommitTime(order))
        .all()
        .map_err(to_unreadable_error)?;
    let mut found = Vec::new();
    for info in walk.take(limit) {
        // A shallow or partial clone ends here; the commits read so far count.
        let Ok(commit) = info.and_then(|info| info.object()) else { break };
        found.extend(parse_fix_commit(&repository, &commit, prefix.as_bstr()));
    }
    Ok(found)
}

/// Opens the repository that contains the root; returns it with the root's path inside it.
fn open_repository(root: &Path) -> Result<Option<(gix::Repository, BString)>, CommitsError> {
    let root = root.canonicalize().map_err(to_unreadable_error)?;
    for folder in root.ancestors() {
        let Some(git) = GitFolder::from_worktree(folder) else { continue };
        let (Some(head), Some(common)) = (git.head_folder(folder), git.common_folder(folder))
        else {
            return Err(CommitsError::ForeignRepository);
        };
        for part in BTreeSet::from([&head, &common]) {
            check_git_folder(part, &root)
                .map_err(|error| CommitsError::ForeignPart(error.to_string()))?;
        }
        // The multi-pack index names pack files, and the library does not check that the names stay in the folder.
        let options =
            gix::open::Options::isolated().config_overrides(["core.multiPackIndex=false"]);
        let repository = gix::open_opts(folder, options).map_err(to_unreadable_error)?;
        // The library found the folders by itself; they must be those that were checked.
        let opened = [repository.git_dir(), repository.common_dir()].map(Path::canonicalize);
        if !matches!(&opened, [Ok(one), Ok(other)] if *one == head && *other == common) {
            return Err(CommitsError::ForeignRepository);
        }
        let inside = root.strip_prefix(folder).unwrap_or(Path::new(""));
        return Ok(Some((
            repository,
            gix::path::into_bstr(inside).map_err(to_unreadable_error)?.into_owned(),
        )));
    }
    Ok(None)
}

fn to_unreadable_error(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> CommitsError {
    CommitsError::Unreadable(error.into())
}

/// Returns an issue if the commit is a non-trivial fix without secrets that changed files below `prefix`.
fn parse_fix_commit(
    repository: &gix::Repository,
    commit: &gix::Commit<'_>,
    prefix: &BStr,
) -> Option<Discovery> {
    let parents: Vec<_> = commit.parent_ids().collect();
    if parents.len() > 1 {
        return None;
    }
    let message = commit.message_raw_sloppy().to_str_lossy();
    let (subject, body) = message.trim().split_once('\n').unwrap_or((message.trim(), ""));
    let body = strip_trailers(body);
    let fixes = FIXES.is_match(subject) || CLOSES.is_match(subject) || CLOSES.is_match(body);
    if !fixes || TRIVIAL.is_match(subject) || secrets::find_secret(&message).is_some() {
        return None;
    }
    let files =
        list_changed_files(repository, commit, parents.first().map(|id| id.detach()), prefix)?;
    // A one-line message becomes the content.
    let (title, content) = match sanitize_text(body, MAX_CONTENT) {
        body if body.is_empty() => (None, sanitize_text(subject, MAX_CONTENT)),
        body => (Some(sanitize_line(subject, MAX_TITLE)), body),
    };
    let seconds = commit.time().ok()?.seconds;
    let date = jiff::Timestamp::from_second(seconds)
        .ok()
        .and_then(|time| date::parse_date(&time.to_string()))?;
    let whole = commit.id.to_string();
    Some(Discovery {
        id: digest_id(&["commit", &whole]),
        kind: DiscoveryKind::Issue,
        title,
        content,
        module: None,
        session: None,
        tags: Vec::new(),
        date,
        source: DiscoverySource::Commit { id: whole[..12].to_owned(), files },
    })
}

fn strip_trailers(body: &str) -> &str {
    let mut rest = body.trim_end();
    while let Some((before, last)) = rest.rsplit_once('\n') {
        if !TRAILER.is_match(last) {
            break;
        }
        rest = before.trim_end();
    }
    if TRAILER.is_match(rest) && !rest.contains('\n') { "" } else { rest }
}

/// Returns the files below `prefix` that differ from the parent, relative to `prefix`.
///
/// Returns `None` if there are no such files or a tree is missing.
fn list_changed_files(
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
    let mut changes = ChangedFilesVisitor {
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
    // Stopping early at the limit is reported as an error but is intended.
    let enough = changes.files.len() >= MAX_FILES;
    (done.is_ok() || enough)
        .then_some(changes.files.into_iter().collect::<Vec<_>>())
        .filter(|files| !files.is_empty())
}

/// Collects the paths of changed files.
struct ChangedFilesVisitor<'a> {
    prefix: &'a BStr,
    path: BString,
    queue: std::collections::VecDeque<BString>,
    files: BTreeSet<String>,
}

impl Visit for ChangedFilesVisitor<'_> {
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
            // The tools cannot read files whose names are not UTF-8.
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
