//! Fix commits in repositories created with git.

use std::path::{Path, PathBuf};
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

/// A repository with a fix, and a copy of its ids in a project that has no objects of its own.
struct ForeignHistory {
    foreign: TestRepository,
    project: TempDir,
}

impl ForeignHistory {
    fn new() -> Self {
        let mut foreign = TestRepository::new();
        foreign.commit("a.rs", "fix: not yours to see");
        let project = TempDir::new().unwrap();
        let history = Self { foreign, project };
        let head = std::fs::read_to_string(history.foreign(".git/refs/heads/main")).unwrap();
        for (path, text) in [
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"),
            (".git/refs/heads/main", &head),
            (".git/objects/info/exclude", ""),
            (".git/objects/pack/.keep", ""),
        ] {
            history.write(path, text);
        }
        history
    }

    fn foreign(&self, path: &str) -> PathBuf {
        self.foreign.root().canonicalize().unwrap().join(path)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.project.path().join(path)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        std::fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        std::fs::write(self.path(path), text).unwrap();
    }

    /// Replaces a path of the project by a link to the same path of the foreign repository.
    fn link(&self, path: &str) {
        let link = self.path(path);
        if link.is_dir() {
            std::fs::remove_dir_all(&link).unwrap();
        } else {
            let _ = std::fs::remove_file(&link);
        }
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(self.foreign(path), link).unwrap();
    }

    /// Returns the foreign fixes that are visible in the project, or the reason why the history was skipped.
    fn result(&self) -> Result<usize, String> {
        find_fix_commits(self.project.path(), MAX_COMMITS)
            .map(|fixes| fixes.len())
            .map_err(|error| error.to_string())
    }

    fn assert_skipped(&self, reason: &str) {
        let skipped = self.result().expect_err(reason);
        assert!(skipped.starts_with("skipped the git history: "), "{skipped}");
        assert!(skipped.ends_with(reason), "{skipped}: {reason}");
    }
}

#[test]
fn does_not_read_alternate_objects() {
    let foreign =
        |history: &ForeignHistory| format!("{}\n", history.foreign(".git/objects").display());
    let history = ForeignHistory::new();
    assert_eq!(history.result(), Ok(0), "the project alone has no objects");
    for text in [
        foreign(&history),
        format!("# a comment\n\n{}", foreign(&history)),
        format!("\"{}\"\n", history.foreign(".git/objects").display()),
        "../../../elsewhere/.git/objects\n".to_owned(),
        String::new(),
    ] {
        history.write(".git/objects/info/alternates", &text);
        history
            .assert_skipped(".git/objects/info/alternates names the objects of another repository");
    }
    // The file itself, or the folder that contains it, may be a link as well.
    let history = ForeignHistory::new();
    history.write("list", foreign(&history));
    std::os::unix::fs::symlink("../../../list", history.path(".git/objects/info/alternates"))
        .unwrap();
    history.assert_skipped("alternates names the objects of another repository");
    let history = ForeignHistory::new();
    std::fs::remove_dir_all(history.path(".git/objects/info")).unwrap();
    history.write("info/alternates", foreign(&history));
    std::os::unix::fs::symlink("../../info", history.path(".git/objects/info")).unwrap();
    history.assert_skipped("alternates names the objects of another repository");
    // An alternate of an alternate inside the project.
    let history = ForeignHistory::new();
    history.write("inner/info/alternates", foreign(&history));
    history.write(".git/objects/info/alternates", "../../inner\n");
    history.assert_skipped("alternates names the objects of another repository");
}

#[test]
fn does_not_follow_links_in_git_folder() {
    let loose = |history: &ForeignHistory| {
        let objects = history.foreign(".git/objects");
        let two = std::fs::read_dir(objects).unwrap().map(|entry| entry.unwrap().file_name());
        let two = two.filter(|name| name.len() == 2).max().unwrap().into_string().unwrap();
        format!(".git/objects/{two}")
    };
    for path in [
        ".git/objects",
        ".git/objects/pack",
        ".git/refs",
        ".git/refs/heads",
        ".git/refs/heads/main",
        ".git/HEAD",
        ".git/config",
        ".git/packed-refs",
    ] {
        let history = ForeignHistory::new();
        history.link(path);
        history.assert_skipped(&format!("{path} is a symbolic link or a special file"));
    }
    let history = ForeignHistory::new();
    history.link(&loose(&history));
    history.assert_skipped("is a symbolic link or a special file");
    // One object.
    let history = ForeignHistory::new();
    let folder = loose(&history);
    let object = std::fs::read_dir(history.foreign(&folder)).unwrap().next().unwrap().unwrap();
    history.link(&format!("{folder}/{}", object.file_name().to_str().unwrap()));
    history.assert_skipped("is a symbolic link or a special file");
    // A link that stays inside the project could be exchanged for one that does not.
    let history = ForeignHistory::new();
    std::fs::rename(history.path(".git"), history.path("git")).unwrap();
    std::os::unix::fs::symlink("git", history.path(".git")).unwrap();
    history.assert_skipped("`.git` points to a directory that does not point back");
    // A pipe would never end.
    let history = ForeignHistory::new();
    std::fs::remove_file(history.path(".git/HEAD")).unwrap();
    let pipe = history.path(".git/HEAD");
    rustix::fs::mkfifoat(rustix::fs::CWD, pipe, rustix::fs::Mode::RWXU).unwrap();
    history.assert_skipped(".git/HEAD is a symbolic link or a special file");
}

