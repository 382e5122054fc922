//! Fixes in the history of a repository that git made.

use std::path::Path;
use std::process::Command;

use pack_context::discover::{CommitsError, MAX_COMMITS, Source, fix_commits};
use tempfile::TempDir;

use crate::shown;

pub(crate) struct Repository {
    pub(crate) folder: TempDir,
    minute: u32,
}

impl Repository {
    pub(crate) fn new() -> Self {
        let repository = Self { folder: TempDir::new().unwrap(), minute: 0 };
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    /// With an environment that no machine changes.
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

fn told(root: &Path) -> String {
    let fixes = fix_commits(root, MAX_COMMITS).unwrap();
    let text = shown(&fixes);
    // Commit ids depend on what git writes.
    fixes.iter().fold(text, |text, fix| match &fix.source {
        Source::Commit { id, files } => text.replace(id, &files.join("+")),
        Source::File { .. } | Source::Store { .. } => text,
    })
}

#[test]
fn commits_that_fix_something() {
    let mut repository = Repository::new();
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
    insta::assert_snapshot!(told(repository.root()));
    assert_eq!(fix_commits(repository.root(), 2).unwrap().len(), 1, "the limit counts commits");
}

#[test]
fn below_a_repository_only_what_touched_the_folder_counts() {
    let mut repository = Repository::new();
    repository.commit("web/a.ts", "fix: in web");
    repository.commit("api/b.ts", "fix: in api");
    repository.commit("website/c.ts", "fix: in website");
    insta::assert_snapshot!(told(&repository.root().join("web")), @r"
    commit a.ts issue 2026-01-02T10:00:00Z
      fix: in web
    ");
}

#[test]
fn no_history_is_no_error() {
    let folder = TempDir::new().unwrap();
    assert_eq!(fix_commits(folder.path(), MAX_COMMITS).unwrap(), []);
    assert_eq!(fix_commits(Repository::new().root(), MAX_COMMITS).unwrap(), [], "no commit yet");
}

#[test]
fn a_broken_repository_is_said_to_be() {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join(".git")).unwrap();
    let error = fix_commits(folder.path(), MAX_COMMITS).unwrap_err();
    assert_eq!(error.to_string(), "the git history of this project cannot be read");
}

/// An archive can bring any of these.
#[test]
fn a_pointer_to_somebody_elses_repository_is_not_followed() {
    let mut repository = Repository::new();
    repository.commit("a.rs", "fix: not yours to see");
    let theirs = repository.root().canonicalize().unwrap().join(".git");
    let pointer = format!("gitdir: {}\n", theirs.display());
    let (back, common) = ("../.git\n", format!("{}\n", theirs.display()));
    let projects: [&[(&str, &str)]; 4] = [
        &[(".git", &pointer)],
        &[(".git", "gitdir: /nowhere\n")],
        // A folder that leads back, and on to the other repository.
        &[(".git", "gitdir: own\n"), ("own/gitdir", back), ("own/commondir", &common)],
        &[(".git/HEAD", "ref: refs/heads/main\n"), (".git/commondir", &common)],
    ];
    let refused = |folder: &TempDir| fix_commits(folder.path(), MAX_COMMITS).unwrap_err();
    for files in projects {
        let folder = TempDir::new().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        assert!(matches!(refused(&folder), CommitsError::Elsewhere), "{files:?}");
    }
    let folder = TempDir::new().unwrap();
    std::os::unix::fs::symlink(&theirs, folder.path().join(".git")).unwrap();
    insta::assert_snapshot!(refused(&folder), @"the git history of this project is not read: its `.git` leads to a folder that does not lead back");
}

#[test]
fn linked_worktrees_and_submodules_have_their_history() {
    let mut repository = Repository::new();
    repository.commit("a.rs", "fix: the first");
    repository.git(&["worktree", "add", "-q", "linked"]);
    assert!(told(&repository.root().join("linked")).contains("fix: the first"));

    let mut part = Repository::new();
    part.commit("b.rs", "fix: in the part");
    let from = part.root().to_str().unwrap();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "part"];
    repository.git(&add);
    assert!(told(&repository.root().join("part")).contains("fix: in the part"));
}
