//! Ignore files that lead out of the project: the library that walks would read them.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard::DenyList;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tempfile::TempDir;
use tree::grep::{GrepQuery, search_files};
use tree::{FileTree, FileWatcher};

/// A project, and next to it a folder of the user that reports every opening of its files.
struct LinkedProject {
    folder: TempDir,
    root: PathBuf,
    watch: OwnedFd,
}

impl LinkedProject {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let watch = inotify::init(CreateFlags::NONBLOCK).unwrap();
        let project = Self { root: base.join("project"), folder, watch };
        for path in ["a.txt", "sub/b.txt", "other/c.txt"] {
            project.write(path, "word");
        }
        let outside = ["rules", "git/info/exclude", "git/commondir", "tree/worktrees/x/commondir"];
        for path in outside {
            project.write(&format!("../outside/{path}"), "*.txt\n");
            let path = base.join("outside").join(path);
            inotify::add_watch(&project.watch, path, WatchFlags::OPEN | WatchFlags::ACCESS)
                .unwrap();
        }
        project
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(&self, path: &str, target: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    fn outside(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("outside")
    }

    fn was_read_outside(&self) -> bool {
        let mut buffer = [0; 512];
        rustix::io::read(&self.watch, &mut buffer).is_ok_and(|count| count > 0)
    }

    /// Lists, searches and watches the files. Returns their paths and the folders that were not entered.
    fn list(&self, root: &Path) -> (String, String) {
        let tree = Arc::new(FileTree::new(root, DenyList::default()).unwrap());
        let listing = tree.list_files();
        let paths: Vec<_> = listing.entries.iter().map(|entry| entry.path.to_string()).collect();
        let refused: Vec<_> = listing.unreadable.into_iter().collect();
        let query = GrepQuery::new("word", true).unwrap();
        let found = search_files(&tree, &query, None, &|| false).unwrap();
        let matches: Vec<_> = found.matches.into_iter().map(|it| it.file).collect();
        assert_eq!(matches, paths);
        assert_eq!(found.skipped, refused.len() as u64);
        let watcher = FileWatcher::start(Arc::clone(&tree), |_| ());
        fs::write(root.join("sub/new.txt"), "word").unwrap();
        watcher.settle();
        assert_eq!(watcher.unreadable(), refused.len());
        fs::remove_file(root.join("sub/new.txt")).unwrap();
        (paths.join(" "), refused.join(" "))
    }
}

#[test]
fn folders_whose_ignore_files_lead_out_are_not_entered() {
    let (everything, sub) = ("", "a.txt other/c.txt");
    for (link, target, listed) in [
        (".gitignore", "../outside/rules", everything),
        (".ignore", "../outside/rules", everything),
        (".rgignore", "../outside/rules", everything),
        (".gitignore", "/dev/null", everything),
        (".git", "../outside/git", everything),
        (".git/info", "../../outside/git/info", everything),
        (".git/info/exclude", "../../../outside/rules", everything),
        ("sub/.gitignore", "../../outside/rules", sub),
        ("sub/.ignore", "../rules", sub),
        ("sub/.rgignore", "/dev/null", sub),
        ("sub/.git", "../../outside/git", sub),
    ] {
        let project = LinkedProject::new();
        project.link("rules", "../outside/rules");
        project.link(link, target);
        let (paths, refused) = project.list(&project.root);
        assert!(!project.was_read_outside(), "{link} -> {target}");
        assert_eq!(paths, listed, "{link} -> {target}");
        assert_eq!(refused, if listed == sub { "sub" } else { "" }, "{link} -> {target}");
    }
}

#[test]
fn pipes_and_huge_files_are_no_ignore_files() {
    for name in [".gitignore", "sub/.ignore"] {
        let project = LinkedProject::new();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, project.root.join(name), mode).unwrap();
        assert!(!project.list(&project.root).0.contains("sub/b.txt"), "{name}");
        fs::remove_file(project.root.join(name)).unwrap();
        fs::File::create(project.root.join(name)).unwrap().set_len(1 << 40).unwrap();
        assert!(!project.list(&project.root).0.contains("sub/b.txt"), "{name}");
    }
}

/// The root may be a folder of a clone, so that the folders above it are not those of the user.
#[test]
fn special_ignore_files_above_the_root_are_not_read() {
    let project = LinkedProject::new();
    project.write("sub/sub/deep.txt", "word");
    assert_eq!(project.list(&project.root.join("sub")).0, "b.txt sub/deep.txt");
    project.link(".gitignore", "/dev/null");
    assert_eq!(project.list(&project.root.join("sub")).0, "");
}

/// A `.git` file names a repository of the user, which does not know this folder.
#[test]
fn rules_of_foreign_repositories_are_not_read() {
    for folder in ["git", "tree/worktrees/x"] {
        let project = LinkedProject::new();
        let outside = project.outside();
        project.write(".git", &format!("gitdir: {}\n", outside.join(folder).display()));
        let (paths, _) = project.list(&project.root);
        assert!(!project.was_read_outside(), "{folder}");
        assert_eq!(paths, "", "{folder}");
    }
    // It does know this one.
    let project = LinkedProject::new();
    let outside = project.outside();
    let worktree = outside.join("tree/worktrees/x");
    project.write(".git", &format!("gitdir: {}\n", worktree.display()));
    let back = project.root.join(".git").display().to_string();
    fs::write(worktree.join("gitdir"), back + "\n").unwrap();
    fs::write(worktree.join("commondir"), "../..\n").unwrap();
    fs::create_dir_all(outside.join("tree/info")).unwrap();
    fs::write(outside.join("tree/info/exclude"), "a.txt\n").unwrap();
    assert_eq!(project.list(&project.root).0, "other/c.txt sub/b.txt");
}

#[test]
fn ignore_files_inside_the_project_may_be_links() {
    let project = LinkedProject::new();
    project.write(".config/rules", "a.txt\n");
    project.write(".config/tree/info/exclude", "c.txt\n");
    project.link(".gitignore", ".config/rules");
    project.link("other/.git", "../.config/tree");
    project.link("sub/.ignore", "missing");
    let (paths, refused) = project.list(&project.root);
    assert_eq!((paths.as_str(), refused.as_str()), ("sub/b.txt", ""));
    // A submodule refers to a folder above, which has no rules of its own.
    project.write("sub/.git", "gitdir: ../../outside/git/modules/sub\n");
    assert_eq!(project.list(&project.root).0, "sub/b.txt");
    assert!(!project.was_read_outside());
}