/// A worktree and its repository inside one archive, whose branches and objects are elsewhere.
#[test]
fn does_not_follow_links_of_linked_worktree() {
    for path in ["objects", "refs", "objects/info/alternates"] {
        let history = ForeignHistory::new();
        std::fs::rename(history.path(".git"), history.path("main")).unwrap();
        history.write(".git", "gitdir: main/worktrees/x\n");
        history.write("main/worktrees/x/gitdir", "../../../.git\n");
        history.write("main/worktrees/x/commondir", "../..\n");
        history.write("main/worktrees/x/HEAD", "ref: refs/heads/main\n");
        assert_eq!(history.result(), Ok(0), "the archive alone is fine");
        if path.ends_with("alternates") {
            let objects = history.foreign(".git/objects").display().to_string();
            history.write("main/objects/info/alternates", objects);
        } else {
            std::fs::remove_dir_all(history.path("main").join(path)).unwrap();
            let target = history.foreign(".git").join(path);
            std::os::unix::fs::symlink(target, history.path("main").join(path)).unwrap();
        }
        let skipped = history.result().unwrap_err();
        assert!(skipped.contains(&format!("main/{path}")), "{skipped}");
    }
}

/// The multi-pack index of a repository names pack files. One that climbs out names those of another repository.
#[test]
fn does_not_follow_names_in_multi_pack_index() {
    let history = ForeignHistory::new();
    history.foreign.git(&["repack", "-q", "-a", "-d"]);
    history.foreign.git(&["multi-pack-index", "write"]);
    let packs = history.foreign(".git/objects/pack");
    let index = std::fs::read(packs.join("multi-pack-index")).unwrap();
    let start = index.windows(5).position(|window| window == b"pack-").unwrap();
    let name = String::from_utf8(index[start..start + 49].to_vec()).unwrap();
    assert!(name.ends_with(".idx"), "{name}");
    for (from, to) in [(name.clone(), "p.idx"), (name.replace(".idx", ".pack"), "p.pack")] {
        std::fs::rename(packs.join(from), packs.join(to)).unwrap();
    }
    // Both are in the same folder, which is long; the name in the index is not.
    let short = history.path(".git/objects/pack/../../../f");
    std::os::unix::fs::symlink(&packs, history.path("f")).unwrap();
    assert!(short.join("p.pack").exists());
    let mut forged = index.clone();
    let climbing = b"../../../f/p.idx\0";
    forged[start..start + 49].fill(0);
    forged[start..start + climbing.len()].copy_from_slice(climbing);
    history.write(".git/objects/pack/multi-pack-index", &forged);
    assert_eq!(history.result(), Ok(0));
}

#[test]
fn does_not_read_repository_of_another_user_above_the_project() {
    let name = "does_not_read_repository_of_another_user_above_the_project";
    if !test_rights::can_change_owners(module_path!(), name) {
        return;
    }
    let mut repository = TestRepository::new();
    repository.commit("web/a.ts", "fix: planted");
    let root = repository.root().join("web");
    assert_eq!(find_fix_commits(&root, MAX_COMMITS).unwrap().len(), 1);
    std::os::unix::fs::chown(repository.root().join(".git"), Some(12345), None).unwrap();
    let error = find_fix_commits(&root, MAX_COMMITS).unwrap_err().to_string();
    assert!(error.ends_with(".git belongs to another user"), "{error}");
    // The owner of the project may own its repository, as in a container.
    std::os::unix::fs::chown(&root, Some(12345), None).unwrap();
    assert_eq!(find_fix_commits(&root, MAX_COMMITS).unwrap().len(), 1);
}
