//! Empty projects, unusual files and unreadable folders.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use test_rights::run_unprivileged;

use crate::support::Project;

#[test]
fn empty_project_returns_error_with_fallback() {
    let project = Project::new();
    let error = project.open().call("context_search", json!({"query": "anything"})).unwrap_err();
    assert_eq!(error.message, "No embeddings found. Run initial session to generate context.");
    assert_eq!(error.details["fallback"], "Use grep_codebase for text search");
}

#[test]
fn unusual_files_do_not_affect_other_results() {
    let project = Project::shop();
    project.write("binary.bin", [0_u8, 159, 146, 150, 0, 1, 2]);
    project.write("latin1.txt", b"caf\xe9 zanzibar\n");
    project.write("utf16.txt", b"\xff\xfez\0a\0n\0");
    project.write("empty.rs", "");
    project.write("one_line.js", "var a=1;".repeat(110_000));
    project.write("big.txt", "word ".repeat(1_200_000));
    project.write("deep.json", "[".repeat(20_000));
    project.write("broken.rs", "fn )( {{{ struct ;;; impl");
    project.write("nul\u{7f}name.rs", "fn zanzibar() {}");
    std::os::unix::fs::symlink(".", project.path("loop")).unwrap();
    std::os::unix::fs::symlink("/etc", project.path("out")).unwrap();
    let session = project.complete();
    assert_eq!(session.search_paths("total_price")[0], "src/orders/cart.rs");
    assert_eq!(session.search("zanzibar")["results"], json!([]));
}

#[test]
fn skips_unreadable_folders() {
    let project = Project::shop();
    project.write("closed/a.md", "zanzibar");
    let closed = project.path("closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    run_unprivileged(|| {
        let session = project.complete();
        assert_eq!(session.search_paths("zanzibar"), [""; 0]);
        assert_eq!(session.search_paths("total_price")[0], "src/orders/cart.rs");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(session.search_paths("zanzibar"), ["closed/a.md"]);
    });
}

/// Without a file watcher, the count comes from the listing.
#[test]
fn counts_unreadable_folders_without_watcher() {
    let project = Project::shop();
    project.write("closed/a.md", "zanzibar");
    let closed = project.path("closed");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let options = pack_context::ContextOptions { watch: false, ..project.options() };
    let answer = run_unprivileged(|| {
        let session = project.open_with(options);
        assert!(session.pack.index().run_to_completion(&|_| (), &|| false));
        session.call("grep_codebase", serde_json::json!({"pattern": "zanzibar"})).unwrap()
    });
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(answer["skipped"], 1, "{answer}");
}

#[test]
fn rejects_invalid_root_and_memory_folder() {
    let project = Project::new();
    project.write("file", "");
    let open = |path: &str, memory: &str| {
        let options =
            pack_context::ContextOptions { memory_folder: memory.into(), ..project.options() };
        let state = store::StateDir::from_path(project.path(".vouch"));
        let opened = pack_context::ContextPack::open(&project.path(path), &state, options);
        let error = opened.map(drop).unwrap_err().to_string();
        error.replace(&project.folder().display().to_string(), "<folder>")
    };
    insta::assert_snapshot!(
        [
            open("missing", "memory"),
            open("file", "memory"),
            open(".", "../memory"),
            open(".", "/x")
        ]
        .join("\n")
    );
}
