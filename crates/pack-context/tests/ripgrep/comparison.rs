//! Compares ripgrep with the search without an index and with the tool whose index follows changes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use contract::{CallContext, Caller, Tool};
use guard::DenyList;
use pack_context::{ContextOptions, ContextPack};
use serde_json::{Value, json};
use store::StateDir;
use tempfile::TempDir;
use tree::{FileTree, compare_paths};

use crate::patterns::GrepQuery;
use crate::rg::{GrepLine, Ripgrep};

/// Maximum matches that the tool returns.
const LIMIT: usize = 100;

/// MatchingFiles that match a glob; `None` if the glob is invalid.
type MatchingFiles = Option<Arc<BTreeSet<String>>>;

pub(crate) struct SearchComparison {
    root: PathBuf,
    ripgrep: Ripgrep,
    tree: FileTree,
    tool: Arc<dyn Tool>,
    found: AtomicU64,
    listed: Mutex<HashMap<Option<String>, MatchingFiles>>,
    seed: u64,
    // Dropped in this order.
    _pack: ContextPack,
    _state: TempDir,
}

/// Result of a search, in a common form.
#[derive(Debug, PartialEq, Eq)]
struct GrepAnswer {
    lines: Vec<GrepLine>,
    total: u64,
    files: u64,
}

impl SearchComparison {
    pub(crate) fn open(root: PathBuf, seed: u64) -> Self {
        let state = tempfile::tempdir().unwrap();
        let folder = StateDir::open(state.path().join("state")).unwrap();
        let pack = ContextPack::open(&root, &folder, ContextOptions::default()).unwrap();
        pack.start();
        assert!(pack.index().run_to_completion(&|_| (), &|| false));
        let tools = pack.tools().unwrap();
        let tool = tools.into_iter().find(|tool| tool.contract().name == "grep_codebase").unwrap();
        let tree = FileTree::new(&root, DenyList::default().with_pattern("node_modules")).unwrap();
        Self {
            ripgrep: Ripgrep::new(),
            root,
            tree,
            tool,
            found: AtomicU64::new(0),
            listed: Mutex::default(),
            seed,
            _pack: pack,
            _state: state,
        }
    }

    /// Returns the total number of lines found.
    pub(crate) fn total_found(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }

    #[track_caller]
    pub(crate) fn compare_query(&self, query: &GrepQuery) {
        let expected = self.search_with_ripgrep(query);
        let check = |how: &str, mut answer: Option<GrepAnswer>| {
            if let (Some(answer), Some(expected)) = (&mut answer, &expected) {
                normalize_lines(&mut answer.lines, &expected.lines);
            }
            assert_eq!(answer, expected, "{how}: {query:?}, SEARCH_SEED={}", self.seed);
        };
        check("without an index", self.search_without_index(query));
        check("with an index", self.search_with_index(query));
        self.found.fetch_add(expected.map_or(0, |answer| answer.total), Ordering::Relaxed);
    }

    /// Clears cached file lists after the tree changed.
    pub(crate) fn clear_file_cache(&self) {
        self.listed.lock().unwrap().clear();
    }

    fn search_with_ripgrep(&self, query: &GrepQuery) -> Option<GrepAnswer> {
        // Ripgrep wraps patterns in a group, which can make an invalid pattern valid.
        regex_syntax::ast::parse::Parser::new().parse(&query.pattern).ok()?;
        let files = self.matching_files(query.glob.as_deref())?;
        let mut lines = self.ripgrep.search(&self.root, query, LIMIT)?;
        lines.retain(|line| files.contains(&line.file));
        let mut counts = BTreeMap::new();
        for line in &lines {
            *counts.entry(line.file.clone()).or_insert(0) += 1;
        }
        if counts.values().any(|count| *count >= LIMIT as u64) {
            // A file may have more matching lines than the limit.
            counts = self.ripgrep.count_matches(&self.root, query)?;
            counts.retain(|file, _| files.contains(file));
        }
        lines.sort_by(|left, right| {
            compare_paths(&left.file, &right.file).then(left.line.cmp(&right.line))
        });
        lines.truncate(LIMIT);
        Some(GrepAnswer { lines, total: counts.values().sum(), files: files.len() as u64 })
    }

    /// Returns the files matching a glob, cached until the tree changes.
    fn matching_files(&self, glob: Option<&str>) -> MatchingFiles {
        let mut listed = self.listed.lock().unwrap();
        let list = || self.ripgrep.files_matching(&self.root, glob).map(Arc::new);
        listed.entry(glob.map(str::to_owned)).or_insert_with(list).clone()
    }

    fn search_without_index(&self, query: &GrepQuery) -> Option<GrepAnswer> {
        let asked = tree::grep::GrepQuery::new(&query.pattern, query.case_sensitive)
            .ok()?
            .with_limit(LIMIT);
        let asked = match &query.glob {
            Some(glob) => asked.with_glob(glob).ok()?,
            None => asked,
        };
        let found = tree::grep::search_files(&self.tree, &asked, None, &|| false).unwrap();
        let line = |found: tree::grep::GrepMatch| GrepLine {
            file: found.file,
            line: found.line,
            column: Some(found.column),
            text: found.text,
        };
        let lines = found.matches.into_iter().map(line).collect();
        Some(GrepAnswer { lines, total: found.total, files: found.files })
    }

    fn search_with_index(&self, query: &GrepQuery) -> Option<GrepAnswer> {
        let mut arguments = json!({
            "pattern": query.pattern,
            "caseSensitive": query.case_sensitive,
            "limit": LIMIT,
        });
        if let Some(glob) = &query.glob {
            arguments["filePattern"] = glob.as_str().into();
        }
        let ctx = CallContext::new(Caller::new("test"));
        let answer = self.tool.call(arguments, &ctx).ok()?.structured.unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let line = |found: &Value| GrepLine {
            file: text(&found["file"]),
            line: found["line"].as_u64().unwrap(),
            column: found["column"].as_u64(),
            text: text(&found["text"]),
        };
        let lines = answer["matches"].as_array().unwrap().iter().map(line).collect();
        let (total, files) = (answer["totalMatches"].as_u64(), answer["filesSearched"].as_u64());
        Some(GrepAnswer { lines, total: total.unwrap(), files: files.unwrap() })
    }
}

/// Replaces shortened long lines by the full lines, and clears columns that ripgrep does not report.
///
/// Ripgrep reports no column for an empty match at the end of a file without a final line feed.
fn normalize_lines(lines: &mut [GrepLine], whole: &[GrepLine]) {
    for (line, whole) in lines.iter_mut().zip(whole) {
        if whole.column.is_none() {
            line.column = None;
        }
        let is_long = whole.text.chars().count() > tree::grep::MAX_TEXT;
        if is_long && whole.text.contains(line.text.trim_matches('…')) {
            line.text.clone_from(&whole.text);
        }
    }
}

/// Returns true if a path exists, without following links.
pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
