//! Tests which files are included.

use std::fs;
use std::os::unix::fs::symlink;

use crate::Project;

fn format_listing(project: &Project) -> String {
    let entries = project.tree.list_files().entries;
    let line = |entry: &tree::FileEntry| match entry.greppable {
        true => entry.path.to_string(),
        false => format!("{} (extra)", entry.path),
    };
    entries.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn lists_files_that_ripgrep_searches_except_excluded_and_denied() {
    let project = Project::new(&[
        ("a-b/file", ""),
        ("a/b/file", ""),
        ("a/file.rs", ""),
        ("a.rs", ""),
        ("build", "a file with the name of an excluded folder"),
        ("src/build/out.js", ""),
        ("node_modules/x/index.js", ""),
        ("dist/x.js", ""),
        (".hidden/file", ""),
        (".gitignore", "*.log\n/generated/\n!keep.log\n"),
        ("debug.log", ""),
        ("keep.log", ""),
        ("generated/x", ""),
        ("sub/generated/x", ""),
        ("sub/.ignore", "x\n"),
        ("other/.rgignore", "*.tmp\n"),
        ("other/y.tmp", ""),
        (".git/info/exclude", "*.local\n"),
        ("settings.local", ""),
        ("my_secret.txt", ""),
        ("Credentials/x", ""),
        ("server.KEY", ""),
    ]);
    fs::write(project.root().join("two\nlines"), "").unwrap();
    symlink("a.rs", project.root().join("link.rs")).unwrap();
    symlink("..", project.root().join("a/loop")).unwrap();
    insta::assert_snapshot!(format_listing(&project), @r"
    a/b/file
    a/file.rs
    a-b/file
    a.rs
    build
    keep.log
    ");
}

#[test]
fn respects_ignore_files_above_the_root() {
    let project = Project::new(&[(".ignore", "*.tmp\n"), ("in/a.tmp", ""), ("in/b", "")]);
    let inner =
        tree::FileTree::new(&project.root().join("in"), guard::DenyList::default()).unwrap();
    let paths: Vec<_> = inner.list_files().entries.into_iter().map(|entry| entry.path).collect();
    assert_eq!(paths, ["b".into()]);
}

#[test]
fn lists_extra_paths_without_making_them_greppable() {
    let project = Project::with_extra(
        &[
            (".gitignore", "ignored\n"),
            (".claude/memory/decisions.md", ""),
            (".claude/memory/.env", ""),
            (".claude/memory/node_modules/x", ""),
            (".claude/settings.json", ""),
            (".cursor/rules", ""),
            ("docs/adr/1.md", ""),
            ("ignored/notes.md", ""),
        ],
        &[".claude/memory", ".cursor/rules", "docs/adr", "ignored/notes.md", "missing"],
    );
    insta::assert_snapshot!(format_listing(&project), @r"
    .claude/memory/decisions.md (extra)
    .cursor/rules (extra)
    docs/adr/1.md
    ignored/notes.md (extra)
    ");
}

#[test]
fn lists_extra_paths_of_every_included_folder() {
    let project = Project::new(&[
        (".gitignore", "ignored\n"),
        (".d/x/a", ""),
        (".d/y", ""),
        ("pkg/.d/x/b/c", ""),
        ("pkg/sub/.d/x", "a file"),
        ("pkg/.dd/x/a", ""),
        ("ignored/.d/x/a", ""),
        (".hidden/.d/x/a", ""),
        ("pkg/.d/x/node_modules/a", ""),
    ]);
    insta::assert_snapshot!(format_listing(&project), @r"
    .d/x/a (extra)
    pkg/.d/x/b/c (extra)
    pkg/sub/.d/x (extra)
    ");
}

#[test]
fn skips_additional_excluded_folders() {
    let folder = tempfile::tempdir().unwrap();
    for path in ["out/x", "a/out/x", "a/gen/x", "gen/x", "a/x"] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let tree = tree::FileTree::new(folder.path(), guard::DenyList::default()).unwrap();
    let entries = tree.with_excluded_folders(["out", "a/gen/"]).list_files().entries;
    let paths: Vec<_> = entries.iter().map(|entry| &*entry.path).collect();
    assert_eq!(paths, ["a/x", "gen/x"]);
}

#[test]
fn rejects_invalid_extra_paths() {
    let folder = tempfile::tempdir().unwrap();
    let error = |path| {
        let tree = tree::FileTree::new(folder.path(), guard::DenyList::default()).unwrap();
        tree.with_extra_paths([path]).unwrap_err().to_string()
    };
    insta::assert_snapshot!(["../x", "/etc", ".git/hooks", "."].map(error).join("\n"), @r"
    invalid extra path `../x`: it contains `..`, which is not allowed; give the path from the repository root
    invalid extra path `/etc`: it is absolute; give a path relative to the repository root
    invalid extra path `.git/hooks`: it is blocked by the rule `.git`
    invalid extra path `.`: it names the repository root itself; give the path of a file below it
    ");
}
