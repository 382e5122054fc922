//! What is compared with ripgrep: the search without an index, and the tool with one that keeps itself current.

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
use tree::{Tree, by_path};

use crate::patterns::Query;
use crate::rg::{Line, Ripgrep};

/// As many matches as the tool may show.
const LIMIT: usize = 100;

/// None if the glob is refused.
type Files = Option<Arc<BTreeSet<String>>>;

pub(crate) struct Subject {
    root: PathBuf,
    ripgrep: Ripgrep,
    tree: Tree,
    tool: Arc<dyn Tool>,
    found: AtomicU64,
    listed: Mutex<HashMap<Option<String>, Files>>,
    seed: u64,
    // Ended in this order.
    _pack: ContextPack,
    _state: TempDir,
}

/// What a search says, in one form for all.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    lines: Vec<Line>,
    total: u64,
    files: u64,
}

impl Subject {
    pub(crate) fn open(root: PathBuf, seed: u64) -> Self {
        let state = tempfile::tempdir().unwrap();
        let folder = StateDir::open(state.path().join("state")).unwrap();
        let pack = ContextPack::open(&root, &folder, ContextOptions::default()).unwrap();
        pack.start();
        assert!(pack.index().complete(&|_| (), &|| false));
        let tools = pack.tools().unwrap();
        let tool = tools.into_iter().find(|tool| tool.contract().name == "grep_codebase").unwrap();
        let tree = Tree::new(&root, DenyList::default().with("node_modules")).unwrap();
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

    /// How many lines were found in all.
    pub(crate) fn found(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }

    #[track_caller]
    pub(crate) fn compare(&self, query: &Query) {
        let expected = self.expected(query);
        let check = |how: &str, mut answer: Option<Answer>| {
            if let (Some(answer), Some(expected)) = (&mut answer, &expected) {
                same_form(&mut answer.lines, &expected.lines);
            }
            assert_eq!(answer, expected, "{how}: {query:?}, SEARCH_SEED={}", self.seed);
        };
        check("without an index", self.walked(query));
        check("with an index", self.indexed(query));
        self.found.fetch_add(expected.map_or(0, |answer| answer.total), Ordering::Relaxed);
    }

    /// The tree is not what it was.
    pub(crate) fn changed(&self) {
        self.listed.lock().unwrap().clear();
    }

    fn expected(&self, query: &Query) -> Option<Answer> {
        // Ripgrep puts brackets around a pattern, which close what it left open.
        regex_syntax::ast::parse::Parser::new().parse(&query.pattern).ok()?;
        let files = self.files(query.glob.as_deref())?;
        let mut lines = self.ripgrep.search(&self.root, query, LIMIT)?;
        lines.retain(|line| files.contains(&line.file));
        let mut counts = BTreeMap::new();
        for line in &lines {
            *counts.entry(line.file.clone()).or_insert(0) += 1;
        }
        if counts.values().any(|count| *count >= LIMIT as u64) {
            // Some file may have more lines than were asked for.
            counts = self.ripgrep.count(&self.root, query)?;
            counts.retain(|file, _| files.contains(file));
        }
        lines.sort_by(|left, right| {
            by_path(&left.file, &right.file).then(left.line.cmp(&right.line))
        });
        lines.truncate(LIMIT);
        Some(Answer { lines, total: counts.values().sum(), files: files.len() as u64 })
    }

    /// Asked of ripgrep once for each glob, until the tree changes.
    fn files(&self, glob: Option<&str>) -> Files {
        let mut listed = self.listed.lock().unwrap();
        let list = || self.ripgrep.files(&self.root, glob).map(Arc::new);
        listed.entry(glob.map(str::to_owned)).or_insert_with(list).clone()
    }

    fn walked(&self, query: &Query) -> Option<Answer> {
        let asked = tree::grep::Query::new(&query.pattern, query.case_sensitive).ok()?.limit(LIMIT);
        let asked = match &query.glob {
            Some(glob) => asked.in_files(glob).ok()?,
            None => asked,
        };
        let found = tree::grep::search(&self.tree, &asked, None, &|| false).unwrap();
        let line = |found: tree::grep::Match| Line {
            file: found.file,
            line: found.line,
            column: Some(found.column),
            text: found.text,
        };
        let lines = found.matches.into_iter().map(line).collect();
        Some(Answer { lines, total: found.total, files: found.files })
    }

    fn indexed(&self, query: &Query) -> Option<Answer> {
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
        let line = |found: &Value| Line {
            file: text(&found["file"]),
            line: found["line"].as_u64().unwrap(),
            column: found["column"].as_u64(),
            text: text(&found["text"]),
        };
        let lines = answer["matches"].as_array().unwrap().iter().map(line).collect();
        let (total, files) = (answer["totalMatches"].as_u64(), answer["filesSearched"].as_u64());
        Some(Answer { lines, total: total.unwrap(), files: files.unwrap() })
    }
}

/// Puts the whole of a long line in the place of its excerpt, if it is one. And where ripgrep names no place, because
/// an empty match at the end of a file without a last line feed is none to it, any place will do.
fn same_form(lines: &mut [Line], whole: &[Line]) {
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

/// Whether a path exists, link or not.
pub(crate) fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
