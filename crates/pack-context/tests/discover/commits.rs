//! Fix commits in repositories created with git.

use std::path::Path;
use std::process::Command;

use pack_context::discover::{CommitsError, DiscoverySource, MAX_COMMITS, find_fix_commits};
use tempfile::TempDir;

use crate::render_discoveries;

pub(crate) struct TestRepository {
    pub(crate) folder: TempDir,
    minute: u32,
}

impl TestRepository {
    pub(crate) fn new() -> Self {
        let repository = Self { folder: TempDir::new().unwrap(), minute: 0 };
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Runs git with a fixed configuration, identity and time.
    fn git(&self, args: &[&str]) {
        let time = format!("2026-01-02T10:{:02}:00Z", self.minute);
        let status = Command::new("git")
            .args(args)
            .current_dir(self.root())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .envs([("GIT_AUTHOR_NAME", "Ada"), ("GIT_AUTHOR_EMAIL", "ada@example.com")])
            .envs([("GIT_COMMITTER_NAME", "Ada"), ("GIT_COMMITTER_EMAIL", "ada@example.com")])
            .envs([("GIT_AUTHOR_DATE", &time), ("GIT_COMMITTER_DATE", &time)])
            .status();
        assert!(status.unwrap().success(), "git {args:?}");
    }

    pub(crate) fn commit(&mut self, path: &str, message: &str) {
        let file = self.root().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, format!("{} {message}", self.minute)).unwrap();
        self.git(&["add", "."]);
        self.git(&["commit", "-q", "-m", message]);
        self.minute += 1;
    }
}

/// Renders the fix commits, with file names in place of commit ids.
fn render_fixes(root: &Path) -> String {
    let fixes = find_fix_commits(root, MAX_COMMITS).unwrap();
    let text = render_discoveries(&fixes);
    // Commit ids depend on the git version.
    fixes.iter().fold(text, |text, fix| match &fix.source {
        DiscoverySource::Commit { id, files } => text.replace(id, &files.join("+")),
        DiscoverySource::File { .. } | DiscoverySource::Store { .. } => text,
    })
}

#[test]
fn finds_fix_commits() {
    let mut repository = TestRepository::new();
    let token = format!("gh{}{}", "p_", "q7Zt4Kp9Xw2Lm5Vb8Nc3Rd6Hf1Jg0YsQ7aB2c");
    for (path, message) in [
        ("src/a.rs", "add a feature"),
        (
            "src/a.rs",
            "fix(auth): refresh tokens once\n\nTwo requests raced.\nSigned-off-by: Ada <ada@example.com>\n",
        ),
        ("src/b.rs", "tidy up\n\nCloses #12\n"),
        ("src/b.rs", "Revert \"tidy up\"\n\nThis broke the build.\n"),
        ("src/b.rs", "fix typo in docs"),
        ("src/c.rs", "prefix all names"),
        ("src/c.rs", &format!("fix: the token was {token}")),
        ("docs/x.md", "Crash on \u{202e}start is gone"),
    ] {
        repository.commit(path, message);
    }
    repository.git(&["checkout", "-q", "-b", "side", "HEAD~3"]);
    repository.commit("src/d.rs", "fix: on the side");
    repository.git(&["checkout", "-q", "main"]);
    repository.git(&["merge", "-q", "--no-ff", "-m", "merge: fix from the side", "side"]);
    insta::assert_snapshot!(render_fixes(repository.root()));
    assert_eq!(
        find_fix_commits(repository.root(), 2).unwrap().len(),
        1,
        "the limit counts commits"
    );
}

#[test]
fn only_commits_below_root_count() {
    let mut repository = TestRepository::new();
    repository.commit("web/a.ts", "fix: in web");
    repository.commit("api/b.ts", "fix: in api");
    repository.commit("website/c.ts", "fix: in website");
    insta::assert_snapshot!(render_fixes(&repository.root().join("web")), @r"
    commit a.ts issue 2026-01-02T10:00:00Z
      fix: in web
    ");
}

#[test]
fn returns_no_fixes_without_history() {
    let folder = TempDir::new().unwrap();
    assert_eq!(find_fix_commits(folder.path(), MAX_COMMITS).unwrap(), []);
    assert_eq!(
        find_fix_commits(TestRepository::new().root(), MAX_COMMITS).unwrap(),
        [],
        "no commit yet"
    );
}

#[test]
fn reports_broken_repository() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join(".git")).unwrap();
    let error = find_fix_commits(folder.path(), MAX_COMMITS).unwrap_err();
    assert_eq!(error.to_string(), "failed to read the git history of this project");
}

/// An unpacked archive can contain any of these.
#[test]
fn does_not_follow_git_pointer_to_foreign_repository() {
    let mut repository = TestRepository::new();
    repository.commit("a.rs", "fix: not yours to see");
    let foreign = repository.root().canonicalize().unwrap().join(".git");
    let pointer = format!("gitdir: {}\n", foreign.display());
    let (back, common) = ("../.git\n", format!("{}\n", foreign.display()));
    let projects: [&[(&str, &str)]; 4] = [
        &[(".git", &pointer)],
        &[(".git", "gitdir: /nowhere\n")],
        // A folder that points back, but also to the foreign repository.
        &[(".git", "gitdir: own\n"), ("own/gitdir", back), ("own/commondir", &common)],
        &[(".git/HEAD", "ref: refs/heads/main\n"), (".git/commondir", &common)],
    ];
    let open_error = |folder: &TempDir| find_fix_commits(folder.path(), MAX_COMMITS).unwrap_err();
    for files in projects {
        let folder = TempDir::new().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        assert!(matches!(open_error(&folder), CommitsError::ForeignRepository), "{files:?}");
    }
    let folder = TempDir::new().unwrap();
    std::os::unix::fs::symlink(&foreign, folder.path().join(".git")).unwrap();
    insta::assert_snapshot!(open_error(&folder), @"skipped the git history: `.git` points to a directory that does not point back");
}

#[test]
fn reads_history_of_linked_worktrees_and_submodules() {
    let mut repository = TestRepository::new();
    repository.commit("a.rs", "fix: the first");
    repository.git(&["worktree", "add", "-q", "linked"]);
    assert!(render_fixes(&repository.root().join("linked")).contains("fix: the first"));

    let mut part = TestRepository::new();
    part.commit("b.rs", "fix: in the part");
    let from = part.root().to_str().unwrap();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "part"];
    repository.git(&add);
    assert!(render_fixes(&repository.root().join("part")).contains("fix: in the part"));
}
